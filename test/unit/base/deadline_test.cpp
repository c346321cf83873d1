#include "base/deadline.hpp"

#include <gtest/gtest.h>

namespace fit {
namespace {

using namespace std::chrono_literals;

TEST(Deadline, of_now_and_of_the_past_has_passed)
{
    for (const auto span : {0ms, -1ms, -1'000'000ms}) {
        const Deadline deadline = Deadline::after(span);
        EXPECT_TRUE(deadline.passed());
        EXPECT_EQ(deadline.left_ms(), 0);
    }
}

// Spans so long that no run of this test reaches their end; what is left is cut to an hour.
TEST(Deadline, far_ahead_has_not_passed_and_fits_the_argument_of_poll)
{
    for (const auto span :
         {std::chrono::milliseconds(48h), std::chrono::milliseconds(24h * 365 * 200)}) {
        const Deadline deadline = Deadline::after(span);
        EXPECT_FALSE(deadline.passed());
        EXPECT_EQ(deadline.left_ms(), 3'600'000);
    }
}

} // namespace
} // namespace fit
