#include "virtq/split_ring.hpp"

namespace fit {

void SplitRing::attach(const SplitLayout& layout, std::byte* shared, std::byte* priv,
                       RingOptions options)
{
    // 4.1.5.1.3: the ring is zero before the device learns of it.
    std::memset(shared, 0, layout.bytes());
    std::memset(priv, 0, private_bytes(layout.size));
    *this = {};

    descriptors_ = reinterpret_cast<SplitDescriptor*>(shared);
    avail_ = reinterpret_cast<SplitAvail*>(shared + layout.driver_area());
    avail_ring_ = reinterpret_cast<uint16_t*>(avail_ + 1);
    used_ = reinterpret_cast<SplitUsed*>(shared + layout.device_area());
    used_ring_ = reinterpret_cast<SplitUsedElement*>(used_ + 1);
    free_ids_ = reinterpret_cast<uint16_t*>(priv);
    links_ = free_ids_ + layout.size;
    announced_ = links_ + layout.size;
    used_event_word_ = avail_ring_ + layout.size;
    avail_event_ = reinterpret_cast<const uint16_t*>(used_ring_ + layout.size);
    mask_ = layout.size - 1U;
    free_tail_ = layout.size;
    event_idx_ = options.event_idx;

    for (uint32_t i = 0; i < layout.size; ++i)
        free_ids_[i] = static_cast<uint16_t>(i);
    // 2.7.7.1: with EVENT_IDX the flags stay 0, and an event just behind the index silences
    // instead.
    used_event_ = uint32_t{0} - 1;
    if (event_idx_)
        order::store_once(*used_event_word_, static_cast<uint16_t>(used_event_));
    else
        order::store_once(avail_->flags, kAvailNoInterrupt);
}

} // namespace fit
