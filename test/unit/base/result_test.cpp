#include "base/result.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace fit {
namespace {

constexpr Error kRefused(Errno::ConnectionRefused, "connect", "start the back end first", 7);

Result<std::string> text(bool good)
{
    if (good)
        return std::string("value");
    return kRefused;
}

TEST(Result, holds_a_value)
{
    Result<std::string> r = text(true);
    EXPECT_TRUE(r.ok());
    EXPECT_TRUE(static_cast<bool>(r));
    EXPECT_EQ(r.value(), "value");
    EXPECT_EQ(*r, "value");
    EXPECT_EQ(r->size(), 5U);
    r->push_back('s');
    EXPECT_EQ(std::as_const(r).value(), "values");
    EXPECT_EQ(*std::as_const(r), "values");
    EXPECT_EQ(std::as_const(r)->size(), 6U);
}

TEST(Result, holds_an_error_with_all_its_parts)
{
    const Result<std::string> r = text(false);
    EXPECT_FALSE(r.ok());
    EXPECT_FALSE(static_cast<bool>(r));
    EXPECT_EQ(r.error().code, Errno::ConnectionRefused);
    EXPECT_STREQ(r.error().thing, "connect");
    EXPECT_STREQ(r.error().why, "start the back end first");
    EXPECT_EQ(r.error().value, 7);
    EXPECT_TRUE(r.error().has_value);
    EXPECT_EQ(r.error().negative(), -ECONNREFUSED);
}

TEST(Result, error_without_a_number_says_so)
{
    EXPECT_FALSE(Error(Errno::Io, "", "").has_value);
    EXPECT_TRUE(Error(Errno::Io, "", "", 0).has_value);
}

TEST(Result, moves_a_value_that_cannot_be_copied)
{
    Result<std::unique_ptr<int>> r(std::make_unique<int>(5));
    const std::unique_ptr<int> taken = std::move(r).value();
    EXPECT_EQ(*taken, 5);
}

TEST(Result, of_an_integer_keeps_zero_apart_from_failure)
{
    EXPECT_TRUE(Result<int>(0).ok());
    EXPECT_EQ(Result<int>(0).value(), 0);
}

TEST(Result, of_void)
{
    const Result<void> good;
    EXPECT_TRUE(good.ok());
    EXPECT_TRUE(static_cast<bool>(good));
    const Result<void> bad = kRefused;
    EXPECT_FALSE(bad.ok());
    EXPECT_FALSE(static_cast<bool>(bad));
    EXPECT_EQ(bad.error().code, Errno::ConnectionRefused);
}

TEST(ResultDeathTest, broken_preconditions_end_the_process)
{
    EXPECT_DEATH((void)text(false).value(), "");
    EXPECT_DEATH((void)text(true).error(), "");
    EXPECT_DEATH((void)Result<void>().error(), "");
}

} // namespace
} // namespace fit
