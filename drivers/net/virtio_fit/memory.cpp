#include "memory.hpp"

#include <rte_eal_memconfig.h>
#include <rte_memory.h>

namespace fit {
namespace {

int add_segment(const rte_memseg_list* list, const rte_memseg* page, void* arg)
{
    // Memory that the application brought along is not ours to share.
    if (list->external != 0)
        return 0;
    const auto address = reinterpret_cast<uint64_t>(page->addr);
    MemorySegment segment = {
        .driver_address = address, .device_address = address, .length = page->len};
    size_t offset = 0;
    // EAL holds the lock that guards these two (eal_memory walks under it).
    const int fd = rte_memseg_get_fd_thread_unsafe(page);
    if (fd >= 0 && rte_memseg_get_fd_offset_thread_unsafe(page, &offset) == 0) {
        segment.fd = fd;
        segment.fd_offset = offset;
    }
    static_cast<std::vector<MemorySegment>*>(arg)->push_back(segment);
    return 0;
}

void check_chunk(rte_mempool*, void* all_inside, rte_mempool_memhdr* chunk, unsigned)
{
    const rte_memseg_list* list = rte_mem_virt2memseg_list(chunk->addr);
    if (list == nullptr || list->external != 0)
        *static_cast<bool*>(all_inside) = false;
}

} // namespace

std::vector<MemorySegment> eal_memory()
{
    std::vector<MemorySegment> segments;
    // Takes the lock of the memory map for reading; the callback never stops the walk.
    (void)rte_memseg_walk(add_segment, &segments);
    return segments;
}

bool in_eal_memory(rte_mempool* pool)
{
    bool all_inside = true;
    (void)rte_mempool_mem_iter(pool, check_chunk, &all_inside); // returns the number of chunks
    return all_inside;
}

} // namespace fit
