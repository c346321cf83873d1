// The driver's side of one packed virtqueue (VIRTIO 1.3, 2.8). It knows ids, addresses and lengths,
// nothing else.
//
// All that decides anything lies in private memory: the free ids, the two positions with their wrap
// counters. Shared memory is written, and of what the device writes only the second half of a used
// descriptor and its event structure are read. Free ids form a queue, so that a device which
// completes in order meets them in ring order.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "virtq/order.hpp"
#include "virtq/packed_layout.hpp"
#include "virtq/ring.hpp"

namespace fit {

class PackedRing {
  public:
    using Layout = PackedLayout;

    // Bytes of private memory that attach() needs for `size` entries.
    static constexpr size_t private_bytes(uint16_t size)
    {
        return sizeof(uint16_t) * std::bit_ceil(size);
    }

    // Starts a ring of `layout.size` entries in `shared` (layout.bytes(), 64-byte aligned) with
    // `priv` (private_bytes()); both are overwritten. No used-buffer notification is asked for: the
    // driver polls.
    void attach(const PackedLayout& layout, std::byte* shared, std::byte* priv,
                RingOptions options = {});

    [[nodiscard]] uint16_t size() const { return static_cast<uint16_t>(size_); }
    [[nodiscard]] uint16_t free_descriptors() const { return static_cast<uint16_t>(free_); }
    // Descriptors made available and not taken back.
    [[nodiscard]] uint16_t outstanding() const { return static_cast<uint16_t>(size_ - free_); }
    [[nodiscard]] bool valid_id(uint32_t id) const { return id < size_; }
    // Any number & mask() is below the least power of two that holds all ids.
    [[nodiscard]] uint32_t mask() const { return id_mask_; }

    // Takes over how far `copy`, which was made of this ring, has come. The burst functions work on
    // such copies: only these words change.
    void catch_up(const PackedRing& copy)
    {
        next_ = copy.next_;
        front_ = copy.front_;
        avail_flags_ = copy.avail_flags_;
        used_flags_ = copy.used_flags_;
        free_ = copy.free_;
        seen_ = copy.seen_;
        unpublished_ = copy.unpublished_;
        head_ = copy.head_;
        head_flags_ = copy.head_flags_;
        free_head_ = copy.free_head_;
        free_tail_ = copy.free_tail_;
    }

    // Buffers that the device completed and that consume() has not passed yet; each descriptor is
    // looked at until it is used, and never again.
    [[nodiscard]] uint32_t used_ready()
    {
        while (seen_ < size_ - free_ && used_at_distance(seen_))
            ++seen_;
        return seen_;
    }
    // The element `ahead` places after the first one not consumed. Its length counts whether or not
    // the device set WRITE in it: not every device does.
    [[nodiscard]] UsedElement used_at(uint32_t ahead) const
    {
        const PackedDescriptor& used = ring_[slot_at(ahead)];
        return {order::load_once(used.id), order::load_once(used.length)};
    }
    // Its id only.
    [[nodiscard]] uint32_t used_id_at(uint32_t ahead) const
    {
        return order::load_once(ring_[slot_at(ahead)].id);
    }
    void consume(uint32_t count)
    {
        seen_ -= count;
        step(count);
    }
    // Gives the id of a completed buffer back; its descriptors are free after consume().
    void release(uint16_t id) { free_ids_[free_tail_++ & id_mask_] = id; }

    // There is no index that could be wrong.
    [[nodiscard]] static bool poll_used() { return true; }
    [[nodiscard]] bool front_used() const { return free_ != size_ && used_at_distance(0); }
    [[nodiscard]] uint32_t front_id() const { return order::load_once(ring_[front_].id); }
    // `id` was read by front_id() and took `count` descriptors; the device skips them all (2.8.8).
    void take_back(uint16_t id, uint16_t count)
    {
        release(id);
        step(count);
    }

    // Makes a buffer of one descriptor available; needs free_descriptors() >= 1. Returns its id.
    template <DescFlag Direction>
    uint16_t make_available(Piece piece)
    {
        const uint16_t id = free_ids_[free_head_++ & id_mask_];
        put(piece, id, Direction);
        return id;
    }
    // The same for a device-readable chain of 1..free_descriptors() pieces. 2.8.6: the id counts in
    // the last descriptor; it does no harm in the others.
    uint16_t make_available(std::span<const Piece> pieces)
    {
        const uint16_t id = free_ids_[free_head_++ & id_mask_];
        for (size_t left = pieces.size(); const Piece& piece : pieces)
            put(piece, id, --left == 0 ? DescFlag::None : DescFlag::Next);
        return id;
    }

