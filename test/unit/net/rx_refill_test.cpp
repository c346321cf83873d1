// Making buffers available again: as many as the pools give, in the class that is wanted or the
// next.
#include <gtest/gtest.h>

#include <array>

#include <sys/eventfd.h>

#include "rx_rig.hpp"

namespace fit {
namespace {

RxOptions ring_with(std::vector<PoolSize> pools, uint16_t size = 64)
{
    RxOptions options;
    options.ring_size = size;
    options.pools = std::move(pools);
    return options;
}

TEST(RxRefill, trouble_009_posts_exactly_the_limit)
{
    for (uint16_t limit : {1, 2, 100, 255, 256}) {
        RxOptions options;
        options.buffer_limit = limit;
        options.header = HeaderKind::Plain;
        RxRig rig(options);
        rig.device.poll();
        EXPECT_EQ(rig.device.available(), limit);
        EXPECT_EQ(rig.mbufs_in_use(), limit);
        rig.expect_good();
        rig.device.poll();
        EXPECT_EQ(rig.device.available(), limit);
    }
}

TEST(RxRefill, trouble_050_a_pool_with_one_mbuf_less_than_wanted_gives_them_all)
{
    for (unsigned mbufs = 0; mbufs <= 63; ++mbufs) {
        RxOptions options = ring_with({{2048, 64}});
        options.refill_threshold = 64; // later polls find fewer wanted
        RxRig rig(options);
        rig.drain();
        auto kept = take_all(rig.pools[0].get());
        ASSERT_EQ(kept.size(), 64U);
        kept.resize(64 - mbufs);
        rig.restart();
        rig.device.poll();
        EXPECT_EQ(rig.device.available(), mbufs);
        EXPECT_EQ(rig.changes(), (Changes{{"no_mbuf", 1}})) << mbufs;
    }
}

TEST(RxRefill, trouble_147_level_of_the_ring_as_polls_found_it)
{
    RxRig rig(ring_with({{2048, 200}}));
    const RxCounters& c = rig.queue.counters;
    const auto deliver = [&](unsigned packets) {
        for (unsigned i = 0; i < packets; ++i)
            ASSERT_TRUE(rig.net.deliver(frame_of(64)));
    };
    EXPECT_EQ(rig.burst().size(), 0U);
    EXPECT_EQ(c.low_watermark.value(64), 64U) << "no packet, no level";
    deliver(10);
    EXPECT_EQ(rig.burst().size(), 10U);
    EXPECT_EQ(c.low_watermark.value(64), 54U);
    deliver(63);
    EXPECT_EQ(rig.burst(16).size(), 16U)
        << "what waits for the next poll is not the device's either";
    EXPECT_EQ(c.low_watermark.value(64), 1U);
    EXPECT_EQ(c.ring_empty.total(), 0U);
    deliver(17); // the 16 that were posted again, and the last one
    EXPECT_EQ(rig.burst().size(), 64U);
    EXPECT_EQ(c.low_watermark.value(64), 0U);
    EXPECT_EQ(c.ring_empty.total(), 1U);
    for (int poll = 0; poll < 5; ++poll)
        EXPECT_EQ(rig.burst().size(), 0U);
    EXPECT_EQ(c.ring_empty.total(), 1U);
}

// Nothing is posted because the pool is empty: what was counted once is not counted by every poll.
TEST(RxRefill, trouble_147_a_ring_that_stays_empty_counts_once)
{
    RxRig rig(ring_with({{2048, 64}}));
    for (unsigned i = 0; i < 64; ++i)
        ASSERT_TRUE(rig.net.deliver(frame_of(64)));
    const auto kept = rig.burst();
    ASSERT_EQ(kept.size(), 64U);
    for (int poll = 0; poll < 5; ++poll)
        EXPECT_EQ(rig.burst().size(), 0U);
    EXPECT_EQ(rig.queue.counters.ring_empty.total(), 1U);
    rig.changes();
}

TEST(RxRefill, trouble_050_large_rings_are_filled_in_batches_to_the_last_mbuf)
{
    for (unsigned mbufs : {63U, 64U, 65U, 127U, 128U, 129U, 1023U, 1024U}) {
        RxRig rig(ring_with({{2048, mbufs}}, 1024));
        rig.device.poll();
        EXPECT_EQ(rig.device.available(), mbufs);
        EXPECT_EQ(rig.queue.counters.no_mbuf.total(), mbufs < 1024 ? 1U : 0U);
    }
}

TEST(RxRefill, larger_class_is_taken_first_when_the_wanted_one_is_empty_then_smaller_ones)
{
    RxOptions options = ring_with({{300, 10}, {1024, 20}, {2048, 15}, {4096, 5}});
    options.largest_frame = 64; // floor 257: every class may be posted
    RxRig rig(options);
    EXPECT_EQ(rig.slots_of_class(0), 10U);
    EXPECT_EQ(rig.slots_of_class(1), 20U);
    EXPECT_EQ(rig.slots_of_class(2), 15U);
    EXPECT_EQ(rig.slots_of_class(3), 5U);
    EXPECT_EQ(rig.queue.counters.no_mbuf.total(), 1U) << "50 of 64";
    // In this order: the class that is wanted, then the larger ones.
    rig.device.poll();
    const std::array<size_t, 4> first = {0, 10, 30, 45};
    for (uint8_t k = 0; k < 4; ++k)
        EXPECT_EQ(rig.device.peek(first[k]).writable_bytes(), rig.room(k) + 12U);
}

TEST(RxRefill, smaller_classes_serve_when_all_larger_ones_are_empty_but_none_below_the_floor)
{
    RxOptions options = ring_with({{300, 100}, {1024, 100}, {2048, 100}, {4096, 100}});
    options.largest_frame = 1024 * 64; // floor 1024
    options.ewma_weight = 1;
    RxRig rig(options);
    rig.expect_arrives(frame_of(2000)); // class 2 is wanted from now on
    ASSERT_EQ(rig.queue.sizing.current_class(), 2);
    rig.drain();
    const auto larger = take_all(rig.pools[3].get());
    auto wanted = take_all(rig.pools[2].get());
    auto smaller = take_all(rig.pools[1].get());
    wanted.resize(wanted.size() - 4);
    smaller.resize(smaller.size() - 6);
    rig.changes();
    rig.restart();
    EXPECT_EQ(rig.slots_of_class(0), 0U) << "below the floor";
    EXPECT_EQ(rig.slots_of_class(1), 6U);
    EXPECT_EQ(rig.slots_of_class(2), 4U);
    EXPECT_EQ(rig.slots_of_class(3), 0U);
    EXPECT_EQ(rig.changes(), (Changes{{"no_mbuf", 1}}));
}

TEST(RxRefill, fallback_that_fills_the_ring_is_no_shortage)
{
    RxOptions options = ring_with({{300, 10}, {1024, 54}});
    options.largest_frame = 64;
    RxRig rig(options);
    EXPECT_EQ(rig.queue.counters.no_mbuf.total(), 0U);
    EXPECT_EQ(rig.slots_of_class(0), 10U);
    EXPECT_EQ(rig.slots_of_class(1), 54U);
}

TEST(RxRefill, trouble_048_a_ring_that_ran_dry_recovers_without_traffic)
{
    RxOptions options = ring_with({{2048, 32}}, 16);
    options.refill_threshold = 4;
    RxRig rig(options);
    std::vector<PacketPtr> held = take_all(rig.pools[0].get());
    for (uint32_t i = 0; i < 16; ++i) {
        ASSERT_TRUE(rig.net.deliver(frame_of(64, i)));
        auto packets = rig.burst();
        ASSERT_EQ(packets.size(), 1U);
        held.push_back(std::move(packets[0]));
    }
    EXPECT_FALSE(rig.net.deliver(frame_of(64))) << "the ring is dry";
    // From the fourth empty slot on each poll tries once.
    EXPECT_EQ(rig.changes(), (Changes{{"packets", 16}, {"bytes", 1024}, {"no_mbuf", 13}}));
    const uint64_t notifications = rig.queue.counters.notifications.total();
    EXPECT_EQ(rig.burst().size(), 0U);
    EXPECT_EQ(rig.burst().size(), 0U);
    EXPECT_EQ(rig.changes(), (Changes{{"no_mbuf", 2}})) << "once an attempt, not once a buffer";
    EXPECT_EQ(rig.queue.counters.notifications.total(), notifications) << "nothing to tell";
    held.clear();
    EXPECT_EQ(rig.burst().size(), 0U);
    EXPECT_EQ(rig.queue.counters.notifications.total(), notifications + 1);
    EXPECT_EQ(rig.changes(), Changes());
    rig.device.poll();
    EXPECT_EQ(rig.device.available(), 16U);
    for (uint32_t i = 0; i < 5; ++i)
        rig.expect_good();
}

TEST(RxRefill, refills_only_from_the_threshold_on_and_then_to_the_limit)
{
    RxOptions options = ring_with({{2048, 200}});
    options.refill_threshold = 8;
    RxRig rig(options);
    for (int i = 0; i < 7; ++i)
        rig.expect_arrives(frame_of(64));
    EXPECT_EQ(rig.queue.ring.outstanding(), 57);
    rig.expect_arrives(frame_of(64));
    EXPECT_EQ(rig.queue.ring.outstanding(), 64);
}

TEST(RxRefill, one_notification_for_each_refill_unless_the_device_wants_none)
{
    RxRig rig(ring_with({{2048, 200}}));
    const int fd = eventfd(0, EFD_NONBLOCK);
    ASSERT_GE(fd, 0);
    rig.queue.notifier.fd = fd;
    eventfd_t count = 0;
    for (uint32_t i = 0; i < 5; ++i)
        ASSERT_TRUE(rig.net.deliver(frame_of(64, i)));
    EXPECT_EQ(rig.burst().size(), 5U);
    ASSERT_EQ(eventfd_read(fd, &count), 0);
    EXPECT_EQ(count, 1U);
    EXPECT_EQ(rig.burst().size(), 0U); // nothing made available
    EXPECT_NE(eventfd_read(fd, &count), 0);

    const uint64_t sent = rig.queue.counters.notifications.total();
    rig.device.set_no_notify(true);
    rig.expect_arrives(frame_of(64));
    EXPECT_NE(eventfd_read(fd, &count), 0);
    EXPECT_EQ(rig.queue.counters.notifications.total(), sent);
    rig.device.set_no_notify(false);
    rig.expect_arrives(frame_of(64));
    ASSERT_EQ(eventfd_read(fd, &count), 0);
    EXPECT_EQ(count, 1U);
    EXPECT_EQ(rig.queue.counters.notifications.total(), sent + 1);
    close(fd);
}

TEST(RxRefill, trouble_039_private_areas_of_mbufs_stay_as_they_are)
{
    for (uint16_t bytes : {0, 64}) {
        RxRig rig;
        rig.drain();
        const MempoolPtr pool = make_pool(2048, 300, rig.memory.device(), bytes);
        for (const PacketPtr& m : take_all(pool.get()))
            std::fill_n(static_cast<std::byte*>(rte_mbuf_to_priv(m.get())), bytes, std::byte{0x77});
        const RxClass before = rig.queue.classes[0];
        rig.queue.classes[0].pool = pool.get();
        rig.queue.classes[0].mbuf_to_buffer = static_cast<uint32_t>(sizeof(rte_mbuf) + bytes);
        rig.restart();
        for (uint32_t i = 0; i < 300; ++i)
            rig.expect_arrives(frame_of(2048 + 2060, i)); // each buffer to its last byte
        rig.drain();
        for (const PacketPtr& m : take_all(pool.get())) {
            const auto* area = static_cast<const std::byte*>(rte_mbuf_to_priv(m.get()));
            EXPECT_TRUE(
                std::all_of(area, area + bytes, [](std::byte b) { return b == std::byte{0x77}; }));
        }
        rig.queue.classes[0].pool = before.pool;
    }
}

} // namespace
} // namespace fit
