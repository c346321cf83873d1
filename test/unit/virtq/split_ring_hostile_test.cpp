// A device that writes what no device may write. The ring reports it or stays unaffected, and reads
// nothing outside.
#include <gtest/gtest.h>

#include <array>

#include "split_rig.hpp"

namespace fit {
namespace {

struct HostileRig : SplitRig {
    explicit HostileRig(uint16_t size = 8) : SplitRig(size), buffer(memory.allocate(4096)) {}

    void make_available(unsigned n)
    {
        for (unsigned i = 0; i < n; ++i)
            ring.make_available<DescFlag::Write>({buffer.device, 64});
        ring.publish();
        device.poll();
    }

    fake::GuestMemory::Block buffer;
};

TEST(SplitRingHostile, SPL_16_index_leap_is_a_fault_at_exactly_one_more_than_outstanding)
{
    HostileRig rig;
    rig.make_available(5);
    for (uint16_t ready = 0; ready <= 5; ++ready) {
        rig.device.set_used_index(ready);
        EXPECT_EQ(rig.ring.used_ready(), ready);
    }
    for (uint16_t index :
         {uint16_t{6}, uint16_t{8}, uint16_t{9}, uint16_t{0x7fff}, uint16_t{0x8000}}) {
        rig.device.set_used_index(index);
        EXPECT_EQ(rig.ring.used_ready(), kIndexFault) << index;
    }
}

TEST(SplitRingHostile, SPL_16_index_that_goes_back_is_a_fault)
{
    HostileRig rig;
    rig.make_available(5);
    rig.device.set_used_index(0xffff);
    EXPECT_EQ(rig.ring.used_ready(), kIndexFault);

    rig.device.set_used_index(3);
    ASSERT_EQ(rig.ring.used_ready(), 3U);
    rig.ring.consume(3);
    rig.device.set_used_index(2);
    EXPECT_EQ(rig.ring.used_ready(), kIndexFault);
    rig.device.set_used_index(5);
    EXPECT_EQ(rig.ring.used_ready(), 2U);
}

TEST(SplitRingHostile, SPL_16_index_moves_although_nothing_is_outstanding)
{
    HostileRig rig;
    rig.device.set_used_index(1);
    EXPECT_EQ(rig.ring.used_ready(), kIndexFault);
}

TEST(SplitRingHostile, SPL_16_leap_is_a_fault_beyond_the_index_wrap_too)
{
    HostileRig rig(2);
    for (uint32_t i = 0; i < 65'535; ++i) {
        rig.make_available(1);
        rig.device.use_unchecked(i % 2, 1);
        ASSERT_EQ(rig.ring.used_ready(), 1U) << i;
        rig.ring.release(static_cast<uint16_t>(rig.ring.used_at(0).id));
        rig.ring.consume(1);
    }
    rig.make_available(2); // available index 1, used index 65535
    EXPECT_EQ(rig.ring.outstanding(), 2);
    rig.device.set_used_index(0);
    EXPECT_EQ(rig.ring.used_ready(), 1U);
    rig.device.set_used_index(1);
    EXPECT_EQ(rig.ring.used_ready(), 2U);
    rig.device.set_used_index(2);
    EXPECT_EQ(rig.ring.used_ready(), kIndexFault);
    rig.device.set_used_index(65'534);
    EXPECT_EQ(rig.ring.used_ready(), kIndexFault);
}

TEST(SplitRingHostile, SPL_16_ids_and_lengths_are_handed_up_as_they_are)
{
    HostileRig rig;
    rig.make_available(4);
    rig.device.poke_used(0, 0xffff'ffff, 0);
    rig.device.poke_used(1, 8, 0xffff'ffff);        // first id out of range
    rig.device.poke_used(2, 0x1'0000, 0x8000'0000); // id 0 when cut to 16 bits
    rig.device.poke_used(3, 2, 65);                 // one byte more than posted
    rig.device.set_used_index(4);
    ASSERT_EQ(rig.ring.used_ready(), 4U);
    EXPECT_EQ(rig.ring.used_at(0).id, 0xffff'ffffU);
    EXPECT_EQ(rig.ring.used_at(1).id, 8U);
    EXPECT_EQ(rig.ring.used_at(1).length, 0xffff'ffffU);
    EXPECT_EQ(rig.ring.used_at(2).id, 0x1'0000U);
    EXPECT_EQ(rig.ring.used_at(2).length, 0x8000'0000U);
    EXPECT_EQ(rig.ring.used_at(3).id, 2U);
    EXPECT_EQ(rig.ring.used_at(3).length, 65U);
    // Looking ahead further than anything is ready stays inside the ring.
    EXPECT_EQ(rig.ring.used_at(0xffff).id, 0U);
}

TEST(SplitRingHostile, scribbled_descriptors_change_neither_chains_nor_free_ids)
{
    for (uint64_t seed = 1; seed <= 100; ++seed) {
        HostileRig rig;
        const std::array<Piece, 3> three = {
            Piece{rig.buffer.device, 1}, Piece{rig.buffer.device, 2}, Piece{rig.buffer.device, 3}};
        ASSERT_EQ(rig.ring.make_available(three), 0);
        ASSERT_EQ(rig.ring.make_available(three), 3);
        rig.ring.publish();
        rig.device.poll();
        rig.device.scribble_descriptors(seed);
        rig.device.use_unchecked(std::array{fake::Used{3, 0}, fake::Used{0, 0}});

        ASSERT_EQ(rig.ring.used_ready(), 2U);
        rig.ring.release(3, 3);
        rig.ring.release(0, 3);
        rig.ring.consume(2);
        EXPECT_EQ(rig.ring.free_descriptors(), 8);
        for (uint16_t id : {uint16_t{6}, uint16_t{7}, uint16_t{3}, uint16_t{4}, uint16_t{5},
                            uint16_t{0}, uint16_t{1}, uint16_t{2}})
            EXPECT_EQ(rig.ring.make_available<DescFlag::Write>({rig.buffer.device, 64}), id);
        rig.ring.publish();
        rig.device.poll();
        EXPECT_EQ(rig.device.available(), 8U);
        EXPECT_EQ(rig.memory.violations().report(), "");
    }
}

TEST(SplitRingHostile, SPL_25_driver_leaves_the_device_area_alone_whatever_it_holds)
{
    HostileRig rig;
    rig.device.set_avail_event(0xa5a5);
    rig.device.set_no_notify(true);
    for (uint16_t i = 0; i < 8; ++i)
        rig.device.poke_used(i, 0xa5a5'a5a5, 0x5a5a'5a5a);
    rig.make_available(8);
    EXPECT_FALSE(rig.ring.should_notify());
    EXPECT_EQ(rig.ring.used_ready(), 0U);
    rig.device.check_device_area();
    EXPECT_EQ(rig.memory.violations().report(), "");
}

} // namespace
} // namespace fit
