#include "sizing/segment_ladder.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace fit {
namespace {

std::vector<SizeClass> with_rooms(std::initializer_list<uint32_t> rooms)
{
    std::vector<SizeClass> classes;
    for (const uint32_t room : rooms)
        classes.push_back({room, room + 320});
    return classes;
}

void expect_refused(const std::vector<SizeClass>& classes, int64_t value)
{
    const auto ladder = SegmentLadder::make(classes);
    ASSERT_FALSE(ladder.ok());
    EXPECT_EQ(ladder.error().code, Errno::InvalidArgument);
    EXPECT_STREQ(ladder.error().thing, "segment ladder");
    EXPECT_TRUE(ladder.error().has_value);
    EXPECT_EQ(ladder.error().value, value);
}

TEST(SegmentLadder, keeps_classes_in_order_with_their_footprints)
{
    const auto ladder = SegmentLadder::make(with_rooms({1536, 2048, 4096, 9216, 16384}));
    ASSERT_TRUE(ladder.ok());
    EXPECT_EQ(ladder->count(), 5);
    EXPECT_EQ(ladder->largest(), 4);
    EXPECT_EQ(ladder->smallest_room(), 1536u);
    EXPECT_EQ(ladder->largest_room(), 16384u);
    EXPECT_EQ((*ladder)[0].footprint, 1856u);
    EXPECT_EQ((*ladder)[3].room, 9216u);
    EXPECT_EQ((*ladder)[4].footprint, 16704u);
}

TEST(SegmentLadder, class_for_is_the_smallest_with_room_at_every_boundary)
{
    const auto ladder = SegmentLadder::make(with_rooms({1536, 2048, 4096, 9216, 16384}));
    ASSERT_TRUE(ladder.ok());
    EXPECT_EQ(ladder->class_for(0), 0);
    EXPECT_EQ(ladder->class_for(1), 0);
    for (uint8_t index = 0; index < ladder->count(); ++index) {
        const uint32_t room = (*ladder)[index].room;
        EXPECT_EQ(ladder->class_for(room - 1), index);
        EXPECT_EQ(ladder->class_for(room), index);
        EXPECT_EQ(ladder->class_for(room + 1), index == 4 ? 4 : index + 1);
    }
    EXPECT_EQ(ladder->class_for(UINT32_MAX), 4);
}

TEST(SegmentLadder, of_equal_rooms_the_first_is_taken)
{
    const auto ladder = SegmentLadder::make(with_rooms({2048, 2048, 4096, 4096}));
    ASSERT_TRUE(ladder.ok());
    EXPECT_EQ(ladder->class_for(2048), 0);
    EXPECT_EQ(ladder->class_for(2049), 2);
    EXPECT_EQ(ladder->class_for(4096), 2);
    EXPECT_EQ(ladder->class_for(4097), 3);
}

TEST(SegmentLadder, holds_one_class_and_eight)
{
    const auto one = SegmentLadder::make(with_rooms({2048}));
    ASSERT_TRUE(one.ok());
    EXPECT_EQ(one->count(), 1);
    EXPECT_EQ(one->class_for(1), 0);
    EXPECT_EQ(one->class_for(9000), 0);

    const auto eight = SegmentLadder::make(with_rooms({1, 2, 3, 4, 5, 6, 7, 8}));
    ASSERT_TRUE(eight.ok());
    EXPECT_EQ(eight->count(), kMaxClasses);
    EXPECT_EQ(eight->class_for(8), 7);
    EXPECT_EQ(eight->largest_room(), 8u);
}

TEST(SegmentLadder, footprint_may_equal_the_room)
{
    const std::vector<SizeClass> classes = {{2048, 2048}};
    EXPECT_TRUE(SegmentLadder::make(classes).ok());
}

TEST(SegmentLadder, refuses_no_class_and_nine)
{
    expect_refused({}, 0);
    expect_refused(with_rooms({1, 2, 3, 4, 5, 6, 7, 8, 9}), 9);
}

TEST(SegmentLadder, refuses_a_class_without_room)
{
    expect_refused({{2048, 2368}, {0, 320}}, 0);
}

TEST(SegmentLadder, trouble_043_refuses_a_footprint_below_the_room)
{
    expect_refused({{1536, 1856}, {2048, 2047}}, 2047);
}

TEST(SegmentLadder, refuses_rooms_that_descend)
{
    expect_refused(with_rooms({1536, 4096, 2048}), 2048);
}

TEST(SegmentLadder, default_has_no_class)
{
    const SegmentLadder ladder;
    EXPECT_EQ(ladder.count(), 0);
    EXPECT_EQ(ladder.largest(), 0);
    EXPECT_EQ(ladder.largest_room(), 0u);
    EXPECT_EQ(ladder.smallest_room(), 0u);
    EXPECT_EQ(ladder.class_for(1514), 0);
}

} // namespace
} // namespace fit
