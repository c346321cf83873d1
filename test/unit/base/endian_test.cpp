#include "base/endian.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

namespace fit {
namespace {

template <class T>
std::array<uint8_t, sizeof(T)> bytes_of(const T& value)
{
    std::array<uint8_t, sizeof(T)> bytes;
    std::memcpy(bytes.data(), &value, sizeof(T));
    return bytes;
}

TEST(Endian, GEN_29_fields_lie_least_significant_byte_first)
{
    EXPECT_EQ(bytes_of(le16(0x0102)), (std::array<uint8_t, 2>{2, 1}));
    EXPECT_EQ(bytes_of(le32(0x0102'0304)), (std::array<uint8_t, 4>{4, 3, 2, 1}));
    EXPECT_EQ(bytes_of(le64(0x0102'0304'0506'0708)),
              (std::array<uint8_t, 8>{8, 7, 6, 5, 4, 3, 2, 1}));
    EXPECT_EQ(bytes_of(le64()), (std::array<uint8_t, 8>{}));
}

TEST(Endian, GEN_29_bytes_read_back_as_the_value)
{
    const std::array<uint8_t, 8> bytes = {0xef, 0xcd, 0xab, 0x89, 0x67, 0x45, 0x23, 0x01};
    le16 a;
    le32 b;
    le64 c;
    std::memcpy(&a, bytes.data(), sizeof(a));
    std::memcpy(&b, bytes.data(), sizeof(b));
    std::memcpy(&c, bytes.data(), sizeof(c));
    EXPECT_EQ(static_cast<uint16_t>(a), 0xcdef);
    EXPECT_EQ(static_cast<uint32_t>(b), 0x89ab'cdefU);
    EXPECT_EQ(static_cast<uint64_t>(c), 0x0123'4567'89ab'cdefU);
}

TEST(Endian, swap_turns_all_bytes_around)
{
    EXPECT_EQ(byte_swap<uint16_t>(0x0102), 0x0201);
    EXPECT_EQ(byte_swap<uint32_t>(0x0102'0304), 0x0403'0201U);
    EXPECT_EQ(byte_swap<uint64_t>(0x0102'0304'0506'0708), 0x0807'0605'0403'0201U);
}

TEST(Endian, to_little_is_its_own_inverse)
{
    EXPECT_EQ(bytes_of(to_little<uint32_t>(0x0102'0304)), (std::array<uint8_t, 4>{4, 3, 2, 1}));
    EXPECT_EQ(to_little(to_little<uint16_t>(0x1234)), 0x1234);
}

} // namespace
} // namespace fit
