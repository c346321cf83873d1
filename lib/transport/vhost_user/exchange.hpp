// Requests with their answers over one connection: own replies, acknowledgements (REPLY_ACK), one
// time-out each.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.hpp"
#include "transport/vhost_user/connection.hpp"
#include "transport/vhost_user/message.hpp"

namespace fit::vhost_user {

class Exchange {
  public:
    // `timeout` is the longest wait for one request and its answer.
    Exchange(Connection connection, std::chrono::milliseconds timeout)
        : connection_(std::move(connection)), timeout_(timeout)
    {
    }

    // A request without an own reply. Once acks are on, waits for the acknowledgement.
    // Errors: Io (the back end refused, value: its answer), and those of Connection.
    Result<void> tell(Request request, std::span<const std::byte> payload = {},
                      std::span<const int> fds = {});
    Result<void> tell_u64(Request request, uint64_t value, std::span<const int> fds = {});
    Result<void> tell_state(Request request, VringState state);
    // Requests with an own reply, which is their only answer. Errors: those of Connection; for a
    // reply about another vring Protocol (value: its index), which closes the connection.
    Result<uint64_t> ask_u64(Request request);
    Result<VringState> ask_state(Request request, VringState state);

    // Both sides agreed on REPLY_ACK.
    void turn_acks_on() { acks_ = true; }
    [[nodiscard]] bool acks() const { return acks_; }

    [[nodiscard]] bool open() const { return connection_.open(); }
    [[nodiscard]] bool peer_gone() const { return connection_.peer_gone(); }
    void close() { connection_.close(); }

  private:
    Connection connection_;
    std::chrono::milliseconds timeout_;
    bool acks_ = false;
};

} // namespace fit::vhost_user
