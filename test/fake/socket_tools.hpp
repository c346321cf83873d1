// Bytes of vhost-user messages and throw-away sockets, for tests of the socket side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/unique_fd.hpp"

namespace fit::fake {

using Bytes = std::vector<uint8_t>;

// Little helpers for fields at an offset, in host byte order as the protocol has them.
uint32_t u32_at(const Bytes& bytes, size_t offset);
uint64_t u64_at(const Bytes& bytes, size_t offset);
void put_u32(Bytes& bytes, uint32_t value);
void put_u64(Bytes& bytes, uint64_t value);
// Header and payload of a correct reply: version 1, reply flag.
Bytes reply_bytes(uint32_t request, const Bytes& payload);
Bytes u64_bytes(uint64_t value);

// Ends the test program's current test with an exception that names `what` and errno.
[[noreturn]] void fail_test_setup(const char* what);

// A connected pair of stream sockets.
struct SocketPair {
    UniqueFd ours;
    UniqueFd theirs;

    SocketPair();
};

// A path for a socket in a fresh folder, both removed at the end.
class TempSocketPath {
  public:
    TempSocketPath();
    ~TempSocketPath();
    TempSocketPath(const TempSocketPath&) = delete;
    TempSocketPath& operator=(const TempSocketPath&) = delete;

    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] const std::string& folder() const { return folder_; }

  private:
    std::string folder_;
    std::string path_;
};

// How many file descriptors this process has open.
size_t open_fd_count();

} // namespace fit::fake
