#include "fake/scripted_backend.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>

namespace fit::fake {
namespace {

constexpr std::chrono::seconds kPatience{5};

constexpr uint32_t kGetFeatures = 1;
constexpr uint32_t kGetVringBase = 11;
constexpr uint32_t kSetVringKick = 12;
constexpr uint32_t kSetVringCall = 13;
constexpr uint32_t kGetProtocolFeatures = 15;
constexpr uint32_t kGetQueueNum = 17;
constexpr uint32_t kSetStatus = 39;
constexpr uint32_t kGetStatus = 40;
constexpr uint32_t kNeedReply = 0x8;

void take_fds(msghdr& message, std::vector<UniqueFd>& fds)
{
    for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        for (size_t at = 0; CMSG_LEN(at + sizeof(int)) <= c->cmsg_len; at += sizeof(int)) {
            int fd = -1;
            std::memcpy(&fd, CMSG_DATA(c) + at, sizeof(fd));
            fds.emplace_back(fd);
        }
    }
}

} // namespace

ScriptedBackend::ScriptedBackend(std::string path, BackendScript script)
    : path_(std::move(path)), script_(std::move(script)),
      listener_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)),
      stop_event_(::eventfd(0, EFD_CLOEXEC))
{
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof(address.sun_path) - 1);
    if (::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0)
        fail_test_setup("bind");
    if (::listen(listener_.get(), 1) != 0)
        fail_test_setup("listen");
    thread_ = std::thread([this] { run(); });
}

ScriptedBackend::~ScriptedBackend()
{
    const uint64_t one = 1;
    if (::write(stop_event_.get(), &one, sizeof(one)) != sizeof(one))
        std::abort();
    thread_.join();
}

std::vector<LoggedMessage> ScriptedBackend::log_of(size_t count) const
{
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kPatience, [&] { return log_.size() >= count; });
    return log_;
}

bool ScriptedBackend::saw_disconnect() const
{
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return disconnects_ > 0; });
}

UniqueFd ScriptedBackend::vring_fd(uint32_t request, uint8_t index) const
{
    const std::lock_guard lock(mutex_);
    const auto found = vring_fds_.find({request, index});
    if (found == vring_fds_.end())
        return {};
    return UniqueFd(::fcntl(found->second.get(), F_DUPFD_CLOEXEC, 0));
}

void ScriptedBackend::refuse(uint32_t request, uint64_t value)
{
    const std::lock_guard lock(mutex_);
    script_.refusals[request] = value;
}

void ScriptedBackend::hang_up()
{
    const std::lock_guard lock(mutex_);
    if (current_ >= 0)
        ::shutdown(current_, SHUT_RDWR);
}

// False when the test is over.
bool ScriptedBackend::wait_readable(int fd) const
{
    std::array<pollfd, 2> items{pollfd{fd, POLLIN, 0}, pollfd{stop_event_.get(), POLLIN, 0}};
    while (::poll(items.data(), items.size(), -1) < 0 && errno == EINTR) {
    }
    return items[1].revents == 0;
}

void ScriptedBackend::run()
{
    while (wait_readable(listener_.get())) {
        UniqueFd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        if (!socket.valid())
            continue;
        {
            const std::lock_guard lock(mutex_);
            current_ = socket.get();
        }
        serve(socket.get());
        const std::lock_guard lock(mutex_);
        current_ = -1;
        socket.reset();
        vring_fds_.clear();
        ++disconnects_;
        changed_.notify_all();
    }
}

void ScriptedBackend::serve(int socket)
{
    for (size_t number = 0;; ++number) {
        LoggedMessage message;
        std::vector<UniqueFd> fds;
        if (!read_message(socket, message, fds))
            return;
        record(message, fds);
        fds.clear(); // before the answer, so that a test can count descriptors after it
        if (script_.close_at && number >= *script_.close_at)
            return;
        if (!script_.mute_at || number < *script_.mute_at)
            answer(socket, message);
    }
}

bool ScriptedBackend::read_bytes(int socket, std::span<uint8_t> into, std::vector<UniqueFd>& fds)
{
    while (!into.empty()) {
        if (!wait_readable(socket))
            return false;
        iovec part{into.data(), into.size()};
        alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * 64)> control{};
        msghdr header{};
        header.msg_iov = &part;
        header.msg_iovlen = 1;
        header.msg_control = control.data();
        header.msg_controllen = control.size();
        const ssize_t n = ::recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
        if (n <= 0)
            return false;
        take_fds(header, fds);
        into = into.subspan(static_cast<size_t>(n));
    }
    return true;
}

bool ScriptedBackend::read_message(int socket, LoggedMessage& message, std::vector<UniqueFd>& fds)
{
    Bytes header(12);
    // One byte first: only what comes with it counts as "with the first byte".
    if (!read_bytes(socket, std::span(header).first(1), fds))
        return false;
    message.header_fds = fds.size();
    if (!read_bytes(socket, std::span(header).subspan(1), fds))
        return false;
    message.request = u32_at(header, 0);
    message.flags = u32_at(header, 4);
    message.payload.resize(u32_at(header, 8));
    if (!read_bytes(socket, message.payload, fds))
        return false;
    message.late_fds = fds.size() - message.header_fds;
    return true;
}

void ScriptedBackend::record(const LoggedMessage& message, std::vector<UniqueFd>& fds)
{
    const std::lock_guard lock(mutex_);
    log_.push_back(message);
    const bool vring_fd = message.request == kSetVringKick || message.request == kSetVringCall;
    if (vring_fd && fds.size() == 1)
        vring_fds_[{message.request, message.payload.at(0)}] = std::move(fds[0]);
    if (message.request == kGetVringBase) {
        const auto index = static_cast<uint8_t>(u32_at(message.payload, 0));
        vring_fds_.erase({kSetVringKick, index});
        vring_fds_.erase({kSetVringCall, index});
    }
    changed_.notify_all();
}

Bytes ScriptedBackend::own_reply(const LoggedMessage& message)
{
    const auto scripted = script_.u64_values.find(message.request);
    if (scripted != script_.u64_values.end())
        return u64_bytes(scripted->second);
    switch (message.request) {
    case kGetFeatures:
        return u64_bytes(script_.features);
    case kGetProtocolFeatures:
        return u64_bytes(script_.protocol_features);
    case kGetQueueNum:
        return u64_bytes(script_.queue_pairs);
    case kGetStatus:
        return u64_bytes(status_);
    case kGetVringBase:
        return message.payload;
    default:
        return {};
    }
}

void ScriptedBackend::answer(int socket, const LoggedMessage& message)
{
    if (message.request == kSetStatus)
        status_ = u64_at(message.payload, 0);
    Bytes bytes;
    const auto raw = script_.raw_answers.find(message.request);
    if (raw != script_.raw_answers.end()) {
        bytes = raw->second;
    } else if (const Bytes payload = own_reply(message); !payload.empty()) {
        bytes = reply_bytes(message.request, payload);
    } else if ((message.flags & kNeedReply) != 0) {
        const std::lock_guard lock(mutex_);
        const auto refusal = script_.refusals.find(message.request);
        bytes = reply_bytes(message.request,
                            u64_bytes(refusal == script_.refusals.end() ? 0 : refusal->second));
    }
    // A front end that has gone away is a test's business, not an error here.
    if (!bytes.empty())
        (void)::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

} // namespace fit::fake
