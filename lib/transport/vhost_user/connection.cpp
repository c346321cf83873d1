#include "transport/vhost_user/connection.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace fit::vhost_user {
namespace {

constexpr const char* kConnect = "connect";
constexpr int kMaxFdsPerMessage = kMaxRegions;
constexpr size_t kControlBytes = CMSG_SPACE(sizeof(int) * kMaxFdsPerMessage);
// How long to leave a listener alone whose backlog is full: there is no event to wait for.
constexpr int kBacklogPauseMs = 5;

// False once the deadline has passed; errors of the socket show in the call that follows.
bool wait_for(int fd, short events, Deadline deadline)
{
    pollfd item{fd, events, 0};
    for (;;) {
        const int ready = ::poll(&item, 1, deadline.left_ms());
        if (ready > 0)
            return true;
        if (ready == 0 && deadline.passed())
            return false;
        if (ready < 0 && errno != EINTR)
            return true;
    }
}

// Closes each file descriptor that came along; true when there was any.
bool close_strays(msghdr& message)
{
    bool any = (message.msg_flags & MSG_CTRUNC) != 0;
    for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        const size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; ++i) {
            int fd = -1;
            std::memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
            UniqueFd(fd).reset();
            any = true;
        }
    }
    return any;
}

void attach_fds(msghdr& message, std::span<char> control, std::span<const int> fds)
{
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(fds.size_bytes());
    cmsghdr* c = CMSG_FIRSTHDR(&message);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(fds.size_bytes());
    std::memcpy(CMSG_DATA(c), fds.data(), fds.size_bytes());
}

Error connect_error(int error)
{
    switch (error) {
    case ENOENT:
    case ENOTDIR:
        return {Errno::NotFound, kConnect, "no such file; start the back end first"};
    case ECONNREFUSED:
        return {Errno::ConnectionRefused, kConnect,
                "nobody listens on the socket; start the back end first"};
    case EACCES:
    case EPERM:
        return {Errno::PermissionDenied, kConnect,
                "no permission; check the owner and mode of the socket and its folders"};
    case EPROTOTYPE:
        return {Errno::Protocol, kConnect, "the socket is no stream socket"};
    default:
        return {Errno::Io, kConnect, "the system refused; errno follows", error};
    }
}

Result<sockaddr_un> to_address(std::string_view path)
{
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.empty())
        return Error(Errno::InvalidArgument, kConnect, "the path of the socket is empty");
    if (path.find('\0') != std::string_view::npos)
        return Error(Errno::InvalidArgument, kConnect, "the path has a zero byte in it");
    if (path.size() >= sizeof(address.sun_path))
        return Error(Errno::NameTooLong, kConnect,
                     "the path is longer than the 107 bytes that a socket address takes; length",
                     static_cast<int64_t>(path.size()));
    std::memcpy(address.sun_path, path.data(), path.size());
    return address;
}

// connect(2) calls a file that is no socket "refused": tell the two apart first.
Result<void> check_is_socket(const char* path)
{
    struct stat info {};
    if (::stat(path, &info) != 0)
        return connect_error(errno);
    if (!S_ISSOCK(info.st_mode))
        return Error(Errno::NotASocket, kConnect,
                     "the path exists but is no socket; "
                     "name the back end's socket: path=FILE");
    return {};
}

bool peer_closed(int error)
{
    return error == EPIPE || error == ECONNRESET;
}

} // namespace

Result<Connection> Connection::connect_to(std::string_view path, Deadline deadline)
{
    const Result<sockaddr_un> address = to_address(path);
    if (!address)
        return address.error();
    if (auto checked = check_is_socket(address->sun_path); !checked)
        return checked.error();
    UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket.valid())
        return Error(Errno::Io, "socket", "cannot be created; errno follows", errno);
    while (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&*address),
                     sizeof(sockaddr_un)) != 0) {
        if (errno == EINTR)
            continue;
        if (errno != EAGAIN)
            return connect_error(errno);
        if (deadline.passed())
            return Error(Errno::TimedOut, kConnect,
                         "the back end accepts no connection and its backlog is full");
        (void)::poll(nullptr, 0, kBacklogPauseMs);
    }
    return Connection(std::move(socket));
}

Result<Connection> Connection::adopt(UniqueFd socket)
{
    const int flags = ::fcntl(socket.get(), F_GETFL);
    if (flags < 0 || ::fcntl(socket.get(), F_SETFL, flags | O_NONBLOCK) != 0)
        return Error(Errno::Io, "adopt", "the socket cannot be made non-blocking; errno follows",
                     errno);
    return Connection(std::move(socket));
}

Error Connection::fail(Error error)
{
    close();
    return error;
}

