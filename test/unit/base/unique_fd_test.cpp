#include "base/unique_fd.hpp"

#include <fcntl.h>
#include <sys/eventfd.h>

#include <gtest/gtest.h>

#include <cerrno>
#include <utility>

namespace fit {
namespace {

bool open_now(int fd)
{
    return ::fcntl(fd, F_GETFD) != -1;
}

int new_fd()
{
    const int fd = ::eventfd(0, EFD_CLOEXEC);
    EXPECT_GE(fd, 0);
    return fd;
}

TEST(UniqueFd, starts_without_a_descriptor)
{
    const UniqueFd fd;
    EXPECT_EQ(fd.get(), -1);
    EXPECT_FALSE(fd.valid());
    EXPECT_TRUE(UniqueFd(0).release() == 0); // 0 is a descriptor like any other
}

TEST(UniqueFd, closes_at_the_end_of_its_life)
{
    const int raw = new_fd();
    {
        const UniqueFd fd(raw);
        EXPECT_TRUE(fd.valid());
        EXPECT_EQ(fd.get(), raw);
        EXPECT_TRUE(open_now(raw));
    }
    EXPECT_FALSE(open_now(raw));
    EXPECT_EQ(errno, EBADF);
}

TEST(UniqueFd, release_gives_the_descriptor_away_open)
{
    const int raw = new_fd();
    {
        UniqueFd fd(raw);
        EXPECT_EQ(fd.release(), raw);
        EXPECT_FALSE(fd.valid());
    }
    EXPECT_TRUE(open_now(raw));
    EXPECT_EQ(::close(raw), 0);
}

TEST(UniqueFd, reset_closes_the_old_one_and_takes_the_new_one)
{
    const int first = new_fd();
    const int second = new_fd();
    UniqueFd fd(first);
    fd.reset(second);
    EXPECT_FALSE(open_now(first));
    EXPECT_TRUE(open_now(second));
    EXPECT_EQ(fd.get(), second);
    fd.reset();
    EXPECT_FALSE(open_now(second));
    EXPECT_EQ(fd.get(), -1);
}

TEST(UniqueFd, moving_leaves_one_owner)
{
    const int first = new_fd();
    const int second = new_fd();
    UniqueFd a(first);
    UniqueFd b(std::move(a));
    EXPECT_EQ(b.get(), first);
    EXPECT_FALSE(a.valid()); // NOLINT: the state after the move is what is tested

    UniqueFd c(second);
    c = std::move(b);
    EXPECT_FALSE(open_now(second));
    EXPECT_TRUE(open_now(first));
    EXPECT_EQ(c.get(), first);
    EXPECT_FALSE(b.valid()); // NOLINT

    UniqueFd& same = c;
    c = std::move(same);
    EXPECT_EQ(c.get(), first);
    EXPECT_TRUE(open_now(first));
}

} // namespace
} // namespace fit
