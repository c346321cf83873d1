#include "transport/vhost_user/connection.hpp"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <array>
#include <cstring>
#include <optional>
#include <thread>

#include "unit/vhost_user/connection_bench.hpp"

namespace fit::vhost_user {
namespace {

// The error is as told and the connection closed: the peer reads end of file.
void expect_broken(Pair& pair, Errno code, const char* why, std::optional<int64_t> value = {})
{
    const auto got = pair.receive(soon());
    ASSERT_FALSE(got.ok());
    EXPECT_EQ(got.error().code, code);
    EXPECT_STREQ(got.error().thing, "GET_FEATURES");
    EXPECT_STREQ(got.error().why, why);
    EXPECT_EQ(got.error().has_value, value.has_value());
    EXPECT_EQ(got.error().value, value.value_or(0));
    EXPECT_FALSE(pair.connection->open());
    EXPECT_TRUE(pair.connection->peer_gone());
    EXPECT_EQ(pair.receive(soon()).error().code, Errno::NotConnected);
}

TEST(VhostUserConnection, VHU_01_VHU_02_request_bytes_and_fd_in_one_message)
{
    Pair pair;
    const UniqueFd event(::eventfd(0, EFD_CLOEXEC));
    const int fd = event.get();
    const Bytes payload = fake::u64_bytes(7);
    ASSERT_TRUE(pair.connection
                    ->send(Request::SetVringKick, MessageFlag::NeedReply, view(payload),
                           std::span(&fd, 1), patient())
                    .ok());

    Bytes first(1);
    iovec part{first.data(), 1};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * 4)> control{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    ASSERT_EQ(::recvmsg(pair.sockets.theirs.get(), &message, MSG_CMSG_CLOEXEC), 1);
    const cmsghdr* c = CMSG_FIRSTHDR(&message);
    ASSERT_NE(c, nullptr);
    EXPECT_EQ(c->cmsg_len, CMSG_LEN(sizeof(int)));
    int received = -1;
    std::memcpy(&received, CMSG_DATA(c), sizeof(int));
    const UniqueFd owned(received);

    Bytes rest(64);
    const ssize_t n = ::recv(pair.sockets.theirs.get(), rest.data(), rest.size(), MSG_DONTWAIT);
    ASSERT_EQ(n, 19);
    first.insert(first.end(), rest.begin(), rest.begin() + n);
    EXPECT_EQ(first, (Bytes{12, 0, 0, 0, 9, 0, 0, 0, 8, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0}));
}

TEST(VhostUserConnection, VHU_03_wrong_shape_is_not_sent)
{
    Pair pair;
    const int fd = pair.sockets.theirs.get();
    const Bytes eight(8);
    const auto send = [&](Request request, const Bytes& payload, size_t fds) {
        return pair.connection->send(request, {}, view(payload), std::span(&fd, fds), soon());
    };
    EXPECT_EQ(send(Request::GetFeatures, eight, 0).error().code, Errno::InvalidArgument);
    EXPECT_EQ(send(Request::SetFeatures, Bytes(7), 0).error().code, Errno::InvalidArgument);
    EXPECT_EQ(send(Request::SetFeatures, eight, 1).error().code, Errno::InvalidArgument);
    EXPECT_EQ(send(Request::SetMemTable, Bytes(265), 0).error().code, Errno::InvalidArgument);
    EXPECT_EQ(send(Request{99}, {}, 0).error().code, Errno::InvalidArgument);
    EXPECT_TRUE(pair.connection->open());
    uint8_t byte = 0;
    EXPECT_EQ(::recv(fd, &byte, 1, MSG_DONTWAIT), -1);
}

TEST(VhostUserConnection, VHU_05_reply_arrives)
{
    Pair pair;
    pair.peer_sends(good_reply());
    const auto got = pair.receive(patient());
    ASSERT_TRUE(got.ok());
    EXPECT_EQ(*got, 0x1122334455667788u);
    EXPECT_TRUE(pair.connection->open());
}

TEST(VhostUserConnection, VHU_05_reply_arrives_byte_by_byte)
{
    Pair pair;
    std::thread peer([&] {
        for (const uint8_t byte : good_reply()) {
            pair.peer_sends({byte});
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
        }
    });
    const auto got = pair.receive(patient());
    peer.join();
    ASSERT_TRUE(got.ok());
    EXPECT_EQ(*got, 0x1122334455667788u);
}

TEST(VhostUserConnection, VHU_05_reads_one_reply_and_leaves_the_next)
{
    Pair pair;
    Bytes two = good_reply();
    const Bytes second = fake::reply_bytes(1, fake::u64_bytes(2));
    two.insert(two.end(), second.begin(), second.end());
    pair.peer_sends(two);
    EXPECT_EQ(*pair.receive(patient()), 0x1122334455667788u);
    EXPECT_EQ(*pair.receive(patient()), 2u);
}

TEST(VhostUserConnection, VHU_04_cut_inside_the_header)
{
    Pair pair;
    Bytes cut = good_reply();
    cut.resize(5);
    pair.peer_sends(cut);
    pair.sockets.theirs.reset();
    expect_broken(pair, Errno::Protocol, "the reply was cut inside its header; bytes received", 5);
}

TEST(VhostUserConnection, VHU_04_cut_inside_the_payload)
{
    Pair pair;
    Bytes cut = good_reply();
    cut.resize(15);
    pair.peer_sends(cut);
    pair.sockets.theirs.reset();
    expect_broken(pair, Errno::Protocol, "the reply was cut inside its payload; bytes received", 3);
}

TEST(VhostUserConnection, VHU_04_stops_inside_header_or_payload)
{
    {
        Pair pair;
        pair.peer_sends(Bytes(5));
        expect_broken(pair, Errno::TimedOut, "the reply stopped inside its header; bytes received",
                      5);
    }
    Pair pair;
    pair.peer_sends(header(1, 5, 8));
    expect_broken(pair, Errno::TimedOut, "the reply stopped inside its payload; bytes received", 0);
}

TEST(VhostUserConnection, VHU_04_VHU_05_wrong_size)
{
    for (const uint32_t size : {0u, 4u, 7u}) {
        Pair pair;
        pair.peer_sends(header(1, 5, size));
        expect_broken(pair, Errno::Protocol, "the reply is too short; bytes of payload", size);
    }
    for (const uint32_t size : {9u, 16u, 0xFFFFFFFFu}) {
        Pair pair;
        pair.peer_sends(header(1, 5, size));
        expect_broken(pair, Errno::Protocol, "the reply is too long; bytes of payload", size);
    }
}

TEST(VhostUserConnection, VHU_04_VHU_05_wrong_id_version_or_flag)
{
    {
        Pair pair;
        pair.peer_sends(header(2, 5, 8));
        expect_broken(pair, Errno::Protocol, "the reply is to another request; its id", 2);
    }
    for (const uint32_t flags : {4u, 6u, 7u}) {
        Pair pair;
        pair.peer_sends(header(1, flags, 8));
        expect_broken(pair, Errno::Protocol, "the reply is not of protocol version 1; its flags",
                      flags);
    }
    Pair pair;
    pair.peer_sends(header(1, 1, 8));
    expect_broken(pair, Errno::Protocol, "the answer is not marked as a reply; its flags", 1);
}

TEST(VhostUserConnection, VHU_04_stray_fds_are_closed)
{
    const size_t before = fake::open_fd_count();
    {
        Pair pair;
        pair.peer_sends(good_reply(), pair.sockets.theirs.get());
        expect_broken(pair, Errno::Protocol, "the reply carries file descriptors");
    }
    EXPECT_EQ(fake::open_fd_count(), before);
}

TEST(VhostUserConnection, VHU_04_peer_closes_or_never_answers)
{
    {
        Pair pair;
        pair.sockets.theirs.reset();
        expect_broken(pair, Errno::NotConnected,
                      "the back end closed the connection instead of answering");
    }
    Pair pair;
    expect_broken(pair, Errno::TimedOut, "the back end does not answer");
    uint8_t byte = 0;
    EXPECT_EQ(::recv(pair.sockets.theirs.get(), &byte, 1, MSG_DONTWAIT), 0);
}

TEST(VhostUserConnection, VHU_04_send_to_a_closed_peer)
{
    Pair pair;
    pair.sockets.theirs.reset();
    const auto sent = pair.connection->send(Request::SetOwner, {}, {}, {}, soon());
    ASSERT_FALSE(sent.ok());
    EXPECT_EQ(sent.error().code, Errno::NotConnected);
    EXPECT_STREQ(sent.error().why, "the back end closed the connection");
    EXPECT_FALSE(pair.connection->open());
}

TEST(VhostUserConnection, VHU_04_send_to_a_peer_that_does_not_read)
{
    Pair pair;
    const Bytes payload(8);
    // More than any socket buffer takes; the loop ends at the first refusal.
    std::optional<Error> error;
    for (int i = 0; i < 1'000'000 && !error; ++i) {
        const auto sent =
            pair.connection->send(Request::SetFeatures, {}, view(payload), {}, soon());
        if (!sent)
            error = sent.error();
    }
    ASSERT_TRUE(error.has_value());
    EXPECT_EQ(error->code, Errno::TimedOut);
    EXPECT_STREQ(error->why, "the back end does not read its socket");
    EXPECT_FALSE(pair.connection->open());
}

TEST(VhostUserConnection, peer_gone_consumes_nothing)
{
    Pair pair;
    EXPECT_FALSE(pair.connection->peer_gone());
    pair.peer_sends(good_reply());
    EXPECT_FALSE(pair.connection->peer_gone());
    pair.sockets.theirs.reset();
    EXPECT_TRUE(pair.connection->peer_gone());
    EXPECT_EQ(*pair.receive(patient()), 0x1122334455667788u);
}

} // namespace
} // namespace fit::vhost_user
