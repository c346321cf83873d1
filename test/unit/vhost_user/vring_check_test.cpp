#include "transport/vhost_user/vring_check.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace fit::vhost_user {
namespace {

constexpr uint64_t kBase = 0x7f0000000000;
constexpr uint64_t kLength = 0x100000;

MemoryTable table()
{
    auto built = MemoryTable::build(std::vector<MemorySegment>{{kBase, 0x1000, kLength, 3, 0}});
    return built.value();
}

QueueAddresses ring(uint16_t size)
{
    return {kBase, kBase + 0x90000, kBase + 0xb0000, size};
}

Errno code_of(const QueueAddresses& queue, bool packed)
{
    const auto checked = check_vring(queue, packed, table());
    return checked ? Errno{} : checked.error().code;
}

TEST(VhostUserVringCheck, VHU_17_sizes)
{
    for (const uint16_t size : {1, 2, 256, 32768}) {
        EXPECT_EQ(code_of(ring(size), true), Errno{}) << size;
        EXPECT_EQ(code_of(ring(size), false), Errno{}) << size;
    }
    for (const uint16_t size : {3, 100, 32767}) {
        EXPECT_EQ(code_of(ring(size), true), Errno{}) << size;
        EXPECT_EQ(code_of(ring(size), false), Errno::InvalidArgument) << size;
    }
    for (const uint16_t size : {0, 32769, 65535}) {
        EXPECT_EQ(code_of(ring(size), true), Errno::InvalidArgument) << size;
        EXPECT_EQ(code_of(ring(size), false), Errno::InvalidArgument) << size;
    }
}

TEST(VhostUserVringCheck, VHU_18_alignment)
{
    const auto with = [](uint64_t QueueAddresses::*area, uint64_t offset) {
        QueueAddresses queue = ring(64);
        queue.*area += offset;
        return queue;
    };
    // Split 16, 2, 4; packed 16, 4, 4.
    EXPECT_EQ(code_of(with(&QueueAddresses::descriptor_area, 8), false), Errno::InvalidArgument);
    EXPECT_EQ(code_of(with(&QueueAddresses::descriptor_area, 16), false), Errno{});
    EXPECT_EQ(code_of(with(&QueueAddresses::driver_area, 1), false), Errno::InvalidArgument);
    EXPECT_EQ(code_of(with(&QueueAddresses::driver_area, 2), false), Errno{});
    EXPECT_EQ(code_of(with(&QueueAddresses::device_area, 2), false), Errno::InvalidArgument);
    EXPECT_EQ(code_of(with(&QueueAddresses::device_area, 4), false), Errno{});
    EXPECT_EQ(code_of(with(&QueueAddresses::driver_area, 2), true), Errno::InvalidArgument);
    EXPECT_EQ(code_of(with(&QueueAddresses::driver_area, 4), true), Errno{});
    EXPECT_EQ(code_of(with(&QueueAddresses::device_area, 2), true), Errno::InvalidArgument);
}

TEST(VhostUserVringCheck, VHU_33_each_area_ends_inside_the_region)
{
    const uint64_t end = kBase + kLength;
    struct Case {
        uint64_t QueueAddresses::*area;
        bool packed;
        uint64_t bytes; // rounded up to the alignment
    };
    // 64 entries: descriptors 1024; available ring 6 + 128; used ring 6 + 512; packed event
    // words 4.
    for (const Case& c : {Case{&QueueAddresses::descriptor_area, false, 1024},
                          Case{&QueueAddresses::driver_area, false, 134},
                          Case{&QueueAddresses::device_area, false, 520},
                          Case{&QueueAddresses::descriptor_area, true, 1024},
                          Case{&QueueAddresses::driver_area, true, 4},
                          Case{&QueueAddresses::device_area, true, 4}}) {
        QueueAddresses queue = ring(64);
        queue.*c.area = end - c.bytes;
        EXPECT_EQ(code_of(queue, c.packed), Errno{});
        queue.*c.area = end - c.bytes + 16;
        if (c.bytes % 16 != 0)
            queue.*c.area = end - c.bytes + 4;
        const auto checked = check_vring(queue, c.packed, table());
        ASSERT_FALSE(checked.ok());
        EXPECT_EQ(checked.error().code, Errno::InvalidArgument);
        EXPECT_EQ(checked.error().value, static_cast<int64_t>(queue.*c.area));
        queue.*c.area = kBase - 16;
        EXPECT_EQ(code_of(queue, c.packed), Errno::InvalidArgument);
    }
}

} // namespace
} // namespace fit::vhost_user
