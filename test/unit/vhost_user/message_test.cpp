#include "transport/vhost_user/message.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace fit::vhost_user {
namespace {

using Bytes = std::vector<uint8_t>;

template <class T>
Bytes image(const T& value)
{
    Bytes bytes(sizeof(T));
    std::memcpy(bytes.data(), &value, sizeof(T));
    return bytes;
}

// The images below are little-endian: the protocol is in host byte order.
static_assert(std::endian::native == std::endian::little);

TEST(VhostUserMessage, VHU_01_header_bytes)
{
    const MessageHeader header{0x01020304, 0x05060708, 0x090a0b0c};
    EXPECT_EQ(image(header), (Bytes{4, 3, 2, 1, 8, 7, 6, 5, 0xc, 0xb, 0xa, 9}));
}

TEST(VhostUserMessage, VHU_01_flag_values)
{
    EXPECT_EQ(static_cast<uint32_t>(MessageFlag::Version), 1u);
    EXPECT_EQ(static_cast<uint32_t>(MessageFlag::Reply), 1u << 2);
    EXPECT_EQ(static_cast<uint32_t>(MessageFlag::NeedReply), 1u << 3);
    EXPECT_EQ(kVersionMask, 3u);
}

TEST(VhostUserMessage, VHU_16_vring_state_bytes)
{
    EXPECT_EQ(image(VringState{0x11223344, 0x55667788}),
              (Bytes{0x44, 0x33, 0x22, 0x11, 0x88, 0x77, 0x66, 0x55}));
}

TEST(VhostUserMessage, VHU_18_vring_addr_has_used_before_avail_and_no_size)
{
    const VringAddr addr{.index = 1,
                         .flags = 2,
                         .descriptor_area = 0x3000000000000003,
                         .device_area = 0x4000000000000004,
                         .driver_area = 0x5000000000000005,
                         .log = 0x6000000000000006};
    EXPECT_EQ(image(addr), (Bytes{1, 0, 0, 0, 2, 0, 0, 0,    //
                                  3, 0, 0, 0, 0, 0, 0, 0x30, // descriptor area
                                  4, 0, 0, 0, 0, 0, 0, 0x40, // device area: used
                                  5, 0, 0, 0, 0, 0, 0, 0x50, // driver area: available
                                  6, 0, 0, 0, 0, 0, 0, 0x60}));
}

TEST(VhostUserMessage, VHU_30_memory_payload_bytes)
{
    MemoryPayload payload;
    payload.count = 2;
    payload.regions[1] = {.device_address = 0x0100000000000001,
                          .size = 0x0200000000000002,
                          .driver_address = 0x0300000000000003,
                          .mmap_offset = 0x0400000000000004};
    Bytes expected(8 + 8 * 32);
    expected[0] = 2;
    const size_t second = 8 + 32;
    for (uint8_t field = 0; field < 4; ++field) {
        expected[second + 8u * field] = static_cast<uint8_t>(field + 1);
        expected[second + 8u * field + 7] = static_cast<uint8_t>(field + 1);
    }
    EXPECT_EQ(image(payload), expected);
}

TEST(VhostUserMessage, VHU_20_VHU_21_kick_and_call_word)
{
    EXPECT_EQ(vring_fd_word(0, true), 0u);
    EXPECT_EQ(vring_fd_word(255, true), 0xffu);
    EXPECT_EQ(vring_fd_word(0, false), 0x100u);
    EXPECT_EQ(vring_fd_word(255, false), 0x1ffu);
}

TEST(VhostUserMessage, VHU_19_fresh_bases)
{
    EXPECT_EQ(kFreshSplitBase, 0u);
    // Available index 0 and wrap 1 in bits 0-15, used index 0 and wrap 1 in bits 16-31.
    EXPECT_EQ(kFreshPackedBase, (1u << 15) | (1u << 31));
}

struct Row {
    const char* name;
    int payload; // -1: variable
    int reply;
    int fds;
};

TEST(VhostUserMessage, VHU_03_VHU_42_request_table)
{
    const std::map<uint32_t, Row> rows = {
        {1, {"GET_FEATURES", 0, 8, 0}},
        {2, {"SET_FEATURES", 8, 0, 0}},
        {3, {"SET_OWNER", 0, 0, 0}},
        {4, {"RESET_OWNER", 0, 0, 0}},
        {5, {"SET_MEM_TABLE", -1, 0, 8}},
        {6, {"SET_LOG_BASE", 16, 8, 1}},
        {7, {"SET_LOG_FD", 0, 0, 1}},
        {8, {"SET_VRING_NUM", 8, 0, 0}},
        {9, {"SET_VRING_ADDR", 40, 0, 0}},
        {10, {"SET_VRING_BASE", 8, 0, 0}},
        {11, {"GET_VRING_BASE", 8, 8, 0}},
        {12, {"SET_VRING_KICK", 8, 0, 1}},
        {13, {"SET_VRING_CALL", 8, 0, 1}},
        {14, {"SET_VRING_ERR", 8, 0, 1}},
        {15, {"GET_PROTOCOL_FEATURES", 0, 8, 0}},
        {16, {"SET_PROTOCOL_FEATURES", 8, 0, 0}},
        {17, {"GET_QUEUE_NUM", 0, 8, 0}},
        {18, {"SET_VRING_ENABLE", 8, 0, 0}},
        {19, {"SEND_RARP", 8, 0, 0}},
        {20, {"NET_SET_MTU", 8, 0, 0}},
        {21, {"SET_BACKEND_REQ_FD", 0, 0, 1}},
        {22, {"IOTLB_MSG", 32, 8, 0}},
        {23, {"SET_VRING_ENDIAN", 8, 0, 0}},
        {24, {"GET_CONFIG", -1, -1, 0}},
        {25, {"SET_CONFIG", -1, 0, 0}},
        {31, {"GET_INFLIGHT_FD", 24, 24, 0}},
        {32, {"SET_INFLIGHT_FD", 24, 0, 1}},
        {34, {"RESET_DEVICE", 0, 0, 0}},
        {35, {"VRING_KICK", 8, 0, 0}},
        {36, {"GET_MAX_MEM_SLOTS", 0, 8, 0}},
        {37, {"ADD_MEM_REG", 40, 0, 1}},
        {38, {"REM_MEM_REG", 40, 0, 0}},
        {39, {"SET_STATUS", 8, 0, 0}},
        {40, {"GET_STATUS", 0, 8, 0}},
    };
    for (uint32_t id = 0; id < 64; ++id) {
        SCOPED_TRACE(id);
        const Shape* shape = shape_of(Request{id});
        const auto row = rows.find(id);
        ASSERT_EQ(shape != nullptr, row != rows.end());
        if (shape == nullptr) {
            EXPECT_STREQ(name(Request{id}), "unknown request");
            continue;
        }
        EXPECT_STREQ(name(Request{id}), row->second.name);
        EXPECT_EQ(shape->payload, row->second.payload < 0 ? kVariable : row->second.payload);
        EXPECT_EQ(shape->reply, row->second.reply < 0 ? kVariable : row->second.reply);
        EXPECT_EQ(shape->max_fds, row->second.fds);
    }
}

TEST(VhostUserMessage, VHU_08_protocol_feature_bits)
{
    const std::vector<std::string> names = {"MQ",
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
                                            "DEVICE_STATE"};
    for (unsigned bit = 0; bit < names.size(); ++bit)
        EXPECT_EQ(protocol_feature_name(bit), names[bit]);
    EXPECT_EQ(protocol_feature_name(20), nullptr);
    EXPECT_EQ(protocol_feature_name(64), nullptr);

    EXPECT_TRUE(ProtocolFeatureSet(1u << 0).has(ProtocolFeature::Mq));
    EXPECT_TRUE(ProtocolFeatureSet(1u << 3).has(ProtocolFeature::ReplyAck));
    EXPECT_TRUE(ProtocolFeatureSet(1u << 16).has(ProtocolFeature::Status));
    EXPECT_FALSE(ProtocolFeatureSet(~(uint64_t{1} << 16)).has(ProtocolFeature::Status));
}

TEST(VhostUserMessage, VHU_09_transport_bits)
{
    EXPECT_EQ(kLogAllFeature, uint64_t{1} << 26);
    EXPECT_EQ(kProtocolFeaturesFeature, uint64_t{1} << 30);
}

} // namespace
} // namespace fit::vhost_user
