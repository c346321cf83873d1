// The rules that a ring must meet before its addresses are sent to a back end.
#pragma once

#include "base/result.hpp"
#include "transport/vhost_user/memory_table.hpp"
#include "virtio/transport.hpp"

namespace fit::vhost_user {

// VIRTIO 1.3, 2.7 and 2.8.10: size, alignment; and that each area lies whole in one shared region,
// because the back end maps each region where it likes. Errors: InvalidArgument (value: the size or
// the address).
Result<void> check_vring(const QueueAddresses& queue, bool packed, const MemoryTable& memory);

} // namespace fit::vhost_user
