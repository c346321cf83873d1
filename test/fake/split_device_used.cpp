// What the fake device writes: completions, honest and hostile.
#include <algorithm>
#include <random>
#include <stdexcept>
#include <string>

#include "fake/split_device.hpp"

namespace fit::fake {

void SplitDevice::use(std::span<const Used> elements)
{
    std::vector<bool> repeated(areas_.size);
    for (const Used& e : elements) {
        if (e.id >= areas_.size || repeated[e.id] || !tracked_[e.id] || !tracked_[e.id]->taken)
            throw std::logic_error("use: chain " + std::to_string(e.id) +
                                   " is not in the hands of the device");
        if (e.length > tracked_[e.id]->chain.writable_bytes())
            throw std::logic_error("use: length " + std::to_string(e.length) +
                                   " is more than chain " + std::to_string(e.id) + " holds");
        repeated[e.id] = true;
    }
    use_unchecked(elements);
}

void SplitDevice::use_unchecked(std::span<const Used> elements)
{
    if (broken_)
        return;
    uint16_t index = used_index_;
    for (const Used& e : elements) {
        if (e.id < areas_.size && tracked_[e.id])
            retire(static_cast<uint16_t>(e.id));
        write_used(index++, e);
    }
    publish(index);
}

void SplitDevice::retire(uint16_t head)
{
    const Tracked& tracked = *tracked_[head];
    for (size_t i = 0; i < tracked.slots.size(); ++i) {
        if (image(tracked.slots[i]) != tracked.images[i])
            violate("GEN_31",
                    "descriptor " + std::to_string(tracked.slots[i]) + " changed while in flight");
        busy_[tracked.slots[i]] = false;
    }
    if (!tracked.taken)
        std::erase(waiting_, head);
    tracked_[head].reset();
    --in_flight_;
}

void SplitDevice::write_used(uint16_t index, Used element)
{
    const size_t offset = kUsedRing + kUsedElementBytes * (index & (areas_.size - 1));
    for (std::byte* area : {areas_.device, device_area_.data()}) {
        store_little<uint32_t>(area + offset + kUsedElementId, element.id);
        store_little<uint32_t>(area + offset + kUsedElementLength, element.length);
    }
}

void SplitDevice::publish(uint16_t index)
{
    used_index_ = index;
    // Release: orders the elements and the buffers' contents before the index; pairs with the
    // driver's acquire load of the index; otherwise it could read an element of the lap before.
    store_device_word(kUsedIndex, index, std::memory_order_release);
    // Full fence: orders the index store before the load of avail.flags; pairs with the driver's
    // fence between storing avail.flags and looking at the index once more; otherwise both sides
    // could miss the other's store.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    ++((available_flags() & kNoInterrupt) == 0 ? interrupts_wanted_ : interrupts_suppressed_);
}

void SplitDevice::store_device_word(size_t offset, uint16_t value, std::memory_order order)
{
    store_little<uint16_t>(device_area_.data() + offset, value);
    store_word(areas_.device + offset, value, order);
}

void SplitDevice::poke_used(uint16_t index, uint32_t id, uint32_t length)
{
    if (!broken_)
        write_used(index, {id, length});
}

void SplitDevice::set_used_index(uint16_t index)
{
    if (!broken_)
        publish(index);
}

void SplitDevice::scribble_descriptors(uint64_t seed)
{
    if (broken_)
        return;
    std::mt19937_64 random(seed);
    for (size_t i = 0; i < descriptor_area_bytes(areas_.size); i += sizeof(uint64_t))
        store_little<uint64_t>(areas_.descriptor + i, random());
    for (std::optional<Tracked>& tracked : tracked_) {
        for (size_t i = 0; tracked && i < tracked->slots.size(); ++i)
            tracked->images[i] =
                image(tracked->slots[i]); // the device wrote this, so it is no GEN_31
    }
}

void SplitDevice::set_no_notify(bool on)
{
    if (broken_)
        return;
    store_device_word(kUsedFlags, on ? kNoNotify : 0, std::memory_order_relaxed);
    // Full fence: orders the flags store before the next load of the available index; pairs with
    // the driver's fence between storing that index and loading used.flags; otherwise a buffer
    // could go unnoticed by both.
    std::atomic_thread_fence(std::memory_order_seq_cst);
}

void SplitDevice::set_avail_event(uint16_t value)
{
    if (!broken_)
        store_device_word(kUsedRing + kUsedElementBytes * areas_.size, value,
                          std::memory_order_relaxed);
}

uint16_t SplitDevice::available_flags()
{
    if (broken_)
        return 0;
    const uint16_t flags = load_word(areas_.driver + kAvailableFlags, std::memory_order_relaxed);
    if (flags > kNoInterrupt)
        violate("SPL_12", "avail.flags is " + std::to_string(flags));
    return flags;
}

void SplitDevice::check_device_area()
{
    if (!broken_ && !std::equal(device_area_.begin(), device_area_.end(), areas_.device))
        violate("SPL_25", "the driver wrote into the device area");
}

} // namespace fit::fake
