// Packets of several segments: queued whole, dropped whole, or left to the caller.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "tx_rig.hpp"

namespace fit {
namespace {

// `n` segments of 20 bytes and more.
std::vector<uint16_t> lengths_of(size_t n)
{
    std::vector<uint16_t> lengths(n);
    std::iota(lengths.begin(), lengths.end(), uint16_t{20});
    return lengths;
}

std::vector<std::byte> bytes_of_lengths(const std::vector<uint16_t>& lengths, uint32_t seed = 1)
{
    return frame_of(std::accumulate(lengths.begin(), lengths.end(), size_t{0}), seed);
}

// With ANY_LAYOUT or VERSION_1 the header lies in the first segment's headroom, without in a
// descriptor of its own.
class TxChainLayout : public testing::TestWithParam<bool> {};

TEST_P(TxChainLayout, trouble_076_every_length_against_every_number_of_free_descriptors)
{
    constexpr uint16_t kRing = 16;
    TxOptions options;
    options.header = GetParam() ? HeaderKind::Mergeable : HeaderKind::Legacy;
    options.any_layout = GetParam();
    options.ring_size = kRing;
    options.mbufs = 64;
    for (uint16_t free = 0; free <= kRing; ++free) {
        for (size_t n = 2; n < kRing; ++n) {
            const size_t descriptors = GetParam() ? n : n + 1;
            TxRig rig(options);
            rig.occupy_all_but(free);
            rig.changes();
            const auto lengths = lengths_of(n);
            const auto frame = bytes_of_lengths(lengths);
            std::vector<PacketPtr> offered;
            offered.push_back(make_chain(rig.pool.get(), lengths));
            rig.device.poll();
            const bool fits = descriptors <= free;
            ASSERT_EQ(rig.burst(offered), fits ? 1 : 0) << n << " into " << free;
            rig.device.poll();
            ASSERT_EQ(rig.device.available(), fits ? 1U : 0U) << "never half of it";
            if (fits) {
                EXPECT_EQ(rig.expect_sent(frame), descriptors);
                EXPECT_EQ(rig.changes(), (Changes{{"packets", 1}, {"bytes", frame.size()}}));
            } else {
                EXPECT_EQ(rig.changes(), (Changes{{"ring_full", 1}}));
                EXPECT_EQ(bytes_of(offered[0].get()), frame) << "the caller has it as it was";
                expect_chain_ok(offered[0].get());
                rig.net.complete_all();
                ASSERT_EQ(rig.burst(offered), 1);
                EXPECT_EQ(rig.expect_sent(frame), descriptors);
                EXPECT_EQ(rig.changes(), (Changes{{"packets", 1}, {"bytes", frame.size()}}));
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(AnyLayout, TxChainLayout, testing::Bool());

TEST(TxChain, trouble_076_headroom_of_a_chain_that_stays_with_the_caller_is_not_written)
{
    TxRig rig;
    rig.occupy_all_but(1);
    std::vector<PacketPtr> offered;
    offered.push_back(make_chain(rig.pool.get(), std::vector<uint16_t>{60, 60}));
    auto* buffer = static_cast<std::byte*>(offered[0]->buf_addr);
    std::fill_n(buffer, RTE_PKTMBUF_HEADROOM, std::byte{0xff});
    ASSERT_EQ(rig.burst(offered), 0);
    EXPECT_EQ(std::count(buffer, buffer + RTE_PKTMBUF_HEADROOM, std::byte{0xff}),
              RTE_PKTMBUF_HEADROOM);
}

TEST(TxChain, trouble_076_single_packet_against_every_number_of_free_descriptors)
{
    for (uint16_t free = 0; free <= 4; ++free) {
        TxRig rig;
        rig.occupy_all_but(free);
        rig.changes();
        std::vector<PacketPtr> offered;
        for (uint32_t i = 0; i < 4; ++i)
            offered.push_back(rig.packet(60, i));
        EXPECT_EQ(rig.burst(offered), free);
        for (uint32_t i = 0; i < free; ++i)
            EXPECT_EQ(rig.expect_sent(frame_of(60, i)), 1U);
        Changes expected;
        if (free != 0)
            expected = {{"packets", free}, {"bytes", 60U * free}};
        if (free != 4)
            expected["ring_full"] = 1;
        EXPECT_EQ(rig.changes(), expected);
        ASSERT_EQ(offered.size(), 4U - free);
        for (uint32_t i = free; i < 4; ++i)
            EXPECT_EQ(bytes_of(offered[i - free].get()), frame_of(60, i));
    }
}

TEST(TxChain, trouble_077_longest_chain_fills_the_ring_and_one_segment_more_is_dropped)
{
    for (uint16_t limit : {4, 8, 63, 64}) {
        TxOptions options;
        options.descriptor_limit = limit;
        TxRig rig(options);
        const auto lengths = lengths_of(limit);
        ASSERT_TRUE(rig.send(make_chain(rig.pool.get(), lengths)));
        EXPECT_EQ(rig.expect_sent(bytes_of_lengths(lengths)), limit);
        rig.changes();
        ASSERT_TRUE(rig.send(make_chain(rig.pool.get(), lengths_of(limit + 1U))));
        EXPECT_EQ(rig.changes(), (Changes{{"drop_too_many_segments", 1}}));
        EXPECT_EQ(rig.mbufs_in_use(), 0U);
        EXPECT_FALSE(rig.net.take().has_value());
    }
}

TEST(TxChain, trouble_077_more_than_256_pieces_are_dropped_on_a_ring_that_could_hold_them)
{
    TxOptions options;
    options.ring_size = 1024;
    TxRig rig(options);
    for (size_t n : {size_t{200}, size_t{256}}) {
        const auto lengths = lengths_of(n);
        ASSERT_TRUE(rig.send(make_chain(rig.pool.get(), lengths)));
        EXPECT_EQ(rig.expect_sent(bytes_of_lengths(lengths)), n);
    }
    rig.changes();
    ASSERT_TRUE(rig.send(make_chain(rig.pool.get(), lengths_of(257))));
    EXPECT_EQ(rig.changes(), (Changes{{"drop_too_many_segments", 1}}));
    EXPECT_FALSE(rig.net.take().has_value());
}

TEST(TxChain, trouble_077_dropped_packets_do_not_stop_those_behind_them)
{
    TxOptions options;
    options.descriptor_limit = 8;
    TxRig rig(options);
    std::vector<PacketPtr> offered;
    offered.push_back(rig.packet(60, 1));
    offered.push_back(make_chain(rig.pool.get(), lengths_of(40)));
    offered.push_back(rig.packet(0));
    offered.push_back(rig.packet(60, 2));
    EXPECT_EQ(rig.burst(offered), 4);
    EXPECT_EQ(rig.expect_sent(frame_of(60, 1)), 1U);
    EXPECT_EQ(rig.expect_sent(frame_of(60, 2)), 1U);
    EXPECT_EQ(
        rig.changes(),
        (Changes{
            {"packets", 2}, {"bytes", 120}, {"drop_too_many_segments", 1}, {"drop_empty", 1}}));
}

TEST(TxChain, SPL_08_empty_segments_are_skipped_wherever_they_are)
{
    using Lengths = std::vector<uint16_t>;
    const std::vector<Lengths> chains = {{0, 60},        {60, 0},         {0, 60, 0},
                                         {60, 0, 0, 70}, {0, 0, 0, 1, 0}, {30, 0, 30, 0, 30}};
    TxRig rig;
    uint64_t bytes = 0;
    for (const Lengths& lengths : chains) {
        const auto full =
            lengths.size() - static_cast<size_t>(std::count(lengths.begin(), lengths.end(), 0));
        const auto frame = bytes_of_lengths(lengths);
        ASSERT_TRUE(rig.send(make_chain(rig.pool.get(), lengths)));
        // Behind an empty first segment the header has a descriptor of its own.
        EXPECT_EQ(rig.expect_sent(frame), full + (lengths[0] == 0 ? 1 : 0));
        bytes += frame.size();
    }
    EXPECT_EQ(rig.changes(), (Changes{{"packets", chains.size()}, {"bytes", bytes}}));
}

TEST(TxChain, empty_packets_are_dropped_and_counted)
{
    TxRig rig;
    ASSERT_TRUE(rig.send(rig.packet(0)));
    EXPECT_EQ(rig.changes(), (Changes{{"drop_empty", 1}}));
    ASSERT_TRUE(rig.send(make_chain(rig.pool.get(), std::vector<uint16_t>{0, 0, 0})));
    EXPECT_EQ(rig.changes(), (Changes{{"drop_empty", 1}}));
    EXPECT_EQ(rig.mbufs_in_use(), 0U);
    EXPECT_FALSE(rig.net.take().has_value());
}

TEST(TxChain, chain_whose_segments_somebody_else_holds_too)
{
    TxRig rig;
    const auto lengths = lengths_of(5);
    const PacketPtr original = make_chain(rig.pool.get(), lengths);
    PacketPtr clone(rte_pktmbuf_clone(original.get(), rig.pool.get()));
    ASSERT_NE(clone, nullptr);
    ASSERT_TRUE(rig.send(std::move(clone)));
    EXPECT_EQ(rig.expect_sent(bytes_of_lengths(lengths)), 6U);
    reclaim(rig.queue);
    EXPECT_EQ(rig.mbufs_in_use(), 5U);
    EXPECT_EQ(bytes_of(original.get()), bytes_of_lengths(lengths));
}

TEST(TxChain, chain_over_the_end_of_the_descriptor_table)
{
    TxOptions options;
    options.ring_size = 8;
    TxRig rig(options);
    for (uint32_t i = 0; i < 1000; ++i) {
        const auto lengths = lengths_of(2 + i % 6);
        ASSERT_TRUE(rig.send(make_chain(rig.pool.get(), lengths, i)));
        ASSERT_EQ(rig.expect_sent(bytes_of_lengths(lengths, i)), lengths.size());
    }
}

} // namespace
} // namespace fit
