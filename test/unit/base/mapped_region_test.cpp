#include "base/mapped_region.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <utility>

#include "base/unique_fd.hpp"

namespace fit {
namespace {

const auto kPage = static_cast<size_t>(::sysconf(_SC_PAGESIZE));

UniqueFd file_of(size_t pages)
{
    UniqueFd fd(::memfd_create("mapped_region_test", MFD_CLOEXEC));
    EXPECT_TRUE(fd.valid());
    EXPECT_EQ(::ftruncate(fd.get(), static_cast<off_t>(pages * kPage)), 0);
    return fd;
}

bool mapped_now(std::byte* page)
{
    return ::msync(page, kPage, MS_ASYNC) == 0;
}

TEST(MappedRegion, maps_the_file_from_the_offset_and_shares_it)
{
    const UniqueFd fd = file_of(3);
    ASSERT_EQ(::pwrite(fd.get(), "xyz", 3, static_cast<off_t>(kPage)), 3);
    const Result<MappedRegion> region = MappedRegion::map(fd.get(), kPage, 2 * kPage);
    ASSERT_TRUE(region.ok());
    ASSERT_EQ(region->bytes().size(), 2 * kPage);
    EXPECT_EQ(region->bytes()[0], std::byte{'x'});
    EXPECT_EQ(region->bytes()[2], std::byte{'z'});

    region->bytes()[2 * kPage - 1] = std::byte{0x5a};
    uint8_t last = 0;
    ASSERT_EQ(::pread(fd.get(), &last, 1, static_cast<off_t>(3 * kPage - 1)), 1);
    EXPECT_EQ(last, 0x5a);
}

TEST(MappedRegion, outlives_the_descriptor_and_ends_with_its_owner)
{
    std::byte* page = nullptr;
    {
        UniqueFd fd = file_of(1);
        const Result<MappedRegion> region = MappedRegion::map(fd.get(), 0, kPage);
        ASSERT_TRUE(region.ok());
        fd.reset();
        page = region->bytes().data();
        page[0] = std::byte{1};
        EXPECT_TRUE(mapped_now(page));
    }
    EXPECT_FALSE(mapped_now(page));
    EXPECT_EQ(errno, ENOMEM);
}

TEST(MappedRegion, moving_leaves_one_owner)
{
    const UniqueFd fd = file_of(1);
    Result<MappedRegion> first = MappedRegion::map(fd.get(), 0, kPage);
    Result<MappedRegion> second = MappedRegion::map(fd.get(), 0, kPage);
    ASSERT_TRUE(first.ok() && second.ok());
    std::byte* const kept = first->bytes().data();
    std::byte* const dropped = second->bytes().data();

    MappedRegion owner = std::move(*first);
    EXPECT_EQ(owner.bytes().data(), kept);
    EXPECT_TRUE(first->bytes().empty());
    *second = std::move(owner);
    EXPECT_FALSE(mapped_now(dropped));
    EXPECT_TRUE(mapped_now(kept));
    EXPECT_EQ(second->bytes().data(), kept);
    EXPECT_EQ(second->bytes().size(), kPage);

    MappedRegion& same = *second;
    *second = std::move(same);
    EXPECT_TRUE(mapped_now(kept));
    *second = MappedRegion();
    EXPECT_FALSE(mapped_now(kept));
}

TEST(MappedRegion, refusals_carry_the_errno_of_mmap)
{
    const UniqueFd fd = file_of(1);
    EXPECT_EQ(MappedRegion::map(fd.get(), 0, 0).error().code, Errno::InvalidArgument);
    EXPECT_EQ(MappedRegion::map(fd.get(), 1, kPage).error().code, Errno::InvalidArgument);
    EXPECT_EQ(MappedRegion::map(-1, 0, kPage).error().negative(), -EBADF);

    const std::string path = "/proc/self/fd/" + std::to_string(fd.get());
    const UniqueFd read_only(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    ASSERT_TRUE(read_only.valid());
    const Result<MappedRegion> refused = MappedRegion::map(read_only.get(), 0, kPage);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, Errno::PermissionDenied);
    EXPECT_EQ(refused.error().value, static_cast<int64_t>(kPage));
}

} // namespace
} // namespace fit
