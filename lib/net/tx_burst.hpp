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
template <class Header>
[[gnu::always_inline]] inline bool can_prepend(const TxQueueState& q, const rte_mbuf* m)
{
    return q.header_in_headroom && rte_mbuf_refcnt_read(m) == 1 && RTE_MBUF_DIRECT(m) &&
           m->data_off >= Header::kSize && m->data_len != 0;
}

// Writes only what is not zero yet: a clean line stays clean, and shared with the device's core.
template <uint32_t Size>
void clear_header(uint64_t address)
{
    auto* header = reinterpret_cast<std::byte*>(address);
    uint64_t first;
    std::memcpy(&first, header, sizeof(first));
    if (first != 0)
        std::memset(header, 0, sizeof(first));
    constexpr uint32_t kRest = Size - sizeof(first);
    std::byte zero[kRest] = {};
    if (std::memcmp(header + sizeof(first), zero, kRest) != 0)
        std::memset(header + sizeof(first), 0, kRest);
}

// The data with the header in front of it as one piece; needs can_prepend(). The header is not
// cleared yet: until the packet is taken, the headroom is the caller's.
template <class Header>
Piece with_header(const rte_mbuf* m)
{
    return {data_address(m) - Header::kSize, m->data_len + Header::kSize};
}

// Header and non-empty segments as pieces; 0 when there are more than `most`.
template <class Header>
uint16_t collect_pieces(const TxQueueState& q, const rte_mbuf* m, bool in_headroom,
                        std::span<Piece> pieces, uint16_t most)
{
    uint16_t count = 0;
    if (in_headroom) {
        pieces[count++] = with_header<Header>(m);
        m = m->next;
    } else {
        pieces[count++] = {q.shared_header, Header::kSize};
    }
    for (; m != nullptr; m = m->next) {
        if (m->data_len == 0)
            continue; // 2.7.5: a descriptor is never empty
        if (count == most)
            return 0;
        pieces[count++] = {data_address(m), m->data_len};
    }
    return count;
}

[[gnu::noinline]] inline void drop(TxQueueState& q, rte_mbuf* m, TxDrop reason)
{
    q.counters.drop(reason);
    rte_pktmbuf_free(m);
}

template <class Ring>
uint16_t tx_free(const TxQueue<Ring>& q)
{
    const auto in_flight = static_cast<uint16_t>(q.ring.size() - q.ring.free_descriptors());
    return static_cast<uint16_t>(q.descriptor_limit - in_flight);
}

// What one burst queues. Works on copies of the queue's ring and slots, as CompletedBuffers does
// and for the same reason.
template <class Ring, class Header>
class TxWriter {
  public:
    explicit TxWriter(const TxQueue<Ring>& q) : ring_(q.ring), slots_(q.slots), free_(tx_free(q)) {}

    // False: too few descriptors are free and the packet is still the caller's. Else it is queued
    // whole, or dropped whole under a named counter.
    [[gnu::always_inline]] bool add(TxQueueState& q, rte_mbuf* m)
    {
        const uint32_t length = m->pkt_len;
        if (m->nb_segs != 1 || !can_prepend<Header>(q, m)) [[unlikely]]
            return add_chain(q, m, length);
        if (free_ == 0) [[unlikely]]
            return false;
        const Piece piece = with_header<Header>(m);
        clear_header<Header::kSize>(piece.address);
        const uint16_t id = ring_.template make_available<DescFlag::None>(piece);
        queued(id, m, 1, length);
        return true;
    }

    void commit(TxQueue<Ring>& q)
    {
        q.ring.catch_up(ring_);
        if (packets_ == 0)
            return;
        q.counters.packets.add(packets_);
        q.counters.bytes.add(bytes_);
    }

  private:
    // A packet of several segments, or one that needs a descriptor of its own for the header.
    [[gnu::always_inline]] bool add_chain(TxQueueState& q, rte_mbuf* m, uint32_t length)
    {
        std::array<Piece, kMostTxPieces> pieces;
        const uint16_t most = std::min(q.descriptor_limit, kMostTxPieces);
        const bool in_headroom = can_prepend<Header>(q, m);
        const uint16_t count = collect_pieces<Header>(q, m, in_headroom, pieces, most);
        const bool empty = count == 1 && pieces[0].length == Header::kSize;
        if (count == 0 || empty) [[unlikely]] {
            drop(q, m, empty ? TxDrop::Empty : TxDrop::TooManySegments);
            return true;
        }
        if (count > free_) [[unlikely]]
            return false;
        if (in_headroom)
            clear_header<Header::kSize>(pieces[0].address);
        queued(ring_.make_available(std::span(pieces).first(count)), m, count, length);
        return true;
    }
    [[gnu::always_inline]] void queued(uint16_t id, rte_mbuf* m, uint16_t descriptors,
                                       uint32_t length)
    {
        slots_[id] = {m, descriptors};
        free_ -= descriptors;
        bytes_ += length;
        ++packets_;
    }

    Ring ring_;
    TxSlot* slots_;
    uint32_t free_;
    uint32_t packets_ = 0;
    uint64_t bytes_ = 0;
};

// Takes packets from the front of `packets` as long as descriptors are free; returns how many.
template <class Ring, class Header>
[[gnu::always_inline]] inline uint16_t queue_packets(TxQueue<Ring>& q, rte_mbuf** packets,
                                                     uint16_t count)
{
    TxWriter<Ring, Header> writer(q);
    uint16_t taken = 0;
    while (taken < count && writer.add(q, packets[taken]))
        ++taken;
    writer.commit(q);
    return taken;
}

// The ring ran full: what the device finished meanwhile makes room for more.
template <class Ring, class Header>
[[gnu::noinline]] uint16_t queue_rest(TxQueue<Ring>& q, rte_mbuf** packets, uint16_t count)
{
    reclaim(q);
    if (q.fault != RingFault::None) [[unlikely]]
        return 0;
    const uint16_t taken = queue_packets<Ring, Header>(q, packets, count);
    if (taken < count)
        q.counters.ring_full.add(1);
    return taken;
}

// Takes packets from the front of `packets` until the ring is full; returns how many. A packet is
// queued whole, or dropped whole under a named counter, or left to the caller.
template <class Ring, class Header>
uint16_t tx_burst(TxQueue<Ring>& q, rte_mbuf** packets, uint16_t count)
{
    if (q.fault != RingFault::None) [[unlikely]]
        return 0;
    if (q.descriptor_limit - tx_free(q) >= q.reclaim_threshold) {
        reclaim(q);
        if (q.fault != RingFault::None) [[unlikely]]
            return 0;
    }
    const uint16_t before = q.ring.available_index();
    uint16_t taken = queue_packets<Ring, Header>(q, packets, count);
    if (taken < count) [[unlikely]] {
        const auto rest = static_cast<uint16_t>(count - taken);
        taken = static_cast<uint16_t>(taken + queue_rest<Ring, Header>(q, packets + taken, rest));
        if (q.fault != RingFault::None) [[unlikely]]
            return taken;
    }
    if (q.ring.available_index() != before) {
        q.ring.publish();
        if (q.ring.should_notify())
            notify(q.notifier, q.counters.notifications);
    }
    return taken;
}

} // namespace fit
