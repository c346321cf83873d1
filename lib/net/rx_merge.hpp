// Packets that the device spread over several buffers (VIRTIO 1.3, 5.1.6.4): only the first one
// starts with a header.
#pragma once

#include <rte_cycles.h>

#include "net/mbuf_fields.hpp"
#include "net/rx_queue.hpp"

namespace fit {

// A buffer that the device completed; `written` is what it claims, not checked yet.
struct RxBuffer {
    rte_mbuf* mbuf;
    uint32_t written; // bytes
    uint32_t posted;  // bytes
    uint8_t size_class;
};

// Drops one buffer whose packet is already accounted for.
inline void discard(RxQueueState& q, const RxBuffer& buffer)
{
    q.classes[buffer.size_class].discarded.add(1);
    rte_mbuf_raw_free(buffer.mbuf);
}

// Drops what is there of the partial packet; buffers still missing will be skipped when they come.
inline void drop_partial(RxQueueState& q, RxDrop reason)
{
    PartialPacket& p = q.partial;
    for (uint8_t k = 0; k < q.class_count; ++k) {
        q.classes[k].discarded.add(p.segments[k]);
        p.segments[k] = 0;
    }
    rte_pktmbuf_free(p.head);
    p.head = nullptr;
    p.tail = nullptr;
    q.counters.drop(reason);
}

// The first of `count` >= 2 buffers; `written` is at least the header size.
inline void begin_merge(RxQueueState& q, const RxBuffer& first, uint16_t count)
{
    if (count > q.most_buffers) {
        // A count that no packet can need says nothing about the buffers behind this one: they are
        // taken as packets of their own.
        q.counters.drop(RxDrop::NumBuffers);
        discard(q, first);
        return;
    }
    PartialPacket& p = q.partial;
    p.missing = static_cast<uint16_t>(count - 1);
    p.waiting_since = 0;
    fill_mbuf(first.mbuf, q.rearm_first, first.written - q.header_size);
    p.head = first.mbuf;
    p.tail = first.mbuf;
    p.segments[first.size_class] = 1;
    if (!q.scatter)
        drop_partial(q, RxDrop::NoScatter);
    else if (first.written != first.posted)
        drop_partial(q, first.written > first.posted ? RxDrop::OverLong : RxDrop::PartialSegment);
}

// The next buffer of the partial packet. Returns the packet once it is complete, else nullptr.
inline rte_mbuf* continue_merge(RxQueueState& q, const RxBuffer& next)
{
    PartialPacket& p = q.partial;
    --p.missing;
    p.waiting_since = 0;
    if (p.head == nullptr) {
        discard(q, next);
        return nullptr;
    }
    if (next.written > next.posted || (next.written != next.posted && p.missing != 0)) {
        drop_partial(q, next.written > next.posted ? RxDrop::OverLong : RxDrop::PartialSegment);
        discard(q, next);
        return nullptr;
    }
    fill_mbuf(next.mbuf, q.rearm_next, next.written);
    p.tail->next = next.mbuf;
    p.tail = next.mbuf;
    p.head->nb_segs++;
    p.head->pkt_len += next.written;
    p.segments[next.size_class]++;
    if (p.missing != 0)
        return nullptr;
    p.segments.fill(0);
    return std::exchange(p.head, nullptr);
}

// A poll that found nothing while buffers are missing: after the limit the packet is given up.
inline void wait_for_rest(RxQueueState& q)
{
    PartialPacket& p = q.partial;
    if (p.head == nullptr)
        return;
    const uint64_t now = rte_rdtsc();
    if (p.waiting_since == 0)
        p.waiting_since = now;
    else if (now - p.waiting_since > q.partial_limit)
        drop_partial(q, RxDrop::Incomplete);
}

} // namespace fit
