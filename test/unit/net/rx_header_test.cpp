// What the header of a received packet may say, and what follows from it.
#include <gtest/gtest.h>

#include <array>

#include "fake/wire.hpp"
#include "rx_rig.hpp"

namespace fit {
namespace {

std::vector<std::byte> header_filled(size_t bytes, std::byte value)
{
    return std::vector<std::byte>(bytes, value);
}

TEST(NetHeader, NET_43_size_and_mergeability_follow_from_the_accepted_features)
{
    EXPECT_EQ(header_kind({}), HeaderKind::Legacy);
    EXPECT_EQ(header_kind({Feature::AnyLayout}), HeaderKind::Legacy);
    EXPECT_EQ(header_kind({Feature::Version1}), HeaderKind::Plain);
    EXPECT_EQ(header_kind({Feature::MrgRxbuf}), HeaderKind::Mergeable);
    EXPECT_EQ(header_kind({Feature::MrgRxbuf, Feature::Version1}), HeaderKind::Mergeable);
    EXPECT_EQ(header_size(HeaderKind::Legacy), 10U);
    EXPECT_EQ(header_size(HeaderKind::Plain), 12U);
    EXPECT_EQ(header_size(HeaderKind::Mergeable), 12U);
}

TEST(NetHeader, NET_48_num_buffers_is_the_little_endian_word_at_offset_10)
{
    std::array<std::byte, 12> header{};
    header.fill(std::byte{0xee});
    header[10] = std::byte{0x34};
    header[11] = std::byte{0x12};
    EXPECT_EQ(MergeableHeader::num_buffers(header.data()), 0x1234);
    EXPECT_EQ(PlainHeader::num_buffers(header.data()), 0x1234);
}

class RxHeader : public testing::TestWithParam<HeaderKind> {
  protected:
    RxHeader() : rig(options()) {}

    static RxOptions options()
    {
        RxOptions o;
        o.header = GetParam();
        return o;
    }
    // A header with one field set and the right num_buffers.
    template <class T>
    fake::DeliverOptions with_field(size_t offset, T value) const
    {
        fake::DeliverOptions how{.header = header_filled(rig.header_bytes(), std::byte{0})};
        fake::store_little<T>(how.header.data() + offset, value);
        if (rig.header_bytes() == fake::kHeaderBytesWithNumBuffers)
            how.num_buffers = 1;
        return how;
    }

