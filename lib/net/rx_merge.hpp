// Packets that the device spread over several buffers (VIRTIO 1.3, 5.1.6.4): only the first one
// starts with a header.
#pragma once

#include <utility>

#include <rte_cycles.h>

#include "net/mbuf_fields.hpp"
#include "net/rx_completed.hpp"

namespace fit {

// Totals of one burst, kept in registers.
struct RxTotals {
    uint64_t bytes = 0;
    uint32_t packets = 0;
    uint32_t run = 0; // buffers in a row of one class
    uint32_t run_class = 0;

    [[gnu::always_inline]] void count_buffer(RxQueueState& q, uint32_t size_class)
    {
        if (size_class != run_class) [[unlikely]] {
            q.classes[run_class].consumed.add(run);
            run_class = size_class;
            run = 0;
        }
        ++run;
    }
};

// Drops one buffer whose packet is already accounted for.
inline void discard(RxQueueState& q, RxBuffer buffer)
{
    q.classes[buffer.size_class].discarded.add(1);
    rte_mbuf_raw_free(buffer.mbuf);
}

// A mempool belongs to one class: fill_classes() sees to it.
inline void count_discarded(RxQueueState& q, const rte_mempool* pool)
{
    for (uint8_t k = 0; k < q.class_count; ++k) {
        if (q.classes[k].pool == pool) {
            q.classes[k].discarded.add(1);
            return;
        }
    }
}

// Drops what is there of the partial packet; buffers still missing will be skipped when they come.
// Segment by segment: the head does not describe a chain before the packet is complete.
[[gnu::noinline]] inline void drop_partial(RxQueueState& q, RxDrop reason)
{
    PartialPacket& p = q.partial;
    while (p.head != nullptr) {
        rte_mbuf* segment = std::exchange(p.head, p.head->next);
        segment->next = nullptr;
        count_discarded(q, segment->pool);
        rte_mbuf_raw_free(segment);
    }
    p.tail = nullptr;
    q.counters.drop(reason);
}

inline RxDrop length_fault(RxBuffer buffer)
{
    return buffer.written > buffer.posted ? RxDrop::OverLong : RxDrop::PartialSegment;
}

// The first of `count` >= 2 buffers; `written` is at least the header size.
inline void begin_merge(RxQueueState& q, RxBuffer first, uint16_t count)
{
    if (count > q.most_buffers) [[unlikely]] {
        // A count that no packet can need says nothing about the buffers behind this one: they are
        // taken as packets of their own.
        q.counters.drop(RxDrop::NumBuffers);
        discard(q, first);
        return;
    }
    const uint32_t bytes = first.written - q.header_size;
    fill_mbuf(first.mbuf, q.rearm_first, bytes);
    q.partial = {.head = first.mbuf,
                 .tail = first.mbuf,
                 .bytes = bytes,
                 .buffers = count,
                 .missing = count - 1U};
    if (!q.scatter) [[unlikely]]
        drop_partial(q, RxDrop::NoScatter);
    else if (first.written != first.posted) [[unlikely]]
        drop_partial(q, length_fault(first));
}

// A buffer that is too long, or not full in the middle of a packet, or one of a dropped packet.
[[gnu::noinline]] inline void reject_buffer(RxQueueState& q, const PartialPacket& p,
                                            RxBuffer buffer)
{
    q.partial = p;
    if (p.head != nullptr)
        drop_partial(q, length_fault(buffer));
    discard(q, buffer);
}

// Chains what has come of the partial packet; needs partial.missing > 0. Returns the packet once it
// is complete; else nullptr, and what is still missing stays in q.partial.
template <class Ring>
[[gnu::always_inline]] inline rte_mbuf*
continue_merge(RxQueue<Ring>& q, CompletedBuffers<Ring>& completed, RxTotals& totals)
{
    PartialPacket p = q.partial;
    const uint64_t rearm = q.rearm_next;
    p.waiting_since = 0;
    RxBuffer next;
    while (p.missing != 0 && completed.more() && completed.pop(q, next)) {
        totals.count_buffer(q, next.size_class);
        --p.missing;
        const bool fits =
            next.written == next.posted || (next.written < next.posted && p.missing == 0);
        if (!fits || p.head == nullptr) [[unlikely]] {
            reject_buffer(q, p, next);
            p.head = nullptr;
            continue;
        }
        fill_mbuf(next.mbuf, rearm, next.written);
        p.tail->next = next.mbuf;
        p.tail = next.mbuf;
        p.bytes += next.written;
    }
    q.partial = p;
    if (p.missing != 0 || p.head == nullptr) [[unlikely]]
        return nullptr;
    if (p.bytes > kMaxFrame) [[unlikely]] {
        drop_partial(q, RxDrop::TooLarge);
        return nullptr;
    }
    q.partial.head = nullptr;
    p.head->nb_segs = static_cast<uint16_t>(p.buffers);
    p.head->pkt_len = p.bytes;
    return p.head;
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
