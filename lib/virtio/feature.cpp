#include "virtio/feature.hpp"

#include <array>

namespace fit {
namespace {

struct Name {
    Feature feature;
    const char* text;
};

constexpr std::array kNames = {
    Name{Feature::Csum, "CSUM"},
    Name{Feature::GuestCsum, "GUEST_CSUM"},
    Name{Feature::CtrlGuestOffloads, "CTRL_GUEST_OFFLOADS"},
    Name{Feature::Mtu, "MTU"},
    Name{Feature::Mac, "MAC"},
    Name{Feature::GuestTso4, "GUEST_TSO4"},
    Name{Feature::GuestTso6, "GUEST_TSO6"},
    Name{Feature::GuestEcn, "GUEST_ECN"},
    Name{Feature::GuestUfo, "GUEST_UFO"},
    Name{Feature::HostTso4, "HOST_TSO4"},
    Name{Feature::HostTso6, "HOST_TSO6"},
    Name{Feature::HostEcn, "HOST_ECN"},
    Name{Feature::HostUfo, "HOST_UFO"},
    Name{Feature::MrgRxbuf, "MRG_RXBUF"},
    Name{Feature::Status, "STATUS"},
    Name{Feature::CtrlVq, "CTRL_VQ"},
    Name{Feature::CtrlRx, "CTRL_RX"},
    Name{Feature::CtrlVlan, "CTRL_VLAN"},
    Name{Feature::CtrlRxExtra, "CTRL_RX_EXTRA"},
    Name{Feature::GuestAnnounce, "GUEST_ANNOUNCE"},
    Name{Feature::Mq, "MQ"},
    Name{Feature::CtrlMacAddr, "CTRL_MAC_ADDR"},
    Name{Feature::NotifyOnEmpty, "NOTIFY_ON_EMPTY"},
    Name{Feature::AnyLayout, "ANY_LAYOUT"},
    Name{Feature::IndirectDesc, "INDIRECT_DESC"},
    Name{Feature::EventIdx, "EVENT_IDX"},
    Name{Feature::Version1, "VERSION_1"},
    Name{Feature::AccessPlatform, "ACCESS_PLATFORM"},
    Name{Feature::RingPacked, "RING_PACKED"},
    Name{Feature::InOrder, "IN_ORDER"},
    Name{Feature::OrderPlatform, "ORDER_PLATFORM"},
    Name{Feature::SrIov, "SR_IOV"},
    Name{Feature::NotificationData, "NOTIFICATION_DATA"},
    Name{Feature::NotifConfigData, "NOTIF_CONFIG_DATA"},
    Name{Feature::RingReset, "RING_RESET"},
    Name{Feature::AdminVq, "ADMIN_VQ"},
    Name{Feature::HashTunnel, "HASH_TUNNEL"},
    Name{Feature::VqNotfCoal, "VQ_NOTF_COAL"},
    Name{Feature::NotfCoal, "NOTF_COAL"},
    Name{Feature::GuestUso4, "GUEST_USO4"},
    Name{Feature::GuestUso6, "GUEST_USO6"},
    Name{Feature::HostUso, "HOST_USO"},
    Name{Feature::HashReport, "HASH_REPORT"},
    Name{Feature::GuestHdrlen, "GUEST_HDRLEN"},
    Name{Feature::Rss, "RSS"},
    Name{Feature::RscExt, "RSC_EXT"},
    Name{Feature::Standby, "STANDBY"},
    Name{Feature::SpeedDuplex, "SPEED_DUPLEX"},
};

// `feature` needs at least one of `any_of`. A feature with two independent needs has two rows.
struct Need {
    Feature feature;
    FeatureSet any_of;
};

// The legacy interface has no bits above 31 (2.2.3).
constexpr FeatureSet kLegacyBits(0xffff'ffff);
constexpr FeatureSet kTso4Or6Guest = {Feature::GuestTso4, Feature::GuestTso6};
constexpr FeatureSet kTso4Or6Host = {Feature::HostTso4, Feature::HostTso6};

constexpr std::array kNeeds = {
    Need{Feature::GuestTso4, {Feature::GuestCsum}},
    Need{Feature::GuestTso6, {Feature::GuestCsum}},
    Need{Feature::GuestUfo, {Feature::GuestCsum}},
    Need{Feature::GuestUso4, {Feature::GuestCsum}},
    Need{Feature::GuestUso6, {Feature::GuestCsum}},
    Need{Feature::GuestEcn, kTso4Or6Guest},
    Need{Feature::HostTso4, {Feature::Csum}},
    Need{Feature::HostTso6, {Feature::Csum}},
    Need{Feature::HostUfo, {Feature::Csum}},
    Need{Feature::HostUso, {Feature::Csum}},
    Need{Feature::HostEcn, kTso4Or6Host},
    Need{Feature::CtrlRx, {Feature::CtrlVq}},
    Need{Feature::CtrlVlan, {Feature::CtrlVq}},
    Need{Feature::CtrlRxExtra, {Feature::CtrlVq}},
    Need{Feature::GuestAnnounce, {Feature::CtrlVq}},
    Need{Feature::Mq, {Feature::CtrlVq}},
    Need{Feature::CtrlMacAddr, {Feature::CtrlVq}},
    Need{Feature::CtrlGuestOffloads, {Feature::CtrlVq}},
    Need{Feature::Rss, {Feature::CtrlVq}},
    Need{Feature::HashReport, {Feature::CtrlVq}},
    Need{Feature::NotfCoal, {Feature::CtrlVq}},
    Need{Feature::VqNotfCoal, {Feature::CtrlVq}},
    // The list of 5.1.3.1 ties RSC_EXT to HOST_TSO, the prose to GUEST_TSO: both must hold.
    Need{Feature::RscExt, kTso4Or6Host},
    Need{Feature::RscExt, kTso4Or6Guest},
    Need{Feature::HashTunnel, {Feature::CtrlVq}},
    Need{Feature::HashTunnel, {Feature::Rss, Feature::HashReport}},
};

} // namespace

const char* feature_name(unsigned bit)
{
    for (const Name& n : kNames) {
        if (static_cast<unsigned>(n.feature) == bit)
            return n.text;
    }
    return nullptr;
}

FeatureSet without_orphans(FeatureSet set)
{
    if (!set.has(Feature::Version1))
        set = set & kLegacyBits;
    for (bool changed = true; changed;) {
        changed = false;
        for (const Need& need : kNeeds) {
            if (set.has(need.feature) && (set & need.any_of).empty()) {
                set = set.without(need.feature);
                changed = true;
            }
        }
    }
    return set;
}

} // namespace fit
