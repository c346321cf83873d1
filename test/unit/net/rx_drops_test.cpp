// Each reason to drop a received packet, and counts of buffers that no packet has.
#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>

#include "rx_rig.hpp"

namespace fit {
namespace {

constexpr uint32_t kPosted = 512 + 12;

RxOptions options_with_rooms(std::vector<PoolSize> pools)
{
    RxOptions options;
    options.pools = std::move(pools);
    options.largest_frame = 1518;
    options.partial_limit = 0;
    return options;
}

// The lengths of `full` buffers and a last one.
std::vector<uint32_t> full_and(size_t full, uint32_t last)
{
    std::vector<uint32_t> lengths(full, kPosted);
    lengths.push_back(last);
    return lengths;
}

// Makes exactly one packet be dropped for `reason`.
void provoke(RxRig& rig, RxDrop reason)
{
    const auto three_buffers = frame_of(rig.capacity(2) + 1);
    switch (reason) {
    case RxDrop::Short:
        return rig.expect_dropped(frame_of(64), {.used_lengths = {12 + 13}});
    case RxDrop::OverLong:
        return rig.expect_dropped(frame_of(64), {.used_lengths = {kPosted + 1}});
    case RxDrop::PartialSegment:
        return rig.expect_dropped(three_buffers, {.used_lengths = {kPosted, kPosted - 1, 1}});
    case RxDrop::NumBuffers:
        return rig.expect_dropped(frame_of(64), {.num_buffers = 0xffff});
    case RxDrop::TooLarge: // 125 full buffers and a last one: 65536 bytes
        return rig.expect_dropped(frame_of(65535), {.used_lengths = full_and(125, 48)});
    case RxDrop::NoScatter:
        rig.queue.scatter = false;
        rig.expect_dropped(three_buffers, {});
        rig.queue.scatter = true;
        return;
    case RxDrop::Incomplete:
        ASSERT_TRUE(rig.net.stage(three_buffers));
        rig.net.publish(2);
        for (int poll = 0; poll < 3; ++poll)
            EXPECT_EQ(rig.burst().size(), 0U);
        rig.net.publish(1);
        EXPECT_EQ(rig.burst().size(), 0U);
        return;
    case RxDrop::Count:
        break;
    }
    FAIL() << "no provocation for this reason";
}

TEST(RxDrops, trouble_146_each_reason_moves_its_own_counter_once_and_no_other)
{
    RxRig rig(options_with_rooms({{512, 600}}));
    for (size_t i = 0; i < kRxDrops.size(); ++i) {
        provoke(rig, static_cast<RxDrop>(i));
        EXPECT_EQ(rig.changes(), (Changes{{std::string("drop_") + kRxDrops[i].name, 1}}));
        EXPECT_EQ(rig.mbufs_in_use(), 256U) << kRxDrops[i].name;
        rig.expect_good();
    }
}

TEST(RxDrops, trouble_146_names_are_distinct_and_fit_an_xstat_name)
{
    std::set<std::string> names;
    for (const Reason& reason : kRxDrops) {
        EXPECT_TRUE(names.insert(reason.name).second) << reason.name;
        EXPECT_LT(std::string("rx_q65535_drop_").size() + std::string(reason.name).size(), 64U);
        EXPECT_NE(std::string(reason.sentence), "");
    }
    names.clear();
    for (const Reason& reason : kTxDrops) {
        EXPECT_TRUE(names.insert(reason.name).second) << reason.name;
        EXPECT_NE(std::string(reason.sentence), "");
    }
    std::set<std::string> faults;
    for (RingFault fault :
         {RingFault::None, RingFault::IndexLeap, RingFault::UnknownId, RingFault::NotInFlight})
        EXPECT_TRUE(faults.insert(sentence(fault)).second);
}

TEST(RxDrops, trouble_042_dropped_packets_never_enter_the_estimate)
{
    RxRig rig(options_with_rooms({{512, 600}}));
    for (int i = 0; i < 8; ++i)
        rig.expect_arrives(frame_of(100));
    ASSERT_EQ(rig.queue.sizing.estimate(), 100U);
    for (size_t i = 0; i < kRxDrops.size(); ++i) {
        provoke(rig, static_cast<RxDrop>(i));
        EXPECT_EQ(rig.queue.sizing.estimate(), 100U) << kRxDrops[i].name;
    }
    rig.expect_dropped(frame_of(64), {.used_lengths = {0xffff'ffff}});
    EXPECT_EQ(rig.queue.sizing.estimate(), 100U);
}

// trouble_031 and NET_49: the right number of used elements for every count up to the most.
TEST(RxDrops, trouble_031_every_count_that_a_packet_can_have_arrives)
{
    RxRig rig(options_with_rooms({{512, 600}}));
    ASSERT_EQ(rig.queue.most_buffers, 126U);
    for (size_t n : {1U, 2U, 16U, 17U, 18U, 19U, 64U, 125U, 126U}) {
        const auto lengths =
            rig.expect_arrives(frame_of(std::min(rig.capacity(n) - 1, size_t{65535})));
        EXPECT_EQ(lengths.size(), n);
    }
}

TEST(RxDrops, trouble_031_a_count_with_other_packets_behind_it_takes_that_many_buffers)
{
    for (uint16_t n : {uint16_t{2}, uint16_t{16}, uint16_t{19}, uint16_t{64}, uint16_t{126}}) {
        RxRig rig(options_with_rooms({{512, 600}}));
        ASSERT_TRUE(rig.net.deliver(frame_of(512), {.num_buffers = n}));
        for (uint16_t i = 1; i < n; ++i)
            ASSERT_TRUE(rig.net.deliver(frame_of(64)));
        if (n > 2) {
            EXPECT_EQ(rig.burst().size(), 0U);
            EXPECT_EQ(rig.changes(), (Changes{{"drop_partial_segment", 1}})) << n;
        } else {
            // Nothing tells this from a packet of two buffers.
            const auto packets = rig.burst();
            ASSERT_EQ(packets.size(), 1U);
            EXPECT_EQ(packets[0]->pkt_len, 512U + 76);
            EXPECT_EQ(rig.changes(), (Changes{{"packets", 1}, {"bytes", 588}}));
        }
        rig.expect_good();
    }
}

TEST(RxDrops, trouble_111_a_count_that_no_packet_needs_drops_one_buffer_and_not_those_behind_it)
{
    for (uint16_t n :
         {uint16_t{127}, uint16_t{255}, uint16_t{256}, uint16_t{32768}, uint16_t{65535}}) {
        RxRig rig(options_with_rooms({{512, 600}}));
        ASSERT_TRUE(rig.net.deliver(frame_of(512), {.num_buffers = n}));
        for (uint32_t i = 0; i < 20; ++i)
            ASSERT_TRUE(rig.net.deliver(frame_of(64 + i, i)));
        const auto packets = rig.burst();
        ASSERT_EQ(packets.size(), 20U) << n;
        for (uint32_t i = 0; i < 20; ++i)
            EXPECT_EQ(bytes_of(packets[i].get()), frame_of(64 + i, i));
        EXPECT_EQ(rig.changes(),
                  (Changes{{"packets", 20}, {"bytes", 20 * 64 + 190}, {"drop_num_buffers", 1}}));
    }
}

// The count is bounded by the smallest class; what is really posted may hold far more.
TEST(RxDrops, trouble_111_no_packet_above_65535_bytes_is_delivered)
{
    RxRig rig(options_with_rooms({{260, 1}, {9216, 300}}));
    rig.expect_arrives(frame_of(60)); // takes the only small buffer
    ASSERT_GT(rig.queue.most_buffers, 200U);
    constexpr uint32_t kFull = 9216 + 12;
    const uint32_t rest = 65535 + 12 - 7 * kFull;
    EXPECT_EQ(rig.expect_arrives(frame_of(65535)).size(), 8U);
    rig.changes();
    for (size_t more : {size_t{1}, size_t{kFull - rest}, size_t{kFull}, size_t{100 * kFull}}) {
        rig.expect_dropped(frame_of(65535 + more), {});
        EXPECT_EQ(rig.changes(), (Changes{{"drop_too_large", 1}})) << more;
        rig.expect_good();
    }
}

TEST(RxDrops, trouble_158_without_SCATTER_no_chain_is_delivered_in_one_burst_or_in_pieces)
{
    RxOptions options;
    options.scatter = false;
    RxRig rig(options);
    for (size_t n = 2; n <= 5; ++n) {
        ASSERT_TRUE(rig.net.stage(frame_of(rig.capacity(n))));
        rig.net.publish(1);
        EXPECT_EQ(rig.burst().size(), 0U);
        rig.net.publish(n - 1);
        EXPECT_EQ(rig.burst().size(), 0U);
        EXPECT_EQ(rig.changes(), (Changes{{"drop_no_scatter", 1}})) << n;
        rig.expect_dropped(frame_of(rig.capacity(n)), {});
        EXPECT_EQ(rig.changes(), (Changes{{"drop_no_scatter", 1}})) << n;
        rig.expect_good();
    }
}

TEST(RxDrops, trouble_158_without_SCATTER_the_first_length_does_not_matter)
{
    RxRig rig(options_with_rooms({{512, 600}}));
    rig.queue.scatter = false;
    for (uint32_t length : {12U, kPosted - 1, kPosted, kPosted + 1, 0xffff'ffffU}) {
        rig.expect_dropped(frame_of(rig.capacity(2) + 1), {.used_lengths = {length, kPosted, 1}});
        EXPECT_EQ(rig.changes(), (Changes{{"drop_no_scatter", 1}})) << length;
    }
}

// The ring holds three sizes at once; each length is checked against the very slot it came for.
TEST(RxDrops, trouble_036_used_length_is_checked_against_its_own_slot)
{
    RxOptions options = options_with_rooms({{260, 5}, {1536, 6}, {2048, 40}});
    options.buffer_limit = 16;
    options.ring_size = 16;
    RxRig rig(options);
    for (uint8_t k = 0; k < 3; ++k)
        ASSERT_EQ(rig.slots_of_class(k), k == 1 ? 6U : 5U) << "the ring is mixed";
    std::set<uint64_t> seen;
    rig.device.poll();
    for (int i = 0; i < 200; ++i) {
        const auto posted = static_cast<uint32_t>(rig.device.peek(0).writable_bytes());
        seen.insert(posted);
        const std::array<uint32_t, 3> too_long = {posted + 1, std::max(posted + 1, 2048U + 12),
                                                  std::max(posted + 1, 1536U + 12)};
        const uint32_t claimed = i % 4 == 3 ? posted : too_long[static_cast<size_t>(i % 4)];
        ASSERT_TRUE(rig.net.deliver(frame_of(64), {.used_lengths = {claimed}}));
        const auto packets = rig.burst();
        if (i % 4 == 3) {
            ASSERT_EQ(packets.size(), 1U);
            EXPECT_EQ(packets[0]->pkt_len, posted - 12);
            EXPECT_EQ(rig.changes(), (Changes{{"packets", 1}, {"bytes", posted - 12}}));
        } else {
            EXPECT_EQ(packets.size(), 0U);
            EXPECT_EQ(rig.changes(), (Changes{{"drop_over_long", 1}})) << claimed;
        }
        rig.device.poll();
    }
    EXPECT_EQ(seen, (std::set<uint64_t>{272, 1548, 2060}));
}

TEST(RxDrops, trouble_036_full_means_full_for_the_slot_of_each_piece_of_a_packet)
{
    RxOptions options = options_with_rooms({{260, 5}, {1536, 6}, {2048, 40}});
    options.ring_size = 16;
    RxRig rig(options);
    for (uint32_t i = 0; i < 100; ++i)
        rig.expect_arrives(frame_of(5000, i));
    EXPECT_EQ(rig.changes(), (Changes{{"packets", 100}, {"bytes", 500'000}}));
}

} // namespace
} // namespace fit
