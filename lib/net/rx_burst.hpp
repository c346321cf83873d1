// The receive path, one body for all specialisations: pop, check, strip the header, chain, deliver;
// then one refill.
#pragma once

#include <algorithm>

#include <rte_ether.h>
#include <rte_prefetch.h>

#include "net/rx_merge.hpp"
#include "net/rx_refill.hpp"

namespace fit {

constexpr uint32_t kLeastFrame = RTE_ETHER_HDR_LEN;
constexpr uint16_t kPrefetchAhead = 8;

// The id is not checked yet, so it is masked: a prefetch of the wrong line costs nothing but time.
template <class Ring>
void prefetch_buffer(const RxQueue<Ring>& q, uint16_t ahead)
{
    const uint32_t id = q.ring.used_at(ahead).id & (q.ring.size() - 1u);
    const rte_mbuf* m = q.slots[id].mbuf;
    rte_prefetch0(m);
    rte_prefetch0(reinterpret_cast<const std::byte*>(m) + q.prefetch_offset);
}

// Checks a used element against private state and takes its buffer back. False: the ring is broken.
template <class Ring>
bool pop_used(RxQueue<Ring>& q, uint16_t ahead, RxBuffer& buffer)
{
    const UsedElement used = q.ring.used_at(ahead);
    if (used.id >= q.ring.size()) [[unlikely]] {
        q.give_up(RingFault::UnknownId);
        return false;
    }
    RxSlot& slot = q.slots[used.id];
    buffer = {slot.mbuf, used.length, slot.posted, slot.size_class};
    if (slot.posted == 0) [[unlikely]] {
        q.give_up(RingFault::NotInFlight);
        return false;
    }
    slot.posted = 0;
    q.ring.release(static_cast<uint16_t>(used.id));
    return true;
}

// A buffer that starts a packet and is not the plain case of one buffer with a valid length.
// Returns a packet only when the header is odd but harmless.
template <class Header>
[[gnu::noinline]] rte_mbuf* start_other(RxQueueState& q, const RxBuffer& buffer)
{
    if (buffer.written < Header::kSize) {
        q.counters.drop(RxDrop::Short); // without a whole header there is no count to read
        discard(q, buffer);
        return nullptr;
    }
    uint16_t count = 1;
    if constexpr (Header::kHasNumBuffers) {
        const auto* data = static_cast<const std::byte*>(buffer.mbuf->buf_addr);
        count = Header::num_buffers(data + RTE_PKTMBUF_HEADROOM - Header::kSize);
    }
    if (Header::kMergeable && count > 1) {
        begin_merge(q, buffer, count);
        return nullptr;
    }
    if (buffer.written > buffer.posted || buffer.written < Header::kSize + kLeastFrame) {
        q.counters.drop(buffer.written > buffer.posted ? RxDrop::OverLong : RxDrop::Short);
        discard(q, buffer);
        return nullptr;
    }
    // num_buffers 0 where it must be at least 1, or above 1 where no merging was agreed: a packet
    // of one buffer.
    if (count != 1 && (Header::kMergeable || count != 0))
        q.counters.header_anomalies.add(1);
    fill_mbuf(buffer.mbuf, q.rearm_first, buffer.written - Header::kSize);
    return buffer.mbuf;
}

// Totals of one burst, kept in registers.
struct RxTotals {
    uint64_t bytes = 0;
    uint16_t packets = 0;
    uint16_t run = 0; // buffers in a row of one class
    uint8_t run_class = 0;

    void count_class(RxQueueState& q, uint8_t size_class)
    {
        if (size_class != run_class) [[unlikely]] {
            q.classes[run_class].consumed.add(run);
            run_class = size_class;
            run = 0;
        }
        ++run;
    }
};

template <class Header>
rte_mbuf* receive_buffer(RxQueueState& q, const RxBuffer& buffer)
{
    if (q.partial.missing != 0) [[unlikely]]
        return continue_merge(q, buffer);
    constexpr uint32_t kLeast = Header::kSize + kLeastFrame;
    const auto* data = static_cast<const std::byte*>(buffer.mbuf->buf_addr);
    // One comparison for both ends: a length below kLeast wraps to a huge number.
    const bool length_fits = buffer.written - kLeast <= buffer.posted - kLeast;
    bool plain = length_fits;
    if constexpr (Header::kHasNumBuffers)
        plain =
            length_fits && Header::num_buffers(data + RTE_PKTMBUF_HEADROOM - Header::kSize) == 1;
    if (!plain) [[unlikely]]
        return start_other<Header>(q, buffer);
    fill_mbuf(buffer.mbuf, q.rearm_first, buffer.written - Header::kSize);
    return buffer.mbuf;
}

template <class Ring>
void end_burst(RxQueue<Ring>& q, const RxTotals& totals, uint16_t taken)
{
    q.ring.consume(taken);
    q.classes[totals.run_class].consumed.add(totals.run);
    if (totals.packets != 0) {
        q.counters.packets.add(totals.packets);
        q.counters.bytes.add(totals.bytes);
        q.sizing.on_burst(totals.bytes, totals.packets);
    }
    if (q.fault == RingFault::None)
        refill(q);
}

// Returns up to `budget` packets in `packets`. Matches eth_rx_burst_t once the queue is bound to
// its type.
template <class Ring, class Header>
uint16_t rx_burst(RxQueue<Ring>& q, rte_mbuf** packets, uint16_t budget)
{
    if (q.fault != RingFault::None) [[unlikely]]
        return 0;
    const uint32_t ready = q.ring.used_ready();
    if (ready == Ring::kIndexFault) [[unlikely]] {
        q.give_up(RingFault::IndexLeap);
        return 0;
    }
    const auto end = static_cast<uint16_t>(ready);
    for (uint16_t i = 0; i < std::min(end, kPrefetchAhead); ++i)
        prefetch_buffer(q, i);

    RxTotals totals;
    uint16_t taken = 0;
    while (taken < end && totals.packets < budget) {
        if (taken + kPrefetchAhead < end)
            prefetch_buffer(q, static_cast<uint16_t>(taken + kPrefetchAhead));
        RxBuffer buffer;
        if (!pop_used(q, taken++, buffer)) [[unlikely]]
            break;
        totals.count_class(q, buffer.size_class);
        if (rte_mbuf* packet = receive_buffer<Header>(q, buffer)) {
            totals.bytes += packet->pkt_len;
            packets[totals.packets++] = packet;
        }
    }
    if (q.partial.missing != 0 && end == 0) [[unlikely]]
        wait_for_rest(q);
    end_burst(q, totals, taken);
    return totals.packets;
}

} // namespace fit
