#include "fake/socket_tools.hpp"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>

namespace fit::fake {
namespace {

constexpr uint32_t kReplyFlags = 0x5; // version 1, reply

} // namespace

void fail_test_setup(const char* what)
{
    throw std::runtime_error(std::string(what) + ": " + std::strerror(errno));
}

uint32_t u32_at(const Bytes& bytes, size_t offset)
{
    uint32_t value = 0;
    if (bytes.size() < offset + sizeof(value))
        throw std::out_of_range("field beyond the end of a message");
    std::memcpy(&value, bytes.data() + offset, sizeof(value));
    return value;
}

uint64_t u64_at(const Bytes& bytes, size_t offset)
{
    uint64_t value = 0;
    if (bytes.size() < offset + sizeof(value))
        throw std::out_of_range("field beyond the end of a message");
    std::memcpy(&value, bytes.data() + offset, sizeof(value));
    return value;
}

void put_u32(Bytes& bytes, uint32_t value)
{
    std::array<uint8_t, sizeof(value)> raw;
    std::memcpy(raw.data(), &value, sizeof(value));
    bytes.insert(bytes.end(), raw.begin(), raw.end());
}

void put_u64(Bytes& bytes, uint64_t value)
{
    std::array<uint8_t, sizeof(value)> raw;
    std::memcpy(raw.data(), &value, sizeof(value));
    bytes.insert(bytes.end(), raw.begin(), raw.end());
}

Bytes reply_bytes(uint32_t request, const Bytes& payload)
{
    Bytes bytes;
    put_u32(bytes, request);
    put_u32(bytes, kReplyFlags);
    put_u32(bytes, static_cast<uint32_t>(payload.size()));
    bytes.insert(bytes.end(), payload.begin(), payload.end());
    return bytes;
}

Bytes u64_bytes(uint64_t value)
{
    Bytes bytes;
    put_u64(bytes, value);
    return bytes;
}

SocketPair::SocketPair()
{
    std::array<int, 2> fds{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data()) != 0)
        fail_test_setup("socketpair");
    ours.reset(fds[0]);
    theirs.reset(fds[1]);
}

TempSocketPath::TempSocketPath()
{
    std::string pattern = std::filesystem::temp_directory_path() / "fit-test-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr)
        fail_test_setup("mkdtemp");
    folder_ = pattern;
    path_ = folder_ + "/vhost.sock";
}

TempSocketPath::~TempSocketPath()
{
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
}

size_t open_fd_count()
{
    size_t count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
        ++count;
    return count;
}

} // namespace fit::fake
