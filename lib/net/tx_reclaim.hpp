// Taking back what the device has sent.
#pragma once

#include <array>

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "net/tx_queue.hpp"
#include "virtq/ring.hpp"

namespace fit {

// Gives segments back to their pools in runs of one pool: one call instead of one for each. The
// batch is the caller's array, so that no address of this object leaves and it lives in registers.
class SegmentReturn {
  public:
    static constexpr uint32_t kMost = 64;
    using Batch = std::array<void*, kMost>;

    explicit SegmentReturn(Batch& batch) : batch_(batch.data()) {}
    SegmentReturn(const SegmentReturn&) = delete;
    SegmentReturn& operator=(const SegmentReturn&) = delete;
    ~SegmentReturn() { put(pool_, batch_, count_); }

    [[gnu::always_inline]] void add_packet(rte_mbuf* m)
    {
        do {
            rte_mbuf* next = m->next;
            if (rte_mbuf_refcnt_read(m) == 1 && RTE_MBUF_DIRECT(m)) [[likely]]
                add(m, next);
            else
                free_shared(m);
            m = next;
        } while (m != nullptr);
    }

  private:
    // `segment` is nobody else's; what a mempool expects of one is restored here.
    [[gnu::always_inline]] void add(rte_mbuf* segment, const rte_mbuf* next)
    {
        if (next != nullptr)
            segment->next = nullptr;
        if (segment->nb_segs != 1)
            segment->nb_segs = 1;
        if (segment->pool != pool_ || count_ == kMost) [[unlikely]] {
            put(pool_, batch_, count_);
            pool_ = segment->pool;
            count_ = 0;
        }
        batch_[count_++] = segment;
    }
    [[gnu::noinline]] static void free_shared(rte_mbuf* segment) { rte_pktmbuf_free_seg(segment); }
    [[gnu::noinline]] static void put(rte_mempool* pool, void** segments, uint32_t count)
    {
        if (count != 0)
            rte_mempool_put_bulk(pool, segments, count);
    }

    rte_mempool* pool_ = nullptr;
    uint32_t count_ = 0;
    void** batch_;
};

// Frees all packets that the device completed. A used length means nothing on a transmit queue
// (2.7.8.2).
template <class Ring>
void reclaim(TxQueue<Ring>& q)
{
    const uint32_t ready = q.ring.used_ready();
    if (ready == kIndexFault) [[unlikely]] {
        q.give_up(RingFault::IndexLeap);
        return;
    }
    SegmentReturn::Batch batch;
    SegmentReturn segments(batch);
    // Copies, as in CompletedBuffers and for the same reason.
    Ring ring = q.ring;
    TxSlot* const slots = q.slots;
    uint32_t done = 0;
    for (; done < ready; ++done) {
        const uint32_t id = ring.used_id_at(done);
        if (id > ring.mask()) [[unlikely]] {
            q.give_up(RingFault::UnknownId);
            break;
        }
        TxSlot& slot = slots[id];
        if (slot.descriptors == 0) [[unlikely]] {
            q.give_up(RingFault::NotInFlight);
            break;
        }
        ring.release(static_cast<uint16_t>(id), slot.descriptors);
        slot.descriptors = 0;
        segments.add_packet(slot.mbuf);
    }
    ring.consume(done);
    q.ring.catch_up(ring);
}

} // namespace fit
