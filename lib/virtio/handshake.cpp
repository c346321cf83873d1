#include "virtio/handshake.hpp"

#include <thread>

#include "base/deadline.hpp"

namespace fit {

Result<void> Handshake::reset()
{
    status_ = DeviceStatus();
    if (auto written = transport_.set_status(status_); !written)
        return written.error();
    const Deadline deadline = Deadline::after(reset_limit_);
    for (;;) {
        auto now = transport_.status();
        if (!now)
            return now.error();
        if (now->empty())
            return {};
        if (deadline.passed())
            return Error(Errno::TimedOut, "reset",
                         "the device status does not return to 0; restart the device", now->bits());
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

Result<void> Handshake::add_status(Status bit)
{
    status_ |= bit;
    return transport_.set_status(status_);
}

Result<FeatureSet> Handshake::negotiate(FeatureSet wanted)
{
    if (auto done = reset(); !done)
        return done.error();
    auto accepted = negotiate_from_reset(wanted);
    if (!accepted)
        fail();
    return accepted;
}

Result<FeatureSet> Handshake::negotiate_from_reset(FeatureSet wanted)
{
    if (auto done = add_status(Status::Acknowledge); !done)
        return done.error();
    if (auto done = add_status(Status::Driver); !done)
        return done.error();
    const auto offered = transport_.device_features();
    if (!offered)
        return offered.error();
    const FeatureSet accepted = acceptable(*offered, wanted);
    if (auto done = transport_.set_driver_features(accepted); !done)
        return done.error();
    // A legacy device knows no FEATURES_OK (3.1.2): what was written is what holds.
    if (!accepted.has(Feature::Version1))
        return accepted;
    if (auto done = add_status(Status::FeaturesOk); !done)
        return done.error();
    const auto now = transport_.status();
    if (!now)
        return now.error();
    if (!now->has(Status::FeaturesOk))
        return Error(Errno::Io, "FEATURES_OK",
                     "the device refused the features; switch some off by devarg; accepted mask",
                     static_cast<int64_t>(accepted.bits()));
    return accepted;
}

Result<void> Handshake::driver_ok()
{
    auto done = add_status(Status::DriverOk);
    if (!done)
        fail();
    return done;
}

void Handshake::fail()
{
    // The error that led here is the one that is reported.
    (void)add_status(Status::Failed);
}

} // namespace fit
