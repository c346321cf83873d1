#include "virtio/feature.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

#include "feature_dependencies.hpp"

namespace fit {
namespace {

// VIRTIO 1.3, 2.2, 5.1.3 and 6 (doc/conformance.md W2).
const std::map<unsigned, std::string> kNames = {
    {0, "CSUM"},
    {1, "GUEST_CSUM"},
    {2, "CTRL_GUEST_OFFLOADS"},
    {3, "MTU"},
    {5, "MAC"},
    {7, "GUEST_TSO4"},
    {8, "GUEST_TSO6"},
    {9, "GUEST_ECN"},
    {10, "GUEST_UFO"},
    {11, "HOST_TSO4"},
    {12, "HOST_TSO6"},
    {13, "HOST_ECN"},
    {14, "HOST_UFO"},
    {15, "MRG_RXBUF"},
    {16, "STATUS"},
    {17, "CTRL_VQ"},
    {18, "CTRL_RX"},
    {19, "CTRL_VLAN"},
    {20, "CTRL_RX_EXTRA"},
    {21, "GUEST_ANNOUNCE"},
    {22, "MQ"},
    {23, "CTRL_MAC_ADDR"},
    {24, "NOTIFY_ON_EMPTY"},
    {27, "ANY_LAYOUT"},
    {28, "INDIRECT_DESC"},
    {29, "EVENT_IDX"},
    {32, "VERSION_1"},
    {33, "ACCESS_PLATFORM"},
    {34, "RING_PACKED"},
    {35, "IN_ORDER"},
    {36, "ORDER_PLATFORM"},
    {37, "SR_IOV"},
    {38, "NOTIFICATION_DATA"},
    {39, "NOTIF_CONFIG_DATA"},
    {40, "RING_RESET"},
    {41, "ADMIN_VQ"},
    {51, "HASH_TUNNEL"},
    {52, "VQ_NOTF_COAL"},
    {53, "NOTF_COAL"},
    {54, "GUEST_USO4"},
    {55, "GUEST_USO6"},
    {56, "HOST_USO"},
    {57, "HASH_REPORT"},
    {59, "GUEST_HDRLEN"},
    {60, "RSS"},
    {61, "RSC_EXT"},
    {62, "STANDBY"},
    {63, "SPEED_DUPLEX"},
};

uint64_t bit(unsigned n)
{
    return uint64_t{1} << n;
}

uint64_t kept(uint64_t set)
{
    return without_orphans(FeatureSet(set)).bits();
}

TEST(Feature, names_of_all_bits)
{
    for (unsigned n = 0; n < 70; ++n) {
        const char* name = feature_name(n);
        const auto expected = kNames.find(n);
        if (expected == kNames.end())
            EXPECT_EQ(name, nullptr) << n;
        else
            EXPECT_STREQ(name, expected->second.c_str()) << n;
    }
}

TEST(Feature, enumerators_carry_the_bit_numbers_of_the_spec)
{
    using F = Feature;
    EXPECT_EQ((FeatureSet{F::Csum, F::GuestCsum, F::CtrlGuestOffloads, F::Mtu, F::Mac}.bits()),
              0x0000'002fU);
    EXPECT_EQ((FeatureSet{F::GuestTso4, F::GuestTso6, F::GuestEcn, F::GuestUfo}.bits()),
              0x0000'0780U);
    EXPECT_EQ((FeatureSet{F::HostTso4, F::HostTso6, F::HostEcn, F::HostUfo}.bits()), 0x0000'7800U);
    EXPECT_EQ((FeatureSet{F::MrgRxbuf}.bits()), 0x0000'8000U);
    EXPECT_EQ((FeatureSet{F::Status, F::CtrlVq, F::CtrlRx, F::CtrlVlan, F::CtrlRxExtra,
                          F::GuestAnnounce, F::Mq, F::CtrlMacAddr}
                   .bits()),
              0x00ff'0000U);
    EXPECT_EQ((FeatureSet{F::NotifyOnEmpty, F::AnyLayout, F::IndirectDesc, F::EventIdx}.bits()),
              0x3900'0000U);
    EXPECT_EQ((FeatureSet{F::Version1}.bits()), 0x1'0000'0000U);
    EXPECT_EQ((FeatureSet{F::RingPacked}.bits()), 0x4'0000'0000U);
    EXPECT_EQ((FeatureSet{F::AccessPlatform, F::InOrder, F::OrderPlatform, F::SrIov,
                          F::NotificationData, F::NotifConfigData, F::RingReset, F::AdminVq}
                   .bits()),
              0x3fa'0000'0000U);
    EXPECT_EQ((FeatureSet{F::HashTunnel, F::VqNotfCoal, F::NotfCoal, F::GuestUso4, F::GuestUso6,
                          F::HostUso, F::HashReport}
                   .bits()),
              0x03f8'0000'0000'0000U);
    EXPECT_EQ((FeatureSet{F::GuestHdrlen, F::Rss, F::RscExt, F::Standby, F::SpeedDuplex}.bits()),
              0xf800'0000'0000'0000U);
}

TEST(Feature, set_operations_on_raw_bits)
{
    const FeatureSet set(0x8000'0001'0000'8001);
    EXPECT_TRUE(set.has(Feature::Csum));
    EXPECT_TRUE(set.has(Feature::MrgRxbuf));
    EXPECT_TRUE(set.has(Feature::Version1));
    EXPECT_TRUE(set.has(Feature::SpeedDuplex));
    EXPECT_FALSE(set.has(Feature::GuestCsum));
    EXPECT_FALSE(set.has(Feature::HostTso4));
    EXPECT_EQ(set.with(Feature::Mac).bits(), 0x8000'0001'0000'8021U);
    EXPECT_EQ(set.without(Feature::Version1).bits(), 0x8000'0000'0000'8001U);
    EXPECT_EQ(set.without(FeatureSet(0xffff)).bits(), 0x8000'0001'0000'0000U);
    EXPECT_EQ((set & FeatureSet(0xffff)).bits(), 0x8001U);
    EXPECT_EQ((set | FeatureSet(0x2)).bits(), 0x8000'0001'0000'8003U);
    EXPECT_TRUE(set.contains(FeatureSet(0x8001)));
    EXPECT_FALSE(set.contains(FeatureSet(0x8003)));
    EXPECT_TRUE(set.contains(FeatureSet()));
    EXPECT_TRUE(FeatureSet().empty());
    EXPECT_FALSE(set.empty());
}

// Each row alone: with every other bit but its prerequisites the feature goes, with any one of them
// it stays.
TEST(Feature, GEN_15_each_feature_goes_with_its_prerequisites)
{
    for (const Dependency& d : feature_dependencies()) {
        uint64_t others = ~uint64_t{0};
        for (unsigned needed : d.any_of)
            others &= ~bit(needed);
        EXPECT_EQ(kept(others) & bit(d.bit), 0U) << d.bit;
        for (unsigned needed : d.any_of)
            EXPECT_EQ(kept(others | bit(needed) | largest_consistent_part(~uint64_t{0})) &
                          bit(d.bit),
                      bit(d.bit))
                << d.bit << " with " << needed;
    }
}

TEST(Feature, NET_01_guest_offloads_need_guest_csum)
{
    const uint64_t offloads = bit(7) | bit(8) | bit(10) | bit(54) | bit(55);
    EXPECT_EQ(kept(bit(32) | offloads), bit(32));
    EXPECT_EQ(kept(bit(32) | bit(1) | offloads), bit(32) | bit(1) | offloads);
}

TEST(Feature, NET_02_guest_ecn_needs_a_guest_tso)
{
    EXPECT_EQ(kept(bit(1) | bit(9)), bit(1));
    EXPECT_EQ(kept(bit(1) | bit(9) | bit(7)), bit(1) | bit(9) | bit(7));
    EXPECT_EQ(kept(bit(1) | bit(9) | bit(8)), bit(1) | bit(9) | bit(8));
    EXPECT_EQ(kept(bit(9) | bit(7) | bit(8)), 0U); // the grandparent is missing
}

TEST(Feature, NET_03_host_offloads_need_csum)
{
    const uint64_t offloads = bit(11) | bit(12) | bit(14) | bit(56);
    EXPECT_EQ(kept(bit(32) | offloads), bit(32));
    EXPECT_EQ(kept(bit(32) | bit(0) | offloads), bit(32) | bit(0) | offloads);
}

TEST(Feature, NET_04_host_ecn_needs_a_host_tso)
{
    EXPECT_EQ(kept(bit(0) | bit(13)), bit(0));
    EXPECT_EQ(kept(bit(0) | bit(13) | bit(11)), bit(0) | bit(13) | bit(11));
    EXPECT_EQ(kept(bit(0) | bit(13) | bit(12)), bit(0) | bit(13) | bit(12));
    EXPECT_EQ(kept(bit(13) | bit(11) | bit(12)), 0U);
}

TEST(Feature, NET_05_control_features_need_the_control_queue)
{
    const uint64_t commands = bit(2) | bit(18) | bit(19) | bit(20) | bit(21) | bit(22) | bit(23) |
                              bit(52) | bit(53) | bit(57) | bit(60);
    EXPECT_EQ(kept(bit(32) | commands), bit(32));
    EXPECT_EQ(kept(bit(32) | bit(17) | commands), bit(32) | bit(17) | commands);
}

TEST(Feature, GEN_15_nothing_above_bit_31_stands_without_version_1)
{
    EXPECT_EQ(kept(~uint64_t{0} & ~bit(32)) >> 32, 0U);
    for (unsigned n = 33; n < 64; ++n)
        EXPECT_EQ(kept(0xffff'ffff | bit(n)), kept(0xffff'ffff)) << n;
}

TEST(Feature, GEN_15_dropping_a_parent_drops_all_generations)
{
    const uint64_t family = bit(32) | bit(0) | bit(1) | bit(7) | bit(11) | bit(13) | bit(61);
    EXPECT_EQ(kept(family), family);
    EXPECT_EQ(kept(family & ~bit(0)),
              bit(32) | bit(1) | bit(7)); // CSUM: HOST_TSO4, HOST_ECN, RSC_EXT
    EXPECT_EQ(kept(family & ~bit(1)), family & ~(bit(1) | bit(7) | bit(61)));
}

TEST(Feature, GEN_14_GEN_15_GEN_16_random_offers_keep_exactly_the_largest_consistent_part)
{
    std::mt19937_64 random(20'130'101);
    for (int round = 0; round < 20'000; ++round) {
        // Sparse, even and dense sets.
        uint64_t offered = random();
        uint64_t wanted = random();
        if (round % 3 == 0)
            offered |= random() | random();
        if (round % 3 == 1)
            wanted |= random() | random();
        const uint64_t accepted = acceptable(FeatureSet(offered), FeatureSet(wanted)).bits();
        ASSERT_EQ(accepted & ~offered, 0U) << std::hex << offered << " " << wanted;
        ASSERT_EQ(accepted & ~wanted, 0U) << std::hex << offered << " " << wanted;
        ASSERT_EQ(accepted, largest_consistent_part(offered & wanted))
            << std::hex << offered << " " << wanted;
    }
}

} // namespace
} // namespace fit
