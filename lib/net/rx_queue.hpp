// State of one receive queue. It lies in memory that secondary processes map: no vtable, no owned
// heap.
#pragma once

#include <array>
#include <cstdint>

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "base/counter.hpp"
#include "net/drop_reason.hpp"
#include "net/net_header.hpp"
#include "net/notify.hpp"
#include "sizing/sizing_policy.hpp"

namespace fit {

// What was posted under a buffer id. `posted` is 0 while the id is not in flight.
struct RxSlot {
    rte_mbuf* mbuf;
    uint32_t posted; // bytes, header included
    uint32_t size_class;
};

// One size class as the queue uses it: `room` data bytes start RTE_PKTMBUF_HEADROOM into the
// buffer.
struct RxClass {
    rte_mempool* pool = nullptr;
    uint32_t room = 0;
    // From the mbuf to its buffer when that is the same for the whole pool; 0: read it from the
    // mbuf, whose cache line is cold at refill.
    uint32_t mbuf_to_buffer = 0;
    Counter posted;    // segments ever posted
    Counter consumed;  // of these, completed by the device
    Counter discarded; // of these, dropped
};

// A merged packet of which buffers are missing. head == nullptr while missing > 0: dropped, its
// late buffers are still to be skipped.
struct PartialPacket {
    rte_mbuf* head = nullptr;
    rte_mbuf* tail = nullptr;
    uint32_t bytes = 0;         // of the segments in the chain
    uint32_t buffers = 0;       // of the whole packet
    uint32_t missing = 0;       // of these, not completed yet
    uint64_t waiting_since = 0; // TSC of the first poll that found nothing, 0: not waiting
};

struct RxCounters {
    Counter packets;
    Counter bytes;
    Counter no_mbuf;      // refills that ended short
    Counter ring_empty;   // polls that took packets and found no buffer left for the device
    Lowest low_watermark; // buffers left for the device, as polls that took packets found them
    Counter header_anomalies;
    Counter notifications;
    std::array<Counter, kRxDrops.size()> drops;

    void drop(RxDrop reason) { drops[static_cast<size_t>(reason)].add(1); }
};

struct RxQueueState {
    RxSlot* slots = nullptr; // one per buffer id
    // The first 8 bytes from data_off on: data_off, refcnt 1, nb_segs 1, port.
    uint64_t rearm_first = 0;
    uint64_t rearm_next = 0;
    uint32_t prefetch_offset = 0; // from an mbuf to its header in the usual layout; a hint only
    uint16_t buffer_limit = 0;    // buffers to keep available
    uint16_t refill_threshold = 0;
    uint16_t most_buffers = 0; // a packet cannot need more
    bool scatter = false;
    RingFault fault = RingFault::None;
    uint8_t class_count = 0;
    uint32_t header_size = 0;
    uint64_t partial_limit = 0; // TSC cycles that a merged packet may stay incomplete

    std::array<RxClass, kMaxClasses> classes;
    SizingPolicy sizing;
    PartialPacket partial;
    Notifier notifier;
    RxCounters counters;

    // `left`: buffers posted and not completed.
    void note_left(uint32_t left)
    {
        counters.low_watermark.note(left);
        if (left == 0) [[unlikely]]
            counters.ring_empty.add(1);
    }
    void give_up(RingFault reason) { fault = reason; }
};

template <class Ring>
struct RxQueue : RxQueueState {
    Ring ring;
};

} // namespace fit
