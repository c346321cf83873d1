#include <array>
#include <deque>
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "packed_rig.hpp"

namespace fit {
namespace {

TEST(PackedLayout, PKD_01_PKD_02_areas_are_aligned_and_apart_for_any_size)
{
    for (uint32_t size : {1U, 2U, 7U, 256U, 257U, 1000U, 32768U}) {
        EXPECT_TRUE(PackedLayout::valid_size(size));
        const PackedLayout layout{static_cast<uint16_t>(size)};
        EXPECT_GE(layout.driver_area(), 16 * size);
        EXPECT_EQ(layout.driver_area() % 4, 0U);
        EXPECT_GE(layout.device_area(), layout.driver_area() + 4);
        EXPECT_EQ(layout.device_area() % 4, 0U);
        EXPECT_GE(layout.bytes(), layout.device_area() + 4);
    }
    EXPECT_FALSE(PackedLayout::valid_size(0));
    EXPECT_FALSE(PackedLayout::valid_size(32769));
}

TEST(PackedRing, PKD_03_PKD_25_PKD_26_attach_zeroes_all_and_disables_events)
{
    PackedRig rig(7);
    std::vector<std::byte> expected(rig.layout.bytes());
    expected[rig.layout.driver_area() + 2] = std::byte{1};
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), rig.shared));
    EXPECT_EQ(rig.ring.size(), 7);
    EXPECT_EQ(rig.ring.free_descriptors(), 7);
    EXPECT_EQ(rig.ring.used_ready(), 0U);
    EXPECT_FALSE(rig.ring.front_used());
    EXPECT_TRUE(rig.ring.valid_id(6));
    EXPECT_FALSE(rig.ring.valid_id(7));
}

