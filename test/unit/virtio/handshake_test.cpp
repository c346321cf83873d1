#include "virtio/handshake.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "fake_transport.hpp"
#include "feature_dependencies.hpp"

namespace fit {
namespace {

using Log = std::vector<std::string>;
using namespace std::chrono_literals;

constexpr FeatureSet kOffered = {Feature::Version1, Feature::MrgRxbuf, Feature::Mac, Feature::Csum};
constexpr FeatureSet kWanted = {Feature::Version1, Feature::MrgRxbuf, Feature::Mtu};

struct Rig {
    FakeTransport transport;
    Handshake handshake{transport, 1h};

    Rig() { transport.offered = kOffered; }

    // A whole bring-up as a driver does it; the first error ends it.
    Result<void> bring_up()
    {
        if (auto done = handshake.negotiate(kWanted); !done)
            return done.error();
        if (auto done = transport.share_memory({}); !done)
            return give_up(done.error());
        if (auto done = transport.setup_queue(0, {.size = 256}); !done)
            return give_up(done.error());
        if (auto done = transport.enable_queue(0); !done)
            return give_up(done.error());
        return handshake.driver_ok();
    }
    Error give_up(const Error& error)
    {
        handshake.fail();
        return error;
    }
};

const Log kBringUp = {
    "set_status 00",          "status",          "set_status 01",
    "set_status 03",          "device_features", "set_driver_features 0000000100008000",
    "set_status 0b",          "status",          "share_memory 0",
    "setup_queue 0 size 256", "enable_queue 0",  "set_status 0f",
};

TEST(Handshake, GEN_01_GEN_03_order_of_a_bring_up)
{
    Rig rig;
    EXPECT_TRUE(rig.bring_up().ok());
    EXPECT_EQ(rig.transport.log, kBringUp);
    EXPECT_EQ(rig.transport.violations, Log{});
    EXPECT_EQ(rig.transport.field.bits(), 0x0f);
}

TEST(Handshake, GEN_02_first_action_is_a_reset_whatever_the_status_reads)
{
    for (uint8_t before : {uint8_t{0x00}, uint8_t{0x0f}, uint8_t{0x80}, uint8_t{0xff}}) {
        Rig rig;
        rig.transport.field = DeviceStatus(before);
        EXPECT_TRUE(rig.bring_up().ok());
        EXPECT_EQ(rig.transport.log, kBringUp);
        EXPECT_EQ(rig.transport.violations, Log{});
    }
}

TEST(Handshake, GEN_14_accepts_and_returns_what_is_both_offered_and_wanted)
{
    Rig rig;
    const Result<FeatureSet> accepted = rig.handshake.negotiate(kWanted);
    ASSERT_TRUE(accepted.ok());
    EXPECT_EQ(accepted->bits(), 0x1'0000'8000U);
    EXPECT_EQ(rig.transport.accepted.bits(), 0x1'0000'8000U);
}

TEST(Handshake, GEN_14_GEN_15_random_offers)
{
    std::mt19937_64 random(7);
    for (int round = 0; round < 2'000; ++round) {
        Rig rig;
        rig.transport.offered = FeatureSet(random());
        const FeatureSet wanted(random() | random());
        const Result<FeatureSet> accepted = rig.handshake.negotiate(wanted);
        ASSERT_TRUE(accepted.ok());
        ASSERT_EQ(accepted->bits(),
                  largest_consistent_part(rig.transport.offered.bits() & wanted.bits()));
        ASSERT_EQ(*accepted, rig.transport.accepted);
        ASSERT_EQ(rig.transport.violations, Log{});
    }
}

TEST(Handshake, GEN_17_GEN_20_unknown_bits_are_neither_accepted_nor_a_reason_to_fail)
{
    Rig rig;
    rig.transport.offered = FeatureSet(~uint64_t{0});
    EXPECT_TRUE(rig.bring_up().ok());
    EXPECT_EQ(rig.transport.accepted, kWanted);
    EXPECT_EQ(rig.transport.violations, Log{});
}

TEST(Handshake, GEN_18_goes_on_without_any_one_feature)
{
    for (const Feature missing : {Feature::MrgRxbuf, Feature::Mac, Feature::Csum, Feature::Mtu}) {
        Rig rig;
        rig.transport.offered = kOffered.without(missing);
        EXPECT_TRUE(rig.bring_up().ok());
        EXPECT_EQ(rig.transport.accepted, (kOffered & kWanted).without(missing));
        EXPECT_EQ(rig.transport.field.bits(), 0x0f);
    }
}

TEST(Handshake, legacy_device_is_not_asked_for_features_ok)
{
    Rig rig;
    rig.transport.offered = kOffered.without(Feature::Version1);
    EXPECT_TRUE(rig.bring_up().ok());
    EXPECT_EQ(rig.transport.log,
              (Log{"set_status 00", "status", "set_status 01", "set_status 03", "device_features",
                   "set_driver_features 0000000000008000", "share_memory 0",
                   "setup_queue 0 size 256", "enable_queue 0", "set_status 07"}));
    EXPECT_EQ(rig.transport.violations, Log{});
}

TEST(Handshake, GEN_10_GEN_11_GEN_12_trouble_014_refused_features_end_the_bring_up)
{
    Rig rig;
    rig.transport.refuses_features = true;
    const Result<FeatureSet> refused = rig.handshake.negotiate(kWanted);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, Errno::Io);
    EXPECT_STREQ(refused.error().thing, "FEATURES_OK");
    EXPECT_EQ(refused.error().value, 0x1'0000'8000);

