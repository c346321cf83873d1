// Memory that driver and fake device share. Device addresses never equal driver addresses, so that
// a driver which puts a pointer where a device address belongs is found out by the first access.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <span>

#include "fake/violations.hpp"

namespace fit::fake {

// What the device can reach: a translation table from device addresses to this process.
class DeviceMemory {
  public:
    // Makes `length` bytes at `driver` known to the device under `device_address`. Throws
    // std::logic_error when the range is empty, wraps, or overlaps a region that is already there.
    void add_region(std::byte* driver, uint64_t device_address, uint64_t length);
    // Takes away the region that starts at `device_address`; throws std::logic_error when there is
    // none.
    void remove_region(uint64_t device_address);

    // Where [device_address, device_address + length) lies in this process; nullptr, and a
    // violation, unless one region holds all of it.
    std::byte* translate(uint64_t device_address, uint64_t length);

    // The device address of a byte inside a region; nothing when no region holds it.
    [[nodiscard]] std::optional<uint64_t> device_address(const std::byte* driver) const;

    Violations& violations() { return violations_; }

  private:
    struct Region {
        std::byte* driver;
        uint64_t length;
    };

    std::map<uint64_t, Region> regions_; // by device address
    Violations violations_;
};

// Hands out blocks of shared memory, each a region and a heap allocation of its own: one byte too
// far is a miss for the device and an address sanitizer report for the driver.
class GuestMemory {
  public:
    struct Block {
        std::byte* driver = nullptr;
        uint64_t device = 0;
        size_t length = 0;

        [[nodiscard]] std::span<std::byte> bytes() const { return {driver, length}; }
    };

    explicit GuestMemory(uint64_t first_device_address = kFirstDeviceAddress);

    // `length` > 0 zeroed bytes; `alignment` is a power of two and holds for both addresses.
    Block allocate(size_t length, size_t alignment = 1);
    // Ends the life of a block: the device misses it from now on.
    void release(const Block& block);

    DeviceMemory& device() { return device_; }
    Violations& violations() { return device_.violations(); }

    // High enough to fill all eight bytes of a descriptor address with something.
    static constexpr uint64_t kFirstDeviceAddress = 0x1122'3344'0000'0000;
    // Unmapped device addresses after each block.
    static constexpr uint64_t kGap = 4096;

  private:
    struct AlignedDelete {
        std::align_val_t alignment;
        void operator()(std::byte* p) const { ::operator delete[](p, alignment); }
    };

    DeviceMemory device_;
    std::map<uint64_t, std::unique_ptr<std::byte[], AlignedDelete>> blocks_; // by device address
    uint64_t next_;
};

} // namespace fit::fake
