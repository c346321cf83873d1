// Real mempools and mbufs for the tests of lib/net.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "fake/guest_memory.hpp"
#include "net/net_header.hpp"

namespace fit {

// Names and amounts of the counters that moved, and of no other.
using Changes = std::map<std::string, uint64_t>;

// For the names of parametrised tests.
std::string name_of(HeaderKind kind);

struct FreeMempool {
    void operator()(rte_mempool* pool) const { rte_mempool_free(pool); }
};
using MempoolPtr = std::unique_ptr<rte_mempool, FreeMempool>;

struct FreePacket {
    void operator()(rte_mbuf* m) const { rte_pktmbuf_free(m); }
};
using PacketPtr = std::unique_ptr<rte_mbuf, FreePacket>;

// What every byte of a buffer holds before anybody used it.
inline constexpr std::byte kUntouched{0xa5};

// `count` mbufs with `room` data bytes behind RTE_PKTMBUF_HEADROOM, without a cache, so that the
// pool runs dry at exactly `count`. Each buffer is a region of its own for the device, under its
// virtual address: one byte past the end of a buffer is a miss. Throws std::runtime_error.
MempoolPtr make_pool(uint16_t room, unsigned count, fake::DeviceMemory& memory,
                     uint16_t private_bytes = 0);

// The same with buffers in one block outside the mempool (`area`, which must outlive it).
MempoolPtr make_pinned_pool(uint16_t room, unsigned count, fake::DeviceMemory& memory,
                            std::vector<std::byte>& area);

// All mbufs that the pool still has.
std::vector<PacketPtr> take_all(rte_mempool* pool);

// `length` bytes that depend on `seed`.
std::vector<std::byte> frame_of(size_t length, uint32_t seed = 1);

// All data bytes of a packet.
std::vector<std::byte> bytes_of(const rte_mbuf* packet);
std::vector<uint32_t> segment_lengths(const rte_mbuf* packet);

// CHAIN-OK: what the mbuf library checks of a chain, and that counts and lengths are the real ones.
void expect_chain_ok(const rte_mbuf* packet);

// A packet of one segment whose data starts `headroom` bytes into the buffer.
PacketPtr make_packet(rte_mempool* pool, std::span<const std::byte> data,
                      uint16_t headroom = RTE_PKTMBUF_HEADROOM);
// A packet of segments of these lengths, filled with frame_of(sum, seed).
PacketPtr make_chain(rte_mempool* pool, std::span<const uint16_t> lengths, uint32_t seed = 1);

} // namespace fit
