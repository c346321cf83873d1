#include "transport/vhost_user/vring_check.hpp"

#include <bit>

namespace fit::vhost_user {
namespace {

constexpr uint16_t kMaxQueueSize = 32768;
constexpr uint64_t kDescriptorBytes = 16;

struct Area {
    uint64_t address;
    uint64_t bytes;
    uint64_t alignment;
};

Result<void> check_area(const Area& area, const MemoryTable& memory)
{
    constexpr const char* kThing = "SET_VRING_ADDR";
    const auto value = static_cast<int64_t>(area.address);
    if (area.address % area.alignment != 0)
        return Error(Errno::InvalidArgument, kThing, "a ring area is not aligned; its address",
                     value);
    if (!memory.contains(area.address, area.bytes))
        return Error(Errno::InvalidArgument, kThing,
                     "a ring area lies outside the shared memory; its address", value);
    return {};
}

} // namespace

Result<void> check_vring(const QueueAddresses& queue, bool packed, const MemoryTable& memory)
{
    if (queue.size == 0 || queue.size > kMaxQueueSize ||
        (!packed && !std::has_single_bit(queue.size)))
        return Error(Errno::InvalidArgument, "SET_VRING_NUM",
                     "the ring size must be 1 to 32768, and a power of two for a split ring; size",
                     queue.size);
    // Split: the rings' flags, index and event word (6 bytes) and 2 or 8 bytes per entry. Packed:
    // the two event suppression structs.
    const uint64_t n = queue.size;
    const Area areas[] = {
        {queue.descriptor_area, kDescriptorBytes * n, 16},
        {queue.driver_area, packed ? 4 : 6 + 2 * n, packed ? 4u : 2u},
        {queue.device_area, packed ? 4 : 6 + 8 * n, 4},
    };
    for (const Area& area : areas) {
        if (auto checked = check_area(area, memory); !checked)
            return checked;
    }
    return {};
}

} // namespace fit::vhost_user
