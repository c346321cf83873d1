#include "pool_sizing.hpp"

#include <algorithm>

namespace fit::testpmd {

namespace {

constexpr uint32_t kJumboFrame = 9216;

// rte_mempool flushes a cache at 1.5 times its size, so that much can sit in it.
constexpr uint32_t flush_threshold(uint32_t cache)
{
    return cache + cache / 2;
}

} // namespace

uint32_t mbufs_for(const PoolDemand& demand)
{
    return demand.queues * (demand.descriptors + demand.held) +
           demand.lcores * flush_threshold(kPoolCache);
}

uint32_t cache_for(uint32_t mbufs)
{
    // A quarter, so that the caches of two lcores leave something for the rings.
    return std::min(kPoolCache, mbufs / 4);
}

uint32_t segments_of(uint32_t length, uint32_t room)
{
    return std::max(1U, (length + room - 1) / room);
}

uint32_t largest_frame(uint32_t mtu_frame, uint16_t largest_room)
{
    return std::max<uint32_t>({mtu_frame, largest_room, kJumboFrame});
}

size_t single_class(std::span<const uint16_t> rooms, uint32_t frame)
{
    const auto fits =
        std::find_if(rooms.begin(), rooms.end(), [frame](uint16_t room) { return room >= frame; });
    return fits == rooms.end() ? rooms.size() - 1 : static_cast<size_t>(fits - rooms.begin());
}

} // namespace fit::testpmd
