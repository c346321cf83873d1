#include "transport/vhost_user/memory_table.hpp"

#include <algorithm>
#include <memory>
#include <new>

namespace fit::vhost_user {
namespace {

constexpr const char* kThing = "SET_MEM_TABLE";

bool wraps(uint64_t address, uint64_t length)
{
    return address + length < address;
}

bool overlap(uint64_t a, uint64_t a_length, uint64_t b, uint64_t b_length)
{
    return a < b + b_length && b < a + a_length;
}

Result<void> check(const MemorySegment& segment)
{
    if (segment.fd < 0)
        return unshareable_memory();
    if (segment.length == 0)
        return Error(Errno::InvalidArgument, kThing, "a memory segment is empty");
    if (wraps(segment.driver_address, segment.length) ||
        wraps(segment.device_address, segment.length) || wraps(segment.fd_offset, segment.length))
        return Error(Errno::InvalidArgument, kThing,
                     "a memory segment passes the end of the address space");
    return {};
}

bool follows(const MemorySegment& a, const MemorySegment& b)
{
    return a.fd == b.fd && a.driver_address + a.length == b.driver_address &&
           a.device_address + a.length == b.device_address && a.fd_offset + a.length == b.fd_offset;
}

// Joins neighbours in place; the result is the front part of `sorted`.
std::span<MemorySegment> merge(std::span<MemorySegment> sorted)
{
    size_t last = 0;
    for (size_t i = 1; i < sorted.size(); ++i) {
        if (follows(sorted[last], sorted[i]))
            sorted[last].length += sorted[i].length;
        else
            sorted[++last] = sorted[i];
    }
    return sorted.first(last + 1);
}

bool driver_addresses_overlap(std::span<const MemorySegment> sorted)
{
    for (size_t i = 1; i < sorted.size(); ++i) {
        if (sorted[i - 1].driver_address + sorted[i - 1].length > sorted[i].driver_address)
            return true;
    }
    return false;
}

bool device_addresses_overlap(std::span<const MemorySegment> regions)
{
    for (size_t i = 0; i < regions.size(); ++i) {
        for (size_t k = i + 1; k < regions.size(); ++k) {
            if (overlap(regions[i].device_address, regions[i].length, regions[k].device_address,
                        regions[k].length))
                return true;
        }
    }
    return false;
}

} // namespace

Result<MemoryTable> MemoryTable::build(std::span<const MemorySegment> segments)
{
    if (segments.empty())
        return Error(Errno::InvalidArgument, kThing, "there is no memory to share");
    for (const MemorySegment& segment : segments) {
        if (auto checked = check(segment); !checked)
            return checked.error();
    }
    const std::unique_ptr<MemorySegment[]> copy(new (std::nothrow) MemorySegment[segments.size()]);
    if (copy == nullptr)
        return Error(Errno::NoMemory, kThing, "no memory to sort the segments; how many",
                     static_cast<int64_t>(segments.size()));
    const std::span<MemorySegment> sorted(copy.get(), segments.size());
    std::ranges::copy(segments, sorted.begin());
    std::ranges::sort(sorted, {}, &MemorySegment::driver_address);

    const std::span<MemorySegment> regions = merge(sorted);
    if (driver_addresses_overlap(regions))
        return Error(Errno::InvalidArgument, kThing, "memory segments overlap in this process");
    if (regions.size() > kMaxRegions)
        return Error(Errno::NotSupported, kThing,
                     "the memory makes more regions than the 8 that a back end takes; run with "
                     "--single-file-segments and --iova-mode=va; regions",
                     static_cast<int64_t>(regions.size()));
    if (device_addresses_overlap(regions))
        return Error(Errno::InvalidArgument, kThing, "memory segments overlap in device addresses");

    MemoryTable table;
    for (const MemorySegment& r : regions) {
        table.fds_[table.payload_.count] = r.fd;
        table.payload_.regions[table.payload_.count++] = {r.device_address, r.length,
                                                          r.driver_address, r.fd_offset};
    }
    return table;
}

std::span<const std::byte> MemoryTable::payload() const
{
    return std::as_bytes(std::span(&payload_, 1))
        .first(offsetof(MemoryPayload, regions) + payload_.count * sizeof(MemoryRegion));
}

bool MemoryTable::contains(uint64_t driver_address, uint64_t length) const
{
    return std::ranges::any_of(regions(), [&](const MemoryRegion& r) {
        return driver_address >= r.driver_address && length <= r.size &&
               driver_address - r.driver_address <= r.size - length;
    });
}

Error unshareable_memory()
{
    return {Errno::NotSupported, kThing,
            "memory that cannot be shared with the back end (anonymous); run with hugepages and "
            "--in-memory --single-file-segments, or --no-huge on DPDK >= 22.11"};
}

} // namespace fit::vhost_user
