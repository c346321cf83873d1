// How many mbufs a pool needs, and which single pool suits a driver that takes only one. Pure
// arithmetic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace fit::testpmd {

// Objects that an lcore keeps to itself; small, because a pool's unused mbufs cost memory and
// cache.
inline constexpr uint32_t kPoolCache = 128;

struct PoolDemand {
    uint32_t queues = 0;      // over all ports
    uint32_t descriptors = 0; // of one queue, that can hold mbufs of this pool
    uint32_t held = 0;        // mbufs of one queue outside of rings: a burst on its way
    uint32_t lcores = 0;      // that allocate or free
};

// The count with which no queue of the demand can run dry.
[[nodiscard]] uint32_t mbufs_for(const PoolDemand& demand);

// The cache size for a pool of `mbufs`: kPoolCache, less for a small pool, 0 for a tiny one.
[[nodiscard]] uint32_t cache_for(uint32_t mbufs);

// Mbufs of `room` bytes that a frame of `length` bytes takes. room > 0.
[[nodiscard]] uint32_t segments_of(uint32_t length, uint32_t room);

// The longest frame to reckon with: a virtual peer does not stop at the MTU. Bytes.
[[nodiscard]] uint32_t largest_frame(uint32_t mtu_frame, uint16_t largest_room);

// Index of the smallest room that holds `frame` bytes, or of the largest room. `rooms` ascend, not
// empty.
[[nodiscard]] size_t single_class(std::span<const uint16_t> rooms, uint32_t frame);

} // namespace fit::testpmd
