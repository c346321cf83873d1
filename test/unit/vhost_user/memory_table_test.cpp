#include "transport/vhost_user/memory_table.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace fit::vhost_user {
namespace {

constexpr uint64_t kDriver = 0x7f0000000000;
constexpr uint64_t kDevice = 0x100000000;
constexpr uint64_t kSize = 0x200000;

MemorySegment segment(uint64_t number, int fd, uint64_t fd_offset)
{
    return {kDriver + number * kSize, kDevice + number * kSize, kSize, fd, fd_offset};
}

// Each with a file of its own, so that none can be joined.
std::vector<MemorySegment> separate(int count)
{
    std::vector<MemorySegment> segments;
    for (int i = 0; i < count; ++i)
        segments.push_back(segment(static_cast<uint64_t>(i), 10 + i, 0));
    return segments;
}

struct Fields {
    uint64_t device, size, driver, offset;
    int fd;
    bool operator==(const Fields&) const = default;
};

std::vector<Fields> fields(const MemoryTable& table)
{
    std::vector<Fields> all;
    for (size_t i = 0; i < table.regions().size(); ++i) {
        const MemoryRegion& r = table.regions()[i];
        all.push_back({r.device_address, r.size, r.driver_address, r.mmap_offset, table.fds()[i]});
    }
    return all;
}

TEST(VhostUserMemoryTable, VHU_30_one_region)
{
    const auto table = MemoryTable::build(std::vector{segment(0, 5, 0x1000)});
    ASSERT_TRUE(table.ok());
    EXPECT_EQ(fields(*table), (std::vector<Fields>{{kDevice, kSize, kDriver, 0x1000, 5}}));
}

TEST(VhostUserMemoryTable, VHU_30_payload_bytes)
{
    const auto table = MemoryTable::build(std::vector{segment(0, 5, 0x1000)});
    ASSERT_TRUE(table.ok());
    std::vector<uint8_t> bytes(table->payload().size());
    std::memcpy(bytes.data(), table->payload().data(), bytes.size());
    EXPECT_EQ(bytes, (std::vector<uint8_t>{1, 0,    0,    0, 0, 0,    0, 0, // one region, padding
                                           0, 0,    0,    0, 1, 0,    0, 0, // device address
                                           0, 0,    0x20, 0, 0, 0,    0, 0, // size
                                           0, 0,    0,    0, 0, 0x7f, 0, 0, // driver address
                                           0, 0x10, 0,    0, 0, 0,    0, 0}));
}

TEST(VhostUserMemoryTable, VHU_30_eight_regions_fit)
{
    const auto table = MemoryTable::build(separate(8));
    ASSERT_TRUE(table.ok());
    EXPECT_EQ(table->regions().size(), 8u);
    EXPECT_EQ(table->payload().size(), 8u + 8 * 32);
    for (size_t i = 0; i < 8; ++i)
        EXPECT_EQ(table->fds()[i], 10 + static_cast<int>(i));
}

TEST(VhostUserMemoryTable, trouble_089_nine_regions_do_not)
{
    for (const int count : {9, 64}) {
        const auto table = MemoryTable::build(separate(count));
        ASSERT_FALSE(table.ok());
        EXPECT_EQ(table.error().code, Errno::NotSupported);
        EXPECT_STREQ(table.error().thing, "SET_MEM_TABLE");
        EXPECT_NE(std::string(table.error().why).find("--single-file-segments"), std::string::npos);
        EXPECT_EQ(table.error().value, count);
    }
}

TEST(VhostUserMemoryTable, neighbours_of_one_file_are_joined_whatever_their_order)
{
    std::vector<MemorySegment> segments;
    for (uint64_t i = 0; i < 20; ++i)
        segments.push_back(segment(19 - i, 5, (19 - i) * kSize));
    const auto table = MemoryTable::build(segments);
    ASSERT_TRUE(table.ok());
    EXPECT_EQ(fields(*table), (std::vector<Fields>{{kDevice, 20 * kSize, kDriver, 0, 5}}));
}

TEST(VhostUserMemoryTable, VHU_30_fds_follow_the_sorted_regions)
{
    const auto table = MemoryTable::build(std::vector{segment(4, 7, 0), segment(0, 9, 0)});
    ASSERT_TRUE(table.ok());
    EXPECT_EQ(fields(*table),
              (std::vector<Fields>{{kDevice, kSize, kDriver, 0, 9},
                                   {kDevice + 4 * kSize, kSize, kDriver + 4 * kSize, 0, 7}}));
}

TEST(VhostUserMemoryTable, segments_that_differ_in_one_respect_stay_apart)
{
    const MemorySegment first = segment(0, 5, 0);
    const MemorySegment good = segment(1, 5, kSize);
    MemorySegment other_fd = good;
    other_fd.fd = 6;
    MemorySegment driver_gap = good;
    driver_gap.driver_address += 0x1000;
    MemorySegment device_gap = good;
    device_gap.device_address += 0x1000;
    MemorySegment file_gap = good;
    file_gap.fd_offset += 0x1000;

    const auto joined = MemoryTable::build(std::vector{first, good});
    ASSERT_TRUE(joined.ok());
    EXPECT_EQ(joined->regions().size(), 1u);
    for (const MemorySegment& second : {other_fd, driver_gap, device_gap, file_gap}) {
        const auto table = MemoryTable::build(std::vector{first, second});
        ASSERT_TRUE(table.ok());
        EXPECT_EQ(table->regions().size(), 2u);
    }
}

void expect_refused(const std::vector<MemorySegment>& segments, Errno code, const char* why)
{
    const auto table = MemoryTable::build(segments);
    ASSERT_FALSE(table.ok());
    EXPECT_EQ(table.error().code, code);
    EXPECT_STREQ(table.error().thing, "SET_MEM_TABLE");
    EXPECT_EQ(std::string(table.error().why).substr(0, std::strlen(why)), why);
}

TEST(VhostUserMemoryTable, VHU_31_anonymous_memory_is_refused)
{
    expect_refused({segment(0, 5, 0), segment(1, -1, 0)}, Errno::NotSupported,
                   "memory that cannot be shared with the back end");
}

TEST(VhostUserMemoryTable, VHU_32_overlaps_are_refused)
{
    MemorySegment driver = segment(1, 6, 0);
    driver.driver_address -= 1;
    expect_refused({segment(0, 5, 0), driver}, Errno::InvalidArgument,
                   "memory segments overlap in this process");
    MemorySegment device = segment(1, 6, 0);
    device.device_address -= 1;
    expect_refused({segment(0, 5, 0), device}, Errno::InvalidArgument,
                   "memory segments overlap in device addresses");
}

TEST(VhostUserMemoryTable, senseless_segments_are_refused)
{
    expect_refused({}, Errno::InvalidArgument, "there is no memory to share");
    MemorySegment empty = segment(0, 5, 0);
    empty.length = 0;
    expect_refused({empty}, Errno::InvalidArgument, "a memory segment is empty");
    for (uint64_t MemorySegment::*field :
         {&MemorySegment::driver_address, &MemorySegment::device_address,
          &MemorySegment::fd_offset}) {
        MemorySegment beyond = segment(0, 5, 0);
        beyond.*field = UINT64_MAX - kSize + 2;
        expect_refused({beyond}, Errno::InvalidArgument,
                       "a memory segment passes the end of the address space");
    }
}

TEST(VhostUserMemoryTable, VHU_33_contains_a_range_of_one_region_only)
{
    const auto table = MemoryTable::build(separate(2));
    ASSERT_TRUE(table.ok());
    EXPECT_TRUE(table->contains(kDriver, kSize));
    EXPECT_TRUE(table->contains(kDriver + 1, kSize - 1));
    EXPECT_TRUE(table->contains(kDriver + kSize, kSize));
    EXPECT_FALSE(table->contains(kDriver - 1, 1));
    EXPECT_FALSE(table->contains(kDriver + 1, kSize));
    EXPECT_FALSE(table->contains(kDriver + kSize - 1, 2));
    EXPECT_FALSE(table->contains(kDriver + 2 * kSize, 1));
    EXPECT_FALSE(table->contains(kDriver + 1, UINT64_MAX));
    EXPECT_FALSE(table->contains(kDevice, 1));
    EXPECT_FALSE(MemoryTable().contains(0, 0));
}

} // namespace
} // namespace fit::vhost_user