Result<void> Connection::send(Request request, MessageFlags flags,
                              std::span<const std::byte> payload, std::span<const int> fds,
                              Deadline deadline)
{
    const char* thing = name(request);
    if (!open())
        return Error(Errno::NotConnected, thing, "the connection to the back end is closed");
    const Shape* shape = shape_of(request);
    if (shape == nullptr || payload.size() > kMaxPayload || fds.size() > shape->max_fds ||
        (shape->payload != kVariable && payload.size() != shape->payload))
        return Error(Errno::InvalidArgument, thing, "the request does not carry this");

    std::array<std::byte, sizeof(MessageHeader) + kMaxPayload> bytes;
    const MessageHeader header{static_cast<uint32_t>(request),
                               (flags | MessageFlag::Version).bits(),
                               static_cast<uint32_t>(payload.size())};
    std::memcpy(bytes.data(), &header, sizeof(header));
    if (!payload.empty())
        std::memcpy(bytes.data() + sizeof(header), payload.data(), payload.size());
    std::span<std::byte> left = std::span(bytes).first(sizeof(header) + payload.size());

    alignas(cmsghdr) std::array<char, kControlBytes> control{};
    for (bool first = true; !left.empty();) {
        iovec part{left.data(), left.size()};
        msghdr message{};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        if (first && !fds.empty())
            attach_fds(message, control, fds);
        const ssize_t sent = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
        if (sent > 0) {
            left = left.subspan(static_cast<size_t>(sent));
            first = false;
        } else if (errno == EAGAIN) {
            if (!wait_for(socket_.get(), POLLOUT, deadline))
                return fail({Errno::TimedOut, thing, "the back end does not read its socket"});
        } else if (peer_closed(errno)) {
            return fail({Errno::NotConnected, thing, "the back end closed the connection"});
        } else if (errno != EINTR) {
            return fail({Errno::Io, thing, "cannot be sent; errno follows", errno});
        }
    }
    return {};
}

// Sentences differ by how far the reply came: whoever reads the log has to know whether a back end
// is dead or wrong.
Result<void> Connection::read_exactly(Request request, std::span<std::byte> into, bool is_header,
                                      Deadline deadline)
{
    const char* thing = name(request);
    size_t got = 0;
    while (got < into.size()) {
        const auto got_value = static_cast<int64_t>(got);
        const bool nothing = is_header && got == 0;
        alignas(cmsghdr) std::array<char, kControlBytes> control{};
        iovec part{into.data() + got, into.size() - got};
        msghdr message{};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        message.msg_control = control.data();
        message.msg_controllen = control.size();
        const ssize_t n = ::recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC);
        if (n > 0) {
            if (close_strays(message))
                return fail({Errno::Protocol, thing, "the reply carries file descriptors"});
            got += static_cast<size_t>(n);
        } else if (n == 0 || peer_closed(errno)) {
            if (nothing)
                return fail({Errno::NotConnected, thing,
                             "the back end closed the connection instead of answering"});
            return fail({Errno::Protocol, thing,
                         is_header ? "the reply was cut inside its header; bytes received"
                                   : "the reply was cut inside its payload; bytes received",
                         got_value});
        } else if (errno == EAGAIN) {
            if (wait_for(socket_.get(), POLLIN, deadline))
                continue;
            if (nothing)
                return fail({Errno::TimedOut, thing, "the back end does not answer"});
            return fail({Errno::TimedOut, thing,
                         is_header ? "the reply stopped inside its header; bytes received"
                                   : "the reply stopped inside its payload; bytes received",
                         got_value});
        } else if (errno != EINTR) {
            return fail({Errno::Io, thing, "the reply cannot be read; errno follows", errno});
        }
    }
    return {};
}

Result<void> Connection::receive(Request request, std::span<std::byte> payload, Deadline deadline)
{
    const char* thing = name(request);
    if (!open())
        return Error(Errno::NotConnected, thing, "the connection to the back end is closed");
    MessageHeader header;
    if (auto r =
            read_exactly(request, std::as_writable_bytes(std::span(&header, 1)), true, deadline);
        !r)
        return r;
    if (header.request != static_cast<uint32_t>(request))
        return fail(
            {Errno::Protocol, thing, "the reply is to another request; its id", header.request});
    const MessageFlags flags(header.flags);
    if ((header.flags & kVersionMask) != static_cast<uint32_t>(MessageFlag::Version))
        return fail({Errno::Protocol, thing, "the reply is not of protocol version 1; its flags",
                     header.flags});
    if (!flags.has(MessageFlag::Reply))
        return fail({Errno::Protocol, thing, "the answer is not marked as a reply; its flags",
                     header.flags});
    if (header.size != payload.size())
        return fail({Errno::Protocol, thing,
                     header.size < payload.size() ? "the reply is too short; bytes of payload"
                                                  : "the reply is too long; bytes of payload",
                     header.size});
    return read_exactly(request, payload, false, deadline);
}

bool Connection::peer_gone() const
{
    if (!open())
        return true;
    pollfd item{socket_.get(), POLLRDHUP, 0};
    return ::poll(&item, 1, 0) > 0 && (item.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

} // namespace fit::vhost_user
