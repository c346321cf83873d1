// What was sent comes back: in any order, to the right pool, once.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <random>

#include <sys/eventfd.h>

#include "tx_rig.hpp"

namespace fit {
namespace {

TEST(TxReclaim, completions_in_any_order_give_all_mbufs_back)
{
    std::mt19937 random(5);
    TxRig rig;
    rig.net.hold(true);
    for (int round = 0; round < 200; ++round) {
        std::vector<size_t> order(10);
        for (uint32_t i = 0; i < order.size(); ++i) {
            const std::vector<uint16_t> lengths(1 + i % 4, uint16_t{50});
            ASSERT_TRUE(rig.send(make_chain(rig.pool.get(), lengths, i)));
            EXPECT_EQ(rig.expect_sent(frame_of(50 * lengths.size(), i)), lengths.size());
        }
        std::iota(order.begin(), order.end(), size_t{0});
        std::shuffle(order.begin(), order.end(), random);
        rig.net.complete(order);
        reclaim(rig.queue);
        ASSERT_EQ(rig.mbufs_in_use(), 0U);
        ASSERT_EQ(rig.queue.ring.free_descriptors(), 64);
    }
}

TEST(TxReclaim, completions_one_by_one_give_back_exactly_what_was_completed)
{
    TxRig rig;
    rig.net.hold(true);
    for (uint32_t i = 0; i < 8; ++i) {
        ASSERT_TRUE(rig.send(make_chain(rig.pool.get(), std::vector<uint16_t>{60, 60}, i)));
        ASSERT_EQ(rig.expect_sent(frame_of(120, i)), 2U);
    }
    for (unsigned left = 8; left > 0; --left) {
        EXPECT_EQ(rig.mbufs_in_use(), 2 * left);
        rig.net.complete(std::array<size_t, 1>{left / 2});
        reclaim(rig.queue);
        EXPECT_EQ(rig.queue.ring.free_descriptors(), 64U - 2 * (left - 1));
    }
    EXPECT_EQ(rig.mbufs_in_use(), 0U);
}

TEST(TxReclaim, packets_of_several_pools_go_back_each_to_its_own)
{
    TxOptions options;
    options.ring_size = 256;
    TxRig rig(options);
    const MempoolPtr other = make_pool(512, 100, rig.memory.device());
    const MempoolPtr third = make_pool(1024, 100, rig.memory.device());
    rig.net.hold(true);
    const std::array<rte_mempool*, 3> pools = {rig.pool.get(), other.get(), third.get()};
    std::mt19937 random(2);
    for (uint32_t i = 0; i < 250; ++i) {
        rte_mempool* pool = i < 130 ? pools[0] : pools[random() % 3];
        ASSERT_TRUE(rig.send(make_packet(pool, frame_of(60, i))));
        ASSERT_EQ(rig.expect_sent(frame_of(60, i)), 1U);
    }
    unsigned in_use = 0;
    for (rte_mempool* pool : pools)
        in_use += rte_mempool_in_use_count(pool);
    EXPECT_EQ(in_use, 250U);
    rig.net.complete_all();
    reclaim(rig.queue);
    for (rte_mempool* pool : pools)
        EXPECT_EQ(rte_mempool_in_use_count(pool), 0U);
}

// Raw: allocation by rte_pktmbuf_alloc would mend what must not be broken.
void expect_as_the_pool_wants_them(rte_mempool* pool, size_t count)
{
    rte_mbuf* m = nullptr;
    std::vector<rte_mbuf*> all;
    while (rte_mempool_get(pool, reinterpret_cast<void**>(&m)) == 0) {
        EXPECT_EQ(rte_mbuf_refcnt_read(m), 1);
        EXPECT_EQ(m->nb_segs, 1);
        EXPECT_EQ(m->next, nullptr);
        EXPECT_TRUE(RTE_MBUF_DIRECT(m));
        all.push_back(m);
    }
    EXPECT_EQ(all.size(), count);
    for (rte_mbuf* one : all)
        rte_mempool_put(pool, one);
}

TEST(TxReclaim, sent_segments_go_back_to_the_pool_as_the_pool_wants_them)
{
    TxOptions options;
    options.mbufs = 40;
    TxRig rig(options);
    const auto send_one_each = [&] {
        ASSERT_TRUE(rig.send(rig.packet(60, 1)));
        ASSERT_TRUE(rig.send(make_chain(rig.pool.get(), std::vector<uint16_t>{60, 0, 70}, 2)));
        const PacketPtr owner = make_chain(rig.pool.get(), std::vector<uint16_t>{60, 60}, 3);
        ASSERT_TRUE(rig.send(PacketPtr(rte_pktmbuf_clone(owner.get(), rig.pool.get()))));
        PacketPtr shared = make_chain(rig.pool.get(), std::vector<uint16_t>{60, 60}, 4);
        rte_pktmbuf_refcnt_update(shared.get(), 1);
        const PacketPtr other(shared.get());
        ASSERT_TRUE(rig.send(std::move(shared)));
    };
    send_one_each();
    while (rig.net.take()) {
    }
    reclaim(rig.queue);
    expect_as_the_pool_wants_them(rig.pool.get(), 40);
    // The same when the port stops with all of it in flight.
    send_one_each();
    EXPECT_EQ(rig.mbufs_in_use(), 10U);
    rig.restart();
    expect_as_the_pool_wants_them(rig.pool.get(), 40);
}

TEST(TxReclaim, a_chain_of_several_pools_goes_back_each_segment_to_its_own)
{
    TxRig rig;
    const MempoolPtr other = make_pool(512, 100, rig.memory.device());
    PacketPtr packet = rig.packet(60, 1);
    packet->next = make_packet(other.get(), frame_of(70, 2)).release();
    packet->next->next = rig.packet(80, 3).release();
    packet->nb_segs = 3;
    packet->pkt_len = 210;
    ASSERT_TRUE(rig.send(std::move(packet)));
    ASSERT_TRUE(rig.net.take().has_value());
    reclaim(rig.queue);
    EXPECT_EQ(rig.mbufs_in_use(), 0U);
    EXPECT_EQ(rte_mempool_in_use_count(other.get()), 0U);
    expect_as_the_pool_wants_them(rig.pool.get(), 600);
    expect_as_the_pool_wants_them(other.get(), 100);
}

TEST(TxReclaim, packet_that_somebody_else_holds_stays_out_of_its_pool)
{
    TxRig rig;
    PacketPtr packet = rig.packet(60);
    rte_mbuf_refcnt_update(packet.get(), 1);
    PacketPtr other(packet.get());
    ASSERT_TRUE(rig.send(std::move(packet)));
    EXPECT_EQ(rig.expect_sent(frame_of(60)), 2U);
    reclaim(rig.queue);
    EXPECT_EQ(rig.mbufs_in_use(), 1U);
    EXPECT_EQ(rte_mbuf_refcnt_read(other.get()), 1);
    other.reset();
    EXPECT_EQ(rig.mbufs_in_use(), 0U);
}

TEST(TxReclaim, SPL_16_used_length_means_nothing_on_a_transmit_queue)
{
    TxRig rig;
    rig.net.hold(true);
    for (uint32_t length : {0U, 1U, 0xffff'ffffU}) {
        ASSERT_TRUE(rig.send(rig.packet(60)));
        const auto sent = rig.net.take();
        ASSERT_TRUE(sent.has_value());
        rig.device.use_unchecked(sent->id, length);
        reclaim(rig.queue);
        EXPECT_EQ(rig.mbufs_in_use(), 0U);
        EXPECT_EQ(rig.queue.fault, RingFault::None);
    }
}

TEST(TxReclaim, trouble_080_reclaims_from_the_threshold_on_even_with_nothing_to_send)
{
    TxOptions options;
    options.reclaim_threshold = 8;
    TxRig rig(options);
    for (uint32_t i = 0; i < 8; ++i) {
        EXPECT_EQ(rig.mbufs_in_use(), i);
        ASSERT_TRUE(rig.send(rig.packet(60, i)));
        ASSERT_EQ(rig.expect_sent(frame_of(60, i)), 1U);
    }
    std::vector<PacketPtr> none;
    EXPECT_EQ(rig.burst(none), 0);
    EXPECT_EQ(rig.mbufs_in_use(), 0U);
    EXPECT_EQ(rig.changes(), (Changes{{"packets", 8}, {"bytes", 480}}));
}

TEST(TxReclaim, full_ring_is_reclaimed_below_the_threshold_too)
{
    TxOptions options;
    options.reclaim_threshold = 64;
    TxRig rig(options);
    rig.occupy_all_but(1);
    rig.net.complete_all();
    rig.net.hold(false);
    ASSERT_TRUE(rig.send(make_chain(rig.pool.get(), std::vector<uint16_t>{60, 60})));
    EXPECT_EQ(rig.expect_sent(frame_of(120)), 2U);
    EXPECT_EQ(rig.queue.counters.ring_full.total(), 0U);
}

TEST(TxReclaim, ring_full_counts_bursts_and_leaves_the_rest_to_the_caller)
{
    TxRig rig;
    rig.occupy_all_but(0);
    rig.changes();
    std::vector<PacketPtr> offered;
    for (uint32_t i = 0; i < 5; ++i)
        offered.push_back(rig.packet(60, 100 + i));
    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(rig.burst(offered), 0);
    EXPECT_EQ(rig.changes(), (Changes{{"ring_full", 3}}));
    rig.net.complete(std::array<size_t, 2>{5, 3});
    EXPECT_EQ(rig.burst(offered), 2);
    EXPECT_EQ(rig.changes(), (Changes{{"packets", 2}, {"bytes", 120}, {"ring_full", 1}}));
    EXPECT_EQ(rig.expect_sent(frame_of(60, 100)), 1U);
    EXPECT_EQ(rig.expect_sent(frame_of(60, 101)), 1U);
}

TEST(TxReclaim, trouble_009_no_more_descriptors_than_the_limit_are_in_flight)
{
    TxOptions options;
    options.descriptor_limit = 20;
    TxRig rig(options);
    rig.occupy_all_but(0);
    EXPECT_EQ(rig.descriptors_in_flight(), 20U);
    EXPECT_FALSE(rig.send(rig.packet(60)));
}

TEST(TxReclaim, one_notification_for_each_burst_that_queued_something_unless_unwanted)
{
    TxRig rig;
    const int fd = eventfd(0, EFD_NONBLOCK);
    ASSERT_GE(fd, 0);
    rig.queue.notifier.fd = fd;
    eventfd_t count = 0;
    std::vector<PacketPtr> offered;
    for (uint32_t i = 0; i < 5; ++i)
        offered.push_back(rig.packet(60, i));
    EXPECT_EQ(rig.burst(offered), 5);
    ASSERT_EQ(eventfd_read(fd, &count), 0);
    EXPECT_EQ(count, 1U);
    EXPECT_EQ(rig.burst(offered), 0);
    ASSERT_TRUE(rig.send(rig.packet(0)));
    EXPECT_NE(eventfd_read(fd, &count), 0) << "nothing was made available";
    rig.device.set_no_notify(true);
    ASSERT_TRUE(rig.send(rig.packet(60)));
    EXPECT_NE(eventfd_read(fd, &count), 0);
    EXPECT_EQ(rig.queue.counters.notifications.total(), 1U);
    rig.device.set_no_notify(false);
    ASSERT_TRUE(rig.send(rig.packet(60)));
    ASSERT_EQ(eventfd_read(fd, &count), 0);
    EXPECT_EQ(rig.queue.counters.notifications.total(), 2U);
    close(fd);
}

class TxRing : public testing::TestWithParam<uint16_t> {};

TEST_P(TxRing, seventy_thousand_packets_completed_in_any_order)
{
    TxOptions options;
    options.ring_size = GetParam();
    options.reclaim_threshold = std::max<uint16_t>(1, GetParam() / 4);
    TxRig rig(options);
    rig.net.hold(true);
    std::mt19937 random(GetParam());
    uint32_t sent = 0;
    uint64_t bytes = 0;
    while (sent < 70'000) {
        const bool two = random() % 8 == 0; // segments
        const std::vector<uint16_t> lengths(two ? 2 : 1, uint16_t(14 + sent % 50));
        std::vector<PacketPtr> offered;
        offered.push_back(make_chain(rig.pool.get(), lengths, sent));
        const size_t length = offered[0]->pkt_len;
        if (rig.burst(offered) == 1) {
            ASSERT_EQ(rig.expect_sent(frame_of(length, sent)), two ? 2U : 1U);
            bytes += length;
            ++sent;
        }
        if (random() % 4 == 0 && rig.net.held() > 0) {
            std::vector<size_t> order(rig.net.held());
            std::iota(order.begin(), order.end(), size_t{0});
            std::shuffle(order.begin(), order.end(), random);
            order.resize(1 + random() % order.size());
            rig.net.complete(order);
        }
    }
    EXPECT_EQ(rig.queue.counters.packets.total(), 70'000U);
    EXPECT_EQ(rig.queue.counters.bytes.total(), bytes);
    EXPECT_EQ(rig.queue.fault, RingFault::None);
    rig.device.check_device_area();
}

INSTANTIATE_TEST_SUITE_P(Sizes, TxRing, testing::Values(2, 4, 16, 256));

} // namespace
} // namespace fit
