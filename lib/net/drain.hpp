// Taking back what a queue holds when it stops. The device must not use the ring any more.
#pragma once

#include <span>

#include "net/rx_merge.hpp"
#include "net/tx_queue.hpp"

namespace fit {

// `slots`: all of the ring. Frees what is posted and what has come of a packet; the accounts stay
// exact.
inline void drain(RxQueueState& q, std::span<RxSlot> slots)
{
    if (q.partial.head != nullptr)
        drop_partial(q, RxDrop::Incomplete);
    q.partial = {};
    for (RxSlot& slot : slots) {
        if (slot.posted == 0)
            continue;
        rte_mbuf_raw_free(slot.mbuf);
        q.classes[slot.size_class].consumed.add(1);
        q.classes[slot.size_class].discarded.add(1);
        slot.posted = 0;
    }
}

// Frees the packets that the device has not completed.
inline void drain(std::span<TxSlot> slots)
{
    for (TxSlot& slot : slots) {
        if (slot.descriptors == 0)
            continue;
        rte_pktmbuf_free(slot.mbuf);
        slot.descriptors = 0;
    }
}

} // namespace fit
