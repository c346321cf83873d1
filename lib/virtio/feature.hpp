// Feature bits of VIRTIO 1.3 (2.2, 5.1.3, 6) and the set of them that one side offers or accepts.
#pragma once

#include <cstdint>
#include <initializer_list>

namespace fit {

enum class Feature : uint8_t {
    Csum = 0,
    GuestCsum = 1,
    CtrlGuestOffloads = 2,
    Mtu = 3,
    Mac = 5,
    GuestTso4 = 7,
    GuestTso6 = 8,
    GuestEcn = 9,
    GuestUfo = 10,
    HostTso4 = 11,
    HostTso6 = 12,
    HostEcn = 13,
    HostUfo = 14,
    MrgRxbuf = 15,
    Status = 16,
    CtrlVq = 17,
    CtrlRx = 18,
    CtrlVlan = 19,
    CtrlRxExtra = 20,
    GuestAnnounce = 21,
    Mq = 22,
    CtrlMacAddr = 23,
    NotifyOnEmpty = 24,
    AnyLayout = 27,
    IndirectDesc = 28,
    EventIdx = 29,
    Version1 = 32,
    AccessPlatform = 33,
    RingPacked = 34,
    InOrder = 35,
    OrderPlatform = 36,
    SrIov = 37,
    NotificationData = 38,
    NotifConfigData = 39,
    RingReset = 40,
    AdminVq = 41,
    HashTunnel = 51,
    VqNotfCoal = 52,
    NotfCoal = 53,
    GuestUso4 = 54,
    GuestUso6 = 55,
    HostUso = 56,
    HashReport = 57,
    GuestHdrlen = 59,
    Rss = 60,
    RscExt = 61,
    Standby = 62,
    SpeedDuplex = 63,
};

class FeatureSet {
  public:
    constexpr FeatureSet() = default;
    constexpr explicit FeatureSet(uint64_t bits) : bits_(bits) {}
    constexpr FeatureSet(std::initializer_list<Feature> features)
    {
        for (Feature f : features)
            bits_ |= mask(f);
    }

    [[nodiscard]] constexpr uint64_t bits() const { return bits_; }
    [[nodiscard]] constexpr bool has(Feature f) const { return (bits_ & mask(f)) != 0; }
    [[nodiscard]] constexpr bool empty() const { return bits_ == 0; }
    [[nodiscard]] constexpr FeatureSet with(Feature f) const { return FeatureSet(bits_ | mask(f)); }
    [[nodiscard]] constexpr FeatureSet without(Feature f) const
    {
        return FeatureSet(bits_ & ~mask(f));
    }
    [[nodiscard]] constexpr FeatureSet without(FeatureSet o) const
    {
        return FeatureSet(bits_ & ~o.bits_);
    }
    [[nodiscard]] constexpr bool contains(FeatureSet o) const
    {
        return (bits_ & o.bits_) == o.bits_;
    }
    constexpr FeatureSet operator&(FeatureSet o) const { return FeatureSet(bits_ & o.bits_); }
    constexpr FeatureSet operator|(FeatureSet o) const { return FeatureSet(bits_ | o.bits_); }
    constexpr bool operator==(const FeatureSet&) const = default;

  private:
    static constexpr uint64_t mask(Feature f) { return uint64_t{1} << static_cast<unsigned>(f); }

    uint64_t bits_ = 0;
};

// The spec's name without its prefix ("MRG_RXBUF", "VERSION_1"); nullptr for a bit that 1.3 does
// not define.
const char* feature_name(unsigned bit);

// Removes each feature whose prerequisite (VIRTIO 1.3, 5.1.3.1; conformance table W3) is not in the
// set, until none is left: dropping a parent drops its children.
FeatureSet without_orphans(FeatureSet set);

// What the driver accepts: offered, wanted, and with every prerequisite (2.2.1).
inline FeatureSet acceptable(FeatureSet offered, FeatureSet wanted)
{
    return without_orphans(offered & wanted);
}

} // namespace fit
