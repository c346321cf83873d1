// A connection of the code under test and the raw socket of its peer.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

#include "fake/socket_tools.hpp"
#include "transport/vhost_user/connection.hpp"

namespace fit::vhost_user {

using fake::Bytes;

inline Deadline soon()
{
    return Deadline::after(std::chrono::milliseconds(100));
}

inline Deadline patient()
{
    return Deadline::after(std::chrono::seconds(5));
}

inline std::span<const std::byte> view(const Bytes& bytes)
{
    return std::as_bytes(std::span(bytes));
}

struct Pair {
    fake::SocketPair sockets;
    std::optional<Connection> connection;

    Pair()
    {
        auto adopted = Connection::adopt(std::move(sockets.ours));
        if (adopted)
            connection.emplace(std::move(*adopted));
    }
    void peer_sends(const Bytes& bytes, int fd = -1) const
    {
        iovec part{const_cast<uint8_t*>(bytes.data()), bytes.size()};
        alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
        msghdr message{};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        if (fd >= 0) {
            message.msg_control = control.data();
            message.msg_controllen = control.size();
            cmsghdr* c = CMSG_FIRSTHDR(&message);
            c->cmsg_level = SOL_SOCKET;
            c->cmsg_type = SCM_RIGHTS;
            c->cmsg_len = CMSG_LEN(sizeof(int));
            std::memcpy(CMSG_DATA(c), &fd, sizeof(int));
        }
        ASSERT_EQ(::sendmsg(sockets.theirs.get(), &message, MSG_NOSIGNAL),
                  static_cast<ssize_t>(bytes.size()));
    }
    Result<uint64_t> receive(Deadline deadline)
    {
        uint64_t value = 0;
        auto got = connection->receive(Request::GetFeatures,
                                       std::as_writable_bytes(std::span(&value, 1)), deadline);
        if (!got)
            return got.error();
        return value;
    }
};

inline Bytes good_reply()
{
    return fake::reply_bytes(1, fake::u64_bytes(0x1122334455667788));
}

inline Bytes header(uint32_t request, uint32_t flags, uint32_t size)
{
    Bytes bytes;
    fake::put_u32(bytes, request);
    fake::put_u32(bytes, flags);
    fake::put_u32(bytes, size);
    return bytes;
}

} // namespace fit::vhost_user
