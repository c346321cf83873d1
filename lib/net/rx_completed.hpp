// The buffers that the device completed, as one burst takes them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <rte_prefetch.h>

#include "net/rx_queue.hpp"
#include "virtq/split_ring.hpp"

namespace fit {

// A buffer that the device completed; `written` is what it claims, not checked yet.
struct RxBuffer {
    rte_mbuf* mbuf;
    uint32_t written; // bytes
    uint32_t posted;  // bytes
    uint32_t size_class;
};

// Works on copies of the queue's ring and slots: for all that the compiler knows, a store to an
// mbuf or a ring could change the queue, and it would read everything again after each. All calls
// are inlined and no address of this object leaves, so that it lives in registers.
template <class Ring>
class CompletedBuffers {
  public:
    // `ready`: what ring.used_ready() said.
    CompletedBuffers(const RxQueue<Ring>& q, uint32_t ready)
        : ring_(q.ring), slots_(q.slots), prefetch_offset_(q.prefetch_offset), end_(ready)
    {
        for (uint32_t i = 0; i < std::min(end_, kPrefetchAhead); ++i)
            prefetch(i);
    }

    [[nodiscard]] bool more() const { return taken_ < end_; }

    // Checks the next used element against private state and takes its buffer back; needs more().
    // False: the ring is broken, the queue is marked, and there is no more.
    [[gnu::always_inline]] bool pop(RxQueueState& q, RxBuffer& buffer)
    {
        if (taken_ + kPrefetchAhead < end_)
            prefetch(taken_ + kPrefetchAhead);
        const UsedElement used = ring_.used_at(taken_);
        if (used.id > ring_.mask()) [[unlikely]]
            return give_up(q, RingFault::UnknownId);
        RxSlot& slot = slots_[used.id];
        buffer = {slot.mbuf, used.length, slot.posted, slot.size_class};
        if (buffer.posted == 0) [[unlikely]]
            return give_up(q, RingFault::NotInFlight);
        slot.posted = 0;
        ring_.release(static_cast<uint16_t>(used.id));
        ++taken_;
        return true;
    }

    // Makes the queue's ring what the pops left.
    void commit(RxQueue<Ring>& q)
    {
        ring_.consume(taken_);
        q.ring.catch_up(ring_);
    }

  private:
    static constexpr uint32_t kPrefetchAhead = 8;

    // The id is not checked yet, so it is masked: a prefetch of the wrong line costs only time.
    [[gnu::always_inline]] void prefetch(uint32_t ahead) const
    {
        const rte_mbuf* m = slots_[ring_.used_id_at(ahead) & ring_.mask()].mbuf;
        rte_prefetch0(m);
        rte_prefetch0(reinterpret_cast<const std::byte*>(m) + prefetch_offset_);
    }
    bool give_up(RxQueueState& q, RingFault fault)
    {
        q.give_up(fault);
        end_ = taken_;
        return false;
    }

    Ring ring_;
    RxSlot* slots_;
    uint64_t prefetch_offset_;
    uint32_t end_;
    uint32_t taken_ = 0;
};

} // namespace fit
