// The rules of the policy: floor, refusals, growth at once, shrinking after a dwell.
#include "sizing/sizing_policy.hpp"

#include <gtest/gtest.h>

#include "usual_policy.hpp"

namespace fit {
namespace {

void expect_refused(const SegmentLadder& ladder, const SizingConfig& config, Errno code,
                    int64_t value)
{
    const auto policy = SizingPolicy::make(ladder, config);
    ASSERT_FALSE(policy.ok());
    EXPECT_EQ(policy.error().code, code);
    EXPECT_STREQ(policy.error().thing, "sizing");
    EXPECT_TRUE(policy.error().has_value);
    EXPECT_EQ(policy.error().value, value);
}

TEST(SegmentFloor, trouble_040_is_the_largest_of_wish_spread_and_257)
{
    SizingConfig config = {.min_segment = 1518, .largest_frame = 65562, .ring_segments = 256};
    EXPECT_EQ(segment_floor(config), 1518u);
    config.min_segment = 0;
    EXPECT_EQ(segment_floor(config), 257u); // ceil(65562 / 256) = 257
    config.ring_segments = 1024;
    EXPECT_EQ(segment_floor(config), 257u); // ceil is 65
    config.ring_segments = 255;
    EXPECT_EQ(segment_floor(config), 258u); // ceil(257.1)
    config.ring_segments = 32;
    EXPECT_EQ(segment_floor(config), 2049u); // ceil(2048.8)
    config.ring_segments = 1;
    EXPECT_EQ(segment_floor(config), 65562u);
    config.min_segment = 70000;
    EXPECT_EQ(segment_floor(config), 70000u);
}

TEST(SegmentFloor, covers_the_largest_frame_when_a_packet_is_one_segment)
{
    SizingConfig config = {
        .largest_frame = 9018, .ring_segments = 256, .one_segment_per_packet = true};
    EXPECT_EQ(segment_floor(config), 9018u);
    config.largest_frame = 1514;
    EXPECT_EQ(segment_floor(config), 1518u);
    config.largest_frame = UINT32_MAX;
    EXPECT_EQ(segment_floor(config), UINT32_MAX);
}

TEST(SizingPolicy, starts_at_the_class_of_the_floor)
{
    const SizingPolicy policy = usual_policy(64);
    EXPECT_EQ(policy.current_class(), kRoom1536);
    EXPECT_EQ(policy.lowest_class(), kRoom1536);
    EXPECT_EQ(policy.floor(), 1518u);
    EXPECT_EQ(policy.estimate(), 0u);
    EXPECT_EQ(policy.class_changes(), 0u);

    SizingConfig short_ring = merging(64);
    short_ring.ring_segments = 16; // floor ceil(65562 / 16) = 4098
    const auto higher = SizingPolicy::make(usual_ladder(), short_ring);
    ASSERT_TRUE(higher.ok());
    EXPECT_EQ(higher->floor(), 4098u);
    EXPECT_EQ(higher->current_class(), kRoom9216);
    EXPECT_EQ(higher->lowest_class(), kRoom9216);
}

TEST(SizingPolicy, never_goes_below_the_floor)
{
    SizingConfig config = merging(64);
    config.one_segment_per_packet = true;
    config.largest_frame = 9018;
    auto policy = SizingPolicy::make(usual_ladder(), config).value();
    feed(policy, 64, 1024, 32);
    EXPECT_EQ(policy.estimate(), 64u);
    EXPECT_EQ(policy.current_class(), kRoom9216);
    EXPECT_EQ(policy.class_changes(), 0u);
}

TEST(SizingPolicy, refuses_a_frame_that_no_single_segment_holds)
{
    SizingConfig config = {
        .largest_frame = 16384, .ring_segments = 256, .one_segment_per_packet = true};
    EXPECT_TRUE(SizingPolicy::make(usual_ladder(), config).ok());
    config.largest_frame = 16385;
    expect_refused(usual_ladder(), config, Errno::OutOfRange, 16385);
}

TEST(SizingPolicy, trouble_040_refuses_a_frame_that_a_full_ring_cannot_hold)
{
    SizingConfig config = {.largest_frame = 32768, .ring_segments = 2};
    EXPECT_TRUE(SizingPolicy::make(usual_ladder(), config).ok());
    config.largest_frame = 32769;
    expect_refused(usual_ladder(), config, Errno::OutOfRange, 32769);
}

TEST(SizingPolicy, refuses_a_frame_of_more_than_256_of_the_largest_segments)
{
    const SegmentLadder ladder = ladder_of({256});
    SizingConfig config = {.largest_frame = 65536, .ring_segments = 1024};
    EXPECT_TRUE(SizingPolicy::make(ladder, config).ok());
    config.largest_frame = 65562;
    expect_refused(ladder, config, Errno::OutOfRange, 65562);
}

TEST(SizingPolicy, min_segment_above_every_class_is_only_a_wish)
{
    SizingConfig config = {
        .largest_frame = 1000, .ring_segments = 256, .one_segment_per_packet = true};
    auto policy = SizingPolicy::make(ladder_of({512, 1024}), config);
    ASSERT_TRUE(policy.ok());
    EXPECT_EQ(policy->floor(), 1518u);
    EXPECT_EQ(policy->current_class(), 1);
    feed(*policy, 64, 512, 32);
    EXPECT_EQ(policy->current_class(), 1);
}

TEST(SizingPolicy, refuses_bad_arguments)
{
    expect_refused(usual_ladder(), merging(0), Errno::InvalidArgument, 0);
    expect_refused(usual_ladder(), merging(48), Errno::InvalidArgument, 48);
    expect_refused(usual_ladder(), merging(2048), Errno::InvalidArgument, 2048);
    expect_refused(usual_ladder(), {.largest_frame = 0, .ring_segments = 256},
                   Errno::InvalidArgument, 0);
    expect_refused(usual_ladder(), {.largest_frame = 1514, .ring_segments = 0},
                   Errno::InvalidArgument, 0);

    const auto empty = SizingPolicy::make(SegmentLadder(), merging(64));
    ASSERT_FALSE(empty.ok());
    EXPECT_EQ(empty.error().code, Errno::InvalidArgument);
}

TEST(SizingPolicy, growing_is_immediate)
{
    SizingPolicy policy = usual_policy(64);
    policy.on_burst(9000, 1);
    EXPECT_EQ(policy.current_class(), kRoom9216);
    EXPECT_EQ(policy.class_changes(), 1u);
}

TEST(SizingPolicy, estimate_above_the_largest_room_takes_the_largest_class)
{
    SizingPolicy policy = usual_policy(64);
    policy.on_burst(65562, 1);
    EXPECT_EQ(policy.estimate(), 65562u);
    EXPECT_EQ(policy.current_class(), kRoom16384);
}

TEST(SizingPolicy, empty_burst_changes_nothing)
{
    SizingPolicy policy = usual_policy(1);
    policy.on_burst(9000, 1);
    policy.on_burst(0, 0);
    EXPECT_EQ(policy.estimate(), 9000u);
    EXPECT_EQ(policy.current_class(), kRoom9216);
    EXPECT_EQ(policy.class_changes(), 1u);
}

TEST(SizingPolicy, shrinking_waits_for_weight_packets_and_takes_the_largest_class_wanted)
{
    SizingPolicy policy = usual_policy(4);
    policy.on_burst(4 * 9000, 4);
    policy.on_burst(4 * 9000, 4);
    ASSERT_EQ(policy.current_class(), kRoom9216);

    // 9000 * 0.75^n: 6750, 5063, 3797 (wants 4096), 2848 (4096), 2136 (4096), 1602 (2048).
    for (int packet = 1; packet <= 5; ++packet) {
        policy.on_burst(0, 1);
        ASSERT_EQ(policy.current_class(), kRoom9216) << packet;
    }
    policy.on_burst(0, 1);
    EXPECT_EQ(policy.estimate(), 1602u);
    EXPECT_EQ(policy.current_class(), kRoom4096);
    EXPECT_EQ(policy.class_changes(), 2u);

    // The next dwell begins from nothing: 1201 (1536) four times lower each, so straight to 1536.
    for (int packet = 1; packet <= 3; ++packet) {
        policy.on_burst(0, 1);
        ASSERT_EQ(policy.current_class(), kRoom4096) << packet;
    }
    policy.on_burst(0, 1);
    EXPECT_EQ(policy.current_class(), kRoom1536);
    EXPECT_EQ(policy.class_changes(), 3u);
}

TEST(SizingPolicy, a_burst_that_wants_the_current_class_restarts_the_dwell)
{
    SizingPolicy policy = usual_policy(4);
    policy.on_burst(4 * 9000, 4);
    for (int packet = 1; packet <= 5; ++packet)
        policy.on_burst(0, 1); // three of four packets of the dwell
    policy.on_burst(9000, 1);  // 3852: still below
    ASSERT_EQ(policy.current_class(), kRoom4096);

    policy.on_burst(9000, 1); // 5139: up again at once
    ASSERT_EQ(policy.current_class(), kRoom9216);
    for (int packet = 1; packet <= 4; ++packet)
        policy.on_burst(0, 1); // 3854, 2891, 2168, 1626
    EXPECT_EQ(policy.current_class(), kRoom4096);

    policy.on_burst(4096 * 64, 64); // in its class
    policy.on_burst(0, 1);          // 3072: wants the current class
    policy.on_burst(0, 3);          // 1296: three packets of dwell
    ASSERT_EQ(policy.current_class(), kRoom4096);
    policy.on_burst(4096, 1); // 1996: the fourth, wants 2048
    EXPECT_EQ(policy.current_class(), kRoom2048);
}

TEST(SizingPolicy, a_broken_dwell_leaves_no_trace_in_the_next)
{
    SizingPolicy policy = usual_policy(4);
    policy.on_burst(4 * 9000, 4);
    policy.on_burst(0, 3);        // 3797: wants 4096
    policy.on_burst(4 * 9000, 4); // 7354: wants the current class
    ASSERT_EQ(policy.current_class(), kRoom9216);
    policy.on_burst(0, 64); // 0: a whole dwell that never wanted more than 1536
    EXPECT_EQ(policy.current_class(), kRoom1536);
    EXPECT_EQ(policy.class_changes(), 2u);
}

TEST(SizingPolicy, a_burst_longer_than_any_dwell_shrinks_at_once)
{
    SizingPolicy policy = usual_policy(1024);
    policy.on_burst(9000, 1);
    policy.on_burst(0, 2); // 3000: two packets of dwell, 4096 wanted
    ASSERT_EQ(policy.current_class(), kRoom9216);
    policy.on_burst(0, UINT32_MAX);
    EXPECT_EQ(policy.estimate(), 0u);
    EXPECT_EQ(policy.current_class(), kRoom4096);
    EXPECT_EQ(policy.class_changes(), 2u);
}

TEST(SizingPolicy, default_has_no_class_to_choose)
{
    SizingPolicy policy;
    policy.on_burst(9000, 1);
    EXPECT_EQ(policy.current_class(), 0);
    EXPECT_EQ(policy.class_changes(), 0u);
}

} // namespace
} // namespace fit
