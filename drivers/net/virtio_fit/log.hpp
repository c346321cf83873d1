// Log types of the driver, as `--log-level=pmd.net.virtio_fit.rx:debug` names them.
#pragma once

#include <rte_log.h>

#include "base/error.hpp"

namespace fit {

extern int log_driver; // pmd.net.virtio_fit
extern int log_rx;     // pmd.net.virtio_fit.rx
extern int log_tx;     // pmd.net.virtio_fit.tx
extern int log_vhost;  // pmd.net.virtio_fit.vhost

// One line about `name` (the port's device name); a printf format without a line end.
[[gnu::format(printf, 4, 5)]] void log_line(uint32_t level, int type, const char* name,
                                            const char* format, ...);

// One line "name: what: thing: why [value]" for an Error.
void log_error(int type, const char* name, const char* what, const Error& error);

} // namespace fit
