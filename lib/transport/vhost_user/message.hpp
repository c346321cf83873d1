// vhost-user messages as they lie on the socket: ids, flags, header, payloads and feature bits
// (vhost-user protocol, "Message Specification"). All fields are in host byte order.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/flags.hpp"

namespace fit::vhost_user {

enum class Request : uint32_t {
    GetFeatures = 1,
    SetFeatures = 2,
    SetOwner = 3,
    ResetOwner = 4,
    SetMemTable = 5,
    SetLogBase = 6,
    SetLogFd = 7,
    SetVringNum = 8,
    SetVringAddr = 9,
    SetVringBase = 10,
    GetVringBase = 11,
    SetVringKick = 12,
    SetVringCall = 13,
    SetVringErr = 14,
    GetProtocolFeatures = 15,
    SetProtocolFeatures = 16,
    GetQueueNum = 17,
    SetVringEnable = 18,
    SendRarp = 19,
    NetSetMtu = 20,
    SetBackendReqFd = 21,
    IotlbMsg = 22,
    SetVringEndian = 23,
    GetConfig = 24,
    SetConfig = 25,
    GetInflightFd = 31,
    SetInflightFd = 32,
    ResetDevice = 34,
    VringKick = 35,
    GetMaxMemSlots = 36,
    AddMemReg = 37,
    RemMemReg = 38,
    SetStatus = 39,
    GetStatus = 40,
};

// A payload whose length depends on its content.
inline constexpr uint16_t kVariable = 0xFFFF;

// What a request carries and what answers it by itself, without need_reply.
struct Shape {
    Request request;
    const char* name; // the protocol's name without its prefix: "SET_MEM_TABLE"
    uint16_t payload; // bytes, or kVariable
    uint16_t reply;   // bytes of the request's own reply; 0: it has none; or kVariable
    uint8_t max_fds;  // file descriptors that may travel with it
};

// nullptr for an id that is not in the enumeration.
const Shape* shape_of(Request request);
// "unknown request" for an id that is not in the enumeration.
const char* name(Request request);

enum class MessageFlag : uint32_t {
    Version = 0x1,
    Reply = 0x4,
    NeedReply = 0x8,
};
using MessageFlags = Flags<MessageFlag>;
inline constexpr uint32_t kVersionMask = 0x3;

struct MessageHeader {
    uint32_t request = 0;
    uint32_t flags = 0;
    uint32_t size = 0; // bytes of payload that follow
};

struct VringState {
    uint32_t index = 0;
    uint32_t num = 0;
};

struct VringAddr {
    uint32_t index = 0;
    uint32_t flags = 0; // bit 0: log writes
    uint64_t descriptor_area = 0;
    uint64_t device_area = 0; // "used": it comes before "avail"
    uint64_t driver_area = 0; // "avail"
    uint64_t log = 0;
};

struct MemoryRegion {
    uint64_t device_address = 0; // "guest address": what descriptors carry
    uint64_t size = 0;           // bytes
    uint64_t driver_address = 0; // "user address": what SET_VRING_ADDR carries
    uint64_t mmap_offset = 0;    // of the first byte in the region's file
};

inline constexpr size_t kMaxRegions = 8;

struct MemoryPayload {
    uint32_t count = 0;
    uint32_t padding = 0;
    std::array<MemoryRegion, kMaxRegions> regions; // only `count` of them are sent
};

static_assert(sizeof(MessageHeader) == 12);
static_assert(offsetof(MessageHeader, flags) == 4 && offsetof(MessageHeader, size) == 8);
static_assert(sizeof(VringState) == 8 && offsetof(VringState, num) == 4);
static_assert(sizeof(VringAddr) == 40 && offsetof(VringAddr, descriptor_area) == 8);
static_assert(offsetof(VringAddr, device_area) == 16 && offsetof(VringAddr, driver_area) == 24);
static_assert(offsetof(VringAddr, log) == 32);
static_assert(sizeof(MemoryRegion) == 32 && offsetof(MemoryRegion, size) == 8);
static_assert(offsetof(MemoryRegion, driver_address) == 16);
static_assert(offsetof(MemoryRegion, mmap_offset) == 24);
static_assert(sizeof(MemoryPayload) == 264 && offsetof(MemoryPayload, regions) == 8);

// The largest payload that this front end sends.
inline constexpr size_t kMaxPayload = sizeof(MemoryPayload);

// Vring indexes travel in 8 bits of the kick and call messages.
inline constexpr uint16_t kMaxVrings = 256;

// Payload of SET_VRING_KICK, SET_VRING_CALL and SET_VRING_ERR: bit 8 says that no file descriptor
// comes along.
constexpr uint64_t vring_fd_word(uint8_t index, bool with_fd)
{
    return with_fd ? uint64_t{index} : uint64_t{index} | uint64_t{1} << 8;
}

// SET_VRING_BASE of a fresh ring. Packed: index 0 with wrap counter 1, once for available and once
// for used.
inline constexpr uint32_t kFreshSplitBase = 0;
inline constexpr uint32_t kFreshPackedBase = 0x80008000;

// Bits of GET_FEATURES that belong to the transport and are no virtio features.
inline constexpr uint64_t kLogAllFeature = uint64_t{1} << 26;
inline constexpr uint64_t kProtocolFeaturesFeature = uint64_t{1} << 30;

enum class ProtocolFeature : uint8_t {
    Mq = 0,
    LogShmfd = 1,
    Rarp = 2,
    ReplyAck = 3,
    Mtu = 4,
    BackendReq = 5,
    CrossEndian = 6,
    CryptoSession = 7,
    Pagefault = 8,
    Config = 9,
    BackendSendFd = 10,
    HostNotifier = 11,
    InflightShmfd = 12,
    ResetDevice = 13,
    InbandNotifications = 14,
    ConfigureMemSlots = 15,
    Status = 16,
    XenMmap = 17,
    SharedObject = 18,
    DeviceState = 19,
};

// The protocol's name without its prefix ("REPLY_ACK"); nullptr for a bit that is not in the
// enumeration.
const char* protocol_feature_name(unsigned bit);

class ProtocolFeatureSet {
  public:
    constexpr ProtocolFeatureSet() = default;
    constexpr explicit ProtocolFeatureSet(uint64_t bits) : bits_(bits) {}

    [[nodiscard]] constexpr uint64_t bits() const { return bits_; }
    [[nodiscard]] constexpr bool has(ProtocolFeature f) const { return (bits_ & mask(f)) != 0; }
    [[nodiscard]] constexpr ProtocolFeatureSet with(ProtocolFeature f) const
    {
        return ProtocolFeatureSet(bits_ | mask(f));
    }
    constexpr ProtocolFeatureSet operator&(ProtocolFeatureSet o) const
    {
        return ProtocolFeatureSet(bits_ & o.bits_);
    }
    constexpr bool operator==(const ProtocolFeatureSet&) const = default;

  private:
    static constexpr uint64_t mask(ProtocolFeature f)
    {
        return uint64_t{1} << static_cast<unsigned>(f);
    }

    uint64_t bits_ = 0;
};

} // namespace fit::vhost_user
