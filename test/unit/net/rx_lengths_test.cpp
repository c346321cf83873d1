// Every frame length comes through byte by byte, over every segment size.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>

#include "rx_rig.hpp"

namespace fit {
namespace {

constexpr std::array<uint32_t, 14> kLongLengths = {2203,  4096,  4099,  8191,  8192,  9000,  9001,
                                                   16381, 16384, 32749, 32768, 50000, 64999, 65000};

struct Ladder {
    std::vector<uint16_t> rooms;
    [[nodiscard]] std::string name() const
    {
        std::string text = "rooms";
        for (uint16_t room : rooms)
            text += "_" + std::to_string(room);
        return text;
    }
};

RxOptions options_for(const Ladder& ladder)
{
    RxOptions options;
    options.pools.clear();
    for (uint16_t room : ladder.rooms)
        options.pools.push_back({room, 520});
    options.largest_frame = 65000;
    return options;
}

class RxLengths : public testing::TestWithParam<Ladder> {};

TEST_P(RxLengths, trouble_025_every_length_from_60_to_2200_then_some_up_to_65000)
{
    RxRig rig(options_for(GetParam()));
    uint64_t bytes = 0;
    uint64_t packets = 0;
    const auto check = [&](uint32_t length) {
        const auto lengths = rig.expect_arrives(frame_of(length, length));
        ASSERT_FALSE(lengths.empty());
        if (rig.pools.size() == 1) {
            ASSERT_EQ(lengths.front(), std::min(length, rig.room()));
            for (size_t i = 1; i + 1 < lengths.size(); ++i)
                ASSERT_EQ(lengths[i], rig.room() + rig.header_bytes());
        }
        bytes += length;
        ++packets;
    };
    for (uint32_t length = 60; length <= 2200 && !HasFailure(); ++length)
        check(length);
    for (uint32_t length : kLongLengths) {
        if (!HasFailure())
            check(length);
    }
    EXPECT_EQ(rig.changes(), (Changes{{"packets", packets}, {"bytes", bytes}}));
}

INSTANTIATE_TEST_SUITE_P(Ladders, RxLengths,
                         testing::Values(Ladder{{256}}, Ladder{{512}}, Ladder{{1024}},
                                         Ladder{{2048}}, Ladder{{260, 512, 1024, 2048}},
                                         Ladder{{300, 1536, 2048, 9216}}),
                         [](const auto& info) { return info.param.name(); });

class RxBoundaries : public testing::TestWithParam<uint16_t> {};

TEST_P(RxBoundaries, NET_48_one_byte_below_at_and_above_each_number_of_full_buffers)
{
    RxRig rig(options_for({{GetParam()}}));
    uint64_t bytes = 0;
    uint64_t packets = 0;
    for (size_t n = 1; rig.capacity(n) < 65535; ++n) {
        const size_t full = rig.capacity(n);
        for (size_t length : {full - 1, full, full + 1}) {
            const auto lengths = rig.expect_arrives(frame_of(length, static_cast<uint32_t>(n)));
            ASSERT_EQ(lengths.size(), length > full ? n + 1 : n) << length;
            ++packets;
            bytes += length;
        }
    }
    EXPECT_EQ(rig.changes(), (Changes{{"packets", packets}, {"bytes", bytes}}));
}

INSTANTIATE_TEST_SUITE_P(Rooms, RxBoundaries, testing::Values(256, 512, 1024, 2048, 9216));

// Largest frame of exactly the room: no header byte is taken from it.
class RxOneBuffer : public testing::TestWithParam<HeaderKind> {};

TEST_P(RxOneBuffer, NET_17_every_length_up_to_the_room_fits_one_buffer)
{
    RxOptions options;
    options.header = GetParam();
    options.scatter = false;
    RxRig rig(options);
    const auto header = static_cast<uint16_t>(header_size(GetParam()));
    rig.device.poll();
    EXPECT_EQ(rig.device.peek(0).writable_bytes(), rig.room() + header);
    for (uint32_t length = 14; length <= rig.room() && !HasFailure(); ++length) {
        const auto lengths = rig.expect_arrives(frame_of(length, length));
        ASSERT_EQ(lengths, std::vector<uint32_t>{length});
    }
}

TEST_P(RxOneBuffer, NET_17_data_starts_behind_the_headroom)
{
    RxOptions options;
    options.header = GetParam();
    RxRig rig(options);
    ASSERT_TRUE(rig.net.deliver(frame_of(60)));
    const auto packets = rig.burst();
    ASSERT_EQ(packets.size(), 1U);
    EXPECT_EQ(packets[0]->data_off, RTE_PKTMBUF_HEADROOM);
}

TEST_P(RxOneBuffer, trouble_033_header_is_read_from_the_posted_address_among_poison)
{
    RxOptions options;
    options.header = GetParam();
    RxRig rig(options);
    // Every buffer holds kUntouched, so a header from anywhere else asks for 0xa5a5 buffers.
    ASSERT_TRUE(rig.net.deliver(frame_of(64), {.poison = true}));
    const auto packets = rig.burst();
    ASSERT_EQ(packets.size(), 1U);
    EXPECT_EQ(bytes_of(packets[0].get()), frame_of(64));
    EXPECT_EQ(rig.changes(), (Changes{{"packets", 1}, {"bytes", 64}}));
    const auto* buffer = static_cast<const std::byte*>(packets[0]->buf_addr);
    EXPECT_TRUE(std::all_of(buffer, buffer + RTE_PKTMBUF_HEADROOM - rig.header_bytes(),
                            [](std::byte b) { return b == kUntouched; }));
}

INSTANTIATE_TEST_SUITE_P(Headers, RxOneBuffer,
                         testing::Values(HeaderKind::Legacy, HeaderKind::Plain,
                                         HeaderKind::Mergeable),
                         [](const auto& info) { return name_of(info.param); });

TEST(RxLengths, trouble_033_continuation_data_starts_at_the_posted_address)
{
    RxRig rig;
    ASSERT_TRUE(rig.net.deliver(frame_of(5000)));
    const auto packets = rig.burst();
    ASSERT_EQ(packets.size(), 1U);
    EXPECT_EQ(packets[0]->data_off, RTE_PKTMBUF_HEADROOM);
    for (const rte_mbuf* m = packets[0]->next; m != nullptr; m = m->next)
        EXPECT_EQ(m->data_off, RTE_PKTMBUF_HEADROOM - 12);
}

TEST(RxLengths, NET_48_packets_of_many_lengths_in_one_burst_keep_their_order)
{
    RxRig rig;
    const std::array<size_t, 9> lengths = {64, 9000, 60, 2048, 2049, 14, 4108, 4109, 1514};
    for (size_t i = 0; i < lengths.size(); ++i)
        ASSERT_TRUE(rig.net.deliver(frame_of(lengths[i], static_cast<uint32_t>(i))));
    const auto packets = rig.burst();
    ASSERT_EQ(packets.size(), lengths.size());
    for (size_t i = 0; i < lengths.size(); ++i)
        EXPECT_EQ(bytes_of(packets[i].get()), frame_of(lengths[i], static_cast<uint32_t>(i))) << i;
}

} // namespace
} // namespace fit
