// State of one transmit queue. It lies in memory that secondary processes map: no vtable, no owned
// heap.
#pragma once

#include <array>
#include <cstdint>

#include <rte_mbuf.h>

#include "base/counter.hpp"
#include "net/drop_reason.hpp"
#include "net/notify.hpp"

namespace fit {

// What was made available under the id of a chain's head. `descriptors` is 0 while it is not in
// flight.
struct TxSlot {
    rte_mbuf* mbuf;
    uint16_t descriptors;
};

struct TxCounters {
    Counter packets;
    Counter bytes;
    Counter ring_full; // bursts that ended because no descriptor was free
    Counter notifications;
    std::array<Counter, kTxDrops.size()> drops;

    void drop(TxDrop reason) { drops[static_cast<size_t>(reason)].add(1); }
};

struct TxQueueState {
    TxSlot* slots = nullptr; // one per buffer id
    // A header of zero bytes that every packet shares which cannot carry its own: without offloads
    // all headers are equal. The device only reads it; one that writes it spoils its own packets.
    uint64_t shared_header = 0;
    uint16_t descriptor_limit = 0; // descriptors that may be in flight
    uint16_t reclaim_threshold = 0;
    bool header_in_headroom =
        false; // VERSION_1 or ANY_LAYOUT: header and data may share a descriptor
    RingFault fault = RingFault::None;

    Notifier notifier;
    TxCounters counters;

    void give_up(RingFault reason) { fault = reason; }
};

template <class Ring>
struct TxQueue : TxQueueState {
    Ring ring;
};

} // namespace fit
