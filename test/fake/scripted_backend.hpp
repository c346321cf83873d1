// A vhost-user back end for tests: listens, logs each message, answers by script, misbehaves on
// request. It parses and builds bytes by the protocol's offsets and shares no struct with the code
// under test.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/unique_fd.hpp"
#include "fake/socket_tools.hpp"

namespace fit::fake {

struct LoggedMessage {
    uint32_t request = 0;
    uint32_t flags = 0;
    Bytes payload;
    size_t header_fds = 0; // came with the first byte of the header
    size_t late_fds = 0;   // came later

    bool operator==(const LoggedMessage&) const = default;
};

struct BackendScript {
    uint64_t features = 0;
    uint64_t protocol_features = 0;
    uint64_t queue_pairs = 1;
    std::optional<size_t>
        close_at; // message number (from 0) at which it closes instead of answering
    std::optional<size_t> mute_at;         // message number from which it reads but never answers
    std::map<uint32_t, uint64_t> refusals; // acknowledgement value per request id, 0 if not listed
    std::map<uint32_t, uint64_t> u64_values; // own reply per request id, instead of the right one
    std::map<uint32_t, Bytes> raw_answers;   // bytes sent instead of any reply to this request id
};

class ScriptedBackend {
  public:
    ScriptedBackend(std::string path, BackendScript script);
    ~ScriptedBackend();
    ScriptedBackend(const ScriptedBackend&) = delete;
    ScriptedBackend& operator=(const ScriptedBackend&) = delete;

    // What came so far, once there are `count` messages or after five seconds.
    [[nodiscard]] std::vector<LoggedMessage> log_of(size_t count) const;
    // Whether the front end closed its connection within five seconds.
    [[nodiscard]] bool saw_disconnect() const;
    // A duplicate of the fd received for this vring index by SET_VRING_KICK (12) or SET_VRING_CALL
    // (13); invalid if there is none.
    [[nodiscard]] UniqueFd vring_fd(uint32_t request, uint8_t index) const;
    // From now on acknowledges this request with `value` (0: fine).
    void refuse(uint32_t request, uint64_t value);
    // Ends the connection from this side.
    void hang_up();

  private:
    void run();
    void serve(int socket);
    bool read_message(int socket, LoggedMessage& message, std::vector<UniqueFd>& fds);
    bool read_bytes(int socket, std::span<uint8_t> into, std::vector<UniqueFd>& fds);
    bool wait_readable(int fd) const;
    void record(const LoggedMessage& message, std::vector<UniqueFd>& fds);
    void answer(int socket, const LoggedMessage& message);
    [[nodiscard]] Bytes own_reply(const LoggedMessage& message);

    std::string path_;
    BackendScript script_;
    UniqueFd listener_;
    UniqueFd stop_event_;
    uint64_t status_ = 0;

    mutable std::mutex mutex_;
    mutable std::condition_variable changed_;
    std::vector<LoggedMessage> log_;
    std::map<std::pair<uint32_t, uint8_t>, UniqueFd> vring_fds_;
    size_t disconnects_ = 0;
    int current_ = -1; // the served socket, owned by run()

    std::thread thread_; // last: starts when all else is there
};

} // namespace fit::fake
