#include "fake/split_device.hpp"

#include <algorithm>
#include <string>

namespace fit::fake {

namespace {

uint64_t sum_of(const Chain& chain, bool writable)
{
    uint64_t sum = 0;
    for (const Segment& s : chain.segments)
        sum += s.writable == writable ? s.length : 0;
    return sum;
}

bool aligned(const std::byte* p, size_t alignment)
{
    return reinterpret_cast<uintptr_t>(p) % alignment == 0;
}

} // namespace

uint64_t Chain::readable_bytes() const
{
    return sum_of(*this, false);
}

uint64_t Chain::writable_bytes() const
{
    return sum_of(*this, true);
}

SplitDevice::SplitDevice(DeviceMemory& memory, const SplitAreas& areas)
    : memory_(&memory), areas_(areas), tracked_(areas.size), busy_(areas.size),
      device_area_(device_area_bytes(areas.size))
{
    if (areas.size == 0 || (areas.size & (areas.size - 1)) != 0 || areas.size > kMaximumSplitSize)
        fail("SPL_02", "queue size " + std::to_string(areas.size));
    if (areas.descriptor == nullptr || areas.driver == nullptr || areas.device == nullptr) {
        broken_ = true; // the failed translation is on record
        return;
    }
    if (!aligned(areas.descriptor, kDescriptorAlignment))
        fail("SPL_01", "descriptor area is not aligned to 16");
    if (!aligned(areas.driver, kAvailableAlignment))
        fail("SPL_01", "driver area is not aligned to 2");
    if (!aligned(areas.device, kUsedAlignment))
        fail("SPL_01", "device area is not aligned to 4");
    if (broken_)
        return;
    if (load_word(areas.device + kUsedFlags, std::memory_order_relaxed) != 0)
        violate("SPL_17", "used.flags is not 0 at hand-over");
    if (std::any_of(areas.device + kUsedIndex, areas.device + device_area_.size(),
                    [](std::byte b) { return b != std::byte{0}; }))
        violate("SPL_03", "the used ring is not zeroed at hand-over");
    std::copy_n(areas.device, device_area_.size(), device_area_.begin());
}

SplitDevice SplitDevice::at_device_addresses(DeviceMemory& memory, uint64_t descriptor,
                                             uint64_t driver, uint64_t device, uint16_t size)
{
    return {memory,
            {memory.translate(descriptor, descriptor_area_bytes(size)),
             memory.translate(driver, driver_area_bytes(size)),
             memory.translate(device, device_area_bytes(size)), size}};
}

void SplitDevice::violate(const char* id, const std::string& text)
{
    memory_->violations().add(id, text);
}

void SplitDevice::fail(const char* id, const std::string& text)
{
    violate(id, text);
    broken_ = true;
}

void SplitDevice::poll()
{
    if (broken_)
        return;
    // Acquire: pairs with the driver's store of the index; all that it published lies before.
    const uint16_t index = load_word(areas_.driver + kAvailableIndex, std::memory_order_acquire);
    const auto fresh = static_cast<uint16_t>(index - next_available_);
    if (fresh > areas_.size) {
        fail("SPL_10", "available index went from " + std::to_string(next_available_) + " to " +
                           std::to_string(index));
        return;
    }
    while (next_available_ != index) {
        if (!sight(next_available_))
            return;
        ++next_available_;
    }
}

bool SplitDevice::sight(uint16_t position)
{
    const size_t element = position & (areas_.size - 1);
    const auto head =
        load_little<uint16_t>(areas_.driver + kAvailableRing + kAvailableElementBytes * element);
    if (head >= areas_.size) {
        fail("SPL_11", "available element " + std::to_string(element) + " names descriptor " +
                           std::to_string(head));
        return false;
    }
    std::optional<Tracked> tracked = walk(head);
    if (!tracked)
        return false;
    for (uint16_t slot : tracked->slots)
        busy_[slot] = true;
    tracked_[head] = std::move(tracked);
    waiting_.push_back(head);
    ++in_flight_;
    return true;
}

std::optional<SplitDevice::Tracked> SplitDevice::walk(uint16_t head)
{
    Tracked tracked;
    tracked.chain.head = head;
    uint16_t slot = head;
    bool more = true;
    while (more) {
        if (!add_slot(tracked, slot))
            return std::nullopt;
        const std::byte* at = tracked.images.back().data();
        const auto flags = load_little<uint16_t>(at + kDescriptorFlags);
        tracked.chain.segments.push_back({load_little<uint64_t>(at + kDescriptorAddress),
                                          load_little<uint32_t>(at + kDescriptorLength),
                                          (flags & kFlagWrite) != 0});
        check_segment(tracked, slot, flags);
        more = (flags & kFlagNext) != 0;
        const uint16_t previous = slot;
        slot = load_little<uint16_t>(at + kDescriptorNext);
        if (more && slot >= areas_.size) {
            fail("SPL_08",
                 "next of descriptor " + std::to_string(previous) + " is " + std::to_string(slot));
            return std::nullopt;
        }
    }
    if (tracked.chain.readable_bytes() + tracked.chain.writable_bytes() > uint64_t{1} << 32)
        violate("SPL_06", "chain " + std::to_string(head) + " is longer than 2^32 bytes");
    return tracked;
}

bool SplitDevice::add_slot(Tracked& tracked, uint16_t slot)
{
    const auto where = [&] {
        return "chain " + std::to_string(tracked.chain.head) + " at descriptor " +
               std::to_string(slot);
    };
    if (busy_[slot]) {
        fail("SPL_09", where() + " takes a slot that is still in flight");
        return false;
    }
    if (std::find(tracked.slots.begin(), tracked.slots.end(), slot) != tracked.slots.end()) {
        fail("SPL_07", where() + " loops");
        return false;
    }
    tracked.slots.push_back(slot);
    tracked.images.push_back(image(slot));
    return true;
}

void SplitDevice::check_segment(const Tracked& tracked, uint16_t slot, uint16_t flags)
{
    const Segment& last = tracked.chain.segments.back();
    const auto which = [&] { return "descriptor " + std::to_string(slot); };
    if ((flags & ~(kFlagNext | kFlagWrite | kFlagIndirect)) != 0)
        violate("SPL_08", which() + " has reserved flags " + std::to_string(flags));
    if ((flags & kFlagIndirect) != 0)
        violate("FEA_01", which() + " is indirect");
    if (last.length == 0)
        violate("SPL_08", which() + " has length 0");
    if (!last.writable && tracked.chain.segments.size() > 1 &&
        std::prev(tracked.chain.segments.end(), 2)->writable)
        violate("SPL_04", which() + " is readable after a writable one");
    (void)memory_->translate(last.address, last.length); // a miss is recorded there
}

SplitDevice::Image SplitDevice::image(uint16_t slot) const
{
    Image bytes;
    std::copy_n(areas_.descriptor + kDescriptorBytes * slot, bytes.size(), bytes.begin());
    return bytes;
}

std::optional<Chain> SplitDevice::next_available()
{
    poll();
    if (waiting_.empty())
        return std::nullopt;
    Tracked& first = *tracked_[waiting_.front()];
    waiting_.pop_front();
    first.taken = true;
    return first.chain;
}

} // namespace fit::fake