    Log expected(kBringUp.begin(), kBringUp.begin() + 8);
    expected.push_back("set_status 8b");
    EXPECT_EQ(rig.transport.log, expected);
    EXPECT_EQ(rig.transport.violations, Log{});
}

TEST(Handshake, GEN_05_GEN_22_another_attempt_begins_with_a_reset)
{
    Rig rig;
    rig.transport.refuses_features = true;
    EXPECT_FALSE(rig.bring_up().ok());
    rig.transport.refuses_features = false;
    rig.transport.log.clear();
    EXPECT_TRUE(rig.bring_up().ok());
    EXPECT_EQ(rig.transport.log, kBringUp);

    rig.transport.log.clear();
    ASSERT_TRUE(rig.handshake.negotiate({Feature::Version1, Feature::Mac}).ok());
    EXPECT_EQ(rig.transport.log,
              (Log{"set_status 00", "status", "set_status 01", "set_status 03", "device_features",
                   "set_driver_features 0000000100000020", "set_status 0b", "status"}));
    EXPECT_EQ(rig.transport.violations, Log{});
}

TEST(Handshake, GEN_23_waits_until_the_status_reads_0)
{
    for (unsigned reads : {1U, 2U, 25U}) {
        Rig rig;
        rig.transport.field = DeviceStatus(uint8_t{0x0f});
        rig.transport.slow_reset_reads = reads;
        EXPECT_TRUE(rig.bring_up().ok());
        Log expected = kBringUp;
        expected.insert(expected.begin() + 1, reads, "status");
        EXPECT_EQ(rig.transport.log, expected);
        EXPECT_EQ(rig.transport.violations, Log{});
    }
}

TEST(Handshake, GEN_23_gives_up_on_a_device_that_never_finishes_its_reset)
{
    FakeTransport transport;
    transport.offered = kOffered;
    transport.field = DeviceStatus(uint8_t{0x4f});
    transport.never_resets = true;
    Handshake handshake(transport, 5ms);
    const Result<FeatureSet> late = handshake.negotiate(kWanted);
    ASSERT_FALSE(late.ok());
    EXPECT_EQ(late.error().code, Errno::TimedOut);
    EXPECT_EQ(late.error().value, 0x4f);
    // However often it looked, it did nothing else.
    ASSERT_LE(2U, transport.log.size());
    EXPECT_EQ(transport.log[0], "set_status 00");
    EXPECT_EQ(transport.log.size() - 1, static_cast<size_t>(std::count(
                                            transport.log.begin(), transport.log.end(), "status")));
    EXPECT_EQ(transport.violations, Log{});
}

// Whatever call fails: its error comes back, nothing goes on, and the device sees FAILED or is
// being reset.
TEST(Handshake, GEN_04_GEN_11_GEN_12_fault_at_every_call)
{
    const Log after = {"",
                       "",
                       "set_status 81",
                       "set_status 83",
                       "set_status 83",
                       "set_status 83",
                       "set_status 8b",
                       "set_status 8b",
                       "set_status 8b",
                       "set_status 8b",
                       "set_status 8b",
                       "set_status 8f"};
    ASSERT_EQ(after.size(), kBringUp.size());
    for (size_t k = 0; k < kBringUp.size(); ++k) {
        Rig rig;
        rig.transport.failing_call = k;
        const Result<void> failed = rig.bring_up();
        ASSERT_FALSE(failed.ok()) << k;
        EXPECT_EQ(failed.error().code, Errno::NotConnected) << k;
        EXPECT_STREQ(failed.error().why, "injected") << k;
        Log expected(kBringUp.begin(), kBringUp.begin() + static_cast<std::ptrdiff_t>(k) + 1);
        if (!after[k].empty())
            expected.push_back(after[k]);
        EXPECT_EQ(rig.transport.log, expected) << k;
        EXPECT_EQ(rig.transport.violations, Log{}) << k;

        // The next attempt works and starts from zero.
        rig.transport.failing_call.reset();
        rig.transport.log.clear();
        EXPECT_TRUE(rig.bring_up().ok()) << k;
        EXPECT_EQ(rig.transport.log, kBringUp) << k;
        EXPECT_EQ(rig.transport.violations, Log{}) << k;
    }
}

TEST(Handshake, reset_alone_leaves_the_device_at_0)
{
    Rig rig;
    EXPECT_TRUE(rig.bring_up().ok());
    rig.transport.log.clear();
    EXPECT_TRUE(rig.handshake.reset().ok());
    EXPECT_EQ(rig.transport.log, (Log{"set_status 00", "status"}));
    EXPECT_EQ(rig.transport.field.bits(), 0);
}

} // namespace
} // namespace fit
