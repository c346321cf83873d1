// Ways in which a path can fail to lead to a back end: each has its own words.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "fake/socket_tools.hpp"
#include "transport/vhost_user/connection.hpp"

namespace fit::vhost_user {
namespace {

sockaddr_un address_of(const std::string& path)
{
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    return address;
}

UniqueFd bound(const std::string& path, int type)
{
    UniqueFd socket(::socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
    const sockaddr_un address = address_of(path);
    if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
        fake::fail_test_setup("bind");
    return socket;
}

void expect_error(const std::string& path, Errno code, const char* why)
{
    const size_t before = fake::open_fd_count();
    const auto got = Connection::connect_to(path, Deadline::after(std::chrono::milliseconds(100)));
    ASSERT_FALSE(got.ok());
    EXPECT_EQ(got.error().code, code);
    EXPECT_STREQ(got.error().thing, "connect");
    EXPECT_STREQ(got.error().why, why);
    EXPECT_EQ(fake::open_fd_count(), before);
}

TEST(VhostUserConnect, reaches_a_listener)
{
    const fake::TempSocketPath temp;
    const UniqueFd listener = bound(temp.path(), SOCK_STREAM);
    ASSERT_EQ(::listen(listener.get(), 1), 0);
    auto got = Connection::connect_to(temp.path(), Deadline::after(std::chrono::seconds(5)));
    ASSERT_TRUE(got.ok());
    EXPECT_TRUE(got->open());
    EXPECT_FALSE(got->peer_gone());
}

TEST(VhostUserConnect, empty_path)
{
    expect_error("", Errno::InvalidArgument, "the path of the socket is empty");
}

TEST(VhostUserConnect, zero_byte_in_the_path)
{
    expect_error(std::string("/tmp/a\0b", 8), Errno::InvalidArgument,
                 "the path has a zero byte in it");
}

TEST(VhostUserConnect, path_of_107_bytes_is_tried_and_of_108_is_not)
{
    expect_error("/" + std::string(106, 'x'), Errno::NotFound,
                 "no such file; start the back end first");
    const auto got = Connection::connect_to("/" + std::string(107, 'x'),
                                            Deadline::after(std::chrono::milliseconds(100)));
    ASSERT_FALSE(got.ok());
    EXPECT_EQ(got.error().code, Errno::NameTooLong);
    EXPECT_EQ(got.error().value, 108);
}

TEST(VhostUserConnect, nothing_there)
{
    const fake::TempSocketPath temp;
    expect_error(temp.path(), Errno::NotFound, "no such file; start the back end first");
}

TEST(VhostUserConnect, no_socket)
{
    const fake::TempSocketPath temp;
    std::ofstream(temp.path()) << "a file";
    expect_error(temp.path(), Errno::NotASocket,
                 "the path exists but is no socket; name the back end's socket: path=FILE");
    expect_error(temp.folder(), Errno::NotASocket,
                 "the path exists but is no socket; name the back end's socket: path=FILE");
}

TEST(VhostUserConnect, nobody_listens)
{
    const fake::TempSocketPath temp;
    bound(temp.path(), SOCK_STREAM).reset();
    expect_error(temp.path(), Errno::ConnectionRefused,
                 "nobody listens on the socket; start the back end first");
}

TEST(VhostUserConnect, no_stream_socket)
{
    const fake::TempSocketPath temp;
    const UniqueFd datagram = bound(temp.path(), SOCK_DGRAM);
    expect_error(temp.path(), Errno::Protocol, "the socket is no stream socket");
}

TEST(VhostUserConnect, no_permission)
{
    const fake::TempSocketPath temp;
    const UniqueFd listener = bound(temp.path(), SOCK_STREAM);
    ASSERT_EQ(::listen(listener.get(), 1), 0);
    ASSERT_EQ(::chmod(temp.path().c_str(), 0), 0);
    // Root passes every mode, so the attempt is made as "nobody" then; the saved id brings root
    // back.
    constexpr uid_t kNobody = 65534;
    const bool root = ::geteuid() == 0;
    ASSERT_EQ(::chmod(temp.folder().c_str(), 0755), 0);
    if (root) {
        ASSERT_EQ(::seteuid(kNobody), 0);
    }
    const auto got = Connection::connect_to(temp.path(), Deadline::after(std::chrono::seconds(1)));
    if (root) {
        ASSERT_EQ(::seteuid(0), 0);
    }
    ASSERT_FALSE(got.ok());
    EXPECT_EQ(got.error().code, Errno::PermissionDenied);
    EXPECT_STREQ(got.error().why,
                 "no permission; check the owner and mode of the socket and its folders");
}

TEST(VhostUserConnect, full_backlog_ends_at_the_deadline)
{
    const fake::TempSocketPath temp;
    const UniqueFd listener = bound(temp.path(), SOCK_STREAM);
    ASSERT_EQ(::listen(listener.get(), 0), 0);
    std::vector<Connection> waiting;
    for (int i = 0; i < 8; ++i) {
        auto got =
            Connection::connect_to(temp.path(), Deadline::after(std::chrono::milliseconds(50)));
        if (got) {
            waiting.push_back(std::move(*got));
            continue;
        }
        EXPECT_EQ(got.error().code, Errno::TimedOut);
        EXPECT_STREQ(got.error().why, "the back end accepts no connection and its backlog is full");
        return;
    }
    FAIL() << "the backlog never filled";
}

} // namespace
} // namespace fit::vhost_user
