// The driver's end of a vhost-user connection (front end), as a virtio transport.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/deadline.hpp"
#include "base/unique_fd.hpp"
#include "transport/vhost_user/exchange.hpp"
#include "transport/vhost_user/memory_table.hpp"
#include "transport/vhost_user/message.hpp"
#include "virtio/transport.hpp"

namespace fit::vhost_user {

inline constexpr std::chrono::milliseconds kRequestTimeout{3000};

// Belongs to one process (it has a vtable) and to one thread at a time. After a time-out, a broken
// reply or a lost peer the connection is closed for good and each request returns NotConnected; a
// new Frontend is needed. Errors of all requests: NotConnected, TimedOut, Protocol, and Io when the
// back end refused (REPLY_ACK).
class Frontend final : public Transport {
  public:
    // Connects and agrees on protocol features. `deadline` ends the connecting; `request_timeout`
    // is the longest wait for each request, then and later. Errors: those of Connection::connect_to
    // and of all requests, NoMemory.
    static Result<std::unique_ptr<Frontend>>
    connect(std::string_view path, Deadline deadline,
            std::chrono::milliseconds request_timeout = kRequestTimeout);

    // Virtio features alone: bits 26 and 30 belong to vhost-user and never show.
    Result<FeatureSet> device_features() override;
    // Errors: InvalidArgument (a feature that was not offered), Busy (a queue runs).
    Result<void> set_driver_features(FeatureSet features) override;
    // Without the protocol feature STATUS both work on a local copy, and a reset is done at once.
    Result<DeviceStatus> status() override;
    Result<void> set_status(DeviceStatus status) override;

    // The fds need to stay open during the call only. Errors: those of MemoryTable::build,
    // InvalidArgument (a segment passes the end of its file), Busy (a queue runs: back ends drop
    // ring mappings with the old table).
    Result<void> share_memory(std::span<const MemorySegment> segments) override;
    // After set_driver_features and share_memory. The ring must be zeroed. A back end that starts
    // rings on the first kick only needs one write to the notifier: the driver makes it after
    // DRIVER_OK, because no notification may come before that (VIRTIO 1.3, 3.1.1). Errors:
    // InvalidArgument (index, ring rules), Busy (already set up).
    Result<Notifier> setup_queue(uint16_t index, const QueueAddresses& addresses) override;
    // On return the back end has seen the queue's whole configuration. Errors: InvalidArgument (not
    // set up).
    Result<void> enable_queue(uint16_t index) override;
    Result<void> stop_queue(uint16_t index) override;

    bool alive() override;

    // Pairs of queues that the back end takes: 1..128.
    [[nodiscard]] uint16_t max_queue_pairs() const { return max_queue_pairs_; }
    // For logs: what the back end offered and what is in use.
    [[nodiscard]] ProtocolFeatureSet offered_protocol_features() const { return offered_protocol_; }
    [[nodiscard]] ProtocolFeatureSet protocol_features() const { return protocol_; }

  private:
    struct Vring {
        UniqueFd kick;
        UniqueFd call;
        bool enabled = false;

        [[nodiscard]] bool set_up() const { return kick.valid(); }
    };

    Frontend(Connection connection, std::chrono::milliseconds request_timeout)
        : exchange_(std::move(connection), request_timeout)
    {
    }

    Result<void> negotiate();
    Result<void> negotiate_protocol();
    Result<void> configure(uint8_t index, const QueueAddresses& addresses, const Vring& fresh);
    Result<void> stop(uint8_t index, const Vring& vring);
    [[nodiscard]] bool has_protocol_bit() const
    {
        return (offered_ & kProtocolFeaturesFeature) != 0;
    }
    [[nodiscard]] bool any_queue_set_up() const;

    Exchange exchange_;
    uint64_t offered_ = 0; // GET_FEATURES as the back end sent it
    FeatureSet accepted_;
    bool protocol_bit_acked_ = false;
    ProtocolFeatureSet offered_protocol_;
    ProtocolFeatureSet protocol_;
    uint16_t max_queue_pairs_ = 1;
    DeviceStatus local_status_;
    MemoryTable memory_;
    std::array<Vring, kMaxVrings> vrings_;
};

} // namespace fit::vhost_user
