// Little-endian integers as they lie in memory shared with a device (VIRTIO 1.3, 1.4: all fields
// little-endian).
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>

namespace fit {

template <std::unsigned_integral T>
constexpr T byte_swap(T value)
{
    if constexpr (sizeof(T) == 2)
        return __builtin_bswap16(value);
    else if constexpr (sizeof(T) == 4)
        return __builtin_bswap32(value);
    else
        return __builtin_bswap64(value);
}

// Host value <-> little-endian representation; the same operation both ways.
template <std::unsigned_integral T>
constexpr T to_little(T value)
{
    if constexpr (std::endian::native == std::endian::little)
        return value;
    else
        return byte_swap(value);
}

// A field stored little-endian. Not atomic: words that both sides write or poll go through
// virtq/order.hpp.
template <std::unsigned_integral T>
class Little {
  public:
    constexpr Little() = default;
    constexpr Little(T value) : raw_(to_little(value)) {}    // NOLINT: implicit by design
    constexpr operator T() const { return to_little(raw_); } // NOLINT: implicit by design

  private:
    T raw_ = 0;
};

using le16 = Little<uint16_t>;
using le32 = Little<uint32_t>;
using le64 = Little<uint64_t>;

static_assert(sizeof(le16) == 2 && sizeof(le32) == 4 && sizeof(le64) == 8);

} // namespace fit
