// A packed ring in memory of its own, and its bytes at the spec's offsets (VIRTIO 1.3, 2.8.13,
// 2.8.14).
#pragma once

#include <algorithm>
#include <vector>

#include "fake/wire.hpp"
#include "virtq/packed_ring.hpp"

namespace fit {

struct PackedRig {
    explicit PackedRig(uint16_t size, RingOptions options = {})
        : layout{size}, block(layout.bytes() + PackedLayout::kLine),
          priv(PackedRing::private_bytes(size), std::byte{0xa5})
    {
        // Zeroing is the ring's duty: both memories start dirty.
        std::fill(block.begin(), block.end(), std::byte{0xa5});
        const auto begin = reinterpret_cast<uintptr_t>(block.data());
        shared = block.data() + (PackedLayout::kLine - begin % PackedLayout::kLine);
        ring.attach(layout, shared, priv.data(), options);
    }

    // A descriptor's fields.
    [[nodiscard]] uint64_t address(uint32_t slot) const
    {
        return fake::load_little<uint64_t>(shared + size_t{16} * slot);
    }
    [[nodiscard]] uint32_t length(uint32_t slot) const
    {
        return fake::load_little<uint32_t>(shared + size_t{16} * slot + 8);
    }
    [[nodiscard]] uint16_t id(uint32_t slot) const
    {
        return fake::load_little<uint16_t>(shared + size_t{16} * slot + 12);
    }
    [[nodiscard]] uint16_t flags(uint32_t slot) const
    {
        return fake::load_little<uint16_t>(shared + size_t{16} * slot + 14);
    }
    // What a device writes that completes the buffer `id`.
    void use(uint32_t slot, uint16_t used_id, uint32_t used_length, uint16_t used_flags)
    {
        fake::store_little<uint32_t>(shared + size_t{16} * slot + 8, used_length);
        fake::store_little<uint16_t>(shared + size_t{16} * slot + 12, used_id);
        fake::store_little<uint16_t>(shared + size_t{16} * slot + 14, used_flags);
    }
    void set_device_event(uint16_t off_wrap, uint16_t event_flags)
    {
        fake::store_little<uint16_t>(shared + layout.device_area(), off_wrap);
        fake::store_little<uint16_t>(shared + layout.device_area() + 2, event_flags);
    }

    PackedLayout layout;
    std::vector<std::byte> block;
    std::vector<std::byte> priv;
    std::byte* shared = nullptr;
    PackedRing ring;
};

} // namespace fit
