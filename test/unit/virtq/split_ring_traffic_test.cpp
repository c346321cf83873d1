// Long runs of the split ring against the fake device: every buffer arrives as it was sent and
// comes back once.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <tuple>

#include "split_rig.hpp"

namespace fit {
namespace {

constexpr uint32_t kBuffers = 70'000; // more than one lap of a 16-bit index
constexpr size_t kMemory = 1 << 16;
constexpr size_t kLongestChain = 5;

// Draws 0..n-1; the same on every platform, unlike the distributions of <random>.
class Draw {
  public:
    explicit Draw(uint64_t seed) : random_(seed) {}
    uint64_t below(uint64_t n) { return random_() % n; }

  private:
    std::mt19937_64 random_;
};

// The driver: what it made available and has not got back, by id.
class Traffic {
  public:
    Traffic(uint16_t size, uint64_t seed)
        : rig_(size), memory_(rig_.memory.allocate(kMemory)), draw_(seed), in_flight_(size)
    {
    }

    void run()
    {
        while (completed_ < kBuffers && !::testing::Test::HasFailure()) {
            make_some_available();
            take_all();
            complete_some();
            pop_all();
            ASSERT_EQ(rig_.ring.free_descriptors() + descriptors_in_flight_, rig_.ring.size());
            ASSERT_EQ(rig_.ring.outstanding(), made_ - popped_);
        }
    }

    void check_the_end()
    {
        rig_.device.check_device_area();
        EXPECT_EQ(rig_.memory.violations().report(), "");
        EXPECT_EQ(made_, kBuffers);
        EXPECT_EQ(popped_, kBuffers);
        EXPECT_EQ(rig_.ring.free_descriptors(), rig_.ring.size());
        // 70,000 modulo 65,536 in both indices, read as bytes.
        const std::vector<uint8_t> index = {0x70, 0x11};
        EXPECT_EQ(rig_.bytes(rig_.layout.driver_area() + 2, 2), index);
        EXPECT_EQ(rig_.bytes(rig_.layout.device_area() + 2, 2), index);
        EXPECT_EQ(rig_.device.in_flight(), 0U);
    }

  private:
    struct Sent {
        std::vector<fake::Segment> segments;
    };

    fake::Segment draw_segment(bool writable)
    {
        const auto length = static_cast<uint32_t>(1 + draw_.below(kMemory / 2));
        return {memory_.device + draw_.below(kMemory - length + 1), length, writable};
    }

    void make_some_available()
    {
        uint64_t wanted = std::min<uint64_t>(draw_.below(rig_.ring.size()) + 1, kBuffers - made_);
        for (; wanted > 0 && rig_.ring.free_descriptors() > 0; --wanted, ++made_) {
            const bool writable = draw_.below(2) == 0;
            Sent sent;
            uint16_t id = 0;
            if (writable) {
                sent.segments.push_back(draw_segment(true));
                id = rig_.ring.make_available<DescFlag::Write>(
                    {sent.segments[0].address, sent.segments[0].length});
            } else {
                const size_t most = std::min<size_t>(kLongestChain, rig_.ring.free_descriptors());
                std::vector<Piece> pieces;
                for (size_t n = 1 + draw_.below(most); n > 0; --n) {
                    sent.segments.push_back(draw_segment(false));
                    pieces.push_back({sent.segments.back().address, sent.segments.back().length});
                }
                id = rig_.ring.make_available(pieces);
            }
            ASSERT_LT(id, rig_.ring.size());
            ASSERT_FALSE(in_flight_[id].has_value()) << "id " << id << " is handed out twice";
            descriptors_in_flight_ += sent.segments.size();
            in_flight_[id] = std::move(sent);
            order_.push_back(id);
        }
        rig_.ring.publish();
    }

    void take_all()
    {
        while (const auto chain = rig_.device.next_available()) {
            ASSERT_FALSE(order_.empty());
            ASSERT_EQ(chain->head, order_.front());
            ASSERT_EQ(chain->segments, in_flight_[chain->head]->segments);
            order_.erase(order_.begin());
            held_.push_back(
                {chain->head, static_cast<uint32_t>(draw_.below(chain->writable_bytes() + 1))});
        }
        ASSERT_TRUE(order_.empty());
    }

