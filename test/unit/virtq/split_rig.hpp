// A driver's ring and the fake device at the other end of it, with memory between them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "fake/guest_memory.hpp"
#include "fake/split_device.hpp"
#include "virtq/split_ring.hpp"

namespace fit {

struct SplitRig {
    explicit SplitRig(uint16_t size)
        : layout{size}, shared(memory.allocate(layout.bytes(), SplitLayout::kLine)),
          priv(SplitRing::private_bytes(size)), ring(attached()),
          device(fake::SplitDevice::at_device_addresses(memory.device(), shared.device,
                                                        shared.device + layout.driver_area(),
                                                        shared.device + layout.device_area(), size))
    {
    }

    // Bytes [at, at + n) of the shared block.
    [[nodiscard]] std::vector<uint8_t> bytes(size_t at, size_t n) const
    {
        std::vector<uint8_t> copy;
        for (std::byte b : shared.bytes().subspan(at, n))
            copy.push_back(std::to_integer<uint8_t>(b));
        return copy;
    }

    fake::GuestMemory memory;
    SplitLayout layout;
    fake::GuestMemory::Block shared;
    std::vector<std::byte> priv;
    SplitRing ring;
    fake::SplitDevice device;

  private:
    // Zeroing is the ring's duty: both memories start dirty.
    SplitRing attached()
    {
        for (std::span<std::byte> dirty : {shared.bytes(), std::span<std::byte>(priv)})
            std::fill(dirty.begin(), dirty.end(), std::byte{0xa5});
        SplitRing r;
        r.attach(layout, shared.driver, priv.data());
        return r;
    }
};

} // namespace fit
