// One connected vhost-user socket: whole messages out, checked replies in. Every wait has a
// deadline.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "base/deadline.hpp"
#include "base/result.hpp"
#include "base/unique_fd.hpp"
#include "transport/vhost_user/message.hpp"

namespace fit::vhost_user {

// After any failed exchange the connection is closed: the stream is out of step then, and the
// protocol asks for it
// ("Communication"). What comes later returns NotConnected.
class Connection {
  public:
    // `path`: 1..107 bytes. Errors: InvalidArgument (empty, or a zero byte in it), NameTooLong
    // (value: its length), NotFound, NotASocket, ConnectionRefused (nobody listens),
    // PermissionDenied, TimedOut, Protocol (no stream socket), Io (value: errno).
    static Result<Connection> connect_to(std::string_view path, Deadline deadline);
    // Takes over a connected stream socket. Errors: Io (value: errno).
    static Result<Connection> adopt(UniqueFd socket);

    // Sends header and payload as one message, `fds` (not owned) with its first byte.
    // Errors: InvalidArgument (payload size or number of fds not those of the request; the
    // connection stays open), NotConnected, TimedOut, Io (value: errno).
    Result<void> send(Request request, MessageFlags flags, std::span<const std::byte> payload,
                      std::span<const int> fds, Deadline deadline);
    // Reads the reply to `request` into `payload`, whose size the reply must have exactly.
    // Errors: NotConnected (closed instead of an answer), TimedOut, Protocol (anything wrong with
    // the reply), Io (value: errno).
    Result<void> receive(Request request, std::span<std::byte> payload, Deadline deadline);

    [[nodiscard]] bool open() const { return socket_.valid(); }
    void close() { socket_.reset(); }
    // True once the peer has closed its end, or the connection is closed here. Consumes nothing.
    [[nodiscard]] bool peer_gone() const;

  private:
    explicit Connection(UniqueFd socket) : socket_(std::move(socket)) {}

    Error fail(Error error);
    Result<void> read_exactly(Request request, std::span<std::byte> into, bool is_header,
                              Deadline deadline);

    UniqueFd socket_;
};

} // namespace fit::vhost_user
