// The device status field (VIRTIO 1.3, 2.1).
#pragma once

#include <cstdint>

#include "base/flags.hpp"

namespace fit {

enum class Status : uint8_t {
    Acknowledge = 0x01,
    Driver = 0x02,
    DriverOk = 0x04,
    FeaturesOk = 0x08,
    NeedsReset = 0x40,
    Failed = 0x80,
};

// An empty set is the value 0: "reset" when written, "reset done" when read.
using DeviceStatus = Flags<Status>;

} // namespace fit
