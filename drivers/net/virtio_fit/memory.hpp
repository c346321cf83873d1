// The memory of this DPDK process, as the device must know it.
#pragma once

#include <vector>

#include <rte_mempool.h>

#include "virtio/transport.hpp"

namespace fit {

// Every page of EAL memory with the file behind it. Descriptors carry virtual addresses, so both
// addresses are equal.
std::vector<MemorySegment> eal_memory();

// Whether all of the pool lies in that memory, and not in some that the application brought along.
bool in_eal_memory(rte_mempool* pool);

} // namespace fit
