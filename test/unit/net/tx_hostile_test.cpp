// A device that does to the transmit ring what no device may do.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "tx_rig.hpp"

namespace fit {
namespace {

// Three packets in flight: ids 0, 1..3 (a chain) and 4.
void send_three(TxRig& rig)
{
    rig.net.hold(true);
    ASSERT_TRUE(rig.send(rig.packet(60, 1)));
    ASSERT_TRUE(rig.send(make_chain(rig.pool.get(), std::vector<uint16_t>{60, 60, 60}, 2)));
    ASSERT_TRUE(rig.send(rig.packet(60, 3)));
    ASSERT_EQ(rig.expect_sent(frame_of(60, 1)), 1U);
    ASSERT_EQ(rig.expect_sent(frame_of(180, 2)), 3U);
    ASSERT_EQ(rig.expect_sent(frame_of(60, 3)), 1U);
    rig.changes();
}

// The queue takes nothing any more, nothing is lost, and a restart makes it good again.
void expect_broken(TxRig& rig, RingFault fault)
{
    for (int i = 0; i < 3; ++i) {
        std::vector<PacketPtr> offered;
        offered.push_back(rig.packet(60));
        EXPECT_EQ(rig.burst(offered), 0);
        EXPECT_EQ(offered.size(), 1U);
    }
    EXPECT_EQ(rig.queue.fault, fault);
    EXPECT_EQ(rig.changes(), Changes());
    rig.drain();
    EXPECT_EQ(rig.mbufs_in_use(), 0U);
    rig.restart();
    ASSERT_TRUE(rig.send(rig.packet(60)));
    EXPECT_EQ(rig.expect_sent(frame_of(60)), 1U);
}

TEST(TxHostile, trouble_103_id_outside_the_ring)
{
    for (uint32_t id : {64U, 0x7fffU, 0xffffU, 0x1'0000U, 0xffff'ffffU}) {
        TxRig rig;
        send_three(rig);
        rig.device.use_unchecked(id, 0);
        expect_broken(rig, RingFault::UnknownId);
    }
}

TEST(TxHostile, trouble_105_id_that_is_not_the_head_of_a_chain_in_flight)
{
    for (uint32_t id : {2U, 3U, 5U, 63U}) {
        TxRig rig;
        send_three(rig);
        rig.device.use_unchecked(id, 0);
        expect_broken(rig, RingFault::NotInFlight);
    }
}

TEST(TxHostile, trouble_105_id_that_comes_twice_frees_its_packet_once)
{
    for (uint32_t id : {0U, 1U}) {
        TxRig rig;
        send_three(rig);
        rig.device.use_unchecked(std::array{fake::Used{id, 0}, fake::Used{id, 0}});
        expect_broken(rig, RingFault::NotInFlight);
    }
}

TEST(TxHostile, trouble_103_used_index_that_leaps_or_steps_back)
{
    for (uint16_t index : {uint16_t{4}, uint16_t{64}, uint16_t{0x7fff}, uint16_t{0xffff}}) {
        TxRig rig;
        send_three(rig);
        rig.device.set_used_index(index);
        expect_broken(rig, RingFault::IndexLeap);
    }
}

TEST(TxHostile, trouble_103_a_broken_queue_looks_at_the_ring_no_more)
{
    TxRig rig;
    send_three(rig);
    rig.device.set_used_index(4);
    std::vector<PacketPtr> none;
    EXPECT_EQ(rig.burst(none), 0);
    EXPECT_EQ(rig.queue.fault, RingFault::IndexLeap);
    // The device sets it right again; its access to what is in flight has ended all the same.
    rig.device.poke_used(0, 0, 0);
    rig.device.set_used_index(1);
    EXPECT_EQ(rig.burst(none), 0);
    EXPECT_EQ(rig.descriptors_in_flight(), 5U);
    EXPECT_EQ(rig.mbufs_in_use(), 5U);
    expect_broken(rig, RingFault::IndexLeap);
}

TEST(TxHostile, trouble_103_fault_that_a_full_ring_brings_to_light)
{
    TxOptions options;
    options.reclaim_threshold = 64;
    TxRig rig(options);
    rig.occupy_all_but(2);
    rig.changes();
    rig.device.use_unchecked(99, 0);
    std::vector<PacketPtr> offered;
    for (uint32_t i = 0; i < 5; ++i)
        offered.push_back(rig.packet(60, i));
    rig.device.poll();
    const uint16_t available = rig.device.available_index();
    const uint64_t notifications = rig.queue.counters.notifications.total();
    EXPECT_EQ(rig.burst(offered), 2) << "what fits before the fault is seen";
    EXPECT_EQ(rig.queue.fault, RingFault::UnknownId);
    rig.device.poll();
    EXPECT_EQ(rig.device.available_index(), available) << "a broken queue shows nothing";
    EXPECT_EQ(rig.queue.counters.notifications.total(), notifications);
    rig.changes();
    offered.clear();
    expect_broken(rig, RingFault::UnknownId);
}

TEST(TxHostile, trouble_103_room_that_came_back_in_front_of_the_fault_is_not_used)
{
    TxOptions options;
    options.reclaim_threshold = 64;
    TxRig rig(options);
    rig.occupy_all_but(2);
    rig.changes();
    rig.net.complete(std::array<size_t, 3>{0, 1, 2});
    rig.device.use_unchecked(99, 0);
    std::vector<PacketPtr> offered;
    for (uint32_t i = 0; i < 5; ++i)
        offered.push_back(rig.packet(60, i));
    EXPECT_EQ(rig.burst(offered), 2) << "what fits before the fault is seen";
    EXPECT_EQ(rig.queue.fault, RingFault::UnknownId);
    EXPECT_EQ(rig.mbufs_in_use(), 61U + 3) << "in flight, and the caller's";
    EXPECT_EQ(rig.changes(), (Changes{{"packets", 2}, {"bytes", 120}}));
    offered.clear();
    expect_broken(rig, RingFault::UnknownId);
}

TEST(TxHostile, trouble_107_scribbled_descriptor_table_and_available_ring_change_nothing)
{
    TxRig rig;
    std::mt19937 random(9);
    for (uint32_t i = 0; i < 3000; ++i) {
        const std::vector<uint16_t> lengths(1 + i % 4, uint16_t{60});
        std::vector<PacketPtr> offered;
        offered.push_back(make_chain(rig.pool.get(), lengths, i));
        ASSERT_EQ(rig.burst(offered), 1);
        uint32_t id = 0;
        while (rig.queue.slots[id].descriptors == 0)
            ++id;
        ASSERT_EQ(rig.queue.slots[id].descriptors, lengths.size());
        rig.device.scribble_descriptors(i);
        for (std::byte& b : rig.driver_area())
            b = static_cast<std::byte>(random());
        rig.device.use_unchecked(id, static_cast<uint32_t>(random()));
        reclaim(rig.queue);
        ASSERT_EQ(rig.queue.ring.free_descriptors(), 64);
        ASSERT_EQ(rig.mbufs_in_use(), 0U);
    }
    EXPECT_EQ(rig.queue.fault, RingFault::None);
    EXPECT_EQ(rig.changes(), (Changes{{"packets", 3000}, {"bytes", 750U * 60 * (1 + 2 + 3 + 4)}}));
    rig.memory.violations().clear(); // it scribbled over its own source of truth
}

TEST(TxHostile, trouble_171_random_used_rings_free_each_packet_once)
{
    std::mt19937 random(13);
    std::set<RingFault> faults;
    for (int round = 0; round < 2000; ++round) {
        TxOptions options;
        options.ring_size = 8;
        options.mbufs = 32;
        TxRig rig(options);
        uint16_t index = 0;
        for (int step = 0; step < 40 && rig.queue.fault == RingFault::None; ++step) {
            (void)rig.send(
                make_chain(rig.pool.get(), std::vector<uint16_t>(1 + random() % 3, uint16_t{60})));
            // Mostly the first head in flight.
            uint32_t id = 0;
            while (id < 8 && rig.queue.slots[id].descriptors == 0)
                ++id;
            if (random() % 64 == 0)
                id = static_cast<uint32_t>(random() % 12);
            rig.device.poke_used(index, id, static_cast<uint32_t>(random()));
            index = static_cast<uint16_t>(index + random() % 2 + (random() % 256 == 0 ? 9 : 0));
            rig.device.set_used_index(index);
        }
        faults.insert(rig.queue.fault);
        rig.memory.violations().clear(); // the fake's own account of it is meaningless
    }
    EXPECT_EQ(faults, (std::set{RingFault::None, RingFault::IndexLeap, RingFault::UnknownId,
                                RingFault::NotInFlight}));
}

} // namespace
} // namespace fit