    [[nodiscard]] bool has_unpublished() const { return unpublished_ != 0; }
    // Shows the device all buffers made available so far: the flags of the first descriptor, which
    // were held back, open the way to all behind it (2.8.16).
    void publish()
    {
        exposed_ = unpublished_;
        if (unpublished_ == 0)
            return;
        unpublished_ = 0;
        // After the stores of all descriptors of the batch; pairs with the device's load of the
        // flags (2.8.21.1.1).
        order::store_release(ring_[head_].flags, static_cast<uint16_t>(head_flags_));
    }
    // After publish(): whether the device wants to be told.
    [[nodiscard]] bool should_notify() const
    {
        order::full_fence(); // 2.8.21.3.1
        const uint32_t event = order::load_once(*device_event_);
        const auto flags = static_cast<PackedEvent>(event >> 16 & 3);
        if (flags == PackedEvent::Disable)
            return false;
        // 2.8.10: the value is for EVENT_IDX only. An unknown one is taken as "enable".
        return flags != PackedEvent::Descriptor || !event_idx_ ||
               exposes(static_cast<uint16_t>(event));
    }

  private:
    static constexpr uint32_t kBothWraps = kPackedAvail | kPackedUsed;

    [[nodiscard]] uint32_t slot_at(uint32_t ahead) const
    {
        const uint32_t slot = front_ + ahead;
        return slot < size_ ? slot : slot - size_;
    }
    // 2.8.1: used when both bits equal the wrap counter at that position.
    [[nodiscard]] bool used_at_distance(uint32_t ahead) const
    {
        uint32_t slot = front_ + ahead;
        uint32_t wanted = used_flags_;
        if (slot >= size_) {
            slot -= size_;
            wanted ^= kBothWraps;
        }
        // Before the load of the element and of what the device wrote; pairs with its store of the
        // flags (2.8.22).
        return (order::load_acquire(ring_[slot].flags) & kBothWraps) == wanted;
    }
    void step(uint32_t count)
    {
        free_ += count;
        front_ += count;
        if (front_ >= size_) {
            front_ -= size_;
            used_flags_ ^= kBothWraps;
        }
    }
    // 2.8.6: each descriptor carries the wrap counter of its own position.
    void put(Piece piece, uint16_t id, DescFlag kind)
    {
        uint32_t flags = static_cast<uint32_t>(kind) | avail_flags_;
        if (unpublished_++ == 0) {
            head_ = next_;
            head_flags_ = flags;
            flags ^= kBothWraps; // available in the other lap, which is not now
        }
        PackedDescriptor& descriptor = ring_[next_];
        descriptor.address = piece.address;
        order::store_word(&descriptor.length,
                          piece.length | uint64_t{id} << 32 | uint64_t{flags} << 48);
        --free_;
        if (++next_ == size_) {
            next_ = 0;
            avail_flags_ ^= kBothWraps;
        }
    }
    // Whether the descriptor at `off_wrap` (offset, and wrap counter in bit 15) is among those that
    // the last publish() exposed.
    [[nodiscard]] bool exposes(uint16_t off_wrap) const
    {
        const bool this_lap = (off_wrap >> 15 != 0) == (avail_flags_ == kPackedAvail);
        const int32_t offset = off_wrap & 0x7fff;
        const int32_t position = this_lap ? offset : offset - static_cast<int32_t>(size_);
        const auto end = static_cast<int32_t>(next_);
        return position < end && position >= end - static_cast<int32_t>(exposed_);
    }

    PackedDescriptor* ring_ = nullptr;
    const uint32_t* device_event_ = nullptr;
    uint16_t* free_ids_ = nullptr; // a queue: free_head_ takes, free_tail_ gives
    uint32_t size_ = 0;
    uint32_t id_mask_ = 0;
    uint32_t next_ = 0;  // position of the next descriptor to be made available
    uint32_t front_ = 0; // position of the first one not taken back
    uint32_t avail_flags_ =
        kPackedAvail;                  // what AVAIL and USED say of an available descriptor there
    uint32_t used_flags_ = kBothWraps; // and of a used one
    uint32_t free_ = 0;                // descriptors
    uint32_t seen_ = 0;                // used_ready() of the last call, minus what was consumed
    uint32_t unpublished_ = 0;         // descriptors made available since publish()
    uint32_t exposed_ = 0;             // descriptors that the last publish() showed
    uint32_t head_ = 0;                // the first of those unpublished, and its flags
    uint32_t head_flags_ = 0;
    uint32_t free_head_ = 0;
    uint32_t free_tail_ = 0;
    bool event_idx_ = false;
};
static_assert(Ring<PackedRing>);

} // namespace fit
