// The queue posts what the traffic needs, and its accounts say exactly what is where.
#include <gtest/gtest.h>

#include <algorithm>

#include "rx_rig.hpp"

namespace fit {
namespace {

RxOptions ladder()
{
    RxOptions options;
    options.pools = {{1536, 300}, {2048, 300}, {4096, 300}, {9216, 300}};
    options.ring_size = 64;
    options.largest_frame = 9018;
    options.ewma_weight = 16;
    return options;
}

std::vector<uint32_t> lengths_of_next(RxRig& rig, size_t length)
{
    return rig.expect_arrives(frame_of(length));
}

TEST(RxSizing, trouble_041_segments_follow_the_traffic_up_and_down_without_loss)
{
    RxRig rig(ladder());
    for (int i = 0; i < 2000; ++i)
        lengths_of_next(rig, 64);
    EXPECT_EQ(rig.slots_of_class(0), 64U);
    EXPECT_EQ(lengths_of_next(rig, 9000).size(), 6U);
    // With weight 16 ten such packets bring the estimate above 4096; the smaller segments that are
    // still posted then are used up by the packets after them.
    for (int i = 0; i < 120; ++i)
        lengths_of_next(rig, 9000);
    EXPECT_EQ(rig.queue.sizing.current_class(), 3);
    EXPECT_EQ(rig.slots_of_class(3), 64U);
    EXPECT_EQ(lengths_of_next(rig, 9000), std::vector<uint32_t>{9000});
    const uint64_t changes_up = rig.queue.sizing.class_changes();
    EXPECT_EQ(changes_up, 3U);
    for (int i = 0; i < 200; ++i)
        lengths_of_next(rig, 64);
    EXPECT_EQ(rig.queue.sizing.current_class(), 0);
    EXPECT_EQ(rig.slots_of_class(0), 64U);
    EXPECT_EQ(lengths_of_next(rig, 9000).size(), 6U);
    EXPECT_EQ(rig.changes(), (Changes{{"packets", 2323}, {"bytes", 2200 * 64 + 123 * 9000}}));
}

TEST(RxSizing, estimate_and_class_are_those_of_a_policy_fed_with_the_same_bursts)
{
    RxRig rig(ladder());
    SizingPolicy twin = rig.queue.sizing;
    for (uint32_t burst = 0; burst < 300; ++burst) {
        uint64_t bytes = 0;
        const uint32_t packets = 1 + burst % 5;
        for (uint32_t i = 0; i < packets; ++i) {
            const size_t length = 60 + (burst * 977 + i * 131) % 9000;
            ASSERT_TRUE(rig.net.deliver(frame_of(length)));
            bytes += length;
        }
        ASSERT_EQ(rig.burst().size(), packets);
        twin.on_burst(bytes, packets);
        ASSERT_EQ(rig.queue.sizing.estimate(), twin.estimate()) << burst;
        ASSERT_EQ(rig.queue.sizing.current_class(), twin.current_class()) << burst;
    }
    EXPECT_EQ(rig.queue.sizing.class_changes(), twin.class_changes());
}

TEST(RxSizing, a_burst_without_packets_does_not_touch_the_estimate)
{
    RxRig rig(ladder());
    lengths_of_next(rig, 700);
    for (int i = 0; i < 100; ++i)
        EXPECT_EQ(rig.burst().size(), 0U);
    EXPECT_EQ(rig.queue.sizing.estimate(), 700U);
}

TEST(RxSizing, trouble_042_one_huge_frame_among_63_tiny_ones_never_posts_more_than_the_ring)
{
    RxOptions options = ladder();
    options.ring_size = 64;
    options.ewma_weight = 64;
    options.largest_frame = 65000;
    RxRig rig(options);
    for (int round = 0; round < 50; ++round) {
        for (int i = 0; i < 63; ++i)
            lengths_of_next(rig, 64);
        lengths_of_next(rig, 65000);
        uint64_t posted = 0;
        for (uint8_t k = 0; k < 4; ++k)
            posted += uint64_t{rig.slots_of_class(k)} * rig.room(k);
        EXPECT_LE(posted, uint64_t{64} * 9216);
        EXPECT_EQ(rig.mbufs_in_use(), 64U);
    }
    EXPECT_EQ(rig.changes(), (Changes{{"packets", 3200}, {"bytes", 50 * (63 * 64 + 65000)}}));
}

TEST(RxSizing, trouble_043_segments_of_each_class_are_counted_exactly)
{
    RxOptions options = ladder();
    options.ring_size = 8;
    options.ewma_weight = 1;
    options.largest_frame = 2048;
    RxRig rig(options);
    // The estimate is the last packet: class 0 of the first fill serves eight packets.
    const auto delivered = [&](uint8_t k) {
        const RxClass& c = rig.queue.classes[k];
        return c.consumed.total() - c.discarded.total();
    };
    for (int i = 0; i < 8; ++i)
        lengths_of_next(rig, 1536);
    EXPECT_EQ(delivered(0), 8U);
    lengths_of_next(rig, 2000); // two of class 0; from here on class 1 is posted
    EXPECT_EQ(delivered(0), 10U);
    for (int i = 0; i < 6; ++i)
        lengths_of_next(rig, 1600);
    EXPECT_EQ(rig.slots_of_class(0), 0U);
    EXPECT_EQ(rig.slots_of_class(1), 8U);
    EXPECT_EQ(delivered(0) + delivered(1), 10U + 9U);
    rig.expect_dropped(frame_of(64), {.used_lengths = {0}});
    EXPECT_EQ(delivered(0) + delivered(1), 19U) << "a dropped segment is not a delivered one";
    EXPECT_EQ(rig.queue.classes[1].discarded.total(), 1U);
}

TEST(RxSizing, counters_of_a_class_are_right_when_classes_alternate_in_one_burst)
{
    RxOptions options = ladder();
    options.ring_size = 8;
    options.ewma_weight = 1;
    options.largest_frame = 9216;
    RxRig rig(options);
    std::vector<uint32_t> sizes;
    for (uint32_t i = 0; i < 40; ++i) { // alternates what the next buffer's class will be
        const size_t length = i % 2 == 0 ? 1500 : 9000;
        for (uint32_t n : lengths_of_next(rig, length))
            sizes.push_back(n);
    }
    rig.device.poll();
    unsigned distinct = 0;
    for (uint8_t k = 0; k < 4; ++k)
        distinct += rig.slots_of_class(k) != 0 ? 1 : 0;
    EXPECT_EQ(distinct, 2U) << "classes 0 and 3 lie in the ring at the same time";
    while (rig.device.available() != 0)
        ASSERT_TRUE(rig.net.deliver(frame_of(64)));
    EXPECT_EQ(rig.burst().size(), 8U); // the rig compares all accounts
}

TEST(RxSizing, restart_with_another_class_wanted_keeps_totals_exact)
{
    RxRig rig(ladder());
    for (int i = 0; i < 100; ++i)
        lengths_of_next(rig, 9000);
    rig.restart();
    EXPECT_EQ(rig.slots_of_class(3), 64U) << "the estimate outlives what the ring held";
    for (uint8_t k = 0; k < 4; ++k) {
        const RxClass& c = rig.queue.classes[k];
        EXPECT_EQ(c.posted.total() - c.consumed.total(), rig.slots_of_class(k));
    }
}

} // namespace
} // namespace fit
