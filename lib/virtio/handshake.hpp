// Bringing a device up and down in the order of VIRTIO 1.3, 3.1.1.
//
//     reset -> ACKNOWLEDGE -> DRIVER -> features -> FEATURES_OK, read back -> (queues) -> DRIVER_OK
//
// An error leaves FAILED set, if the transport still carries it; the next negotiate() begins with a
// reset.
#pragma once

#include <chrono>

#include "base/result.hpp"
#include "virtio/feature.hpp"
#include "virtio/transport.hpp"

namespace fit {

// How long a device may take until its status reads 0 after a reset.
constexpr std::chrono::milliseconds kResetLimit{3000};

class Handshake {
  public:
    explicit Handshake(Transport& transport, std::chrono::milliseconds reset_limit = kResetLimit)
        : transport_(transport), reset_limit_(reset_limit)
    {
    }

    // Writes status 0 and waits until it reads 0. Errors: TimedOut, and those of the transport.
    Result<void> reset();

    // Everything up to FEATURES_OK. `wanted` is what the driver can use; the accepted set is
    // returned: offered, wanted, and with every prerequisite. Errors: Io when the device takes
    // FEATURES_OK back (value: accepted bits).
    Result<FeatureSet> negotiate(FeatureSet wanted);

    // After the queues are set up: from here on the device may use them, and the driver may notify.
    Result<void> driver_ok();

    // Marks the device as given up by the driver. Best effort by nature: the device may be gone.
    void fail();

  private:
    Result<void> add_status(Status bit);
    Result<FeatureSet> negotiate_from_reset(FeatureSet wanted);

    Transport& transport_;
    std::chrono::milliseconds reset_limit_;
    DeviceStatus status_;
};

} // namespace fit
