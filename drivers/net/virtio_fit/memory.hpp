// The memory of this DPDK process, as the device must know it.
#pragma once

#include <vector>

#include "virtio/transport.hpp"

namespace fit {

// Every page of EAL memory with the file behind it. Descriptors carry virtual addresses, so both
// addresses are equal.
std::vector<MemorySegment> eal_memory();

} // namespace fit
