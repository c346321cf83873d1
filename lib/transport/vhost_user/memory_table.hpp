// SET_MEM_TABLE: the driver's memory as at most eight regions, each with the file behind it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.hpp"
#include "transport/vhost_user/message.hpp"
#include "virtio/transport.hpp"

namespace fit::vhost_user {

class MemoryTable {
  public:
    MemoryTable() = default;
    // Joins segments of one file that follow each other in driver, device and file addresses; sorts
    // by driver address. The fds stay the caller's. Errors: NotSupported (fd -1: cannot be shared;
    // more than 8 regions, value: how many), InvalidArgument (no segment, an empty one, one that
    // passes the end of the address space, an overlap in driver or device addresses), NoMemory.
    static Result<MemoryTable> build(std::span<const MemorySegment> segments);

    [[nodiscard]] std::span<const MemoryRegion> regions() const
    {
        return std::span(payload_.regions).first(payload_.count);
    }
    // One per region, in the same order.
    [[nodiscard]] std::span<const int> fds() const { return std::span(fds_).first(payload_.count); }
    // The message's payload: 8 + 32 bytes per region.
    [[nodiscard]] std::span<const std::byte> payload() const;
    // Whether [address, address + length) of driver addresses lies within one region.
    [[nodiscard]] bool contains(uint64_t driver_address, uint64_t length) const;

  private:
    MemoryPayload payload_;
    std::array<int, kMaxRegions> fds_{};
};

// The refusal of memory that no file is behind.
Error unshareable_memory();

} // namespace fit::vhost_user
