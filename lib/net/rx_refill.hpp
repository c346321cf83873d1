// Making receive buffers available: the class that the sizing policy wants, else the next one that
// has mbufs.
#pragma once

#include <algorithm>

#include "net/rx_queue.hpp"
#include "virtq/split_ring.hpp"

namespace fit {

constexpr uint16_t kRefillBatch = 64;

// Posts up to `wanted` segments of class `k`; returns how many. The pool gives what it has, not all
// or nothing.
template <class Ring>
uint16_t post_class(RxQueue<Ring>& q, uint8_t k, uint16_t wanted)
{
    RxClass& cls = q.classes[k];
    const uint32_t offset = RTE_PKTMBUF_HEADROOM - q.header_size;
    const uint32_t length = cls.room + q.header_size;
    rte_mbuf* batch[kRefillBatch];
    // Copies, as in CompletedBuffers and for the same reason.
    Ring ring = q.ring;
    RxSlot* const slots = q.slots;
    rte_mempool* const pool = cls.pool;
    const uint32_t to_buffer = cls.mbuf_to_buffer;
    uint32_t posted = 0;
    uint32_t take = std::min(wanted, kRefillBatch);
    while (take > 0) {
        if (rte_mempool_get_bulk(pool, reinterpret_cast<void**>(batch), take) != 0) [[unlikely]] {
            take /= 2;
            continue;
        }
        for (uint32_t i = 0; i < take; ++i) {
            rte_mbuf* m = batch[i];
            const uint64_t buffer = to_buffer != 0 ? reinterpret_cast<uint64_t>(m) + to_buffer
                                                   : reinterpret_cast<uint64_t>(m->buf_addr);
            const uint16_t id =
                ring.template make_available<DescFlag::Write>({buffer + offset, length});
            slots[id] = {m, length, k};
        }
        posted += take;
        take = std::min(take, wanted - posted);
    }
    q.ring.catch_up(ring);
    cls.posted.add(posted);
    return static_cast<uint16_t>(posted);
}

// Posts `wanted` segments: the current class, then larger ones, then smaller ones down to the
// lowest allowed.
template <class Ring>
uint16_t post_segments(RxQueue<Ring>& q, uint16_t wanted)
{
    const uint8_t chosen = q.sizing.current_class();
    uint16_t posted = post_class(q, chosen, wanted);
    if (posted == wanted) [[likely]]
        return posted;
    const auto rest = [&] { return static_cast<uint16_t>(wanted - posted); };
    for (int k = chosen + 1; k < q.class_count && posted < wanted; ++k)
        posted = static_cast<uint16_t>(posted + post_class(q, static_cast<uint8_t>(k), rest()));
    for (int k = chosen - 1; k >= q.sizing.lowest_class() && posted < wanted; --k)
        posted = static_cast<uint16_t>(posted + post_class(q, static_cast<uint8_t>(k), rest()));
    if (posted < wanted)
        q.counters.no_mbuf.add(1);
    return posted;
}

// Once per burst: posts when enough buffers are wanted, one publish, one decision whether to
// notify. Runs on empty polls too, so that a ring that ran dry while the pools were empty recovers
// without traffic.
template <class Ring>
void refill(RxQueue<Ring>& q)
{
    const auto wanted = static_cast<uint16_t>(q.buffer_limit - q.ring.outstanding());
    if (wanted < q.refill_threshold) [[likely]]
        return;
    if (post_segments(q, wanted) == 0)
        return;
    q.ring.publish();
    if (q.ring.should_notify())
        notify(q.notifier, q.counters.notifications);
}

} // namespace fit
