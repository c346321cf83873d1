// A device that does to the receive ring what no device may do.
#include <gtest/gtest.h>

#include <array>
#include <random>
#include <set>
#include <string>

#include "fake/wire.hpp"
#include "rx_rig.hpp"

namespace fit {
namespace {

RxOptions ring_of_16()
{
    RxOptions options;
    options.ring_size = 16;
    options.pools = {{2048, 64}};
    return options;
}

// Two packets that were delivered before the fault arrive, nothing after it does; no counter moves
// any more; a restart makes the queue good again.
void expect_broken(RxRig& rig, RingFault fault, const Changes& at_stop = {})
{
    const uint16_t available = rig.queue.ring.available_index();
    const auto packets = rig.burst();
    EXPECT_EQ(packets.size(), 2U);
    EXPECT_EQ(rig.changes(), (Changes{{"packets", 2}, {"bytes", 128}}));
    EXPECT_EQ(rig.queue.fault, fault);
    EXPECT_EQ(rig.queue.ring.available_index(), available) << "nor does the burst that breaks it";
    for (int poll = 0; poll < 3; ++poll) {
        EXPECT_EQ(rig.burst().size(), 0U);
        EXPECT_EQ(rig.queue.ring.available_index(), available) << "a broken queue posts nothing";
    }
    EXPECT_EQ(rig.changes(), Changes());
    EXPECT_EQ(rig.queue.fault, fault);
    rig.drain();
    EXPECT_EQ(rig.changes(), at_stop);
    EXPECT_EQ(rig.mbufs_in_use(), 2U) << "only the packets in hand";
    rig.memory.violations().clear(); // the fake device has its own view of what it did
    rig.restart();
    rig.expect_good();
}

void deliver_two(RxRig& rig)
{
    for (uint32_t i = 0; i < 2; ++i)
        ASSERT_TRUE(rig.net.deliver(frame_of(64, i)));
}

TEST(RxHostile, trouble_103_id_outside_the_ring)
{
    for (uint32_t id : {16U, 0x7fffU, 0xffffU, 0x1'0000U + 5, 0x8000'0000U, 0xffff'ffffU}) {
        RxRig rig(ring_of_16());
        deliver_two(rig);
        rig.device.use_unchecked(id, 76);
        ASSERT_TRUE(rig.net.deliver(frame_of(64)));
        expect_broken(rig, RingFault::UnknownId);
    }
}

TEST(RxHostile, trouble_103_id_outside_a_ring_that_is_posted_in_part)
{
    RxOptions options = ring_of_16();
    options.buffer_limit = 6;
    RxRig rig(options);
    deliver_two(rig);
    rig.device.use_unchecked(16, 76);
    expect_broken(rig, RingFault::UnknownId);
}

TEST(RxHostile, trouble_105_id_that_comes_twice)
{
    RxRig rig(ring_of_16());
    deliver_two(rig);
    rig.device.use_unchecked(1, 76);
    ASSERT_TRUE(rig.net.deliver(frame_of(64)));
    expect_broken(rig, RingFault::NotInFlight);
}

TEST(RxHostile, trouble_105_id_that_was_never_posted)
{
    RxOptions options = ring_of_16();
    options.buffer_limit = 6;
    for (uint32_t id = 6; id < 16; ++id) {
        RxRig rig(options);
        deliver_two(rig);
        rig.device.use_unchecked(id, 76);
        expect_broken(rig, RingFault::NotInFlight);
    }
}

TEST(RxHostile, trouble_105_repeated_id_in_the_middle_of_a_merged_packet)
{
    RxRig rig(ring_of_16());
    deliver_two(rig);
    ASSERT_TRUE(rig.net.stage(frame_of(9000)));
    rig.net.publish(2);
    rig.device.use_unchecked(2, 2060);
    expect_broken(rig, RingFault::NotInFlight, {{"drop_incomplete", 1}});
}

// The fault comes polls after the pieces: they stay where they are until the port stops, and time
// does not count against them any more.
TEST(RxHostile, trouble_103_fault_while_a_merged_packet_waits_for_its_rest)
{
    for (RingFault fault : {RingFault::UnknownId, RingFault::NotInFlight, RingFault::IndexLeap}) {
        RxOptions options = ring_of_16();
        options.partial_limit = 0;
        RxRig rig(options);
        ASSERT_TRUE(rig.net.stage(frame_of(9000)));
        rig.net.publish(2);
        EXPECT_EQ(rig.burst().size(), 0U);
        EXPECT_EQ(rig.burst().size(), 0U); // begins to wait
        if (fault == RingFault::UnknownId)
            rig.device.use_unchecked(16, 2060);
        else if (fault == RingFault::NotInFlight)
            rig.device.use_unchecked(std::array{fake::Used{7, 2060}, fake::Used{7, 2060}});
        else
            rig.device.set_used_index(19);
        const uint16_t available = rig.queue.ring.available_index();
        for (int poll = 0; poll < 3; ++poll) {
            EXPECT_EQ(rig.burst().size(), 0U);
            EXPECT_EQ(rig.queue.fault, fault);
            EXPECT_EQ(rig.queue.ring.available_index(), available);
        }
        EXPECT_EQ(rig.changes(), Changes());
        EXPECT_EQ(rig.mbufs_in_use(), 18U) << "the pieces, and what was posted when they came";
        rig.drain();
        EXPECT_EQ(rig.changes(), (Changes{{"drop_incomplete", 1}}));
        EXPECT_EQ(rig.mbufs_in_use(), 0U);
        rig.memory.violations().clear();
        rig.restart();
        rig.expect_good();
    }
}

TEST(RxHostile, trouble_103_used_index_that_leaps)
{
    for (uint16_t leap : {uint16_t{17}, uint16_t{18}, uint16_t{0x7fff}, uint16_t{0x8000}}) {
        RxRig rig(ring_of_16());
        deliver_two(rig);
        const auto packets = rig.burst();
        ASSERT_EQ(packets.size(), 2U);
        rig.device.set_used_index(static_cast<uint16_t>(2 + leap));
        EXPECT_EQ(rig.burst().size(), 0U);
        EXPECT_EQ(rig.queue.fault, RingFault::IndexLeap) << leap;
        rig.drain();
        EXPECT_EQ(rig.mbufs_in_use(), 2U);
        rig.changes();
        rig.restart();
        rig.expect_good();
    }
}

TEST(RxHostile, trouble_103_index_leap_posts_nothing_though_buffers_are_wanted)
{
    RxRig rig(ring_of_16());
    auto kept = take_all(rig.pools[0].get());
    deliver_two(rig);
    auto packets = rig.burst();
    ASSERT_EQ(packets.size(), 2U);
    EXPECT_EQ(rig.changes(), (Changes{{"packets", 2}, {"bytes", 128}, {"no_mbuf", 1}}));
    packets.clear();
    kept.clear(); // from here on the two could be posted
    rig.device.set_used_index(100);
    for (int poll = 0; poll < 3; ++poll) {
        EXPECT_EQ(rig.burst().size(), 0U);
        EXPECT_EQ(rig.queue.ring.available_index(), 16);
    }
    EXPECT_EQ(rig.queue.fault, RingFault::IndexLeap);
    EXPECT_EQ(rig.mbufs_in_use(), 14U);
    EXPECT_EQ(rig.changes(), Changes());
    rig.restart();
    rig.expect_good();
}

TEST(RxHostile, trouble_103_used_index_that_steps_back)
{
    for (uint16_t index : {uint16_t{4}, uint16_t{0}, uint16_t{0xffff}}) {
        RxRig rig(ring_of_16());
        for (uint32_t i = 0; i < 5; ++i)
            rig.expect_arrives(frame_of(64, i));
        rig.device.set_used_index(index);
        EXPECT_EQ(rig.burst().size(), 0U);
        EXPECT_EQ(rig.queue.fault, RingFault::IndexLeap) << index;
        // Setting it right again does not mend the queue.
        rig.device.set_used_index(5);
        EXPECT_EQ(rig.burst().size(), 0U);
        EXPECT_EQ(rig.changes(), (Changes{{"packets", 5}, {"bytes", 320}}));
        rig.restart();
        rig.expect_good();
    }
}

TEST(RxHostile, trouble_107_scribbled_descriptors_change_nothing)
{
    for (uint64_t seed = 1; seed <= 50; ++seed) {
        RxRig rig(ring_of_16());
        for (uint32_t i = 0; i < 10; ++i)
            ASSERT_TRUE(rig.net.stage(frame_of(100 + i, i)));
        rig.device.scribble_descriptors(seed);
        rig.net.publish(10);
        const auto packets = rig.burst();
        ASSERT_EQ(packets.size(), 10U);
        for (uint32_t i = 0; i < 10; ++i)
            EXPECT_EQ(bytes_of(packets[i].get()), frame_of(100 + i, i));
        rig.device.scribble_descriptors(seed + 1000);
        EXPECT_EQ(rig.burst().size(), 0U);
        EXPECT_EQ(rig.queue.fault, RingFault::None);
    }
}

// Descriptor table and available ring hold random bytes all the time. The device completes what it
// remembers; the driver goes by its private state alone.
TEST(RxHostile, trouble_107_scribbled_descriptors_and_available_ring_for_5000_packets)
{
    RxRig rig(ring_of_16());
    std::mt19937 random(7);
    for (uint32_t i = 0; i < 5000; ++i) {
        rig.device.scribble_descriptors(i);
        for (std::byte& b : rig.driver_area())
            b = static_cast<std::byte>(random());
        const uint32_t id = i % 16;
        ASSERT_NE(rig.queue.slots[id].posted, 0U);
        auto* at =
            static_cast<std::byte*>(rig.queue.slots[id].mbuf->buf_addr) + RTE_PKTMBUF_HEADROOM - 12;
        std::fill_n(at, 12, std::byte{0});
        at[fake::kHeaderNumBuffers] = std::byte{1};
        const auto frame = frame_of(60 + i % 1000, i);
        std::copy(frame.begin(), frame.end(), at + 12);
        rig.device.use_unchecked(id, static_cast<uint32_t>(12 + frame.size()));
        const auto packets = rig.burst();
        ASSERT_EQ(packets.size(), 1U) << i;
        ASSERT_EQ(bytes_of(packets[0].get()), frame) << i;
    }
    EXPECT_EQ(rig.queue.fault, RingFault::None);
    rig.memory.violations().clear(); // it scribbled over its own source of truth
}

// One step of a device that writes at random, but mostly the id that is due, so that some rounds
// last.
void write_at_random(RxRig& rig, std::mt19937& random, uint16_t& index)
{
    for (uint16_t id = 0; id < rig.queue.ring.size(); ++id) {
        if (rig.queue.slots[id].posted == 0)
            continue;
        // num_buffers of a mergeable header: mostly 0 to 3.
        auto* data =
            static_cast<std::byte*>(rig.queue.slots[id].mbuf->buf_addr) + RTE_PKTMBUF_HEADROOM;
        data[-2] = static_cast<std::byte>(random() % 4);
        data[-1] = static_cast<std::byte>(random() % 64 == 0);
    }
    for (uint16_t i = 0; i < 4; ++i) {
        const uint32_t full = random() % 2 == 0 ? 272 : 1548;
        const uint32_t lengths[] = {full, full, static_cast<uint32_t>(random() % 1600),
                                    static_cast<uint32_t>(random())};
        const uint32_t id =
            random() % 64 == 0 ? static_cast<uint32_t>(random() % 12) : (index + i) % 8U;
        rig.device.poke_used(static_cast<uint16_t>(index + i), id, lengths[random() % 4]);
    }
    index = static_cast<uint16_t>(index + random() % 4 + (random() % 256 == 0 ? 9 : 0));
    rig.device.set_used_index(index);
}

// Whatever used elements and index hold: no mbuf is lost, and what is delivered is a sound chain.
TEST(RxHostile, trouble_171_random_used_rings_keep_every_mbuf)
{
    std::mt19937 random(11);
    std::set<RingFault> faults;
    std::set<std::string> moved;
    for (int round = 0; round < 2000; ++round) {
        RxOptions options;
        options.ring_size = 8;
        options.pools = {{260, 6}, {1536, 30}};
        options.partial_limit = round % 2 == 0 ? 0 : UINT64_MAX;
        options.header = static_cast<HeaderKind>(round % 3);
        options.scatter = round % 7 != 0;
        RxRig rig(options);
        uint16_t index = 0;
        for (int step = 0; step < 30; ++step) {
            write_at_random(rig, random, index);
            (void)rig.burst(static_cast<uint16_t>(random() % 6));
        }
        faults.insert(rig.queue.fault);
        for (const auto& [name, count] : rig.changes())
            moved.insert(name);
        rig.memory.violations().clear(); // the fake's own account of it is meaningless
    }
    EXPECT_EQ(faults, (std::set{RingFault::None, RingFault::IndexLeap, RingFault::UnknownId,
                                RingFault::NotInFlight}));
    // All but too_large: eight buffers do not hold that much.
    EXPECT_EQ(moved,
              (std::set<std::string>{"packets", "bytes", "header_anomalies", "drop_short",
                                     "drop_over_long", "drop_partial_segment", "drop_num_buffers",
                                     "drop_no_scatter", "drop_incomplete"}));
}

} // namespace
} // namespace fit
