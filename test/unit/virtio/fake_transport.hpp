// A transport without a device behind it: logs every call with its values, answers from a script,
// fails on demand, and holds each call against the order of VIRTIO 1.3, 3.1.1.
#pragma once

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "virtio/transport.hpp"

namespace fit {

class FakeTransport : public Transport {
  public:
    // --- script ---
    FeatureSet offered;
    DeviceStatus field;            // the status field; a test may preload it
    unsigned slow_reset_reads = 0; // status reads after a reset that still show the old value
    bool never_resets = false;
    bool refuses_features = false;      // FEATURES_OK is taken back at once (2.2.2)
    std::optional<size_t> failing_call; // this call, counted from 0, fails and changes nothing

    // --- what happened ---
    std::vector<std::string> log;
    std::vector<std::string> violations; // "GEN_04 ..."
    FeatureSet accepted;

    static constexpr Error injected() { return {Errno::NotConnected, "fake", "injected"}; }

    Result<FeatureSet> device_features() override
    {
        if (!enter("device_features"))
            return injected();
        require(has(Status::Driver) && !has(Status::FeaturesOk),
                "GEN_01 features are read out of turn");
        return offered;
    }

    Result<void> set_driver_features(FeatureSet features) override
    {
        if (!enter("set_driver_features " + hex(features.bits(), 16)))
            return injected();
        require(has(Status::Driver), "GEN_01 features are written before DRIVER");
        require(!has(Status::FeaturesOk), "GEN_09 features are written after FEATURES_OK");
        require(offered.contains(features), "GEN_14 a bit is accepted that was not offered");
        accepted = features;
        return {};
    }

    Result<DeviceStatus> status() override
    {
        if (!enter("status"))
            return injected();
        if (resetting_) {
            if (never_resets || slow_reads_left_ > 0) {
                slow_reads_left_ -= never_resets ? 0 : 1;
                return field;
            }
            resetting_ = false;
            field = DeviceStatus();
        }
        return field;
    }

    Result<void> set_status(DeviceStatus status) override
    {
        const bool first = log.empty();
        if (!enter("set_status " + hex(status.bits(), 2)))
            return injected();
        require(!first || status.empty(), "GEN_02 the first action is no reset");
        if (status.empty()) {
            resetting_ = true;
            slow_reads_left_ = slow_reset_reads;
            seen_ = DeviceStatus();
            return {};
        }
        require((status & seen_) == seen_, "GEN_04 a status bit is dropped");
        require(!seen_.has(Status::Failed),
                "GEN_05 status is written after FAILED without a reset");
        seen_ = status;
        field = status;
        if (refuses_features && status.has(Status::FeaturesOk))
            field = DeviceStatus(static_cast<uint8_t>(status.bits() & ~uint8_t{0x08}));
        return {};
    }

    Result<void> share_memory(std::span<const MemorySegment> segments) override
    {
        if (!enter("share_memory " + std::to_string(segments.size())))
            return injected();
        require_set_up();
        return {};
    }

    Result<Notifier> setup_queue(uint16_t index, const QueueAddresses& addresses) override
    {
        if (!enter("setup_queue " + std::to_string(index) + " size " +
                   std::to_string(addresses.size)))
            return injected();
        require_set_up();
        return Notifier{};
    }

    Result<void> enable_queue(uint16_t index) override
    {
        if (!enter("enable_queue " + std::to_string(index)))
            return injected();
        require_set_up();
        return {};
    }

    Result<void> stop_queue(uint16_t index) override
    {
        if (!enter("stop_queue " + std::to_string(index)))
            return injected();
        return {};
    }

    bool alive() override { return true; }

  private:
    static std::string hex(uint64_t value, int digits)
    {
        char text[17];
        std::snprintf(text, sizeof(text), "%0*llx", digits, static_cast<unsigned long long>(value));
        return text;
    }

    // Logs a call; false when it is the one that fails.
    bool enter(std::string call)
    {
        require(!resetting_ || call == "status" || call.starts_with("set_status 00"),
                "GEN_23 the device is touched before its reset is done: " + call);
        log.push_back(std::move(call));
        return log.size() - 1 != failing_call;
    }
    void require(bool good, const std::string& violation)
    {
        if (!good)
            violations.push_back(violation);
    }
    void require_set_up()
    {
        require(has(Status::Driver) &&
                    (has(Status::FeaturesOk) || !accepted.has(Feature::Version1)),
                "GEN_01 queues are set up before FEATURES_OK");
        require(!has(Status::DriverOk), "GEN_01 queues are set up after DRIVER_OK");
        require(!has(Status::Failed), "GEN_12 queues are set up after FAILED");
    }
    [[nodiscard]] bool has(Status bit) const { return field.has(bit); }

    DeviceStatus seen_; // last value written since the reset
    bool resetting_ = false;
    unsigned slow_reads_left_ = 0;
};

} // namespace fit
