// The driver's side of one split virtqueue (VIRTIO 1.3, 2.7). It knows ids, addresses and lengths,
// nothing else.
//
// All that decides anything lies in private memory: the free descriptors, the links of chains, the
// indices. Shared memory is written, and of what the device writes only used.index, used elements
// and used.flags are read. Free ids form a queue: ids go back in the order of completion. A device
// that completes in order so meets ids in table order, and the available ring keeps its content
// from lap to lap: only entries that change are written.
#pragma once

#include <cstdint>
#include <cstring>

#include "virtq/order.hpp"
#include "virtq/ring.hpp"
#include "virtq/split_layout.hpp"

namespace fit {

class SplitRing {
  public:
    using Layout = SplitLayout;

    // Bytes of private memory that attach() needs for `size` entries.
    static constexpr size_t private_bytes(uint16_t size) { return sizeof(uint16_t) * 3 * size; }

    // Starts a ring of `layout.size` entries in `shared` (layout.bytes(), 64-byte aligned) with
    // `priv` (private_bytes()); both are overwritten. No used-buffer notification is asked for: the
    // driver polls.
    void attach(const SplitLayout& layout, std::byte* shared, std::byte* priv,
                RingOptions options = {});

    [[nodiscard]] uint16_t size() const { return static_cast<uint16_t>(mask_ + 1); }
    [[nodiscard]] uint16_t free_descriptors() const
    {
        return static_cast<uint16_t>(free_tail_ - free_head_);
    }
    // Buffers made available and not popped yet.
    [[nodiscard]] uint16_t outstanding() const
    {
        return static_cast<uint16_t>(next_avail_ - next_used_);
    }
    [[nodiscard]] uint16_t available_index() const { return static_cast<uint16_t>(next_avail_); }
    [[nodiscard]] uint16_t used_index() const { return static_cast<uint16_t>(next_used_); }
    [[nodiscard]] bool valid_id(uint32_t id) const { return id <= mask_; }
    // Any number & mask() is an id inside the ring.
    [[nodiscard]] uint32_t mask() const { return mask_; }

    // Takes over how far `copy`, which was made of this ring, has come. The burst functions work on
    // such copies: only these words change.
    void catch_up(const SplitRing& copy)
    {
        free_head_ = copy.free_head_;
        free_tail_ = copy.free_tail_;
        next_avail_ = copy.next_avail_;
        next_used_ = copy.next_used_;
        published_ = copy.published_;
        used_end_ = copy.used_end_;
        used_event_ = copy.used_event_;
    }

    // Buffers that the device completed and that consume() has not passed yet; kIndexFault when
    // used.index moved further than buffers are outstanding, or backwards (which is the same in
    // modulo arithmetic).
    [[nodiscard]] uint32_t used_ready() const
    {
        // Before the loads of the used elements and of what the device wrote; pairs with its index
        // store (2.7.14).
        const uint16_t index = order::load_acquire(used_->index);
        const auto ready = static_cast<uint16_t>(index - next_used_);
        return ready <= outstanding() ? ready : kIndexFault;
    }
    // The element `ahead` places after the first one not consumed.
    [[nodiscard]] UsedElement used_at(uint32_t ahead) const
    {
        const SplitUsedElement& element = used_ring_[(next_used_ + ahead) & mask_];
        return {order::load_once(element.id), order::load_once(element.length)};
    }
    // Its id only.
    [[nodiscard]] uint32_t used_id_at(uint32_t ahead) const
    {
        return order::load_once(used_ring_[(next_used_ + ahead) & mask_].id);
    }
    void consume(uint32_t count) { next_used_ += count; }

    // Gives the `count` descriptors of a completed buffer back. `id` must be a head that
    // make_available returned.
    void release(uint16_t id) { free_ids_[free_tail_++ & mask_] = id; }
    void release(uint16_t id, uint16_t count)
    {
        for (; count > 1; --count) {
            release(id);
            id = links_[id];
        }
        release(id);
    }

    // Reads used.index once; false is kIndexFault.
    [[nodiscard]] bool poll_used()
    {
        const uint32_t ready = used_ready();
        if (ready == kIndexFault) [[unlikely]]
            return false;
        used_end_ = next_used_ + ready;
        return true;
    }
    // As of the last poll_used().
    [[nodiscard]] bool front_used() const { return next_used_ != used_end_; }
    [[nodiscard]] uint32_t front_id() const { return used_id_at(0); }
    // `id` was read by front_id() and is the head of a chain of `count` descriptors.
    void take_back(uint16_t id, uint16_t count)
    {
        release(id, count);
        ++next_used_;
    }

