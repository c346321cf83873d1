// The transmit path: reclaim what was sent, then header and segments of each packet, one publish,
// one notification.
#pragma once

#include <algorithm>
#include <array>

#include "net/tx_reclaim.hpp"
#include "virtq/split_ring.hpp"

namespace fit {

// Descriptors of one packet: a header and this many segments. lib/vhost takes 256 pieces a packet.
constexpr uint16_t kMostTxPieces = 256;

inline uint64_t data_address(const rte_mbuf* m)
{
    return reinterpret_cast<uint64_t>(m->buf_addr) + m->data_off;
}

// The headroom in front of the data is ours only if nobody else can see this buffer.
inline bool can_prepend(const TxQueueState& q, const rte_mbuf* m)
{
    return q.header_in_headroom && m->nb_segs == 1 && rte_mbuf_refcnt_read(m) == 1 &&
           RTE_MBUF_DIRECT(m) && m->data_off >= q.header_size && m->data_len != 0;
}

// Writes only what is not zero yet: a clean line stays clean, and shared with the device's core.
template <uint32_t Size>
void clear_header(std::byte* header)
{
    uint64_t first;
    std::memcpy(&first, header, sizeof(first));
    if (first != 0)
        std::memset(header, 0, sizeof(first));
    constexpr uint32_t kRest = Size - sizeof(first);
    std::byte zero[kRest] = {};
    if (std::memcmp(header + sizeof(first), zero, kRest) != 0)
        std::memset(header + sizeof(first), 0, kRest);
}

// Header and non-empty segments as pieces; 0 when there are more than `most`.
inline uint16_t collect_pieces(const TxQueueState& q, const rte_mbuf* m, std::span<Piece> pieces,
                               uint16_t most)
{
    uint16_t count = 0;
    pieces[count++] = {q.shared_header, q.header_size};
    for (; m != nullptr; m = m->next) {
        if (m->data_len == 0)
            continue; // 2.7.5: a descriptor is never empty
        if (count == most)
            return 0;
        pieces[count++] = {data_address(m), m->data_len};
    }
    return count;
}

enum class TxStep : uint8_t { Queued, Dropped, Full };

// A packet that needs a descriptor of its own for the header.
template <class Ring>
[[gnu::noinline]] TxStep queue_chain(TxQueue<Ring>& q, rte_mbuf* m, uint16_t free)
{
    std::array<Piece, kMostTxPieces> pieces;
    const uint16_t most = std::min(q.descriptor_limit, kMostTxPieces);
    const uint16_t count = collect_pieces(q, m, pieces, most);
    if (count < 2) {
        q.counters.drop(count == 0 ? TxDrop::TooManySegments : TxDrop::Empty);
        rte_pktmbuf_free(m);
        return TxStep::Dropped;
    }
    if (count > free)
        return TxStep::Full;
    const uint16_t id = q.ring.make_available(std::span(pieces).first(count));
    q.slots[id] = {m, count};
    return TxStep::Queued;
}

template <class Ring, class Header>
TxStep queue_packet(TxQueue<Ring>& q, rte_mbuf* m, uint16_t free)
{
    if (!can_prepend(q, m)) [[unlikely]]
        return queue_chain(q, m, free);
    if (free == 0) [[unlikely]]
        return TxStep::Full;
    const uint64_t header = data_address(m) - Header::kSize;
    clear_header<Header::kSize>(reinterpret_cast<std::byte*>(header));
    const uint16_t id =
        q.ring.template make_available<DescFlag::None>({header, m->data_len + Header::kSize});
    q.slots[id] = {m, 1};
    return TxStep::Queued;
}

template <class Ring>
uint16_t tx_free(const TxQueue<Ring>& q)
{
    const auto in_flight = static_cast<uint16_t>(q.ring.size() - q.ring.free_descriptors());
    return static_cast<uint16_t>(q.descriptor_limit - in_flight);
}

// Takes packets from the front of `packets` until the ring is full; returns how many. A packet is
// queued whole, or dropped whole under a named counter, or left to the caller.
template <class Ring, class Header>
uint16_t tx_burst(TxQueue<Ring>& q, rte_mbuf** packets, uint16_t count)
{
    if (q.fault != RingFault::None) [[unlikely]]
        return 0;
    if (q.descriptor_limit - tx_free(q) >= q.reclaim_threshold)
        reclaim(q);
    uint64_t bytes = 0;
    uint16_t queued = 0;
    uint16_t taken = 0;
    for (; taken < count && q.fault == RingFault::None; ++taken) {
        rte_mbuf* m = packets[taken];
        const uint32_t length = m->pkt_len;
        TxStep step = queue_packet<Ring, Header>(q, m, tx_free(q));
        if (step == TxStep::Full) [[unlikely]] {
            reclaim(q);
            step = queue_packet<Ring, Header>(q, m, tx_free(q));
        }
        if (step == TxStep::Full) {
            q.counters.ring_full.add(1);
            break;
        }
        if (step == TxStep::Queued) [[likely]] {
            ++queued;
            bytes += length;
        }
    }
    if (queued != 0) {
        q.counters.packets.add(queued);
        q.counters.bytes.add(bytes);
        q.ring.publish();
        if (q.ring.should_notify())
            notify(q.notifier, q.counters.notifications);
    }
    return taken;
}

} // namespace fit
