// Offsets and values of VIRTIO 1.3, written from its tables and shared with no driver header: a
// wrong offset in the driver then shows up here as wrong bytes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/endian.hpp"

namespace fit::fake {

// Split virtqueue, 2.7: alignment (2.7.1), descriptor (2.7.5), available ring (2.7.6), used ring
// (2.7.8).
inline constexpr size_t kDescriptorAlignment = 16;
inline constexpr size_t kAvailableAlignment = 2;
inline constexpr size_t kUsedAlignment = 4;
inline constexpr size_t kMaximumSplitSize = 32768;

inline constexpr size_t kDescriptorBytes = 16;
inline constexpr size_t kDescriptorAddress = 0;
inline constexpr size_t kDescriptorLength = 8;
inline constexpr size_t kDescriptorFlags = 12;
inline constexpr size_t kDescriptorNext = 14;
inline constexpr uint16_t kFlagNext = 1;
inline constexpr uint16_t kFlagWrite = 2;
inline constexpr uint16_t kFlagIndirect = 4;

inline constexpr size_t kAvailableFlags = 0;
inline constexpr size_t kAvailableIndex = 2;
inline constexpr size_t kAvailableRing = 4;
inline constexpr size_t kAvailableElementBytes = 2;
inline constexpr uint16_t kNoInterrupt = 1;

inline constexpr size_t kUsedFlags = 0;
inline constexpr size_t kUsedIndex = 2;
inline constexpr size_t kUsedRing = 4;
inline constexpr size_t kUsedElementBytes = 8;
inline constexpr size_t kUsedElementId = 0;
inline constexpr size_t kUsedElementLength = 4;
inline constexpr uint16_t kNoNotify = 1;

// One 16-bit word follows each ring: used_event and avail_event (2.7.7, 2.7.10).
inline constexpr size_t kEventWordBytes = 2;

constexpr size_t descriptor_area_bytes(size_t queue_size)
{
    return kDescriptorBytes * queue_size;
}
constexpr size_t driver_area_bytes(size_t queue_size)
{
    return kAvailableRing + kAvailableElementBytes * queue_size + kEventWordBytes;
}
constexpr size_t device_area_bytes(size_t queue_size)
{
    return kUsedRing + kUsedElementBytes * queue_size + kEventWordBytes;
}

// Net header, 5.1.6.
inline constexpr size_t kHeaderFlags = 0;
inline constexpr size_t kHeaderGsoType = 1;
inline constexpr size_t kHeaderHdrLen = 2;
inline constexpr size_t kHeaderGsoSize = 4;
inline constexpr size_t kHeaderCsumStart = 6;
inline constexpr size_t kHeaderCsumOffset = 8;
inline constexpr size_t kHeaderNumBuffers = 10;
inline constexpr size_t kHeaderBytesWithNumBuffers = 12;
inline constexpr std::byte kHeaderReceiveOnlyFlags{6}; // DATA_VALID 2, RSC_INFO 4

// Little-endian fields at byte offsets. Plain accesses: ordered by the index words around them.
template <std::unsigned_integral T>
T load_little(const std::byte* at)
{
    T value = 0;
    for (size_t i = sizeof(T); i-- > 0;)
        value = static_cast<T>((uint64_t{value} << 8) | std::to_integer<uint64_t>(at[i]));
    return value;
}

template <std::unsigned_integral T>
void store_little(std::byte* at, T value)
{
    for (size_t i = 0; i < sizeof(T); ++i)
        at[i] = static_cast<std::byte>(uint64_t{value} >> (8 * i));
}

// The words that both sides poll while the other one writes them. `at` must be aligned to 2 bytes.
inline uint16_t load_word(std::byte* at, std::memory_order order)
{
    return to_little(std::atomic_ref<uint16_t>(*reinterpret_cast<uint16_t*>(at)).load(order));
}

inline void store_word(std::byte* at, uint16_t value, std::memory_order order)
{
    std::atomic_ref<uint16_t>(*reinterpret_cast<uint16_t*>(at)).store(to_little(value), order);
}

} // namespace fit::fake