    // Makes a buffer of one descriptor available; needs free_descriptors() >= 1. Returns its id.
    template <DescFlag Direction>
    uint16_t make_available(Piece piece)
    {
        const uint16_t id = free_ids_[free_head_++ & mask_];
        write_descriptor(id, piece, static_cast<uint16_t>(Direction), 0);
        announce(id);
        return id;
    }
    // The same for a device-readable chain of 1..free_descriptors() pieces.
    uint16_t make_available(std::span<const Piece> pieces)
    {
        const uint16_t head = free_ids_[free_head_ & mask_];
        for (size_t left = pieces.size(); const Piece& piece : pieces) {
            const uint16_t id = free_ids_[free_head_++ & mask_];
            const bool last = --left == 0;
            const uint16_t next = last ? uint16_t{0} : free_ids_[free_head_ & mask_];
            links_[id] = next;
            write_descriptor(id, piece,
                             static_cast<uint16_t>(last ? DescFlag::None : DescFlag::Next), next);
        }
        announce(head);
        return head;
    }

    [[nodiscard]] bool has_unpublished() const { return next_avail_ != published_; }
    // Shows the device all buffers made available so far.
    void publish()
    {
        exposed_ = next_avail_ - published_;
        published_ = next_avail_;
        if (event_idx_)
            keep_used_event_behind();
        // After the stores of descriptors and ring entries; pairs with the device's index load
        // (2.7.13.3.1).
        order::store_release(avail_->index, static_cast<uint16_t>(next_avail_));
    }
    // After publish(): whether the device wants to be told.
    [[nodiscard]] bool should_notify() const
    {
        order::full_fence();
        if (!event_idx_)
            return (order::load_once(used_->flags) & kUsedNoNotify) == 0;
        // 2.7.10.1: when the entry that avail_event names is among those just shown.
        const auto behind =
            static_cast<uint16_t>(next_avail_ - order::load_once(*avail_event_) - 1);
        return behind < exposed_;
    }

  private:
    // 2.7.7.1: with EVENT_IDX only the distance from used_event keeps the device from notifying. It
    // does not while the event lies behind, and what lies behind comes round after 65536 buffers.
    void keep_used_event_behind()
    {
        const auto behind = static_cast<uint16_t>(next_used_ - used_event_);
        if (behind < kUsedEventLag) [[likely]]
            return;
        used_event_ = next_used_ - 1;
        order::store_once(*used_event_word_, static_cast<uint16_t>(used_event_));
    }
    static constexpr uint16_t kUsedEventLag = 16384;

    void write_descriptor(uint16_t id, Piece piece, uint16_t flags, uint16_t next)
    {
        // Two stores of eight bytes; split_layout.hpp asserts where the fields lie.
        const uint64_t address = to_little(piece.address);
        const uint64_t rest =
            to_little(piece.length | uint64_t{flags} << 32 | uint64_t{next} << 48);
        auto* bytes = reinterpret_cast<std::byte*>(&descriptors_[id]);
        std::memcpy(bytes, &address, sizeof(address));
        std::memcpy(bytes + sizeof(address), &rest, sizeof(rest));
    }
    void announce(uint16_t id)
    {
        const uint32_t place = next_avail_++ & mask_;
        if (announced_[place] != id) {
            announced_[place] = id;
            order::store_once(avail_ring_[place], id);
        }
    }
    SplitDescriptor* descriptors_ = nullptr;
    SplitAvail* avail_ = nullptr;
    uint16_t* avail_ring_ = nullptr;
    SplitUsed* used_ = nullptr;
    SplitUsedElement* used_ring_ = nullptr;
    uint16_t* used_event_word_ = nullptr;   // EVENT_IDX, behind the available ring
    const uint16_t* avail_event_ = nullptr; // and behind the used ring
    uint16_t* free_ids_ = nullptr;          // a queue: free_head_ takes, free_tail_ gives
    uint16_t* links_ = nullptr;             // private `next` of each descriptor in a chain
    uint16_t* announced_ = nullptr;         // what the available ring holds
    // These count modulo 2^16. They are wider so that a step needs no truncation; users truncate.
    uint32_t mask_ = 0;
    uint32_t free_head_ = 0;
    uint32_t free_tail_ = 0;
    uint32_t next_avail_ = 0;
    uint32_t next_used_ = 0;
    uint32_t published_ = 0;  // next_avail_ of the last publish()
    uint32_t exposed_ = 0;    // entries that it showed
    uint32_t used_end_ = 0;   // next_used_ when all is taken that poll_used() saw
    uint32_t used_event_ = 0; // what used_event says
    bool event_idx_ = false;
};
static_assert(Ring<SplitRing>);

} // namespace fit
