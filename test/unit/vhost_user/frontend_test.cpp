// Connecting, features and status: which messages a back end sees, in which order.
#include "transport/vhost_user/frontend.hpp"

#include <gtest/gtest.h>

#include "unit/vhost_user/frontend_bench.hpp"

namespace fit::vhost_user {
namespace {

using Lines = std::vector<std::string>;

void expect_error(const Result<void>& result, Errno code, const char* thing, const char* why)
{
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code, code);
    EXPECT_STREQ(result.error().thing, thing);
    EXPECT_STREQ(result.error().why, why);
}

TEST(VhostUserFrontend, VHU_06_VHU_07_VHU_08_connect_messages)
{
    Bench bench(offering(kProtocolBit | kVersion1, kPfAll));
    ASSERT_TRUE(bench.connect().ok());
    // Only MQ, REPLY_ACK and STATUS are acknowledged, whatever is offered.
    EXPECT_EQ(texts(bench.backend().log_of(5)),
              (Lines{"3 f1", "1 f1", "15 f1", "16 f1 10009 0", "17 f1"}));
    EXPECT_EQ(bench.frontend().offered_protocol_features().bits(), kPfAll);
    EXPECT_EQ(bench.frontend().protocol_features().bits(), kPfMq | kPfReplyAck | kPfStatus);
    EXPECT_TRUE(bench.frontend().alive());
}

TEST(VhostUserFrontend, VHU_08_acks_only_what_is_offered)
{
    for (const uint64_t offered : {kPfMq, kPfReplyAck, kPfStatus, uint64_t{0}, uint64_t{1} << 9}) {
        Bench bench(offering(kProtocolBit, offered));
        ASSERT_TRUE(bench.connect().ok());
        const auto log = bench.backend().log_of(4);
        ASSERT_GE(log.size(), 4u);
        EXPECT_EQ(log[3].request, 16u);
        EXPECT_EQ(fake::u64_at(log[3].payload, 0), offered & ~(uint64_t{1} << 9));
    }
}

TEST(VhostUserFrontend, VHU_08_VHU_10_without_bit_30_no_protocol_messages)
{
    Bench bench(offering(kVersion1, kPfAll));
    ASSERT_TRUE(bench.connect().ok());
    ASSERT_TRUE(bench.frontend().set_driver_features(FeatureSet(kVersion1)).ok());
    EXPECT_EQ(texts(bench.backend().log_of(3)), (Lines{"3 f1", "1 f1", "2 f1 0 1"}));
    EXPECT_EQ(bench.frontend().protocol_features().bits(), 0u);
    EXPECT_EQ(bench.frontend().max_queue_pairs(), 1);
}

TEST(VhostUserFrontend, VHU_14_queue_pairs)
{
    for (const auto& [answer, pairs] :
         {std::pair<uint64_t, int>{1, 1}, {2, 2}, {127, 127}, {128, 128}, {300, 128}}) {
        auto script = offering(kProtocolBit, kPfMq);
        script.queue_pairs = answer;
        Bench bench(script);
        ASSERT_TRUE(bench.connect().ok());
        EXPECT_EQ(bench.frontend().max_queue_pairs(), pairs);
    }
    auto script = offering(kProtocolBit, kPfMq);
    script.queue_pairs = 0;
    Bench bench(script);
    expect_error(bench.connect(), Errno::Protocol, "GET_QUEUE_NUM", "the back end has no queue");
    EXPECT_TRUE(bench.backend().saw_disconnect());
}

TEST(VhostUserFrontend, VHU_14_queue_number_is_not_asked_without_MQ)
{
    auto script = offering(kProtocolBit, kPfReplyAck);
    script.queue_pairs = 4;
    Bench bench(script);
    ASSERT_TRUE(bench.connect().ok());
    ASSERT_TRUE(bench.frontend().set_driver_features(FeatureSet()).ok());
    EXPECT_EQ(bench.frontend().max_queue_pairs(), 1);
    EXPECT_EQ(texts(bench.backend().log_of(5)),
              (Lines{"3 f1", "1 f1", "15 f1", "16 f1 8 0", "2 f9 40000000 0"}));
}

TEST(VhostUserFrontend, VHU_09_transport_bits_are_no_device_features)
{
    Bench bench(offering(kProtocolBit | kLogAll | kVersion1 | kMergeable, 0));
    ASSERT_TRUE(bench.connect().ok());
    const auto features = bench.frontend().device_features();
    ASSERT_TRUE(features.ok());
    EXPECT_EQ(features->bits(), kVersion1 | kMergeable);

    ASSERT_TRUE(bench.frontend().set_driver_features(FeatureSet(kVersion1)).ok());
    EXPECT_EQ(text(bench.backend().log_of(5).at(4)), "2 f1 40000000 1");
}

TEST(VhostUserFrontend, VHU_07_features_that_were_not_offered_are_not_acked)
{
    Bench bench(offering(kProtocolBit | kLogAll | kVersion1, 0));
    ASSERT_TRUE(bench.connect().ok());
    for (const unsigned bit : {15u, 26u, 30u, 63u}) {
        const auto set = bench.frontend().set_driver_features(FeatureSet(uint64_t{1} << bit));
        expect_error(set, Errno::InvalidArgument, "SET_FEATURES",
                     "the back end did not offer this feature; bit");
        EXPECT_EQ(set.error().value, bit);
    }
    EXPECT_TRUE(bench.frontend().alive());
    bench.disconnect();
    ASSERT_TRUE(bench.backend().saw_disconnect());
    EXPECT_EQ(bench.backend().log_of(4).size(), 4u);
}

TEST(VhostUserFrontend, VHU_49_VHU_50_VHU_51_status_is_mirrored)
{
    Bench bench(offering(kProtocolBit, kPfStatus));
    ASSERT_TRUE(bench.connect().ok());
    for (const uint8_t value : {0x00, 0x01, 0x03, 0x0b, 0x0f, 0x00}) {
        ASSERT_TRUE(bench.frontend().set_status(DeviceStatus(value)).ok());
        const auto read = bench.frontend().status();
        ASSERT_TRUE(read.ok());
        EXPECT_EQ(read->bits(), value);
    }
    EXPECT_EQ(texts(bench.backend().log_of(16), 4),
              (Lines{"39 f1 0 0", "40 f1", "39 f1 1 0", "40 f1", "39 f1 3 0", "40 f1", "39 f1 b 0",
                     "40 f1", "39 f1 f 0", "40 f1", "39 f1 0 0", "40 f1"}));
}

TEST(VhostUserFrontend, VHU_50_the_back_end_may_clear_bits)
{
    auto script = offering(kProtocolBit, kPfStatus);
    script.u64_values[40] = 0x03;
    Bench bench(script);
    ASSERT_TRUE(bench.connect().ok());
    ASSERT_TRUE(bench.frontend().set_status(DeviceStatus(uint8_t{0x0b})).ok());
    EXPECT_EQ(bench.frontend().status()->bits(), 0x03);
}

TEST(VhostUserFrontend, VHU_49_a_status_beyond_8_bits_is_refused)
{
    auto script = offering(kProtocolBit, kPfStatus);
    script.u64_values[40] = 0x100;
    Bench bench(script);
    ASSERT_TRUE(bench.connect().ok());
    const auto read = bench.frontend().status();
    ASSERT_FALSE(read.ok());
    EXPECT_EQ(read.error().code, Errno::Protocol);
    EXPECT_EQ(read.error().value, 0x100);
    EXPECT_FALSE(bench.frontend().alive());
}

TEST(VhostUserFrontend, VHU_49_without_STATUS_the_status_is_local)
{
    Bench bench(offering(kProtocolBit, kPfReplyAck));
    ASSERT_TRUE(bench.connect().ok());
    for (const uint8_t value : {0x01, 0x0f, 0x00}) {
        ASSERT_TRUE(bench.frontend().set_status(DeviceStatus(value)).ok());
        EXPECT_EQ(bench.frontend().status()->bits(), value);
    }
    bench.disconnect();
    ASSERT_TRUE(bench.backend().saw_disconnect());
    EXPECT_EQ(bench.backend().log_of(4).size(), 4u);
}

TEST(VhostUserFrontend, VHU_40_need_reply_only_after_REPLY_ACK)
{
    Bench bench(offering(kProtocolBit | kVersion1, kPfReplyAck | kPfStatus));
    ASSERT_TRUE(bench.connect().ok());
    ASSERT_TRUE(bench.frontend().set_status(DeviceStatus(Status::Acknowledge)).ok());
    ASSERT_TRUE(bench.frontend().status().ok());
    ASSERT_TRUE(bench.prepare(kVersion1).ok());
    // VHU-42: requests with an own reply never carry the flag.
    EXPECT_EQ(texts(bench.backend().log_of(8)),
              (Lines{"3 f1", "1 f1", "15 f1", "16 f1 10008 0", "39 f9 1 0", "40 f1",
                     "2 f9 40000000 1", text(bench.backend().log_of(8).at(7))}));
}

TEST(VhostUserFrontend, VHU_30_VHU_33_memory_table_message)
{
    Bench bench(offering(kProtocolBit, kPfReplyAck));
    ASSERT_TRUE(bench.connect().ok());
    ASSERT_TRUE(bench.share().ok());
    const auto log = bench.backend().log_of(5);
    ASSERT_EQ(log.size(), 5u);
    const fake::LoggedMessage& m = log[4];
    EXPECT_EQ(m.request, 5u);
    EXPECT_EQ(m.flags, 9u);
    EXPECT_EQ(m.header_fds, 1u);
    EXPECT_EQ(m.late_fds, 0u);
    ASSERT_EQ(m.payload.size(), 40u);
    EXPECT_EQ(fake::u64_at(m.payload, 0), 1u);
    EXPECT_EQ(fake::u64_at(m.payload, 8), kDeviceAddress);
    EXPECT_EQ(fake::u64_at(m.payload, 16), kMemoryBytes);
    EXPECT_EQ(fake::u64_at(m.payload, 24), bench.base());
    EXPECT_EQ(fake::u64_at(m.payload, 32), 0u);
}

TEST(VhostUserFrontend, VHU_31_memory_beyond_the_file_is_refused)
{
    Bench bench(offering(kProtocolBit, kPfReplyAck));
    ASSERT_TRUE(bench.connect().ok());
    MemorySegment beyond = bench.segment();
    beyond.fd_offset = 1;
    const auto shared = bench.frontend().share_memory(std::vector{beyond});
    expect_error(shared, Errno::InvalidArgument, "SET_MEM_TABLE",
                 "a memory segment passes the end of its file; bytes of the file");
    EXPECT_EQ(shared.error().value, static_cast<int64_t>(kMemoryBytes));

    MemorySegment closed = bench.segment();
    closed.fd = 0x7FFFFFFF;
    expect_error(bench.frontend().share_memory(std::vector{closed}), Errno::InvalidArgument,
                 "SET_MEM_TABLE", "the file behind a memory segment is not open; its descriptor");
    MemorySegment anonymous = bench.segment();
    anonymous.fd = -1;
    EXPECT_EQ(bench.frontend().share_memory(std::vector{anonymous}).error().code,
              Errno::NotSupported);
    EXPECT_TRUE(bench.frontend().alive());
    EXPECT_TRUE(bench.share().ok());
}

TEST(VhostUserFrontend, VHU_30_eight_regions_with_their_fds)
{
    Bench bench(offering(kProtocolBit, kPfReplyAck));
    ASSERT_TRUE(bench.connect().ok());
    std::vector<MemorySegment> segments;
    for (uint64_t i = 0; i < 8; ++i) {
        // Device addresses with gaps, so that nothing is joined.
        MemorySegment s = bench.segment();
        s.driver_address += i * 0x1000;
        s.device_address += i * 0x2000;
        s.fd_offset = i * 0x1000;
        s.length = 0x1000;
        segments.push_back(s);
    }
    ASSERT_TRUE(bench.frontend().share_memory(segments).ok());
    const auto m = bench.backend().log_of(5).at(4);
    EXPECT_EQ(m.payload.size(), 8u + 8 * 32);
    EXPECT_EQ(m.header_fds, 8u);
    EXPECT_EQ(fake::u64_at(m.payload, 8 + 7 * 32), kDeviceAddress + 7 * 0x2000);
}

} // namespace
} // namespace fit::vhost_user
