// The split virtqueue as it lies in memory (VIRTIO 1.3, 2.7; conformance table W6).
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/endian.hpp"

namespace fit {

// 2.7.5
struct SplitDescriptor {
    le64 address;
    le32 length; // bytes
    le16 flags;
    le16 next;
};
static_assert(sizeof(SplitDescriptor) == 16 && offsetof(SplitDescriptor, length) == 8 &&
              offsetof(SplitDescriptor, flags) == 12 && offsetof(SplitDescriptor, next) == 14);

constexpr uint16_t kAvailNoInterrupt = 1; // avail.flags, 2.7.7
constexpr uint16_t kUsedNoNotify = 1;     // used.flags, 2.7.10

// Words that both sides use while the queue is live are plain integers here: virtq/order.hpp reads
// and writes them. 2.7.6: the head of the available ring; the u16 entries follow it.
struct SplitAvail {
    uint16_t flags;
    uint16_t index;
};

// 2.7.8: the head of the used ring; the elements follow it.
struct SplitUsedElement {
    uint32_t id;
    uint32_t length;
};
struct SplitUsed {
    uint16_t flags;
    uint16_t index;
};
static_assert(sizeof(SplitAvail) == 4 && sizeof(SplitUsed) == 4 && sizeof(SplitUsedElement) == 8);

// Where the three areas lie in one block, each aligned at least as 2.7.1 asks and on a cache line
// of its own, because the device writes the last one while the driver writes the other two.
struct SplitLayout {
    uint16_t size; // entries, a power of two up to 32768

    static constexpr uint32_t kMaxSize = 32768;
    static constexpr size_t kLine = 64;

    static constexpr bool valid_size(uint32_t n)
    {
        return n >= 1 && n <= kMaxSize && (n & (n - 1)) == 0;
    }

    [[nodiscard]] constexpr size_t driver_area() const { return round_up(size_t{16} * size); }
    [[nodiscard]] constexpr size_t device_area() const
    {
        return driver_area() + round_up(6 + size_t{2} * size);
    }
    // Bytes of the whole block.
    [[nodiscard]] constexpr size_t bytes() const
    {
        return device_area() + round_up(6 + size_t{8} * size);
    }

  private:
    static constexpr size_t round_up(size_t n) { return (n + kLine - 1) / kLine * kLine; }
};

} // namespace fit
