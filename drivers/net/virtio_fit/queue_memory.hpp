// The memory of a queue beside its state: the ring, which the device sees, and what is private to
// the driver.
#pragma once

#include <cstddef>
#include <cstdint>

#include <rte_memzone.h>

#include "port.hpp"

namespace fit {

// rx_free_thresh and tx_free_thresh where the application names none.
constexpr uint16_t kDefaultFreeThreshold = 32;

struct QueueMemory {
    const rte_memzone* rings = nullptr; // shared with the device
    void* priv = nullptr;
    SplitLayout layout{};

    // Ring memory, `extra` shared bytes behind it, and `slot_bytes` of private memory for each
    // entry. `kind` is "rx" or "tx". 0 or -ENOMEM, which is logged.
    [[nodiscard]] int allocate(const Port& port, const char* kind, uint16_t index, unsigned socket,
                               size_t extra, size_t slot_bytes);
    void free();

    [[nodiscard]] std::byte* ring() const { return static_cast<std::byte*>(rings->addr); }
    [[nodiscard]] std::byte* ring_private() const { return static_cast<std::byte*>(priv); }
    [[nodiscard]] std::byte* slots() const { return ring_private() + slots_offset(); }
    // For the transport.
    [[nodiscard]] QueueAddresses addresses() const;

  private:
    [[nodiscard]] size_t slots_offset() const;
};

// The application's count of descriptors, clamped to the ring with a warning; 0 stands for the
// whole ring.
uint16_t clamp_descriptors(const Port& port, const char* kind, uint16_t index, uint16_t wanted);

// A free threshold: at most a quarter of the limit, or a small ring would run dry; 0 stands for the
// default.
uint16_t free_threshold(uint16_t wanted, uint16_t limit);

} // namespace fit
