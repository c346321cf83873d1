// Back ends that refuse, hang, lie or die.
#include <gtest/gtest.h>

#include "transport/vhost_user/frontend.hpp"
#include "unit/vhost_user/frontend_bench.hpp"

namespace fit::vhost_user {
namespace {

constexpr uint64_t kFeatures = kProtocolBit | kVersion1;

// A whole life: connect, start two queues, stop them, reset. The first error ends it.
Result<void> live(Bench& bench)
{
    if (auto r = bench.connect(); !r)
        return r;
    Frontend& f = bench.frontend();
    for (const uint8_t status : {0x00, 0x01, 0x03}) {
        if (auto r = f.set_status(DeviceStatus(status)); !r)
            return r;
    }
    if (auto r = bench.prepare(kVersion1); !r)
        return r;
    if (auto r = f.set_status(DeviceStatus(uint8_t{0x0b})); !r)
        return r;
    if (auto r = f.status(); !r)
        return r.error();
    for (const uint16_t queue : {0, 1}) {
        if (auto r = f.setup_queue(queue, bench.addresses(queue)); !r)
            return r.error();
    }
    if (auto r = f.set_status(DeviceStatus(uint8_t{0x0f})); !r)
        return r;
    for (const uint16_t queue : {0, 1}) {
        if (auto r = f.enable_queue(queue); !r)
            return r;
    }
    for (const uint16_t queue : {0, 1}) {
        if (auto r = f.stop_queue(queue); !r)
            return r;
    }
    return f.set_status(DeviceStatus());
}

// Runs one life with a script; the number of fds afterwards is that of before.
Result<void> live_without_leak(const fake::BackendScript& script, std::chrono::milliseconds timeout)
{
    const size_t before = fake::open_fd_count();
    auto result = [&] {
        Bench bench(script, timeout);
        return live(bench);
    }();
    EXPECT_EQ(fake::open_fd_count(), before);
    return result;
}

size_t messages_of_a_life(const fake::BackendScript& script)
{
    Bench bench(script);
    EXPECT_TRUE(live(bench).ok());
    bench.disconnect();
    EXPECT_TRUE(bench.backend().saw_disconnect());
    return bench.backend().log_of(0).size();
}

TEST(VhostUserFrontendFaults, VHU_04_back_end_closes_at_each_message_with_acks)
{
    fake::BackendScript script = offering(kFeatures, kPfMq | kPfReplyAck | kPfStatus);
    const size_t messages = messages_of_a_life(script);
    // 5 to connect, 7 before the queues, 10 for them, DRIVER_OK, 2 + 4 to enable and stop, reset.
    ASSERT_EQ(messages, 30u);
    for (size_t k = 0; k < messages; ++k) {
        SCOPED_TRACE(k);
        script.close_at = k;
        const auto result = live_without_leak(script, kLong);
        ASSERT_FALSE(result.ok());
        EXPECT_EQ(result.error().code, Errno::NotConnected);
    }
}

TEST(VhostUserFrontendFaults, VHU_04_back_end_closes_at_each_message_without_acks)
{
    fake::BackendScript script = offering(kFeatures, kPfMq | kPfStatus);
    const size_t messages = messages_of_a_life(script);
    ASSERT_EQ(messages, 32u); // a barrier after each enable
    // The last message, the reset, is not answered: its loss shows at the next request.
    for (size_t k = 0; k + 1 < messages; ++k) {
        SCOPED_TRACE(k);
        script.close_at = k;
        const auto result = live_without_leak(script, kLong);
        ASSERT_FALSE(result.ok());
        EXPECT_EQ(result.error().code, Errno::NotConnected);
    }
}

TEST(VhostUserFrontendFaults, VHU_04_back_end_falls_silent)
{
    fake::BackendScript script = offering(kFeatures, kPfMq | kPfReplyAck | kPfStatus);
    // SET_PROTOCOL_FEATURES (message 3) has no answer: the silence shows one message later.
    const std::vector<std::pair<size_t, const char*>> cases = {
        {1, "GET_FEATURES"}, {3, "GET_QUEUE_NUM"},   {9, "SET_MEM_TABLE"},
        {11, "GET_STATUS"},  {16, "SET_VRING_KICK"}, {23, "SET_VRING_ENABLE"}};
    for (const auto& [message, thing] : cases) {
        SCOPED_TRACE(message);
        script.mute_at = message;
        const auto result = live_without_leak(script, kShort);
        ASSERT_FALSE(result.ok());
        EXPECT_EQ(result.error().code, Errno::TimedOut);
        EXPECT_STREQ(result.error().thing, thing);
        EXPECT_STREQ(result.error().why, "the back end does not answer");
    }
}

TEST(VhostUserFrontendFaults, VHU_41_each_refusal_is_an_error_with_its_value)
{
    const std::vector<std::pair<uint32_t, const char*>> requests = {
        {2, "SET_FEATURES"},    {5, "SET_MEM_TABLE"},     {8, "SET_VRING_NUM"},
        {9, "SET_VRING_ADDR"},  {10, "SET_VRING_BASE"},   {12, "SET_VRING_KICK"},
        {13, "SET_VRING_CALL"}, {18, "SET_VRING_ENABLE"}, {39, "SET_STATUS"}};
    for (const auto& [id, thing] : requests) {
        SCOPED_TRACE(thing);
        fake::BackendScript script = offering(kFeatures, kPfReplyAck | kPfStatus);
        script.refusals[id] = 1 + id;
        const auto result = live_without_leak(script, kLong);
        ASSERT_FALSE(result.ok());
        EXPECT_EQ(result.error().code, Errno::Io);
        EXPECT_STREQ(result.error().thing, thing);
        EXPECT_STREQ(result.error().why, "the back end refused it; its answer");
        EXPECT_EQ(result.error().value, 1 + id);
    }
}

TEST(VhostUserFrontendFaults, VHU_41_a_refusal_leaves_the_connection_open)
{
    fake::BackendScript script = offering(kFeatures, kPfReplyAck);
    script.refusals[5] = 1;
    Bench bench(script);
    ASSERT_TRUE(bench.connect().ok());
    EXPECT_EQ(bench.share().error().code, Errno::Io);
    EXPECT_TRUE(bench.frontend().alive());
    EXPECT_TRUE(bench.frontend().set_driver_features(FeatureSet(kVersion1)).ok());
    // The refused table is not in use: no ring lies inside.
    EXPECT_EQ(bench.frontend().setup_queue(0, bench.addresses(0)).error().code,
              Errno::InvalidArgument);
}

// Bytes instead of the reply to GET_VRING_BASE, and what comes of them.
void expect_stop_fails(const fake::Bytes& answer, std::chrono::milliseconds timeout, Errno code)
{
    fake::BackendScript script = offering(kFeatures, kPfReplyAck);
    script.raw_answers[11] = answer;
    Bench bench(script, timeout);
    ASSERT_TRUE(bench.connect().ok());
    ASSERT_TRUE(bench.prepare(kVersion1).ok());
    const size_t before = fake::open_fd_count();
    ASSERT_TRUE(bench.frontend().setup_queue(0, bench.addresses(0)).ok());
    const auto stopped = bench.frontend().stop_queue(0);
    ASSERT_FALSE(stopped.ok());
    EXPECT_EQ(stopped.error().code, code);
    EXPECT_STREQ(stopped.error().thing, "GET_VRING_BASE");
    // The connection is closed, which ends the device's access; the queue's fds are gone.
    EXPECT_TRUE(bench.backend().saw_disconnect());
    EXPECT_FALSE(bench.frontend().alive());
    EXPECT_EQ(fake::open_fd_count(), before - 2); // both ends of the connection
    EXPECT_TRUE(bench.frontend().stop_queue(0).ok());
}

TEST(VhostUserFrontendFaults, VHU_24_a_stop_that_is_not_confirmed_closes_the_connection)
{
    fake::Bytes other_vring;
    fake::put_u32(other_vring, 1);
    fake::put_u32(other_vring, 0);
    expect_stop_fails(fake::reply_bytes(11, other_vring), kLong, Errno::Protocol);
    expect_stop_fails(fake::reply_bytes(11, fake::Bytes(4)), kLong, Errno::Protocol);
    expect_stop_fails(fake::reply_bytes(12, fake::Bytes(8)), kLong, Errno::Protocol);
    expect_stop_fails({11, 0, 0, 0, 5}, kShort, Errno::TimedOut);
}

TEST(VhostUserFrontendFaults, VHU_24_a_refused_disable_closes_the_connection)
{
    Bench bench(offering(kFeatures, kPfReplyAck));
    ASSERT_TRUE(bench.connect().ok());
    ASSERT_TRUE(bench.prepare(kVersion1).ok());
    ASSERT_TRUE(bench.frontend().setup_queue(0, bench.addresses(0)).ok());
    ASSERT_TRUE(bench.frontend().enable_queue(0).ok());
    bench.backend().refuse(18, 1);
    const auto stopped = bench.frontend().stop_queue(0);
    ASSERT_FALSE(stopped.ok());
    EXPECT_EQ(stopped.error().code, Errno::Io);
    EXPECT_STREQ(stopped.error().thing, "SET_VRING_ENABLE");
    EXPECT_TRUE(bench.backend().saw_disconnect());
    EXPECT_FALSE(bench.frontend().alive());
    EXPECT_TRUE(bench.frontend().stop_queue(0).ok());
}

TEST(VhostUserFrontendFaults, VHU_04_VHU_70_all_requests_on_a_lost_connection)
{
    Bench bench(offering(kFeatures, kPfReplyAck | kPfStatus));
    ASSERT_TRUE(bench.connect().ok());
    ASSERT_TRUE(bench.prepare(kVersion1).ok());
    ASSERT_TRUE(bench.frontend().setup_queue(0, bench.addresses(0)).ok());
    Frontend& f = bench.frontend();
    ASSERT_TRUE(f.alive());
    bench.backend().hang_up();
    EXPECT_FALSE(f.alive());
    // The first request finds out, the others are not even tried.
    EXPECT_EQ(f.set_status(DeviceStatus()).error().code, Errno::NotConnected);
    EXPECT_EQ(f.set_status(DeviceStatus()).error().code, Errno::NotConnected);
    EXPECT_EQ(f.status().error().code, Errno::NotConnected);
    EXPECT_EQ(f.device_features().error().code, Errno::NotConnected);
    EXPECT_EQ(f.enable_queue(0).error().code, Errno::NotConnected);
    EXPECT_EQ(f.setup_queue(1, bench.addresses(1)).error().code, Errno::NotConnected);
    EXPECT_EQ(f.stop_queue(0).error().code, Errno::NotConnected);
    EXPECT_TRUE(f.stop_queue(0).ok());
    EXPECT_EQ(f.set_driver_features(FeatureSet()).error().code, Errno::NotConnected);
    EXPECT_EQ(bench.share().error().code, Errno::NotConnected);
    EXPECT_FALSE(f.alive());
}

TEST(VhostUserFrontendFaults, VHU_05_hostile_replies_while_connecting)
{
    const auto with_size = [](uint32_t size) {
        fake::Bytes bytes;
        fake::put_u32(bytes, 1);
        fake::put_u32(bytes, 5);
        fake::put_u32(bytes, size);
        return bytes;
    };
    for (const fake::Bytes& answer : {with_size(0), with_size(4), with_size(0xFFFFFFFF),
                                      fake::reply_bytes(2, fake::Bytes(8))}) {
        fake::BackendScript script = offering(kFeatures, 0);
        script.raw_answers[1] = answer;
        const auto result = live_without_leak(script, kLong);
        ASSERT_FALSE(result.ok());
        EXPECT_EQ(result.error().code, Errno::Protocol);
        EXPECT_STREQ(result.error().thing, "GET_FEATURES");
    }
}

} // namespace
} // namespace fit::vhost_user
