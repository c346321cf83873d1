#include "transport/vhost_user/message.hpp"

namespace fit::vhost_user {
namespace {

constexpr uint16_t kU64 = 8;
constexpr uint16_t kState = sizeof(VringState);
constexpr uint16_t kAddr = sizeof(VringAddr);
constexpr uint16_t kLog = 16;
constexpr uint16_t kIotlb = 32;
constexpr uint16_t kInflight = 24;
constexpr uint16_t kSingleRegion = 8 + sizeof(MemoryRegion);

constexpr std::array kShapes = {
    Shape{Request::GetFeatures, "GET_FEATURES", 0, kU64, 0},
    Shape{Request::SetFeatures, "SET_FEATURES", kU64, 0, 0},
    Shape{Request::SetOwner, "SET_OWNER", 0, 0, 0},
    Shape{Request::ResetOwner, "RESET_OWNER", 0, 0, 0},
    Shape{Request::SetMemTable, "SET_MEM_TABLE", kVariable, 0, kMaxRegions},
    Shape{Request::SetLogBase, "SET_LOG_BASE", kLog, kU64, 1},
    Shape{Request::SetLogFd, "SET_LOG_FD", 0, 0, 1},
    Shape{Request::SetVringNum, "SET_VRING_NUM", kState, 0, 0},
    Shape{Request::SetVringAddr, "SET_VRING_ADDR", kAddr, 0, 0},
    Shape{Request::SetVringBase, "SET_VRING_BASE", kState, 0, 0},
    Shape{Request::GetVringBase, "GET_VRING_BASE", kState, kState, 0},
    Shape{Request::SetVringKick, "SET_VRING_KICK", kU64, 0, 1},
    Shape{Request::SetVringCall, "SET_VRING_CALL", kU64, 0, 1},
    Shape{Request::SetVringErr, "SET_VRING_ERR", kU64, 0, 1},
    Shape{Request::GetProtocolFeatures, "GET_PROTOCOL_FEATURES", 0, kU64, 0},
    Shape{Request::SetProtocolFeatures, "SET_PROTOCOL_FEATURES", kU64, 0, 0},
    Shape{Request::GetQueueNum, "GET_QUEUE_NUM", 0, kU64, 0},
    Shape{Request::SetVringEnable, "SET_VRING_ENABLE", kState, 0, 0},
    Shape{Request::SendRarp, "SEND_RARP", kU64, 0, 0},
    Shape{Request::NetSetMtu, "NET_SET_MTU", kU64, 0, 0},
    Shape{Request::SetBackendReqFd, "SET_BACKEND_REQ_FD", 0, 0, 1},
    Shape{Request::IotlbMsg, "IOTLB_MSG", kIotlb, kU64, 0},
    Shape{Request::SetVringEndian, "SET_VRING_ENDIAN", kState, 0, 0},
    Shape{Request::GetConfig, "GET_CONFIG", kVariable, kVariable, 0},
    Shape{Request::SetConfig, "SET_CONFIG", kVariable, 0, 0},
    Shape{Request::GetInflightFd, "GET_INFLIGHT_FD", kInflight, kInflight, 0},
    Shape{Request::SetInflightFd, "SET_INFLIGHT_FD", kInflight, 0, 1},
    Shape{Request::ResetDevice, "RESET_DEVICE", 0, 0, 0},
    Shape{Request::VringKick, "VRING_KICK", kState, 0, 0},
    Shape{Request::GetMaxMemSlots, "GET_MAX_MEM_SLOTS", 0, kU64, 0},
    Shape{Request::AddMemReg, "ADD_MEM_REG", kSingleRegion, 0, 1},
    Shape{Request::RemMemReg, "REM_MEM_REG", kSingleRegion, 0, 0},
    Shape{Request::SetStatus, "SET_STATUS", kU64, 0, 0},
    Shape{Request::GetStatus, "GET_STATUS", 0, kU64, 0},
};

constexpr std::array kProtocolFeatureNames = {
    "MQ",
    "LOG_SHMFD",
    "RARP",
    "REPLY_ACK",
    "MTU",
    "BACKEND_REQ",
    "CROSS_ENDIAN",
    "CRYPTO_SESSION",
    "PAGEFAULT",
    "CONFIG",
    "BACKEND_SEND_FD",
    "HOST_NOTIFIER",
    "INFLIGHT_SHMFD",
    "RESET_DEVICE",
    "INBAND_NOTIFICATIONS",
    "CONFIGURE_MEM_SLOTS",
    "STATUS",
    "XEN_MMAP",
    "SHARED_OBJECT",
    "DEVICE_STATE",
};
static_assert(kProtocolFeatureNames.size() == size_t(ProtocolFeature::DeviceState) + 1);

} // namespace

const Shape* shape_of(Request request)
{
    for (const Shape& shape : kShapes) {
        if (shape.request == request)
            return &shape;
    }
    return nullptr;
}

const char* name(Request request)
{
    const Shape* shape = shape_of(request);
    return shape == nullptr ? "unknown request" : shape->name;
}

const char* protocol_feature_name(unsigned bit)
{
    return bit < kProtocolFeatureNames.size() ? kProtocolFeatureNames[bit] : nullptr;
}

} // namespace fit::vhost_user