TEST(PackedRing, PKD_04_PKD_05_PKD_06_flags_of_three_laps)
{
    PackedRig rig(2);
    constexpr std::array<uint16_t, 3> kAvailable = {0x0082, 0x8002, 0x0082};
    constexpr std::array<uint16_t, 3> kUsed = {0x8082, 0x0002, 0x8082};
    for (size_t lap = 0; lap < 3; ++lap) {
        for (uint16_t slot = 0; slot < 2; ++slot) {
            const uint64_t address = 0x0102'0304'0506'0700 + slot;
            EXPECT_EQ(rig.ring.make_available<DescFlag::Write>({address, 0x0a0b'0c0d}), slot);
            rig.ring.publish();
            EXPECT_EQ(rig.address(slot), address);
            EXPECT_EQ(rig.length(slot), 0x0a0b'0c0dU);
            EXPECT_EQ(rig.id(slot), slot);
            EXPECT_EQ(rig.flags(slot), kAvailable[lap]);
        }
        EXPECT_EQ(rig.ring.free_descriptors(), 0);
        EXPECT_EQ(rig.ring.used_ready(), 0U);
        for (uint16_t slot = 0; slot < 2; ++slot)
            rig.use(slot, slot, 100U + slot, kUsed[lap]);
        ASSERT_EQ(rig.ring.used_ready(), 2U);
        EXPECT_EQ(rig.ring.used_at(1).id, 1U);
        EXPECT_EQ(rig.ring.used_at(1).length, 101U);
        rig.ring.release(0);
        rig.ring.release(1);
        rig.ring.consume(2);
        EXPECT_EQ(rig.ring.used_ready(), 0U)
            << "used flags of the last lap say nothing in this one";
    }
}

TEST(PackedRing, PKD_07_PKD_08_chain_over_the_ring_end)
{
    PackedRig rig(5);
    for (uint16_t i = 0; i < 3; ++i)
        (void)rig.ring.make_available<DescFlag::None>({0x1000, 60});
    rig.ring.publish();
    for (uint16_t i = 0; i < 3; ++i)
        rig.use(i, i, 0, 0x8080);
    while (rig.ring.front_used())
        rig.ring.take_back(static_cast<uint16_t>(rig.ring.front_id()), 1);

    const std::array<Piece, 4> pieces = {Piece{0x11, 12}, Piece{0x22, 20}, Piece{0x33, 30},
                                         Piece{0x44, 40}};
    EXPECT_EQ(rig.ring.make_available(pieces), 3);
    rig.ring.publish();
    EXPECT_EQ(rig.flags(3), 0x0081);
    EXPECT_EQ(rig.flags(4), 0x0081);
    EXPECT_EQ(rig.flags(0), 0x8001);
    EXPECT_EQ(rig.flags(1), 0x8000) << "no NEXT in the last one";
    EXPECT_EQ(rig.id(1), 3);
    EXPECT_EQ(rig.address(0), 0x33U);
    EXPECT_EQ(rig.length(1), 40U);
    EXPECT_EQ(rig.ring.free_descriptors(), 1);
}

TEST(PackedRing, PKD_17_PKD_18_head_is_exposed_last)
{
    PackedRig rig(8);
    const std::array<Piece, 2> pieces = {Piece{0x11, 12}, Piece{0x22, 20}};
    EXPECT_FALSE(rig.ring.has_unpublished());
    (void)rig.ring.make_available(pieces);
    (void)rig.ring.make_available<DescFlag::None>({0x33, 30});
    EXPECT_TRUE(rig.ring.has_unpublished());
    EXPECT_EQ(rig.flags(0) & 0x80, 0) << "not available before publish()";
    EXPECT_NE(rig.flags(0) & 0x8080, 0x8080) << "nor used";
    EXPECT_EQ(rig.flags(1), 0x0080) << "what follows is complete";
    EXPECT_EQ(rig.flags(2), 0x0080);
    rig.ring.publish();
    EXPECT_EQ(rig.flags(0), 0x0081);
    EXPECT_FALSE(rig.ring.has_unpublished());
}

TEST(PackedRing, PKD_09_PKD_22_PKD_23_chains_out_of_order_with_junk_in_the_used_descriptors)
{
    PackedRig rig(7);
    const std::array<Piece, 3> three = {Piece{1, 1}, Piece{2, 2}, Piece{3, 3}};
    const std::array<Piece, 2> two = {Piece{4, 4}, Piece{5, 5}};
    EXPECT_EQ(rig.ring.make_available(three), 0);
    EXPECT_EQ(rig.ring.make_available(two), 1);
    EXPECT_EQ(rig.ring.make_available<DescFlag::None>({6, 6}), 2);
    rig.ring.publish();

    rig.use(0, 1, 0xdead'beef, 0x8085); // two slots; NEXT and INDIRECT mean nothing
    ASSERT_TRUE(rig.ring.poll_used());
    ASSERT_TRUE(rig.ring.front_used());
    EXPECT_EQ(rig.ring.front_id(), 1U);
    rig.ring.take_back(1, 2);
    EXPECT_FALSE(rig.ring.front_used()) << "slot 1 was skipped, slot 2 is not used";
    rig.use(2, 2, 7, 0x8080);
    rig.use(3, 0, 7, 0x8081);
    ASSERT_TRUE(rig.ring.front_used());
    EXPECT_EQ(rig.ring.front_id(), 2U);
    rig.ring.take_back(2, 1);
    ASSERT_TRUE(rig.ring.front_used());
    EXPECT_EQ(rig.ring.front_id(), 0U);
    rig.ring.take_back(0, 3);
    EXPECT_EQ(rig.ring.free_descriptors(), 7);
    EXPECT_FALSE(rig.ring.front_used());
}

TEST(PackedRing, PKD_27_first_of_a_unit_is_marked_used_last)
{
    PackedRig rig(4);
    for (int i = 0; i < 3; ++i)
        (void)rig.ring.make_available<DescFlag::Write>({0x1000, 60});
    rig.ring.publish();
    rig.use(2, 2, 60, 0x8080);
    rig.use(1, 1, 60, 0x8080);
    EXPECT_EQ(rig.ring.used_ready(), 0U);
    rig.use(0, 0, 60, 0x8080);
    EXPECT_EQ(rig.ring.used_ready(), 3U);
}

TEST(PackedRing, PKD_24_FEA_18_device_event_flags)
{
    for (const bool event_idx : {false, true}) {
        PackedRig rig(4, {.event_idx = event_idx});
        (void)rig.ring.make_available<DescFlag::None>({0x1000, 60});
        rig.ring.publish();
        constexpr uint16_t kFarAhead = 3 | 0x8000;
        const std::array<bool, 4> wanted = {true, false, !event_idx, true};
        for (uint16_t flags = 0; flags < 4; ++flags) {
            rig.set_device_event(kFarAhead, flags);
            EXPECT_EQ(rig.ring.should_notify(), wanted[flags]) << event_idx << ' ' << flags;
        }
    }
}

TEST(PackedRing, FEA_17_event_position_within_the_exposed_span_and_over_the_ring_end)
{
    PackedRig rig(5, {.event_idx = true});
    for (uint16_t i = 0; i < 3; ++i)
        (void)rig.ring.make_available<DescFlag::None>({0x1000, 60});
    rig.ring.publish();
    for (uint16_t i = 0; i < 3; ++i)
        rig.use(i, i, 0, 0x8080);
    while (rig.ring.front_used())
        rig.ring.take_back(static_cast<uint16_t>(rig.ring.front_id()), 1);
    for (uint16_t i = 0; i < 4; ++i) // slots 3 and 4 with wrap 1, 0 and 1 with wrap 0
        (void)rig.ring.make_available<DescFlag::None>({0x1000, 60});
    rig.ring.publish();

    const std::set<uint16_t> exposed = {3 | 0x8000, 4 | 0x8000, 0, 1};
    for (uint16_t offset = 0; offset < 5; ++offset) {
        for (const uint16_t wrap : {0, 0x8000}) {
            const auto event = static_cast<uint16_t>(offset | wrap);
            rig.set_device_event(event, 2);
            EXPECT_EQ(rig.ring.should_notify(), exposed.contains(event)) << std::hex << event;
        }
    }
}

// The device completes single buffers in random order; `flags` and slots follow the spec's model.
void run_traffic(uint16_t size, bool in_order)
{
    PackedRig rig(size);
    std::mt19937 random(size);
    std::deque<uint16_t> in_flight;
    std::set<uint16_t> ids;
    uint32_t used_slot = 0;
    bool used_wrap = true;
    for (int done = 0; done < 20'000;) {
        for (uint32_t n = random() % (rig.ring.free_descriptors() + 1U); n > 0; --n) {
            const uint16_t id = rig.ring.make_available<DescFlag::Write>({0x1000, 60});
            ASSERT_TRUE(ids.insert(id).second) << "PKD_10: id twice in flight";
            in_flight.push_back(id);
        }
        rig.ring.publish();
        const uint32_t complete = random() % (in_flight.size() + 1);
        std::vector<uint16_t> expected;
        for (uint32_t i = 0; i < complete; ++i) {
            const auto at = in_flight.begin() + (in_order ? 0 : random() % in_flight.size());
            expected.push_back(*at);
            rig.use(used_slot, *at, *at + 1U, used_wrap ? 0x8080 : 0);
            in_flight.erase(at);
            if (++used_slot == size) {
                used_slot = 0;
                used_wrap = !used_wrap;
            }
        }
        ASSERT_EQ(rig.ring.used_ready(), complete);
        for (uint32_t i = 0; i < complete; ++i) {
            ASSERT_EQ(rig.ring.used_at(i).id, expected[i]);
            ASSERT_EQ(rig.ring.used_at(i).length, expected[i] + 1U);
            rig.ring.release(expected[i]);
            ids.erase(expected[i]);
        }
        rig.ring.consume(complete);
        ASSERT_EQ(rig.ring.outstanding(), in_flight.size());
        done += static_cast<int>(complete);
    }
}

TEST(PackedRing, PKD_02_PKD_06_PKD_10_buffers_come_back_once_at_any_size_and_order)
{
    for (const uint16_t size : {1, 3, 16, 257}) {
        run_traffic(size, true);
        run_traffic(size, false);
    }
}

TEST(PackedRing, PKD_11_scribbled_ring_never_gives_more_than_is_outstanding)
{
    PackedRig rig(8);
    for (int i = 0; i < 3; ++i)
        (void)rig.ring.make_available<DescFlag::Write>({0x1000, 60});
    rig.ring.publish();
    for (uint16_t slot = 0; slot < 8; ++slot)
        rig.use(slot, 0xffff, 0xffff'ffff, 0x8080);
    EXPECT_EQ(rig.ring.used_ready(), 3U);
    EXPECT_FALSE(rig.ring.valid_id(rig.ring.used_at(0).id));
    EXPECT_EQ(rig.ring.free_descriptors(), 5);
}

} // namespace
} // namespace fit
