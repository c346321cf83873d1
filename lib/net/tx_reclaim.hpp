// Taking back what the device has sent.
#pragma once

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "net/tx_queue.hpp"

namespace fit {

// Gives segments back to their pools in runs of one pool: one call instead of one for each.
class SegmentReturn {
  public:
    SegmentReturn() = default;
    SegmentReturn(const SegmentReturn&) = delete;
    SegmentReturn& operator=(const SegmentReturn&) = delete;
    ~SegmentReturn() { flush(); }

    void add_packet(rte_mbuf* m)
    {
        if (m->nb_segs != 1) [[unlikely]] {
            rte_pktmbuf_free(m);
            return;
        }
        rte_mbuf* segment = rte_pktmbuf_prefree_seg(m);
        if (segment == nullptr) [[unlikely]]
            return; // somebody else still holds it
        if (segment->pool != pool_ || count_ == kMost) {
            flush();
            pool_ = segment->pool;
        }
        segments_[count_++] = segment;
    }

  private:
    static constexpr unsigned kMost = 64;

    void flush()
    {
        if (count_ != 0)
            rte_mempool_put_bulk(pool_, segments_, count_);
        count_ = 0;
    }

    rte_mempool* pool_ = nullptr;
    unsigned count_ = 0;
    void* segments_[kMost];
};

// Frees all packets that the device completed. A used length means nothing on a transmit queue
// (2.7.8.2).
template <class Ring>
void reclaim(TxQueue<Ring>& q)
{
    const uint32_t ready = q.ring.used_ready();
    if (ready == Ring::kIndexFault) [[unlikely]] {
        q.give_up(RingFault::IndexLeap);
        return;
    }
    SegmentReturn segments;
    uint16_t done = 0;
    for (; done < ready; ++done) {
        const uint32_t id = q.ring.used_at(done).id;
        if (id >= q.ring.size()) [[unlikely]] {
            q.give_up(RingFault::UnknownId);
            break;
        }
        TxSlot& slot = q.slots[id];
        if (slot.descriptors == 0) [[unlikely]] {
            q.give_up(RingFault::NotInFlight);
            break;
        }
        q.ring.release(static_cast<uint16_t>(id), slot.descriptors);
        slot.descriptors = 0;
        segments.add_packet(slot.mbuf);
    }
    q.ring.consume(done);
}

} // namespace fit
