#include "queue_memory.hpp"

#include <algorithm>
#include <cstdio>

#include <rte_malloc.h>

#include "log.hpp"

namespace fit {

int QueueMemory::allocate(const Port& port, const char* kind, uint16_t index, unsigned socket,
                          size_t extra, size_t slot_bytes)
{
    const uint16_t size = port.args.queue_size;
    layout = {size};
    char name[RTE_MEMZONE_NAMESIZE];
    (void)std::snprintf(name, sizeof(name), "fit%u_%s%u", port.port_id, kind, index);
    rings = rte_memzone_reserve_aligned(name, layout.bytes() + extra, static_cast<int>(socket),
                                        RTE_MEMZONE_IOVA_CONTIG, RTE_CACHE_LINE_SIZE);
    priv = rte_zmalloc_socket(name, slots_offset() + slot_bytes * size, RTE_CACHE_LINE_SIZE,
                              static_cast<int>(socket));
    if (rings != nullptr && priv != nullptr)
        return 0;
    log_line(RTE_LOG_ERR, log_driver, port.name,
             "%s queue %u: no memory for a ring of %u entries; give EAL more memory (-m) or lower "
             "queue_size",
             kind, index, size);
    return -ENOMEM;
}

void QueueMemory::free()
{
    if (rings != nullptr)
        (void)rte_memzone_free(rings); // fails only for what is not a zone
    rte_free(priv);
    *this = {};
}

size_t QueueMemory::slots_offset() const
{
    return RTE_ALIGN_CEIL(SplitRing::private_bytes(layout.size), RTE_CACHE_LINE_SIZE);
}

QueueAddresses QueueMemory::addresses() const
{
    const auto base = reinterpret_cast<uint64_t>(rings->addr);
    return {.descriptor_area = base,
            .driver_area = base + layout.driver_area(),
            .device_area = base + layout.device_area(),
            .size = layout.size};
}

uint16_t clamp_descriptors(const Port& port, const char* kind, uint16_t index, uint16_t wanted)
{
    const uint16_t size = port.args.queue_size;
    if (wanted > size)
        log_line(RTE_LOG_WARNING, log_driver, port.name,
                 "%s queue %u: %u descriptors wanted, the ring has %u; using %u, pass "
                 "queue_size=%u for more",
                 kind, index, wanted, size, size, rte_align32pow2(wanted));
    return wanted == 0 ? size : std::min(wanted, size);
}

uint16_t free_threshold(uint16_t wanted, uint16_t limit)
{
    const uint16_t most = std::max<uint16_t>(1, limit / 4);
    return std::min(wanted == 0 ? kDefaultFreeThreshold : wanted, most);
}

} // namespace fit
