#include "base/flags.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace fit {
namespace {

enum class Bit : uint8_t {
    None = 0,
    First = 0x01,
    Second = 0x02,
    Both = 0x03,
    Top = 0x80,
};
using Set = Flags<Bit>;

// On raw bits, never through has() alone: a mask that is shifted twice would answer its own
// question.
TEST(Flags, bits_are_the_masks_themselves)
{
    EXPECT_EQ(Set().bits(), 0x00);
    EXPECT_EQ(Set(Bit::First).bits(), 0x01);
    EXPECT_EQ(Set(Bit::Top).bits(), 0x80);
    EXPECT_EQ((Set(Bit::First) | Bit::Top).bits(), 0x81);
    EXPECT_EQ((Set(uint8_t{0x83}) & Bit::Both).bits(), 0x03);
    Set set = Bit::Second;
    set |= Bit::Top;
    EXPECT_EQ(set.bits(), 0x82);
}

TEST(Flags, has_asks_for_all_bits_of_the_flag)
{
    const Set set(uint8_t{0x81});
    EXPECT_TRUE(set.has(Bit::First));
    EXPECT_TRUE(set.has(Bit::Top));
    EXPECT_FALSE(set.has(Bit::Second));
    EXPECT_FALSE(set.has(Bit::Both));
    EXPECT_TRUE(Set(uint8_t{0x03}).has(Bit::Both));
    EXPECT_TRUE(set.has(Bit::None));
}

TEST(Flags, empty_and_equal)
{
    EXPECT_TRUE(Set().empty());
    EXPECT_TRUE(Set(Bit::None).empty());
    EXPECT_FALSE(Set(Bit::Top).empty());
    EXPECT_EQ(Set(Bit::First) | Bit::Second, Set(Bit::Both));
    EXPECT_NE(Set(Bit::First), Set(Bit::Both));
}

} // namespace
} // namespace fit
