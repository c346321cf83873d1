// What the split ring writes, byte for byte (VIRTIO 1.3, 2.7), and what it answers about single
// steps.
#include "virtq/split_ring.hpp"

#include <gtest/gtest.h>

#include <array>

#include "split_rig.hpp"

namespace fit {
namespace {

using Bytes = std::vector<uint8_t>;

// Offsets in the block of a ring of four entries: 64 bytes of descriptors, then each area on a line
// of its own.
constexpr size_t kDriverArea = 64;
constexpr size_t kAvailIndex = kDriverArea + 2;
constexpr size_t kAvailRing = kDriverArea + 4;
constexpr size_t kDeviceArea = 128;
constexpr size_t kBlock = 192;

TEST(SplitLayout, SPL_01_areas_are_aligned_and_do_not_overlap)
{
    struct Expected {
        uint16_t size;
        size_t driver_area, device_area, bytes;
    };
    // 16Q, 6 + 2Q and 6 + 8Q bytes, each rounded up to 64.
    for (const Expected& e :
         {Expected{1, 64, 128, 192}, Expected{4, 64, 128, 192}, Expected{256, 4096, 4672, 6784},
          Expected{1024, 16384, 18496, 26752}, Expected{32768, 524288, 589888, 852096}}) {
        const SplitLayout layout{e.size};
        EXPECT_EQ(layout.driver_area(), e.driver_area) << e.size;
        EXPECT_EQ(layout.device_area(), e.device_area) << e.size;
        EXPECT_EQ(layout.bytes(), e.bytes) << e.size;
        SplitRig rig(e.size);
        EXPECT_EQ(rig.memory.violations().report(), "") << e.size;
    }
}

TEST(SplitLayout, SPL_02_sizes_are_powers_of_two_up_to_32768)
{
    for (uint32_t size : {1U, 2U, 4U, 256U, 32768U})
        EXPECT_TRUE(SplitLayout::valid_size(size)) << size;
    for (uint32_t size : {0U, 3U, 255U, 257U, 32767U, 65536U, 0x8000'0000U})
        EXPECT_FALSE(SplitLayout::valid_size(size)) << size;
}

TEST(SplitRing, SPL_03_SPL_17_attach_zeroes_the_ring_and_asks_for_no_interrupt)
{
    SplitRig rig(4);
    Bytes expected(kBlock, 0);
    expected[kDriverArea] = 1; // avail.flags: NO_INTERRUPT
    EXPECT_EQ(rig.bytes(0, kBlock), expected);
    EXPECT_EQ(rig.ring.size(), 4);
    EXPECT_EQ(rig.ring.free_descriptors(), 4);
    EXPECT_EQ(rig.ring.outstanding(), 0);
    EXPECT_EQ(rig.ring.used_ready(), 0U);
}

TEST(SplitRing, SPL_08_writable_buffer_bytes)
{
    SplitRig rig(4);
    EXPECT_EQ(rig.ring.make_available<DescFlag::Write>({0x0102'0304'0506'0708, 0x0a0b'0c0d}), 0);
    EXPECT_EQ(rig.ring.make_available<DescFlag::Write>({0xf1f2'f3f4'f5f6'f7f8, 0x0000'0600}), 1);

    EXPECT_EQ(rig.bytes(0, 64),
              (Bytes{8, 7, 6, 5,    4,    3,    2,    1,    0x0d, 0x0c, 0x0b, 0x0a, 2,
                     0, 0, 0, 0xf8, 0xf7, 0xf6, 0xf5, 0xf4, 0xf3, 0xf2, 0xf1, 0,    6,
                     0, 0, 2, 0,    0,    0,    0,    0,    0,    0,    0,    0,    0,
                     0, 0, 0, 0,    0,    0,    0,    0,    0,    0,    0,    0,    0,
                     0, 0, 0, 0,    0,    0,    0,    0,    0,    0,    0,    0}));
    EXPECT_EQ(rig.bytes(kAvailRing, 8), (Bytes{0, 0, 1, 0, 0, 0, 0, 0}));
    EXPECT_EQ(rig.ring.free_descriptors(), 2);
    EXPECT_EQ(rig.ring.outstanding(), 2);
}

TEST(SplitRing, SPL_21_nothing_is_visible_before_publish)
{
    SplitRig rig(4);
    const fake::GuestMemory::Block buffer = rig.memory.allocate(64);
    rig.ring.make_available<DescFlag::Write>({buffer.device, 64});
    EXPECT_EQ(rig.bytes(kAvailIndex, 2), (Bytes{0, 0}));
    EXPECT_FALSE(rig.device.next_available().has_value());

    rig.ring.publish();
    EXPECT_EQ(rig.bytes(kAvailIndex, 2), (Bytes{1, 0}));
    EXPECT_EQ(rig.device.next_available()->segments,
              (std::vector<fake::Segment>{{buffer.device, 64, true}}));
    EXPECT_EQ(rig.memory.violations().report(), "");
}

TEST(SplitRing, SPL_05_single_readable_buffer_takes_one_descriptor)
{
    SplitRig rig(4);
    EXPECT_EQ(rig.ring.make_available<DescFlag::None>({0x1000, 60}), 0);
    EXPECT_EQ(rig.bytes(8, 8), (Bytes{60, 0, 0, 0, 0, 0, 0, 0}));
    EXPECT_EQ(rig.ring.free_descriptors(), 3);
}

TEST(SplitRing, SPL_07_chain_bytes)
{
    SplitRig rig(4);
    const std::array<Piece, 3> pieces = {Piece{0x11, 12}, Piece{0x2200, 0x100},
                                         Piece{0x33'0000, 0x10000}};
    EXPECT_EQ(rig.ring.make_available(pieces), 0);
    EXPECT_EQ(rig.bytes(0, 48),
              (Bytes{0x11, 0,    0,    0, 0, 0, 0, 0, 12, 0, 0, 0, 1, 0, 1, 0,    // NEXT, 1
                     0,    0x22, 0,    0, 0, 0, 0, 0, 0,  1, 0, 0, 1, 0, 2, 0,    // NEXT, 2
                     0,    0,    0x33, 0, 0, 0, 0, 0, 0,  0, 1, 0, 0, 0, 0, 0})); // last
    EXPECT_EQ(rig.bytes(kAvailRing, 8), (Bytes{0, 0, 0, 0, 0, 0, 0, 0}));
    EXPECT_EQ(rig.ring.free_descriptors(), 1);
    EXPECT_EQ(rig.ring.outstanding(), 1); // buffers, not descriptors
}

TEST(SplitRing, SPL_09_chain_is_built_from_the_ids_that_came_back)
{
    SplitRig rig(4);
    const fake::GuestMemory::Block buffer = rig.memory.allocate(256);
    for (int i = 0; i < 3; ++i)
        rig.ring.make_available<DescFlag::None>({buffer.device, 16});
    rig.ring.publish();
    while (rig.device.next_available()) {
    }
    rig.device.use(2, 0);
    rig.device.use(0, 0);
    ASSERT_EQ(rig.ring.used_ready(), 2U);
    rig.ring.release(static_cast<uint16_t>(rig.ring.used_at(0).id));
    rig.ring.release(static_cast<uint16_t>(rig.ring.used_at(1).id));
    rig.ring.consume(2);

    // Free in this order: 3, 2, 0; slot 1 is in flight.
    const std::array<Piece, 3> pieces = {Piece{buffer.device, 1}, Piece{buffer.device + 1, 2},
                                         Piece{buffer.device + 3, 3}};
    EXPECT_EQ(rig.ring.make_available(pieces), 3);
    rig.ring.publish();
    EXPECT_EQ(rig.bytes(48 + 8, 8), (Bytes{1, 0, 0, 0, 1, 0, 2, 0}));
    EXPECT_EQ(rig.bytes(32 + 8, 8), (Bytes{2, 0, 0, 0, 1, 0, 0, 0}));
    EXPECT_EQ(rig.bytes(0 + 8, 8), (Bytes{3, 0, 0, 0, 0, 0, 0, 0}));
    EXPECT_EQ(rig.bytes(kAvailIndex, 10), (Bytes{4, 0, 0, 0, 1, 0, 2, 0, 3, 0}));
    EXPECT_EQ(rig.ring.free_descriptors(), 0);

    ASSERT_EQ(rig.device.next_available()->head, 3);
    rig.device.use(3, 0);
    EXPECT_EQ(rig.ring.used_ready(), 1U);
    rig.ring.release(3, 3);
    rig.ring.consume(1);
    EXPECT_EQ(rig.ring.free_descriptors(), 3);
    EXPECT_EQ(rig.ring.make_available<DescFlag::None>({buffer.device, 1}), 3);
    EXPECT_EQ(rig.ring.make_available<DescFlag::None>({buffer.device, 1}), 2);
    EXPECT_EQ(rig.ring.make_available<DescFlag::None>({buffer.device, 1}), 0);
    EXPECT_EQ(rig.memory.violations().report(), "");
}

TEST(SplitRing, SPL_11_available_ring_keeps_its_bytes_from_lap_to_lap_while_completion_is_in_order)
{
    SplitRig rig(4);
    const fake::GuestMemory::Block buffer = rig.memory.allocate(64);
    for (uint16_t i = 0; i < 12; ++i) {
        EXPECT_EQ(rig.ring.make_available<DescFlag::Write>({buffer.device, 64}), i % 4);
        rig.ring.publish();
        ASSERT_EQ(rig.device.next_available()->head, i % 4);
        rig.device.use(i % 4U, 1);
        rig.ring.release(static_cast<uint16_t>(rig.ring.used_at(0).id));
        rig.ring.consume(1);
    }
    EXPECT_EQ(rig.bytes(kAvailIndex, 10), (Bytes{12, 0, 0, 0, 1, 0, 2, 0, 3, 0}));
    EXPECT_EQ(rig.memory.violations().report(), "");
}

TEST(SplitRing, used_elements_are_read_in_the_order_of_the_ring_and_only_once_counted)
{
    SplitRig rig(4);
    const fake::GuestMemory::Block buffer = rig.memory.allocate(0x1'0000);
    for (int i = 0; i < 4; ++i)
        rig.ring.make_available<DescFlag::Write>({buffer.device, 0x1'0000});
    rig.ring.publish();
    while (rig.device.next_available()) {
    }
    rig.device.use(std::array{fake::Used{3, 0x1'0000}, fake::Used{1, 0}, fake::Used{2, 0x0102}});

    ASSERT_EQ(rig.ring.used_ready(), 3U);
    EXPECT_EQ(rig.ring.used_at(0).id, 3U);
    EXPECT_EQ(rig.ring.used_at(0).length, 0x1'0000U);
    EXPECT_EQ(rig.ring.used_at(1).id, 1U);
    EXPECT_EQ(rig.ring.used_at(1).length, 0U);
    EXPECT_EQ(rig.ring.used_at(2).id, 2U);
    EXPECT_EQ(rig.ring.used_at(2).length, 0x0102U);
    rig.ring.consume(2);
    EXPECT_EQ(rig.ring.used_ready(), 1U);
    EXPECT_EQ(rig.ring.used_at(0).id, 2U);
    EXPECT_EQ(rig.ring.used_index(), 2);
    EXPECT_EQ(rig.ring.outstanding(), 2);
}

TEST(SplitRing, SPL_18_SPL_19_SPL_20_notifies_by_used_flags_alone)
{
    SplitRig rig(4);
    EXPECT_TRUE(rig.ring.should_notify());
    for (uint16_t event :
         {uint16_t{0}, uint16_t{1}, uint16_t{3}, uint16_t{0x8000}, uint16_t{0xffff}}) {
        rig.device.set_avail_event(event);
        rig.device.set_no_notify(true);
        EXPECT_FALSE(rig.ring.should_notify()) << event;
        rig.device.set_no_notify(false);
        EXPECT_TRUE(rig.ring.should_notify()) << event;
    }
}

TEST(SplitRing, attach_starts_over)
{
    SplitRig rig(4);
    const fake::GuestMemory::Block buffer = rig.memory.allocate(64);
    for (int i = 0; i < 3; ++i)
        rig.ring.make_available<DescFlag::Write>({buffer.device, 64});
    rig.ring.publish();
    rig.device.poll();
    rig.device.use_unchecked(1, 5);
    rig.ring.release(1);
    rig.ring.consume(1);

    rig.ring.attach(rig.layout, rig.shared.driver, rig.priv.data());
    Bytes expected(kBlock, 0);
    expected[kDriverArea] = 1;
    EXPECT_EQ(rig.bytes(0, kBlock), expected);
    EXPECT_EQ(rig.ring.free_descriptors(), 4);
    EXPECT_EQ(rig.ring.available_index(), 0);
    EXPECT_EQ(rig.ring.used_index(), 0);
    for (uint16_t id = 0; id < 4; ++id)
        EXPECT_EQ(rig.ring.make_available<DescFlag::Write>({buffer.device, 64}), id);
    rig.ring.publish();
    EXPECT_EQ(rig.bytes(kAvailIndex, 10), (Bytes{4, 0, 0, 0, 1, 0, 2, 0, 3, 0}));
}

} // namespace
} // namespace fit
