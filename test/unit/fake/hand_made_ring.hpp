// A split ring of four entries whose bytes are set one by one, as the tables of VIRTIO 1.3, 2.7 lay
// them out.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "fake/split_device.hpp"

namespace fit::fake {

using Bytes = std::vector<uint8_t>;

inline Bytes to_bytes(std::span<const std::byte> bytes)
{
    Bytes copy;
    for (std::byte b : bytes)
        copy.push_back(std::to_integer<uint8_t>(b));
    return copy;
}

struct HandMadeRing {
    static constexpr uint16_t kSize = 4;
    // Byte i of the buffer has device address 0xa1a2a3a4a5a6a700 + i: all eight bytes differ.
    static constexpr uint64_t kBuffer = 0xa1a2'a3a4'a5a6'a700;
    static constexpr size_t kBufferBytes = 256;

    alignas(16) std::array<uint8_t, 64> descriptor{}; // 16 * 4
    alignas(2) std::array<uint8_t, 14> driver{};      // 6 + 2 * 4
    alignas(4) std::array<uint8_t, 38> device{};      // 6 + 8 * 4
    std::array<uint8_t, kBufferBytes> buffer{};
    DeviceMemory memory;

    HandMadeRing() { memory.add_region(bytes(buffer), kBuffer, buffer.size()); }

    template <size_t N>
    static std::byte* bytes(std::array<uint8_t, N>& area)
    {
        return reinterpret_cast<std::byte*>(area.data());
    }
    SplitAreas areas() { return {bytes(descriptor), bytes(driver), bytes(device), kSize}; }

    template <size_t N>
    static void put(std::array<uint8_t, N>& area, size_t at, std::initializer_list<uint8_t> values)
    {
        std::copy(values.begin(), values.end(), area.begin() + static_cast<std::ptrdiff_t>(at));
    }

    // Slot 0: one writable descriptor, 32 bytes at the start of the buffer; available element 0
    // names it; index 1.
    void make_one_writable_available()
    {
        put(descriptor, 0,
            {0x00, 0xa7, 0xa6, 0xa5, 0xa4, 0xa3, 0xa2, 0xa1, 0x20, 0x00, 0x00, 0x00, 0x02, 0x00,
             0x00, 0x00});
        put(driver, 2, {0x01, 0x00, 0x00, 0x00});
    }
};

} // namespace fit::fake
