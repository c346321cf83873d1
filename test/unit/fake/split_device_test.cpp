#include "fake/split_device.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "hand_made_ring.hpp"

namespace fit::fake {
namespace {

constexpr uint64_t kBuffer = HandMadeRing::kBuffer;

TEST(FakeSplitDevice, area_bytes_follow_the_tables)
{
    EXPECT_EQ(descriptor_area_bytes(256), 4096U);
    EXPECT_EQ(driver_area_bytes(256), 518U);
    EXPECT_EQ(device_area_bytes(256), 2054U);
}

TEST(FakeSplitDevice, decodes_one_descriptor)
{
    HandMadeRing ring;
    ring.make_one_writable_available();
    SplitDevice device(ring.memory, ring.areas());

    const std::optional<Chain> chain = device.next_available();
    ASSERT_TRUE(chain.has_value());
    EXPECT_EQ(chain->head, 0);
    EXPECT_EQ(chain->segments, (std::vector<Segment>{{kBuffer, 32, true}}));
    EXPECT_EQ(chain->writable_bytes(), 32U);
    EXPECT_EQ(chain->readable_bytes(), 0U);
    EXPECT_EQ(device.in_flight(), 1U);
    EXPECT_FALSE(device.next_available().has_value());
    EXPECT_EQ(ring.memory.violations().report(), "");
}

TEST(FakeSplitDevice, decodes_a_chain_that_hops_through_the_table)
{
    HandMadeRing ring;
    // 3 -> 0 -> 2: 12 bytes readable, 16 bytes readable, 5 bytes writable. Slot 2 has no NEXT: its
    // next (1) is void.
    ring.put(
        ring.descriptor, 48,
        {0x00, 0xa7, 0xa6, 0xa5, 0xa4, 0xa3, 0xa2, 0xa1, 0x0c, 0, 0, 0, 0x01, 0x00, 0x00, 0x00});
    ring.put(
        ring.descriptor, 0,
        {0x0c, 0xa7, 0xa6, 0xa5, 0xa4, 0xa3, 0xa2, 0xa1, 0x10, 0, 0, 0, 0x01, 0x00, 0x02, 0x00});
    ring.put(
        ring.descriptor, 32,
        {0x40, 0xa7, 0xa6, 0xa5, 0xa4, 0xa3, 0xa2, 0xa1, 0x05, 0, 0, 0, 0x02, 0x00, 0x01, 0x00});
    ring.put(ring.driver, 0, {0x00, 0x00, 0x01, 0x00, 0x03, 0x00});
    SplitDevice device(ring.memory, ring.areas());

    const std::optional<Chain> chain = device.next_available();
    ASSERT_TRUE(chain.has_value());
    EXPECT_EQ(chain->head, 3);
    EXPECT_EQ(chain->segments,
              (std::vector<Segment>{
                  {kBuffer, 12, false}, {kBuffer + 12, 16, false}, {kBuffer + 64, 5, true}}));
    EXPECT_EQ(chain->readable_bytes(), 28U);
    EXPECT_EQ(chain->writable_bytes(), 5U);
    EXPECT_EQ(ring.memory.violations().report(), "");
}

TEST(FakeSplitDevice, poll_makes_chains_peekable_in_ring_order)
{
    HandMadeRing ring;
    for (size_t slot : {size_t{1}, size_t{2}})
        ring.put(ring.descriptor, 16 * slot,
                 {0x00, 0xa7, 0xa6, 0xa5, 0xa4, 0xa3, 0xa2, 0xa1, static_cast<uint8_t>(slot), 0, 0,
                  0, 2, 0, 0, 0});
    ring.put(ring.driver, 2, {0x02, 0x00, 0x02, 0x00, 0x01, 0x00});
    SplitDevice device(ring.memory, ring.areas());
    EXPECT_EQ(device.available(), 0U);

    device.poll();
    ASSERT_EQ(device.available(), 2U);
    EXPECT_EQ(device.available_index(), 2);
    EXPECT_EQ(device.peek(0).head, 2);
    EXPECT_EQ(device.peek(1).head, 1);
    EXPECT_EQ(device.next_available()->head, 2);
    EXPECT_EQ(device.available(), 1U);
    EXPECT_EQ(device.in_flight(), 2U);
}

TEST(FakeSplitDevice, use_writes_element_and_index_bytes)
{
    HandMadeRing ring;
    // Heads 3 and 1, 0x1234 bytes would not fit: 0x20 each.
    for (size_t slot : {size_t{1}, size_t{3}})
        ring.put(ring.descriptor, 16 * slot,
                 {0x00, 0xa7, 0xa6, 0xa5, 0xa4, 0xa3, 0xa2, 0xa1, 0x20, 0, 0, 0, 0x02, 0, 0, 0});
    ring.put(ring.driver, 2, {0x02, 0x00, 0x03, 0x00, 0x01, 0x00});
    SplitDevice device(ring.memory, ring.areas());
    EXPECT_EQ(device.next_available()->head, 3);
    EXPECT_EQ(device.next_available()->head, 1);

    device.use(1, 0x1f); // out of order
    std::array<uint8_t, 38> expected{};
    HandMadeRing::put(expected, 2, {0x01, 0x00, 0x01, 0, 0, 0, 0x1f, 0, 0, 0});
    EXPECT_EQ(ring.device, expected);

    device.use(3, 0x20);
    HandMadeRing::put(expected, 2, {0x02, 0x00});
    HandMadeRing::put(expected, 12, {0x03, 0, 0, 0, 0x20, 0, 0, 0});
    EXPECT_EQ(ring.device, expected);
    EXPECT_EQ(device.in_flight(), 0U);
    EXPECT_EQ(ring.memory.violations().report(), "");
}

TEST(FakeSplitDevice, batch_is_written_whole_and_the_slot_may_be_made_available_again)
{
    HandMadeRing ring;
    for (size_t slot = 0; slot < 4; ++slot)
        ring.put(ring.descriptor, 16 * slot,
                 {0x00, 0xa7, 0xa6, 0xa5, 0xa4, 0xa3, 0xa2, 0xa1, 0x20, 0, 0, 0, 0x02, 0, 0, 0});
    ring.put(ring.driver, 2, {0x04, 0x00, 0, 0, 1, 0, 2, 0, 3, 0});
    SplitDevice device(ring.memory, ring.areas());
    while (device.next_available()) {
    }

    device.use(std::array{Used{2, 7}, Used{0, 8}, Used{3, 9}});
    std::array<uint8_t, 38> expected{};
    HandMadeRing::put(expected, 2, {3, 0, 2, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0,
                                    0, 8, 0, 0, 0, 3, 0, 0, 0, 9, 0, 0, 0});
    EXPECT_EQ(ring.device, expected);

    // Index 4 lies in element 0 again; it names head 2, which was completed.
    ring.put(ring.driver, 2, {0x05, 0x00, 0x02, 0x00});
    EXPECT_EQ(device.next_available()->head, 2);
    device.use(std::array{Used{1, 1}, Used{2, 2}});
    // Used index 3 in element 3, used index 4 in element 0.
    HandMadeRing::put(expected, 2, {5, 0, 2, 0, 0, 0, 2, 0, 0, 0});
    HandMadeRing::put(expected, 28, {1, 0, 0, 0, 1, 0, 0, 0});
    EXPECT_EQ(ring.device, expected);
    EXPECT_EQ(ring.memory.violations().report(), "");
}

TEST(FakeSplitDevice, indices_run_on_across_65536)
{
    HandMadeRing ring;
    ring.put(ring.descriptor, 32,
             {0x00, 0xa7, 0xa6, 0xa5, 0xa4, 0xa3, 0xa2, 0xa1, 1, 0, 0, 0, 2, 0, 0, 0});
    for (size_t element = 0; element < 4; ++element)
        ring.put(ring.driver, 4 + 2 * element, {0x02, 0x00});
    SplitDevice device(ring.memory, ring.areas());
    for (uint32_t i = 1; i <= 70'000; ++i) {
        ring.put(ring.driver, 2, {static_cast<uint8_t>(i), static_cast<uint8_t>(i >> 8)});
        ASSERT_TRUE(device.next_available().has_value()) << i;
        device.use(2, i & 1);
    }
    EXPECT_EQ(device.used_index(), 70'000 - 65'536);
    EXPECT_EQ(ring.device[2], 0x70); // 4464 = 0x1170
    EXPECT_EQ(ring.device[3], 0x11);
    EXPECT_EQ(ring.memory.violations().report(), "");
}

TEST(FakeSplitDevice, finds_the_areas_by_device_address)
{
    HandMadeRing ring;
    ring.make_one_writable_available();
    ring.memory.add_region(ring.bytes(ring.descriptor), 0x1000, 64);
    ring.memory.add_region(ring.bytes(ring.driver), 0x2000, 14);
    ring.memory.add_region(ring.bytes(ring.device), 0x3000, 38);

    SplitDevice device = SplitDevice::at_device_addresses(ring.memory, 0x1000, 0x2000, 0x3000, 4);
    EXPECT_EQ(device.next_available()->head, 0);
    device.use(0, 1);
    EXPECT_EQ(ring.device[2], 1);
    EXPECT_EQ(ring.memory.violations().report(), "");

    SplitDevice lost = SplitDevice::at_device_addresses(ring.memory, 0x1000, 0x2000, 0x3004, 4);
    EXPECT_TRUE(lost.broken());
    EXPECT_FALSE(lost.next_available().has_value());
    EXPECT_EQ(ring.memory.violations().report(), "MEMORY: the device cannot reach 0x3004 + 38\n");
}

TEST(FakeSplitDevice, flag_words_lie_where_the_tables_say)
{
    HandMadeRing ring;
    SplitDevice device(ring.memory, ring.areas());
    std::array<uint8_t, 38> expected{};

    device.set_no_notify(true);
    HandMadeRing::put(expected, 0, {0x01, 0x00});
    EXPECT_EQ(ring.device, expected);
    device.set_avail_event(0xbeef);
    HandMadeRing::put(expected, 36, {0xef, 0xbe});
    EXPECT_EQ(ring.device, expected);
    device.set_no_notify(false);
    HandMadeRing::put(expected, 0, {0x00, 0x00});
    EXPECT_EQ(ring.device, expected);

    ring.put(ring.driver, 0, {0x01, 0x00});
    EXPECT_EQ(device.available_flags(), 1);
    device.check_device_area();
    EXPECT_EQ(ring.memory.violations().report(), "");
}

TEST(FakeSplitDevice, counts_interrupts_by_avail_flags)
{
    HandMadeRing ring;
    ring.make_one_writable_available();
    SplitDevice device(ring.memory, ring.areas());
    device.set_used_index(1);
    ring.put(ring.driver, 0, {0x01, 0x00});
    device.set_used_index(2);
    device.set_used_index(3);
    EXPECT_EQ(device.interrupts_wanted(), 1U);
    EXPECT_EQ(device.interrupts_suppressed(), 2U);
}

TEST(FakeSplitDevice, hostile_writes_reach_the_ring_unchecked)
{
    HandMadeRing ring;
    ring.make_one_writable_available();
    SplitDevice device(ring.memory, ring.areas());
    std::array<uint8_t, 38> expected{};

    device.poke_used(6, 0xdead'beef, 0xffff'fffe); // element 2
    HandMadeRing::put(expected, 20, {0xef, 0xbe, 0xad, 0xde, 0xfe, 0xff, 0xff, 0xff});
    EXPECT_EQ(ring.device, expected);
    device.set_used_index(0x8003);
    HandMadeRing::put(expected, 2, {0x03, 0x80});
    EXPECT_EQ(ring.device, expected);
    EXPECT_EQ(device.used_index(), 0x8003);

    device.poll();
    EXPECT_EQ(device.available(), 1U);
    device.use_unchecked(
        0, 0x1'0000); // element 3; ends the flight of chain 0, although it was never taken
    HandMadeRing::put(expected, 2, {0x04, 0x80});
    HandMadeRing::put(expected, 28, {0, 0, 0, 0, 0, 0, 1, 0});
    EXPECT_EQ(ring.device, expected);
    EXPECT_EQ(device.in_flight(), 0U);
    EXPECT_EQ(device.available(), 0U);
    device.check_device_area();
    EXPECT_EQ(ring.memory.violations().report(), "");
}

TEST(FakeSplitDevice, scribbling_depends_on_the_seed_only_and_is_not_blamed_on_the_driver)
{
    HandMadeRing first;
    HandMadeRing second;
    first.make_one_writable_available();
    SplitDevice device(first.memory, first.areas());
    ASSERT_TRUE(device.next_available().has_value());
    const std::array<uint8_t, 64> before = first.descriptor;
    device.scribble_descriptors(7);
    SplitDevice(second.memory, second.areas()).scribble_descriptors(7);

    EXPECT_NE(first.descriptor, before);
    EXPECT_EQ(first.descriptor, second.descriptor);
    device.use(0, 0);
    EXPECT_EQ(first.memory.violations().report(), "");
}

TEST(FakeSplitDevice, refuses_completions_that_would_make_the_fake_a_liar)
{
    HandMadeRing ring;
    ring.make_one_writable_available();
    SplitDevice device(ring.memory, ring.areas());
    device.poll();
    EXPECT_THROW(device.use(0, 0), std::logic_error); // not taken
    ASSERT_TRUE(device.next_available().has_value());
    EXPECT_THROW(device.use(4, 0), std::logic_error);
    EXPECT_THROW(device.use(1, 0), std::logic_error);
    EXPECT_THROW(device.use(0, 33), std::logic_error);
    EXPECT_THROW(device.use(std::array{Used{0, 1}, Used{0, 1}}), std::logic_error);
    device.use(0, 32);
    EXPECT_THROW(device.use(0, 32), std::logic_error);
    EXPECT_EQ(device.used_index(), 1);
}

} // namespace
} // namespace fit::fake
