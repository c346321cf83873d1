// Queues: set-up, enabling, stopping and starting again, as a back end sees them.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>

#include "transport/vhost_user/frontend.hpp"
#include "unit/vhost_user/frontend_bench.hpp"

namespace fit::vhost_user {
namespace {

using Lines = std::vector<std::string>;

constexpr uint64_t kAllFeatures = kProtocolBit | kVersion1 | kPacked;
constexpr uint64_t kAcks = kPfReplyAck;
constexpr size_t kPrepared = 6; // messages of connecting (no MQ) and preparing

// A bench that is connected and prepared.
struct Prepared : Bench {
    explicit Prepared(fake::BackendScript script, uint64_t accepted = kVersion1)
        : Bench(std::move(script))
    {
        if (!connect() || !prepare(accepted))
            fake::fail_test_setup("the start of the connection");
    }
    Lines lines_after(size_t from, size_t count)
    {
        return texts(backend().log_of(from + count), from);
    }
};

TEST(VhostUserFrontendQueue, VHU_16_VHU_18_VHU_20_VHU_21_set_up_order)
{
    Prepared bench(offering(kAllFeatures, kAcks));
    ASSERT_TRUE(bench.frontend().setup_queue(0, bench.addresses(0)).ok());
    ASSERT_TRUE(bench.frontend().setup_queue(1, bench.addresses(1)).ok());
    ASSERT_TRUE(bench.frontend().enable_queue(0).ok());
    ASSERT_TRUE(bench.frontend().enable_queue(1).ok());
    EXPECT_EQ(bench.lines_after(kPrepared, 12),
              (Lines{"8 f9 0 40", "10 f9 0 0", "9 f9 " + addr_words(bench.addresses(0), 0),
                     "13 f9 0 0 +1fd", "12 f9 0 0 +1fd", //
                     "8 f9 1 40", "10 f9 1 0", "9 f9 " + addr_words(bench.addresses(1), 1),
                     "13 f9 1 0 +1fd", "12 f9 1 0 +1fd", //
                     "18 f9 0 1", "18 f9 1 1"}));
}

TEST(VhostUserFrontendQueue, VHU_19_packed_base)
{
    Prepared bench(offering(kAllFeatures, kAcks), kVersion1 | kPacked);
    QueueAddresses odd = bench.addresses(0);
    odd.size = 63;
    ASSERT_TRUE(bench.frontend().setup_queue(0, odd).ok());
    EXPECT_EQ(bench.lines_after(kPrepared, 5),
              (Lines{"8 f9 0 3f", "10 f9 0 80008000", "9 f9 " + addr_words(odd, 0),
                     "13 f9 0 0 +1fd", "12 f9 0 0 +1fd"}));
}

TEST(VhostUserFrontendQueue, VHU_22_GEN_13_no_kick_before_the_driver_writes_one)
{
    Prepared bench(offering(kAllFeatures, kAcks));
    const auto notifier = bench.frontend().setup_queue(0, bench.addresses(0));
    ASSERT_TRUE(notifier.ok());
    ASSERT_TRUE(bench.frontend().enable_queue(0).ok());
    const UniqueFd kick = bench.backend().vring_fd(12, 0);
    const UniqueFd call = bench.backend().vring_fd(13, 0);
    ASSERT_TRUE(kick.valid());
    ASSERT_TRUE(call.valid());
    pollfd item{kick.get(), POLLIN, 0};
    EXPECT_EQ(::poll(&item, 1, 0), 0);
    // The notifier is the other end of the very kick fd: what goes in comes out once.
    ASSERT_EQ(::eventfd_write(notifier->fd, 3), 0);
    eventfd_t value = 0;
    ASSERT_EQ(::eventfd_read(kick.get(), &value), 0);
    EXPECT_EQ(value, 3u);
    ASSERT_EQ(::eventfd_write(call.get(), 1), 0);
    EXPECT_EQ(::poll(&item, 1, 0), 0);
}

TEST(VhostUserFrontendQueue, VHU_13_VHU_43_without_REPLY_ACK_a_round_trip_follows_enable)
{
    Prepared bench(offering(kAllFeatures, 0));
    ASSERT_TRUE(bench.frontend().setup_queue(0, bench.addresses(0)).ok());
    ASSERT_TRUE(bench.frontend().enable_queue(0).ok());
    EXPECT_EQ(bench.lines_after(kPrepared, 7),
              (Lines{"8 f1 0 40", "10 f1 0 0", "9 f1 " + addr_words(bench.addresses(0), 0),
                     "13 f1 0 0 +1fd", "12 f1 0 0 +1fd", "18 f1 0 1", "1 f1"}));
}

TEST(VhostUserFrontendQueue, VHU_10_VHU_11_without_bit_30_nothing_is_enabled)
{
    Prepared bench(offering(kVersion1, kPfAll));
    ASSERT_TRUE(bench.frontend().setup_queue(0, bench.addresses(0)).ok());
    ASSERT_TRUE(bench.frontend().enable_queue(0).ok());
    ASSERT_TRUE(bench.frontend().stop_queue(0).ok());
    EXPECT_EQ(bench.lines_after(4, 7),
              (Lines{"8 f1 0 40", "10 f1 0 0", "9 f1 " + addr_words(bench.addresses(0), 0),
                     "13 f1 0 0 +1fd", "12 f1 0 0 +1fd", "1 f1", "11 f1 0 0"}));
}

TEST(VhostUserFrontendQueue, VHU_24_VHU_25_stop_messages)
{
    Prepared bench(offering(kAllFeatures, kAcks));
    ASSERT_TRUE(bench.frontend().setup_queue(0, bench.addresses(0)).ok());
    ASSERT_TRUE(bench.frontend().setup_queue(1, bench.addresses(1)).ok());
    ASSERT_TRUE(bench.frontend().enable_queue(1).ok());
    ASSERT_TRUE(bench.frontend().stop_queue(1).ok());
    // Queue 0 was never enabled, so there is nothing to disable.
    ASSERT_TRUE(bench.frontend().stop_queue(0).ok());
    EXPECT_EQ(bench.lines_after(kPrepared + 11, 3), (Lines{"18 f9 1 0", "11 f1 1 0", "11 f1 0 0"}));
}

TEST(VhostUserFrontendQueue, VHU_24_stop_is_idempotent_and_closes_the_fds)
{
    Prepared bench(offering(kAllFeatures, kAcks));
    const size_t before = fake::open_fd_count();
    ASSERT_TRUE(bench.frontend().setup_queue(0, bench.addresses(0)).ok());
    EXPECT_EQ(fake::open_fd_count(), before + 4); // kick and call, each at both ends
    ASSERT_TRUE(bench.frontend().stop_queue(0).ok());
    EXPECT_EQ(fake::open_fd_count(), before);
    ASSERT_TRUE(bench.frontend().stop_queue(0).ok());
    ASSERT_TRUE(bench.frontend().stop_queue(1).ok());
    ASSERT_TRUE(bench.frontend().stop_queue(65535).ok());
    bench.disconnect();
    ASSERT_TRUE(bench.backend().saw_disconnect());
    EXPECT_EQ(bench.backend().log_of(kPrepared + 6).size(), kPrepared + 6);
}

TEST(VhostUserFrontendQueue, VHU_26_VHU_27_restart_resends_all_of_it)
{
    auto script = offering(kAllFeatures, kAcks);
    // A base that is not 0: the ring is zeroed, so the next start must not use it.
    fake::Bytes base;
    fake::put_u32(base, 0);
    fake::put_u32(base, 17);
    script.raw_answers[11] = fake::reply_bytes(11, base);
    Prepared bench(script);
    const Lines once = {
        "8 f9 0 40",      "10 f9 0 0",      "9 f9 " + addr_words(bench.addresses(0), 0),
        "13 f9 0 0 +1fd", "12 f9 0 0 +1fd", "18 f9 0 1",
        "18 f9 0 0",      "11 f1 0 0"};
    for (size_t round = 0; round < 3; ++round) {
        ASSERT_TRUE(bench.frontend().setup_queue(0, bench.addresses(0)).ok());
        ASSERT_TRUE(bench.frontend().enable_queue(0).ok());
        ASSERT_TRUE(bench.frontend().stop_queue(0).ok());
        EXPECT_EQ(bench.lines_after(kPrepared + 8 * round, 8), once);
    }
}

TEST(VhostUserFrontendQueue, VHU_29_trouble_088_no_new_features_or_memory_while_a_queue_runs)
{
    Prepared bench(offering(kAllFeatures, kAcks));
    ASSERT_TRUE(bench.frontend().setup_queue(0, bench.addresses(0)).ok());
    EXPECT_EQ(bench.frontend().set_driver_features(FeatureSet(kVersion1)).error().code,
              Errno::Busy);
    EXPECT_EQ(bench.share().error().code, Errno::Busy);
    EXPECT_EQ(bench.frontend().setup_queue(0, bench.addresses(0)).error().code, Errno::Busy);
    ASSERT_TRUE(bench.frontend().stop_queue(0).ok());
    EXPECT_TRUE(bench.frontend().set_driver_features(FeatureSet(kVersion1)).ok());
    EXPECT_TRUE(bench.share().ok());
}

TEST(VhostUserFrontendQueue, VHU_14_VHU_15_index_limits)
{
    auto script = offering(kAllFeatures, kAcks | kPfMq);
    script.queue_pairs = 2;
    Prepared bench(script);
    EXPECT_TRUE(bench.frontend().setup_queue(3, bench.addresses(3)).ok());
    for (const uint16_t index : {4, 255, 256, 65535}) {
        const auto set = bench.frontend().setup_queue(index, bench.addresses(0));
        ASSERT_FALSE(set.ok());
        EXPECT_EQ(set.error().code, Errno::InvalidArgument);
        EXPECT_EQ(set.error().value, index);
        EXPECT_EQ(bench.frontend().enable_queue(index).error().code, Errno::InvalidArgument);
    }
}

TEST(VhostUserFrontendQueue, VHU_15_last_index_of_128_pairs)
{
    auto script = offering(kAllFeatures, kAcks | kPfMq);
    script.queue_pairs = 300;
    Prepared bench(script);
    ASSERT_TRUE(bench.frontend().setup_queue(255, bench.addresses(0)).ok());
    const auto lines = bench.lines_after(kPrepared + 1, 5);
    ASSERT_EQ(lines.size(), 5u);
    EXPECT_EQ(lines[0], "8 f9 ff 40");
    EXPECT_EQ(lines[4], "12 f9 ff 0 +1fd");
    EXPECT_EQ(bench.frontend().setup_queue(256, bench.addresses(0)).error().code,
              Errno::InvalidArgument);
}

TEST(VhostUserFrontendQueue, VHU_17_VHU_18_bad_rings_send_nothing)
{
    Prepared bench(offering(kAllFeatures, kAcks));
    const size_t before = fake::open_fd_count();
    QueueAddresses outside = bench.addresses(0);
    outside.device_area = bench.base() + kMemoryBytes;
    const auto set = bench.frontend().setup_queue(0, outside);
    ASSERT_FALSE(set.ok());
    EXPECT_EQ(set.error().code, Errno::InvalidArgument);
    EXPECT_EQ(fake::open_fd_count(), before);
    EXPECT_TRUE(bench.frontend().alive());
    bench.disconnect();
    ASSERT_TRUE(bench.backend().saw_disconnect());
    EXPECT_EQ(bench.backend().log_of(kPrepared).size(), kPrepared);
}

} // namespace
} // namespace fit::vhost_user
