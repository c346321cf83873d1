// Telling the device that buffers are available.
#pragma once

#include <sys/eventfd.h>

#include "base/counter.hpp"
#include "virtio/transport.hpp"

namespace fit {

// Out of line: it is a system call, and a device that polls never asks for it.
[[gnu::noinline]] inline void notify(const Notifier& notifier, Counter& sent)
{
    // The only failure of an open eventfd is a full counter, and then the device is being told
    // already.
    (void)eventfd_write(notifier.fd, 1);
    sent.add(1);
}

} // namespace fit
