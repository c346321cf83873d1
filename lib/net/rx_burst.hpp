// The receive path, one body for all specialisations: pop, check, strip the header, chain, deliver;
// then one refill.
#pragma once

#include <rte_ether.h>

#include "net/rx_merge.hpp"
#include "net/rx_refill.hpp"

namespace fit {

constexpr uint32_t kLeastFrame = RTE_ETHER_HDR_LEN;

// The device's count of buffers of the packet that starts in `mbuf`.
template <class Header>
[[gnu::always_inline]] inline uint16_t buffers_of(const rte_mbuf* mbuf)
{
    const auto* buffer = static_cast<const std::byte*>(mbuf->buf_addr);
    return Header::num_buffers(buffer + RTE_PKTMBUF_HEADROOM - Header::kSize);
}

// A packet of one buffer with a valid length; the buffer has room for the least one (the driver's
// min_rx_bufsize).
template <class Header>
[[gnu::always_inline]] inline bool is_plain(const RxBuffer& buffer)
{
    constexpr uint32_t kLeast = Header::kSize + kLeastFrame;
    // One comparison for both ends: a length below kLeast wraps to a huge number.
    if (buffer.written - kLeast > buffer.posted - kLeast) [[unlikely]]
        return false;
    if constexpr (Header::kHasNumBuffers)
        return buffers_of<Header>(buffer.mbuf) == 1;
    return true;
}

// A buffer that starts a packet and is not plain. Returns a packet only when the header is odd but
// harmless.
template <class Header>
[[gnu::noinline]] rte_mbuf* start_other(RxQueueState& q, RxBuffer buffer)
{
    if (buffer.written < Header::kSize) {
        q.counters.drop(RxDrop::Short); // without a whole header there is no count to read
        discard(q, buffer);
        return nullptr;
    }
    uint16_t count = 1;
    if constexpr (Header::kHasNumBuffers)
        count = buffers_of<Header>(buffer.mbuf);
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

template <class Ring>
[[gnu::always_inline]] inline void end_burst(RxQueue<Ring>& q, const RxTotals& totals)
{
    q.classes[totals.run_class].consumed.add(totals.run);
    if (totals.packets != 0) {
        q.counters.packets.add(totals.packets);
        q.counters.bytes.add(totals.bytes);
        q.sizing.on_burst(totals.bytes, totals.packets);
    }
    if (q.fault == RingFault::None) [[likely]]
        refill(q);
}

template <class Ring>
[[gnu::noinline]] uint16_t receive_nothing(RxQueue<Ring>& q)
{
    if (q.partial.missing != 0) [[unlikely]]
        wait_for_rest(q);
    refill(q);
    return 0;
}

// Returns up to `budget` packets in `packets`. Matches eth_rx_burst_t once the queue is bound to
// its type.
template <class Ring, class Header>
uint16_t rx_burst(RxQueue<Ring>& q, rte_mbuf** packets, uint16_t budget)
{
    if (q.fault != RingFault::None) [[unlikely]]
        return 0;
    const uint32_t ready = q.ring.used_ready();
    if (ready == 0)
        return receive_nothing(q);
    if (ready == kIndexFault) [[unlikely]] {
        q.give_up(RingFault::IndexLeap);
        return 0;
    }
    q.note_left(q.ring.outstanding() - ready);
    CompletedBuffers<Ring> completed(q, ready);
    RxTotals totals;
    const uint64_t rearm = q.rearm_first;
    while (completed.more() && totals.packets < budget) {
        rte_mbuf* packet = nullptr;
        if (q.partial.missing == 0) [[likely]] {
            RxBuffer buffer;
            if (!completed.pop(q, buffer)) [[unlikely]]
                break;
            totals.count_buffer(q, buffer.size_class);
            if (is_plain<Header>(buffer)) [[likely]] {
                const uint32_t length = buffer.written - Header::kSize;
                fill_mbuf(buffer.mbuf, rearm, length);
                totals.bytes += length;
                packets[totals.packets++] = buffer.mbuf;
                continue;
            }
            packet = start_other<Header>(q, buffer);
        }
        if (q.partial.missing != 0)
            packet = continue_merge(q, completed, totals);
        if (packet != nullptr) {
            totals.bytes += packet->pkt_len;
            packets[totals.packets++] = packet;
        }
    }
    completed.commit(q);
    end_burst(q, totals);
    return static_cast<uint16_t>(totals.packets);
}

} // namespace fit
