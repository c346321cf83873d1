// Each thing that the fake device can hold against a driver, provoked once.
#include <gtest/gtest.h>

#include "fake/split_device.hpp"
#include "hand_made_ring.hpp"

namespace fit::fake {
namespace {

// Descriptor `slot`, 16 bytes long at the start of the buffer.
void put_descriptor(HandMadeRing& ring, size_t slot, uint8_t flags, uint8_t next)
{
    ring.put(ring.descriptor, 16 * slot,
             {0x00, 0xa7, 0xa6, 0xa5, 0xa4, 0xa3, 0xa2, 0xa1, 0x10, 0, 0, 0, flags, 0, next, 0});
}

std::string report_of(HandMadeRing& ring)
{
    SplitDevice device(ring.memory, ring.areas());
    device.poll();
    return ring.memory.violations().report();
}

TEST(FakeViolations, queue_size_is_not_a_power_of_two)
{
    for (uint16_t size : {uint16_t{0}, uint16_t{3}, uint16_t{65535}}) {
        HandMadeRing ring;
        SplitAreas areas = ring.areas();
        areas.size = size;
        SplitDevice device(ring.memory, areas);
        EXPECT_TRUE(device.broken());
        EXPECT_EQ(ring.memory.violations().report(),
                  "SPL_02: queue size " + std::to_string(size) + "\n");
    }
}

TEST(FakeViolations, misaligned_areas)
{
    HandMadeRing ring;
    SplitAreas areas = ring.areas();
    areas.descriptor += 8;
    areas.driver += 1;
    areas.device += 2;
    SplitDevice device(ring.memory, areas);
    EXPECT_EQ(ring.memory.violations().report(), "SPL_01: descriptor area is not aligned to 16\n"
                                                 "SPL_01: driver area is not aligned to 2\n"
                                                 "SPL_01: device area is not aligned to 4\n");
    EXPECT_TRUE(device.broken());
    EXPECT_FALSE(device.next_available().has_value());
}

TEST(FakeViolations, used_ring_not_zeroed_at_hand_over)
{
    HandMadeRing ring;
    ring.put(ring.device, 0, {0x01, 0x00});
    ring.put(ring.device, 37, {0x01});
    EXPECT_EQ(report_of(ring), "SPL_17: used.flags is not 0 at hand-over\n"
                               "SPL_03: the used ring is not zeroed at hand-over\n");
}

TEST(FakeViolations, readable_after_writable)
{
    HandMadeRing ring;
    put_descriptor(ring, 0, 0x03, 1);
    put_descriptor(ring, 1, 0x00, 0);
    ring.put(ring.driver, 2, {0x01, 0x00, 0x00, 0x00});
    EXPECT_EQ(report_of(ring), "SPL_04: descriptor 1 is readable after a writable one\n");
}

TEST(FakeViolations, chain_longer_than_2_to_the_32)
{
    HandMadeRing ring;
    ring.put(ring.descriptor, 0, {0, 0, 0, 0, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff, 0x01, 0, 1, 0});
    ring.put(ring.descriptor, 16, {0, 0, 0, 0, 0, 0, 0, 1, 0x02, 0, 0, 0, 0x00, 0, 0, 0});
    ring.put(ring.driver, 2, {0x01, 0x00, 0x00, 0x00});
    std::vector<std::byte> nothing(1);
    ring.memory.add_region(nothing.data(), uint64_t{1} << 56,
                           uint64_t{1} << 33); // translated, never touched
    EXPECT_EQ(report_of(ring), "SPL_06: chain 0 is longer than 2^32 bytes\n");
}

TEST(FakeViolations, loop)
{
    HandMadeRing ring;
    put_descriptor(ring, 0, 0x01, 1);
    put_descriptor(ring, 1, 0x01, 2);
    put_descriptor(ring, 2, 0x01, 1);
    ring.put(ring.driver, 2, {0x01, 0x00, 0x00, 0x00});
    EXPECT_EQ(report_of(ring), "SPL_07: chain 0 at descriptor 1 loops\n");
}

TEST(FakeViolations, reserved_flags_zero_length_and_next_out_of_range)
{
    HandMadeRing ring;
    put_descriptor(ring, 0, 0x0a, 0);
    put_descriptor(ring, 1, 0x02, 0);
    ring.put(ring.descriptor, 16 + 8, {0x00});
    put_descriptor(ring, 2, 0x02, 9); // next without NEXT means nothing
    put_descriptor(ring, 3, 0x01, 4);
    ring.put(ring.driver, 2, {0x04, 0x00, 0, 0, 1, 0, 2, 0, 3, 0});
    EXPECT_EQ(report_of(ring), "SPL_08: descriptor 0 has reserved flags 10\n"
                               "SPL_08: descriptor 1 has length 0\n"
                               "SPL_08: next of descriptor 3 is 4\n");
}

TEST(FakeViolations, indirect_descriptor)
{
    HandMadeRing ring;
    put_descriptor(ring, 0, 0x04, 0);
    ring.put(ring.driver, 2, {0x01, 0x00, 0x00, 0x00});
    EXPECT_EQ(report_of(ring), "FEA_01: descriptor 0 is indirect\n");
}

TEST(FakeViolations, head_in_flight_is_made_available_again)
{
    HandMadeRing ring;
    put_descriptor(ring, 1, 0x02, 0);
    ring.put(ring.driver, 2, {0x02, 0x00, 0x01, 0x00, 0x01, 0x00});
    EXPECT_EQ(report_of(ring),
              "SPL_09: chain 1 at descriptor 1 takes a slot that is still in flight\n");
}

TEST(FakeViolations, link_runs_into_a_slot_in_flight)
{
    HandMadeRing ring;
    put_descriptor(ring, 0, 0x02, 0);
    put_descriptor(ring, 1, 0x03, 0);
    ring.put(ring.driver, 2, {0x02, 0x00, 0x00, 0x00, 0x01, 0x00});
    EXPECT_EQ(report_of(ring),
              "SPL_09: chain 1 at descriptor 0 takes a slot that is still in flight\n");
}

TEST(FakeViolations, available_index_leaps_or_goes_back)
{
    HandMadeRing leap;
    leap.put(leap.driver, 2, {0x05, 0x00});
    EXPECT_EQ(report_of(leap), "SPL_10: available index went from 0 to 5\n");

    HandMadeRing back;
    back.make_one_writable_available();
    SplitDevice device(back.memory, back.areas());
    device.poll();
    EXPECT_EQ(back.memory.violations().report(), "");
    back.put(back.driver, 2, {0x00, 0x00});
    device.poll();
    EXPECT_EQ(back.memory.violations().report(), "SPL_10: available index went from 1 to 0\n");
    EXPECT_TRUE(device.broken());
}

TEST(FakeViolations, head_out_of_range)
{
    HandMadeRing ring;
    ring.put(ring.driver, 2, {0x01, 0x00, 0x04, 0x00});
    EXPECT_EQ(report_of(ring), "SPL_11: available element 0 names descriptor 4\n");
}

TEST(FakeViolations, avail_flags_have_another_bit)
{
    HandMadeRing ring;
    SplitDevice device(ring.memory, ring.areas());
    ring.put(ring.driver, 0, {0x00, 0x01});
    EXPECT_EQ(device.available_flags(), 256);
    EXPECT_EQ(ring.memory.violations().report(), "SPL_12: avail.flags is 256\n");
}

TEST(FakeViolations, driver_writes_the_device_area)
{
    HandMadeRing ring;
    SplitDevice device(ring.memory, ring.areas());
    ring.put(ring.device, 37, {0x01});
    device.check_device_area();
    EXPECT_EQ(ring.memory.violations().report(), "SPL_25: the driver wrote into the device area\n");
}

TEST(FakeViolations, descriptor_changes_while_in_flight)
{
    HandMadeRing ring;
    ring.make_one_writable_available();
    SplitDevice device(ring.memory, ring.areas());
    ASSERT_TRUE(device.next_available().has_value());
    ring.put(ring.descriptor, 14, {0x01});
    device.use(0, 0);
    EXPECT_EQ(ring.memory.violations().report(), "GEN_31: descriptor 0 changed while in flight\n");
}

TEST(FakeViolations, address_that_the_device_cannot_reach)
{
    HandMadeRing ring;
    ring.make_one_writable_available();
    ring.put(ring.descriptor, 0, {0xe1}); // 225 + 32 > 256
    EXPECT_EQ(report_of(ring), "MEMORY: the device cannot reach 0xa1a2a3a4a5a6a7e1 + 32\n");
}

} // namespace
} // namespace fit::fake
