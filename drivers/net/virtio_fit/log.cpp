#include "log.hpp"

#include <cinttypes>
#include <cstdarg>
#include <cstdio>

#include <rte_common.h>

namespace fit {

int log_driver;
int log_rx;
int log_tx;
int log_vhost;

void log_line(uint32_t level, int type, const char* name, const char* format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    (void)std::vsnprintf(text, sizeof(text), format,
                         args); // a line that is too long is cut, not lost
    va_end(args);
    rte_log(level, static_cast<uint32_t>(type), "%s: %s\n", name, text);
}

void log_error(int type, const char* name, const char* what, const Error& error)
{
    char value[32] = "";
    if (error.has_value)
        (void)std::snprintf(value, sizeof(value), " (%" PRId64 ")", error.value);
    const char* colon = error.thing[0] == '\0' ? "" : ": ";
    log_line(RTE_LOG_ERR, type, name, "%s: %s%s%s%s", what, error.thing, colon, error.why, value);
}

} // namespace fit

RTE_INIT(fit_register_log_types)
{
    fit::log_driver = rte_log_register_type_and_pick_level("pmd.net.virtio_fit", RTE_LOG_NOTICE);
    fit::log_rx = rte_log_register_type_and_pick_level("pmd.net.virtio_fit.rx", RTE_LOG_NOTICE);
    fit::log_tx = rte_log_register_type_and_pick_level("pmd.net.virtio_fit.tx", RTE_LOG_NOTICE);
    fit::log_vhost =
        rte_log_register_type_and_pick_level("pmd.net.virtio_fit.vhost", RTE_LOG_NOTICE);
}