    // Some of what the device holds, in any order.
    void complete_some()
    {
        uint64_t n = draw_.below(held_.size() + 1);
        if (made_ == kBuffers)
            n = held_.size();
        for (uint64_t i = 0; i < n; ++i)
            std::swap(held_[i], held_[i + draw_.below(held_.size() - i)]);
        const auto end = held_.begin() + static_cast<std::ptrdiff_t>(n);
        expected_.assign(held_.begin(), end);
        held_.erase(held_.begin(), end);
        rig_.device.use(expected_);
        completed_ += n;
    }

    void pop_all()
    {
        ASSERT_EQ(rig_.ring.used_ready(), expected_.size());
        for (size_t i = 0; i < expected_.size(); ++i) {
            const UsedElement used = rig_.ring.used_at(static_cast<uint16_t>(i));
            ASSERT_EQ(used.id, expected_[i].id);
            ASSERT_EQ(used.length, expected_[i].length);
            const auto id = static_cast<uint16_t>(used.id);
            const size_t descriptors = in_flight_[id]->segments.size();
            rig_.ring.release(id, static_cast<uint16_t>(descriptors));
            descriptors_in_flight_ -= descriptors;
            in_flight_[id].reset();
            ++popped_;
        }
        rig_.ring.consume(static_cast<uint16_t>(expected_.size()));
    }

    SplitRig rig_;
    fake::GuestMemory::Block memory_;
    Draw draw_;
    std::vector<std::optional<Sent>> in_flight_;
    std::vector<uint16_t> order_; // ids made available and not seen by the device
    std::vector<fake::Used> held_;
    std::vector<fake::Used> expected_;
    size_t descriptors_in_flight_ = 0;
    uint32_t made_ = 0;
    uint32_t completed_ = 0;
    uint32_t popped_ = 0;
};

class SplitRingTraffic : public ::testing::TestWithParam<std::tuple<uint16_t, uint64_t>> {};

TEST_P(SplitRingTraffic, SPL_09_SPL_10_SPL_11_GEN_31_buffers_come_back_once_across_the_index_wrap)
{
    const auto [size, seed] = GetParam();
    Traffic traffic(size, seed);
    traffic.run();
    traffic.check_the_end();
}

INSTANTIATE_TEST_SUITE_P(Sizes, SplitRingTraffic,
                         ::testing::Combine(::testing::Values<uint16_t>(1, 2, 4, 16, 256, 1024,
                                                                        32768),
                                            ::testing::Values<uint64_t>(1)));

// One buffer at a time on the smallest rings: the slot of every single index is seen.
class SplitRingSlots : public ::testing::TestWithParam<uint16_t> {};

TEST_P(SplitRingSlots, SPL_11_slot_is_the_index_modulo_the_size)
{
    const uint16_t size = GetParam();
    SplitRig rig(size);
    const fake::GuestMemory::Block buffer = rig.memory.allocate(kBuffers);
    for (uint32_t i = 0; i < kBuffers; ++i) {
        const uint16_t id = rig.ring.make_available<DescFlag::Write>({buffer.device + i, 1});
        rig.ring.publish();
        // The available element of this index names the id.
        const size_t element = rig.layout.driver_area() + 4 + 2 * (i % size);
        ASSERT_EQ(rig.bytes(element, 2), (std::vector<uint8_t>{static_cast<uint8_t>(id), 0})) << i;
        ASSERT_EQ(rig.device.next_available()->segments[0].address, buffer.device + i);
        rig.device.use(id, i & 1);
        ASSERT_EQ(rig.ring.used_ready(), 1U);
        ASSERT_EQ(rig.ring.used_at(0).id, id);
        ASSERT_EQ(rig.ring.used_at(0).length, i & 1);
        rig.ring.release(id);
        rig.ring.consume(1);
    }
    EXPECT_EQ(rig.memory.violations().report(), "");
}

INSTANTIATE_TEST_SUITE_P(Sizes, SplitRingSlots, ::testing::Values<uint16_t>(1, 4));

} // namespace
} // namespace fit
