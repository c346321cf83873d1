// What a received mbuf says of itself, whatever its former life was.
#include <gtest/gtest.h>

#include "net/mbuf_fields.hpp"
#include "rx_rig.hpp"

namespace fit {
namespace {

void expect_clean(const rte_mbuf* packet)
{
    for (const rte_mbuf* m = packet; m != nullptr; m = m->next) {
        EXPECT_EQ(m->ol_flags, 0U);
        EXPECT_EQ(m->packet_type, 0U);
        EXPECT_EQ(m->vlan_tci, 0U);
        EXPECT_EQ(m->hash.rss, 0U);
        EXPECT_EQ(rte_mbuf_refcnt_read(m), 1);
        EXPECT_EQ(m->port, RxRig::kPort);
    }
}

// Everything that an application may leave in an mbuf that it frees.
void poison(rte_mbuf* m)
{
    m->data_off = 77;
    m->port = 0xabcd;
    m->ol_flags = RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_RSS_HASH | RTE_MBUF_F_RX_L4_CKSUM_BAD |
                  RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_IPV4;
    m->packet_type = 0xffff'ffff;
    m->vlan_tci = 0xffff;
    m->vlan_tci_outer = 0xffff;
    m->hash.rss = 0xffff'ffff;
    m->tx_offload = 0xffff'ffff'ffff'ffff;
}

TEST(MbufFields, one_store_holds_data_off_refcnt_nb_segs_and_port)
{
    fake::GuestMemory memory;
    const MempoolPtr pool = make_pool(256, 1, memory.device());
    const PacketPtr m(rte_pktmbuf_alloc(pool.get()));
    poison(m.get());
    m->pkt_len = 0xffff'ffff;
    m->data_len = 0xffff;
    fill_mbuf(m.get(), rearm_word(116, 0x1234), 0x1'2345);
    EXPECT_EQ(m->data_off, 116);
    EXPECT_EQ(rte_mbuf_refcnt_read(m.get()), 1);
    EXPECT_EQ(m->nb_segs, 1);
    EXPECT_EQ(m->port, 0x1234);
    EXPECT_EQ(m->ol_flags, 0U);
    EXPECT_EQ(m->packet_type, 0U);
    EXPECT_EQ(m->pkt_len, 0x1'2345U);
    EXPECT_EQ(m->data_len, 0x2345);
    EXPECT_EQ(m->vlan_tci, 0);
    EXPECT_EQ(m->hash.rss, 0U);
    rte_pktmbuf_reset(m.get()); // DPDK's own checks know that the buffer holds no 0x2345 bytes
}

TEST(MbufFields, recycled_mbufs_arrive_clean_alone_and_in_chains)
{
    RxOptions options;
    options.pools = {{512, 80}};
    options.ring_size = 64;
    RxRig rig(options);
    for (uint32_t round = 0; round < 40; ++round) {
        for (size_t length : {size_t{64}, size_t{3000}}) {
            ASSERT_TRUE(rig.net.deliver(frame_of(length, round)));
            const auto packets = rig.burst();
            ASSERT_EQ(packets.size(), 1U);
            expect_clean(packets[0].get());
            EXPECT_EQ(bytes_of(packets[0].get()), frame_of(length, round));
            for (rte_mbuf* m = packets[0].get(); m != nullptr; m = m->next)
                poison(m);
        }
    }
}

TEST(MbufFields, dropped_mbufs_go_back_to_the_pool_as_the_pool_wants_them)
{
    RxOptions options;
    options.pools = {{512, 80}};
    options.ring_size = 64;
    options.partial_limit = 0;
    RxRig rig(options);
    rig.expect_dropped(frame_of(3000), {.used_lengths = {524, 524, 524, 1, 524, 1}});
    rig.expect_dropped(frame_of(64), {.used_lengths = {0xffff'ffff}});
    rig.expect_dropped(frame_of(64), {.num_buffers = 0xffff});
    ASSERT_TRUE(rig.net.stage(frame_of(3000)));
    rig.net.publish(4);
    for (int poll = 0; poll < 3; ++poll)
        EXPECT_EQ(rig.burst().size(), 0U);
    EXPECT_EQ(rig.changes(), (Changes{{"drop_partial_segment", 1},
                                      {"drop_over_long", 1},
                                      {"drop_num_buffers", 1},
                                      {"drop_incomplete", 1}}));
    rig.drain();
    // Raw: allocation by rte_pktmbuf_alloc would mend what must not be broken.
    rte_mbuf* m = nullptr;
    std::vector<rte_mbuf*> all;
    while (rte_mempool_get(rig.pools[0].get(), reinterpret_cast<void**>(&m)) == 0) {
        EXPECT_EQ(rte_mbuf_refcnt_read(m), 1);
        EXPECT_EQ(m->nb_segs, 1);
        EXPECT_EQ(m->next, nullptr);
        all.push_back(m);
    }
    EXPECT_EQ(all.size(), 80U);
    for (rte_mbuf* one : all)
        rte_mempool_put(rig.pools[0].get(), one);
}

// Buffers outside the mempool: the mbuf must still say so, or a clone of it looks for the mbuf in
// front of the buffer and counts references in foreign memory.
TEST(MbufFields, packets_from_a_pool_of_pinned_external_buffers_can_be_cloned)
{
    RxOptions options;
    options.pools = {{2048, 300}};
    options.pinned = true;
    RxRig rig(options);
    const MempoolPtr clones = make_pool(0, 8, rig.memory.device());
    for (uint32_t i = 0; i < 400; ++i) {
        const auto frame = frame_of(3000, i);
        ASSERT_TRUE(rig.net.deliver(frame));
        auto packets = rig.burst();
        ASSERT_EQ(packets.size(), 1U);
        EXPECT_TRUE(RTE_MBUF_HAS_EXTBUF(packets[0].get()));
        EXPECT_TRUE(RTE_MBUF_HAS_PINNED_EXTBUF(packets[0].get()));
        const PacketPtr clone(rte_pktmbuf_clone(packets[0].get(), clones.get()));
        ASSERT_NE(clone, nullptr);
        EXPECT_EQ(packets[0]->shinfo->refcnt, 2);
        EXPECT_EQ(bytes_of(clone.get()), frame);
        packets.clear();
        EXPECT_EQ(bytes_of(clone.get()), frame) << "the clone keeps the buffer";
    }
}

} // namespace
} // namespace fit
