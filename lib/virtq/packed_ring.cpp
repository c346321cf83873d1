#include "virtq/packed_ring.hpp"

namespace fit {

void PackedRing::attach(const PackedLayout& layout, std::byte* shared, std::byte* priv,
                        RingOptions options)
{
    // 2.8.13: the ring is zero before the device learns of it.
    std::memset(shared, 0, layout.bytes());
    *this = {};
    ring_ = reinterpret_cast<PackedDescriptor*>(shared);
    device_event_ = reinterpret_cast<const uint32_t*>(shared + layout.device_area());
    free_ids_ = reinterpret_cast<uint16_t*>(priv);
    size_ = layout.size;
    id_mask_ = std::bit_ceil(layout.size) - 1U;
    free_ = layout.size;
    free_tail_ = layout.size;
    event_idx_ = options.event_idx;
    for (uint32_t i = 0; i < layout.size; ++i)
        free_ids_[i] = static_cast<uint16_t>(i);
    auto& driver_event = *reinterpret_cast<uint32_t*>(shared + layout.driver_area());
    order::store_once(driver_event, static_cast<uint32_t>(PackedEvent::Disable) << 16);
}

} // namespace fit
