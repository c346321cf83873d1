// The size classes of a receive queue, from the mempools that the application gave.
#pragma once

#include <algorithm>
#include <span>

#include <rte_mbuf.h>

#include "net/rx_queue.hpp"

namespace fit {

// Whether each buffer of the pool lies behind its mbuf at the same distance.
inline bool mbuf_buffer_is_embedded(rte_mempool* pool)
{
    const auto* priv = static_cast<const rte_pktmbuf_pool_private*>(rte_mempool_get_priv(pool));
    return (priv->flags & RTE_PKTMBUF_POOL_F_PINNED_EXT_BUF) == 0;
}

inline RxClass make_class(rte_mempool* pool)
{
    RxClass c;
    c.pool = pool;
    c.room = rte_pktmbuf_data_room_size(pool) - RTE_PKTMBUF_HEADROOM;
    if (mbuf_buffer_is_embedded(pool))
        c.mbuf_to_buffer = static_cast<uint32_t>(sizeof(rte_mbuf) + rte_pktmbuf_priv_size(pool));
    return c;
}

// Fills the classes of a queue that has none: by ascending room, in the order of `pools` where
// rooms are equal. A pool named again adds nothing: its segments are counted by their pool.
// `pools`: 1..kMaxClasses of rte_pktmbuf_pool_create() and the like, each with room beyond
// RTE_PKTMBUF_HEADROOM.
inline void fill_classes(RxQueueState& q, std::span<rte_mempool* const> pools)
{
    for (rte_mempool* pool : pools) {
        const auto known = std::span(q.classes).first(q.class_count);
        if (std::ranges::find(known, pool, &RxClass::pool) == known.end())
            q.classes[q.class_count++] = make_class(pool);
    }
    std::stable_sort(q.classes.begin(), q.classes.begin() + q.class_count,
                     [](const RxClass& a, const RxClass& b) { return a.room < b.room; });
}

} // namespace fit
