// Packets spread over several buffers: in pieces, over bursts, and with an error anywhere.
#include <gtest/gtest.h>

#include <random>

#include <rte_cycles.h>

#include "rx_rig.hpp"

namespace fit {
namespace {

RxOptions small_rooms()
{
    RxOptions options;
    options.pools = {{512, 600}};
    options.largest_frame = 65000;
    return options;
}

// Bytes of a frame that fills `n` buffers but for the last, which holds one byte.
size_t length_over(const RxRig& rig, size_t n)
{
    return rig.capacity(n - 1) + 1;
}

TEST(RxMerge, NET_48_buffers_that_come_one_by_one_are_kept_over_bursts)
{
    for (size_t n = 2; n <= 20; ++n) {
        RxRig rig(small_rooms());
        const auto frame = frame_of(length_over(rig, n), static_cast<uint32_t>(n));
        ASSERT_TRUE(rig.net.stage(frame));
        ASSERT_EQ(rig.net.staged(), n);
        for (size_t i = 1; i < n; ++i) {
            rig.net.publish(1);
            EXPECT_EQ(rig.burst().size(), 0U);
            EXPECT_EQ(rig.burst().size(), 0U); // a poll between two pieces
        }
        EXPECT_EQ(rig.changes(), Changes());
        rig.net.publish(1);
        const auto packets = rig.burst();
        ASSERT_EQ(packets.size(), 1U);
        EXPECT_EQ(packets[0]->nb_segs, n);
        EXPECT_EQ(bytes_of(packets[0].get()), frame);
        EXPECT_EQ(rig.changes(), (Changes{{"packets", 1}, {"bytes", frame.size()}}));
    }
}

TEST(RxMerge, NET_48_pieces_of_any_size_and_budgets_of_any_size_keep_packets_and_order)
{
    std::mt19937 random(1);
    RxRig rig(small_rooms());
    for (unsigned round = 0; round < 300; ++round) {
        std::vector<std::vector<std::byte>> frames;
        for (uint32_t i = 0; i < 12; ++i) {
            frames.push_back(frame_of(14 + random() % 6000, round * 12 + i));
            ASSERT_TRUE(rig.net.stage(frames.back()));
        }
        std::vector<std::vector<std::byte>> arrived;
        unsigned idle = 0;
        while (idle < 20) {
            if (rig.net.staged() > 0)
                rig.net.publish(1 + random() % rig.net.staged());
            const auto packets = rig.burst(static_cast<uint16_t>(random() % 5));
            for (const PacketPtr& packet : packets)
                arrived.push_back(bytes_of(packet.get()));
            idle = packets.empty() ? idle + 1 : 0;
        }
        ASSERT_EQ(arrived, frames) << round;
    }
    EXPECT_EQ(rig.changes().count("drop_incomplete"), 0U);
}

TEST(RxMerge, NET_48_burst_of_one_ends_between_two_packets_and_between_two_pieces)
{
    RxRig rig(small_rooms());
    for (uint32_t i = 0; i < 3; ++i)
        ASSERT_TRUE(rig.net.stage(frame_of(length_over(rig, 3), i)));
    rig.net.publish(4); // the first packet and a third of the second one
    EXPECT_EQ(rig.burst(1).size(), 1U);
    EXPECT_EQ(rig.device.used_index() - rig.queue.ring.used_index(), 1) << "not looked at yet";
    EXPECT_EQ(rig.burst(1).size(), 0U);
    EXPECT_EQ(rig.burst(1).size(), 0U);
    rig.net.publish(5);
    for (uint32_t i = 1; i < 3; ++i) {
        const auto packets = rig.burst(1);
        ASSERT_EQ(packets.size(), 1U);
        EXPECT_EQ(bytes_of(packets[0].get()), frame_of(length_over(rig, 3), i));
    }
    EXPECT_EQ(rig.burst(1).size(), 0U);
}

TEST(RxMerge, budget_zero_takes_nothing)
{
    RxRig rig;
    ASSERT_TRUE(rig.net.deliver(frame_of(64)));
    EXPECT_EQ(rig.burst(0).size(), 0U);
    EXPECT_EQ(rig.changes(), Changes());
    EXPECT_EQ(rig.burst(1).size(), 1U);
}

TEST(RxMerge, NET_48_exact_fit_of_the_last_buffer_and_an_empty_last_buffer)
{
    RxRig rig(small_rooms());
    const auto full = frame_of(rig.capacity(2));
    EXPECT_EQ(rig.expect_arrives(full), (std::vector<uint32_t>{512, 524}));
    // Harmless if odd: the device used one buffer more than it needed.
    EXPECT_EQ(rig.expect_arrives(full, {.split = {524, 524, 0}}),
              (std::vector<uint32_t>{512, 524, 0}));
}

TEST(RxMerge, trouble_028_incomplete_packet_is_given_up_after_the_limit_and_late_buffers_skipped)
{
    RxOptions options = small_rooms();
    options.partial_limit = 0;
    RxRig rig(options);
    const auto lost = frame_of(length_over(rig, 5));
    ASSERT_TRUE(rig.net.stage(lost));
    rig.net.publish(3);
    EXPECT_EQ(rig.burst().size(), 0U);
    EXPECT_EQ(rig.burst().size(), 0U); // begins to wait
    EXPECT_EQ(rig.changes(), Changes());
    EXPECT_EQ(rig.burst().size(), 0U); // has waited longer than nothing
    EXPECT_EQ(rig.changes(), (Changes{{"drop_incomplete", 1}}));
    EXPECT_EQ(rig.mbufs_in_use(), 256U) << "what was there of the packet went back";
    EXPECT_EQ(rig.burst().size(), 0U);
    EXPECT_EQ(rig.changes(), Changes()) << "counted once";

    rig.net.publish(1);
    EXPECT_EQ(rig.burst().size(), 0U);
    rig.net.publish(1);
    EXPECT_EQ(rig.burst().size(), 0U);
    EXPECT_EQ(rig.changes(), Changes());
    rig.expect_good();
}

TEST(RxMerge, trouble_028_nothing_is_given_up_before_the_limit_has_passed)
{
    RxOptions options = small_rooms();
    options.partial_limit = rte_get_tsc_hz() * 600; // more than the test takes
    RxRig rig(options);
    const auto frame = frame_of(length_over(rig, 3));
    ASSERT_TRUE(rig.net.stage(frame));
    for (int i = 0; i < 2; ++i) {
        rig.net.publish(1);
        for (int poll = 0; poll < 100; ++poll)
            EXPECT_EQ(rig.burst().size(), 0U);
    }
    EXPECT_EQ(rig.changes(), Changes());
    rig.queue.partial_limit = 1; // has passed since the first poll that found nothing
    EXPECT_EQ(rig.burst().size(), 0U);
    EXPECT_EQ(rig.changes(), (Changes{{"drop_incomplete", 1}}));
    rig.net.publish(1);
    EXPECT_EQ(rig.burst().size(), 0U);
    rig.expect_good();
}

TEST(RxMerge, trouble_028_late_buffers_that_look_like_packets_are_not_taken_for_packets)
{
    RxOptions options = small_rooms();
    options.partial_limit = 0;
    RxRig rig(options);
    // Each buffer begins with twelve zero bytes but num_buffers 1, as a header of its own would.
    std::vector<std::byte> frame(rig.capacity(3), std::byte{0});
    for (size_t at : {rig.capacity(1), rig.capacity(2)})
        frame[at + 10] = std::byte{1};
    ASSERT_TRUE(rig.net.stage(frame));
    rig.net.publish(1);
    for (int poll = 0; poll < 3; ++poll)
        EXPECT_EQ(rig.burst().size(), 0U);
    EXPECT_EQ(rig.changes(), (Changes{{"drop_incomplete", 1}}));
    rig.net.publish(2);
    ASSERT_TRUE(rig.net.deliver(frame_of(64)));
    const auto packets = rig.burst();
    ASSERT_EQ(packets.size(), 1U);
    EXPECT_EQ(bytes_of(packets[0].get()), frame_of(64));
    EXPECT_EQ(rig.changes(), (Changes{{"packets", 1}, {"bytes", 64}}));
}

TEST(RxMerge, trouble_028_waiting_ends_with_every_buffer_that_comes)
{
    RxOptions options = small_rooms();
    options.partial_limit = 0;
    RxRig rig(options);
    const auto frame = frame_of(length_over(rig, 4));
    ASSERT_TRUE(rig.net.stage(frame));
    for (int i = 0; i < 3; ++i) {
        rig.net.publish(1);
        EXPECT_EQ(rig.burst().size(), 0U);
        EXPECT_EQ(rig.burst().size(), 0U); // begins to wait
    }
    rig.net.publish(1);
    const auto packets = rig.burst();
    ASSERT_EQ(packets.size(), 1U);
    EXPECT_EQ(bytes_of(packets[0].get()), frame);
}

TEST(RxMerge, trouble_028_stop_in_the_middle_of_a_packet_loses_no_mbuf)
{
    for (size_t there = 1; there < 5; ++there) {
        RxRig rig(small_rooms());
        ASSERT_TRUE(rig.net.stage(frame_of(length_over(rig, 5))));
        rig.net.publish(there);
        EXPECT_EQ(rig.burst().size(), 0U);
        rig.restart();
        EXPECT_EQ(rig.changes(), (Changes{{"drop_incomplete", 1}}));
        EXPECT_EQ(rig.mbufs_in_use(), 256U);
        rig.expect_good();
    }
}

enum class Fault { OverLong, NotFull };

// Buffer `k` of `n` (from 1) is bad: nothing arrives, one counter moves, and what follows is good.
void expect_dropped_whole(size_t n, size_t k, Fault fault)
{
    RxRig rig(small_rooms());
    const uint32_t posted = rig.room() + rig.header_bytes();
    const auto frame = frame_of(length_over(rig, n));
    std::vector<uint32_t> lengths(n, posted);
    lengths.back() = 1;
    lengths[k - 1] = fault == Fault::OverLong ? posted + 1 : posted - 1;
    rig.expect_dropped(frame, {.used_lengths = lengths});
    const char* counter = fault == Fault::OverLong ? "drop_over_long" : "drop_partial_segment";
    EXPECT_EQ(rig.changes(), (Changes{{counter, 1}})) << "buffer " << k << " of " << n;
    EXPECT_EQ(rig.mbufs_in_use(), 256U) << "buffer " << k << " of " << n;
    rig.expect_good();
}

TEST(RxMerge, trouble_120_over_long_buffer_anywhere_drops_the_packet_whole)
{
    for (size_t n = 2; n <= 20; ++n) {
        for (size_t k = 1; k <= n; ++k)
            expect_dropped_whole(n, k, Fault::OverLong);
    }
}

TEST(RxMerge, trouble_120_buffer_that_is_not_full_anywhere_but_last_drops_the_packet_whole)
{
    for (size_t n = 2; n <= 20; ++n) {
        for (size_t k = 1; k < n; ++k)
            expect_dropped_whole(n, k, Fault::NotFull);
    }
}

TEST(RxMerge, trouble_120_error_in_the_middle_with_the_pieces_in_several_bursts)
{
    RxRig rig(small_rooms());
    ASSERT_TRUE(rig.net.stage(frame_of(length_over(rig, 4)), {.used_lengths = {524, 523, 524, 1}}));
    for (int i = 0; i < 4; ++i) {
        rig.net.publish(1);
        EXPECT_EQ(rig.burst().size(), 0U);
    }
    EXPECT_EQ(rig.changes(), (Changes{{"drop_partial_segment", 1}}));
    rig.expect_good();
}

TEST(RxMerge, trouble_109_short_first_buffer_with_a_count_drops_the_packet_whole)
{
    for (uint32_t length : {12U, 12U + 13, 12U + 14, 523U}) {
        RxRig rig(small_rooms());
        rig.expect_dropped(frame_of(length_over(rig, 3)), {.used_lengths = {length, 524, 1}});
        EXPECT_EQ(rig.changes(), (Changes{{"drop_partial_segment", 1}})) << length;
        rig.expect_good();
    }
}

TEST(RxMerge, trouble_109_without_a_whole_header_the_count_is_not_read)
{
    for (uint32_t length : {0U, 1U, 11U}) {
        RxRig rig(small_rooms());
        ASSERT_TRUE(rig.net.deliver(frame_of(64), {.used_lengths = {length}, .num_buffers = 3}));
        ASSERT_TRUE(rig.net.deliver(frame_of(64, 2)));
        const auto packets = rig.burst();
        ASSERT_EQ(packets.size(), 1U);
        EXPECT_EQ(bytes_of(packets[0].get()), frame_of(64, 2));
        EXPECT_EQ(rig.changes(), (Changes{{"packets", 1}, {"bytes", 64}, {"drop_short", 1}}));
    }
}

} // namespace
} // namespace fit
