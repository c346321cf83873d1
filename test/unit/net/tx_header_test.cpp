// Where the header of a sent packet lies and what it says.
#include <gtest/gtest.h>

#include <algorithm>

#include "tx_rig.hpp"

namespace fit {
namespace {

void fill_headroom(rte_mbuf* m, std::byte value)
{
    std::fill_n(static_cast<std::byte*>(m->buf_addr), m->data_off, value);
}

bool headroom_is(const rte_mbuf* m, std::byte value)
{
    const auto* buffer = static_cast<const std::byte*>(m->buf_addr);
    return std::all_of(buffer, buffer + m->data_off, [&](std::byte b) { return b == value; });
}

class TxHeader : public testing::TestWithParam<HeaderKind> {
  protected:
    static TxOptions options(bool any_layout = true)
    {
        TxOptions o;
        o.header = GetParam();
        o.any_layout = any_layout;
        return o;
    }
    // Sends `packet`; the device gets `frame` in `descriptors` descriptors and no byte of the
    // headroom has changed.
    static void expect_separate(TxRig& rig, PacketPtr packet, std::span<const std::byte> frame,
                                size_t descriptors = 2)
    {
        rte_mbuf* m = packet.get();
        fill_headroom(m, std::byte{0xff});
        const uint32_t length = m->pkt_len;
        const uint16_t data_off = m->data_off;
        rig.net.hold(true);
        ASSERT_TRUE(rig.send(std::move(packet)));
        EXPECT_EQ(rig.expect_sent(frame), descriptors);
        EXPECT_TRUE(headroom_is(m, std::byte{0xff})) << "not ours to write";
        EXPECT_EQ(m->data_off, data_off);
        EXPECT_EQ(m->pkt_len, length);
        EXPECT_EQ(rig.changes(), (Changes{{"packets", 1}, {"bytes", frame.size()}}));
        rig.net.complete_all();
        reclaim(rig.queue);
    }
};

TEST_P(TxHeader, NET_43_header_is_right_in_front_of_the_data_in_one_descriptor)
{
    TxRig rig(options());
    PacketPtr packet = rig.packet(60);
    const uint64_t data = data_address(packet.get());
    ASSERT_TRUE(rig.send(std::move(packet)));
    rig.device.poll();
    ASSERT_EQ(rig.device.available(), 1U);
    const std::vector<fake::Segment> one = {
        {data - rig.header_bytes(), rig.header_bytes() + 60, false}};
    EXPECT_EQ(rig.device.peek(0).segments, one);
    EXPECT_EQ(rig.expect_sent(frame_of(60)), 1U);
}

TEST_P(TxHeader, NET_24_NET_25_every_byte_of_the_header_is_zero_whatever_lay_there)
{
    TxRig rig(options());
    for (size_t dirty = 0; dirty <= rig.header_bytes(); ++dirty) {
        PacketPtr packet = rig.packet(60);
        if (dirty == rig.header_bytes())
            fill_headroom(packet.get(), std::byte{0xff});
        else // one byte at a time, since clean words are not written
            rte_pktmbuf_mtod(packet.get(), std::byte*)[-1 - static_cast<int>(dirty)] =
                std::byte{0x80};
        ASSERT_TRUE(rig.send(std::move(packet)));
        EXPECT_EQ(rig.expect_sent(frame_of(60)), 1U);
    }
}

TEST_P(TxHeader, NET_43_nothing_in_front_of_the_header_is_written)
{
    TxRig rig(options());
    PacketPtr packet = rig.packet(60);
    rte_mbuf* m = packet.get();
    fill_headroom(m, std::byte{0xff});
    rig.net.hold(true);
    ASSERT_TRUE(rig.send(std::move(packet)));
    const auto* buffer = static_cast<const std::byte*>(m->buf_addr);
    EXPECT_TRUE(std::all_of(buffer, buffer + RTE_PKTMBUF_HEADROOM - rig.header_bytes(),
                            [](std::byte b) { return b == std::byte{0xff}; }));
    EXPECT_EQ(m->data_off, RTE_PKTMBUF_HEADROOM);
    EXPECT_EQ(m->pkt_len, 60U);
    EXPECT_EQ(rig.expect_sent(frame_of(60)), 1U);
}

TEST_P(TxHeader, trouble_074_headroom_of_exactly_the_header_is_enough)
{
    TxRig rig(options());
    const auto header = static_cast<uint16_t>(rig.header_bytes());
    ASSERT_TRUE(rig.send(rig.packet(60, 1, header)));
    EXPECT_EQ(rig.expect_sent(frame_of(60, 1)), 1U);
    rig.changes();
    for (uint16_t headroom = 0; headroom < header; ++headroom)
        expect_separate(rig, rig.packet(60, headroom, headroom), frame_of(60, headroom));
}

TEST_P(TxHeader, trouble_074_a_packet_that_somebody_else_holds_keeps_its_headroom)
{
    TxRig rig(options());
    PacketPtr packet = rig.packet(60);
    rte_mbuf_refcnt_update(packet.get(), 1);
    const PacketPtr other(packet.get());
    expect_separate(rig, std::move(packet), frame_of(60));
    EXPECT_EQ(rte_mbuf_refcnt_read(other.get()), 1) << "the other holder still has it";
    EXPECT_EQ(bytes_of(other.get()), frame_of(60));
}

TEST_P(TxHeader, trouble_074_a_chain_that_somebody_else_holds_keeps_its_headroom)
{
    TxRig rig(options());
    PacketPtr packet = make_chain(rig.pool.get(), std::vector<uint16_t>{60, 60});
    rte_pktmbuf_refcnt_update(packet.get(), 1);
    const PacketPtr other(packet.get());
    expect_separate(rig, std::move(packet), frame_of(120), 3);
    EXPECT_EQ(bytes_of(other.get()), frame_of(120));
    expect_chain_ok(other.get());
}

TEST_P(TxHeader, NET_43_header_of_a_chain_is_right_in_front_of_its_first_segment)
{
    TxRig rig(options());
    PacketPtr packet = make_chain(rig.pool.get(), std::vector<uint16_t>{60, 70});
    rte_mbuf* second = packet->next;
    fill_headroom(packet.get(), std::byte{0xff});
    fill_headroom(second, std::byte{0xff});
    // Who holds a later segment too does not matter: only the first headroom is written.
    rte_mbuf_refcnt_update(second, 1);
    const PacketPtr other(second);
    const std::vector<fake::Segment> two = {
        {data_address(packet.get()) - rig.header_bytes(), rig.header_bytes() + 60, false},
        {data_address(second), 70, false}};
    ASSERT_TRUE(rig.send(std::move(packet)));
    rig.device.poll();
    ASSERT_EQ(rig.device.available(), 1U);
    EXPECT_EQ(rig.device.peek(0).segments, two);
    EXPECT_EQ(rig.expect_sent(frame_of(130)), 2U);
    EXPECT_TRUE(headroom_is(second, std::byte{0xff}));
    reclaim(rig.queue);
    EXPECT_EQ(rig.mbufs_in_use(), 1U);
}

TEST_P(TxHeader, trouble_074_a_clone_keeps_the_headroom_of_its_owner)
{
    TxRig rig(options());
    const PacketPtr owner = rig.packet(60);
    PacketPtr clone(rte_pktmbuf_clone(owner.get(), rig.pool.get()));
    ASSERT_NE(clone, nullptr);
    expect_separate(rig, std::move(clone), frame_of(60));
    EXPECT_EQ(rte_mbuf_refcnt_read(owner.get()), 1);
    EXPECT_EQ(rig.mbufs_in_use(), 1U);
    // The owner, while a clone looks at its buffer, has two references.
    PacketPtr second(rte_pktmbuf_clone(owner.get(), rig.pool.get()));
    rte_mbuf_refcnt_update(owner.get(), 1);
    expect_separate(rig, PacketPtr(owner.get()), frame_of(60));
}

TEST_P(TxHeader, trouble_074_an_external_buffer_keeps_what_lies_in_front_of_the_data)
{
    TxRig rig(options());
    const fake::GuestMemory::Block block = rig.memory.allocate(1024, 64);
    const auto address = reinterpret_cast<uint64_t>(block.driver);
    rig.memory.device().add_region(block.driver, address, 1024);
    uint16_t length = 1024;
    rte_mbuf_ext_shared_info* shared = rte_pktmbuf_ext_shinfo_init_helper(
        block.driver, &length, [](void*, void*) {}, nullptr);
    ASSERT_NE(shared, nullptr);
    PacketPtr packet(rte_pktmbuf_alloc(rig.pool.get()));
    rte_pktmbuf_attach_extbuf(packet.get(), block.driver, RTE_BAD_IOVA, length, shared);
    packet->data_off = 100;
    packet->data_len = 60;
    packet->pkt_len = 60;
    const auto frame = frame_of(60);
    std::copy(frame.begin(), frame.end(), rte_pktmbuf_mtod(packet.get(), std::byte*));
    rig.net.hold(true);
    std::fill_n(block.driver, 100, std::byte{0xff});
    ASSERT_TRUE(rig.send(std::move(packet)));
    EXPECT_EQ(rig.expect_sent(frame), 2U);
    EXPECT_TRUE(std::all_of(block.driver, block.driver + 100,
                            [](std::byte b) { return b == std::byte{0xff}; }));
    rig.net.complete_all();
    reclaim(rig.queue);
    EXPECT_EQ(shared->refcnt, 0) << "the last reference went with the packet";
}

TEST_P(TxHeader, NET_43_legacy_layout_has_the_header_in_a_descriptor_of_its_own)
{
    TxRig rig(options(false));
    expect_separate(rig, rig.packet(60), frame_of(60));
    ASSERT_TRUE(rig.send(rig.packet(60, 2)));
    rig.device.poll();
    ASSERT_EQ(rig.device.available(), 1U);
    const auto& segments = rig.device.peek(0).segments;
    ASSERT_EQ(segments.size(), 2U);
    EXPECT_EQ(segments[0].address, rig.queue.shared_header);
    EXPECT_EQ(segments[0].length, rig.header_bytes());
    EXPECT_EQ(segments[1].length, 60U);
}

INSTANTIATE_TEST_SUITE_P(Headers, TxHeader,
                         testing::Values(HeaderKind::Legacy, HeaderKind::Plain,
                                         HeaderKind::Mergeable),
                         [](const auto& info) { return name_of(info.param); });

} // namespace
} // namespace fit
