#include "fake/guest_memory.hpp"

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>

namespace fit::fake {

namespace {

std::string describe(uint64_t device_address, uint64_t length)
{
    char text[64];
    std::snprintf(text, sizeof(text), "0x%" PRIx64 " + %" PRIu64, device_address, length);
    return text;
}

} // namespace

void DeviceMemory::add_region(std::byte* driver, uint64_t device_address, uint64_t length)
{
    const uint64_t end = device_address + length;
    if (driver == nullptr || end <= device_address)
        throw std::logic_error("region is empty or wraps: " + describe(device_address, length));
    const auto after = regions_.lower_bound(device_address);
    if (after != regions_.end() && after->first < end)
        throw std::logic_error("region overlaps its successor: " +
                               describe(device_address, length));
    if (after != regions_.begin()) {
        const auto before = std::prev(after);
        if (before->first + before->second.length > device_address)
            throw std::logic_error("region overlaps its predecessor: " +
                                   describe(device_address, length));
    }
    regions_.emplace(device_address, Region{driver, length});
}

void DeviceMemory::remove_region(uint64_t device_address)
{
    if (regions_.erase(device_address) == 0)
        throw std::logic_error("no region starts at " + describe(device_address, 0));
}

std::byte* DeviceMemory::translate(uint64_t device_address, uint64_t length)
{
    const auto after = regions_.upper_bound(device_address);
    if (after != regions_.begin()) {
        const auto& [start, region] = *std::prev(after);
        const uint64_t offset = device_address - start;
        if (offset < region.length && length <= region.length - offset)
            return region.driver + offset;
    }
    violations_.add("MEMORY", "the device cannot reach " + describe(device_address, length));
    return nullptr;
}

std::optional<uint64_t> DeviceMemory::device_address(const std::byte* driver) const
{
    const auto wanted = reinterpret_cast<uintptr_t>(driver);
    for (const auto& [start, region] : regions_) {
        const auto first = reinterpret_cast<uintptr_t>(region.driver);
        if (wanted >= first && wanted - first < region.length)
            return start + (wanted - first);
    }
    return std::nullopt;
}

GuestMemory::GuestMemory(uint64_t first_device_address) : next_(first_device_address)
{
}

GuestMemory::Block GuestMemory::allocate(size_t length, size_t alignment)
{
    const auto align = std::align_val_t{alignment};
    std::unique_ptr<std::byte[], AlignedDelete> owner(
        static_cast<std::byte*>(::operator new[](length, align)), AlignedDelete{align});
    std::memset(owner.get(), 0, length);

    const uint64_t device = (next_ + alignment - 1) & ~uint64_t{alignment - 1};
    const Block block{owner.get(), device, length};
    device_.add_region(block.driver, block.device, length);
    blocks_.emplace(device, std::move(owner));
    next_ = device + length + kGap;
    return block;
}

void GuestMemory::release(const Block& block)
{
    device_.remove_region(block.device);
    blocks_.erase(block.device);
}

} // namespace fit::fake
