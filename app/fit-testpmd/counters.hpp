// Counters of one queue pair: written by the one lcore that polls it, read by the main lcore at any
// time.
#pragma once

#include <atomic>
#include <cstdint>

namespace fit::testpmd {

using Counter = std::atomic<uint64_t>;

// Single writer: a load and a store are enough, no locked addition in the hot loop.
inline void add(Counter& counter, uint64_t n)
{
    counter.store(counter.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
}

inline uint64_t get(const Counter& counter)
{
    return counter.load(std::memory_order_relaxed);
}

struct alignas(64) QueueCounters {
    Counter rx_packets{0};
    Counter rx_bytes{0};
    Counter rx_segments{0};
    Counter tx_packets{0};
    Counter tx_bytes{0};
    Counter tx_segments{0};
    Counter tx_dropped{0};
    Counter tx_no_mbuf{0}; // frames that txonly could not make
};

} // namespace fit::testpmd
