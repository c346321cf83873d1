#include "base/counter.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace fit {
namespace {

TEST(Counter, adds_exactly)
{
    Counter counter;
    EXPECT_EQ(counter.value(), 0U);
    counter.add(3);
    counter.add(0);
    counter.add(uint64_t{1} << 40);
    EXPECT_EQ(counter.value(), (uint64_t{1} << 40) + 3);
}

// With a thread sanitizer: reading while the owner adds is no race. The value seen never goes back.
TEST(Counter, trouble_138_may_be_read_while_its_owner_adds)
{
    constexpr uint64_t kAdds = 100'000;
    Counter counter;
    std::thread owner([&] {
        for (uint64_t i = 0; i < kAdds; ++i)
            counter.add(2);
    });
    uint64_t before = 0;
    bool went_back = false;
    for (uint64_t i = 0; i < kAdds; ++i) {
        const uint64_t now = counter.value();
        went_back = went_back || now < before;
        before = now;
    }
    owner.join();
    EXPECT_FALSE(went_back);
    EXPECT_EQ(counter.value(), 2 * kAdds);
}

TEST(Lowest, keeps_the_smallest_value_since_restart)
{
    Lowest lowest;
    EXPECT_EQ(lowest.value(256), 256U) << "nothing noted";
    lowest.note(300);
    EXPECT_EQ(lowest.value(256), 256U);
    for (uint32_t value : {7U, 3U, 9U})
        lowest.note(value);
    EXPECT_EQ(lowest.value(256), 3U);
    lowest.restart();
    EXPECT_EQ(lowest.value(256), 256U);
    lowest.note(0);
    EXPECT_EQ(lowest.value(256), 0U);
}

} // namespace
} // namespace fit
