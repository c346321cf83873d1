// What the user wrote behind --vdev=net_virtio_fit0,...
#pragma once

#include <cstdint>

#include <rte_ether.h>

#include "base/result.hpp"

namespace fit {

struct Devargs {
    static constexpr size_t kPathBytes = 108; // sun_path, with its final zero byte

    char path[kPathBytes] = {};
    rte_ether_addr mac = {};
    bool has_mac = false;
    bool mrg_rxbuf = true;
    uint16_t queue_size = 256;   // entries of each ring
    uint32_t ewma_weight = 64;   // packets
    uint32_t min_segment = 1518; // bytes
};

// For `dpdk-pmdinfo` and the messages.
inline constexpr char kDevargsHelp[] =
    "path=<socket> queue_size=<2..32768> mac=<xx:xx:xx:xx:xx:xx> mrg_rxbuf=<0|1> "
    "ewma_weight=<1..1024> min_segment=<bytes>";

// Parses `text` ("path=/run/a.sock,queue_size=512"). Errors are logged here, one line each naming
// key, value and what is accepted, and returned as a negative errno: -EINVAL, -ENAMETOOLONG;
// 0 is success.
[[nodiscard]] int parse_devargs(const char* name, const char* text, Devargs& out);

} // namespace fit