    RxRig rig;
};

TEST_P(RxHeader, NET_51_flags_of_any_value_change_nothing)
{
    for (unsigned flags = 0; flags < 256; ++flags) {
        const auto how = with_field<uint8_t>(fake::kHeaderFlags, static_cast<uint8_t>(flags));
        ASSERT_TRUE(rig.net.deliver(frame_of(100, flags), how));
        const auto packets = rig.burst();
        ASSERT_EQ(packets.size(), 1U);
        EXPECT_EQ(bytes_of(packets[0].get()), frame_of(100, flags));
        EXPECT_EQ(packets[0]->ol_flags, 0U) << flags;
    }
    EXPECT_EQ(rig.changes(), (Changes{{"packets", 256}, {"bytes", 25'600}}));
}

TEST_P(RxHeader, NET_53_trouble_068_hdr_len_is_never_relied_on)
{
    for (uint16_t value : {uint16_t{0}, uint16_t{1}, uint16_t{0xffff}})
        rig.expect_arrives(frame_of(100, value), with_field(fake::kHeaderHdrLen, value));
    EXPECT_EQ(rig.changes(), (Changes{{"packets", 3}, {"bytes", 300}}));
}

TEST_P(RxHeader, NET_52_offload_fields_are_not_used_while_nothing_was_agreed)
{
    for (size_t offset : {fake::kHeaderCsumStart, fake::kHeaderCsumOffset, fake::kHeaderGsoSize}) {
        for (uint16_t value : {uint16_t{1}, uint16_t{0x7fff}, uint16_t{0xffff}})
            rig.expect_arrives(frame_of(100, value), with_field(offset, value));
    }
    for (unsigned gso = 0; gso < 256; ++gso)
        rig.expect_arrives(frame_of(100, gso),
                           with_field(fake::kHeaderGsoType, static_cast<uint8_t>(gso)));
    EXPECT_EQ(rig.changes(), (Changes{{"packets", 9 + 256}, {"bytes", 26'500}}));
}

TEST_P(RxHeader, trouble_109_used_lengths_around_the_header)
{
    const uint32_t header = rig.header_bytes();
    for (uint32_t length : {0U, 1U, header - 1, header, header + 13}) {
        rig.expect_dropped(frame_of(64), {.used_lengths = {length}});
        EXPECT_EQ(rig.changes(), (Changes{{"drop_short", 1}})) << length;
        rig.expect_good();
    }
    ASSERT_TRUE(rig.net.deliver(frame_of(14), {.used_lengths = {header + 14}}));
    const auto packets = rig.burst();
    ASSERT_EQ(packets.size(), 1U);
    EXPECT_EQ(bytes_of(packets[0].get()), frame_of(14));
    EXPECT_EQ(rig.changes(), (Changes{{"packets", 1}, {"bytes", 14}}));
}

TEST_P(RxHeader, trouble_109_used_lengths_around_the_end_of_the_buffer)
{
    const uint32_t posted = rig.room() + rig.header_bytes();
    ASSERT_TRUE(rig.net.deliver(frame_of(64), {.used_lengths = {posted}}));
    const auto packets = rig.burst();
    ASSERT_EQ(packets.size(), 1U);
    EXPECT_EQ(packets[0]->data_len, rig.room());
    EXPECT_EQ(rig.changes(), (Changes{{"packets", 1}, {"bytes", rig.room()}}));
    for (uint32_t length :
         {posted + 1, 0x1'0000U + 64, 0x7fff'ffffU, 0x8000'0000U + 64, 0xffff'ffffU}) {
        rig.expect_dropped(frame_of(64), {.used_lengths = {length}});
        EXPECT_EQ(rig.changes(), (Changes{{"drop_over_long", 1}})) << length;
        rig.expect_good();
    }
}

INSTANTIATE_TEST_SUITE_P(Headers, RxHeader,
                         testing::Values(HeaderKind::Legacy, HeaderKind::Plain,
                                         HeaderKind::Mergeable),
                         [](const auto& info) { return name_of(info.param); });

TEST(RxHeaderMergeable, trouble_032_num_buffers_zero_counts_as_one)
{
    RxRig rig;
    rig.expect_arrives(frame_of(64), {.num_buffers = 0});
    EXPECT_EQ(rig.changes(), (Changes{{"packets", 1}, {"bytes", 64}, {"header_anomalies", 1}}));
    rig.expect_good();
}

TEST(RxHeaderMergeable, trouble_109_zero_num_buffers_of_a_short_packet_is_no_anomaly)
{
    RxRig rig;
    rig.expect_dropped(frame_of(64), {.used_lengths = {12 + 13}, .num_buffers = 0});
    EXPECT_EQ(rig.changes(), (Changes{{"drop_short", 1}}));
}

TEST(RxHeaderPlain, NET_50_trouble_004_num_buffers_never_makes_a_chain_without_MRG_RXBUF)
{
    RxOptions options;
    options.header = HeaderKind::Plain;
    RxRig rig(options);
    rig.expect_arrives(frame_of(64, 1), {.num_buffers = 0});
    EXPECT_EQ(rig.changes(), (Changes{{"packets", 1}, {"bytes", 64}}));
    // trouble_004: counted, and the next used element is a packet of its own.
    for (uint16_t count : {uint16_t{2}, uint16_t{256}, uint16_t{65535}}) {
        rig.expect_arrives(frame_of(64, count), {.num_buffers = count});
        EXPECT_EQ(rig.changes(), (Changes{{"packets", 1}, {"bytes", 64}, {"header_anomalies", 1}}));
        rig.expect_good();
    }
}

TEST(RxHeaderLegacy, NET_50_first_bytes_of_the_frame_are_not_taken_for_num_buffers)
{
    RxOptions options;
    options.header = HeaderKind::Legacy;
    RxRig rig(options);
    for (unsigned value = 0; value < 4; ++value) {
        auto frame = frame_of(64);
        frame[0] = static_cast<std::byte>(value);
        frame[1] = std::byte{0};
        rig.expect_arrives(frame);
    }
    EXPECT_EQ(rig.changes(), (Changes{{"packets", 4}, {"bytes", 256}}));
}

TEST(RxHeaderMergeable, NET_46_every_posted_buffer_can_hold_the_header)
{
    RxOptions options;
    options.pools = {{260, 8}, {1536, 8}, {2048, 300}};
    RxRig rig(options);
    rig.device.poll();
    ASSERT_EQ(rig.device.available(), 256U);
    for (size_t i = 0; i < rig.device.available(); ++i) {
        EXPECT_EQ(rig.device.peek(i).segments.size(), 1U);
        EXPECT_GE(rig.device.peek(i).writable_bytes(), 12U + 260);
        EXPECT_EQ(rig.device.peek(i).readable_bytes(), 0U);
    }
}

} // namespace
} // namespace fit
