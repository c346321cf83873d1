// The packed virtqueue as it lies in memory (VIRTIO 1.3, 2.8; conformance table W7).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/endian.hpp"

namespace fit {

// 2.8.13. Words that both sides use while the queue is live are plain integers: virtq/order.hpp
// reads and writes them. The second half is written as one word.
struct PackedDescriptor {
    le64 address;
    uint32_t length; // bytes
    uint16_t id;
    uint16_t flags;
};
static_assert(sizeof(PackedDescriptor) == 16 && offsetof(PackedDescriptor, length) == 8 &&
              offsetof(PackedDescriptor, id) == 12 && offsetof(PackedDescriptor, flags) == 14);

// 2.8.1: what says whose a descriptor is, beside the flags of virtq/ring.hpp.
constexpr uint16_t kPackedAvail = 1 << 7;
constexpr uint16_t kPackedUsed = 1 << 15;

// 2.8.14, both event suppression structures: offset and wrap counter in the first two bytes, flags
// in the last two. Read and written as one word.
enum class PackedEvent : uint16_t { Enable = 0, Disable = 1, Descriptor = 2 };

// Where the three areas lie in one block, each on a cache line of its own, because the device
// writes the last one while the driver writes the second one. More than 2.8.10.1 asks.
struct PackedLayout {
    uint16_t size; // entries, 1..32768, any number

    static constexpr uint32_t kMaxSize = 32768;
    static constexpr size_t kLine = 64;

    static constexpr bool valid_size(uint32_t n) { return n >= 1 && n <= kMaxSize; }

    [[nodiscard]] constexpr size_t driver_area() const
    {
        return (size_t{16} * size + kLine - 1) / kLine * kLine;
    }
    [[nodiscard]] constexpr size_t device_area() const { return driver_area() + kLine; }
    // Bytes of the whole block.
    [[nodiscard]] constexpr size_t bytes() const { return device_area() + kLine; }
};

} // namespace fit
