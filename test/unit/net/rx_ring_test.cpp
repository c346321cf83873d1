// Long traffic over rings of every size, in any order of completion.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "rx_rig.hpp"

namespace fit {
namespace {

// Writes a frame into a chain that was taken, as a packet of one buffer.
fake::Used fill(RxRig& rig, const fake::Chain& chain, std::span<const std::byte> frame)
{
    std::byte* at = rig.memory.device().translate(chain.segments.at(0).address,
                                                  rig.header_bytes() + frame.size());
    std::fill_n(at, rig.header_bytes(), std::byte{0});
    if (rig.header_bytes() == fake::kHeaderBytesWithNumBuffers)
        fake::store_little<uint16_t>(at + fake::kHeaderNumBuffers, 1);
    std::copy(frame.begin(), frame.end(), at + rig.header_bytes());
    return {chain.head, static_cast<uint32_t>(rig.header_bytes() + frame.size())};
}

class RxRing : public testing::TestWithParam<uint16_t> {
  protected:
    static RxOptions options(HeaderKind header = HeaderKind::Mergeable)
    {
        RxOptions o;
        o.ring_size = GetParam();
        o.pools = {{2048, 600}};
        o.header = header;
        o.refill_threshold = std::max<uint16_t>(1, GetParam() / 4);
        return o;
    }
};

TEST_P(RxRing, NET_48_70000_packets_completed_in_any_order_arrive_in_the_order_of_the_used_ring)
{
    RxRig rig(options());
    std::mt19937 random(GetParam());
    uint32_t sent = 0;
    uint32_t arrived = 0;
    while (arrived < 70'000) {
        std::vector<fake::Chain> taken;
        rig.device.poll();
        const size_t n = random() % (rig.device.available() + 1);
        while (taken.size() < n)
            taken.push_back(*rig.device.next_available());
        std::shuffle(taken.begin(), taken.end(), random);
        std::vector<fake::Used> used;
        for (const fake::Chain& chain : taken) {
            used.push_back(fill(rig, chain, frame_of(14 + sent % 50, sent)));
            ++sent;
        }
        rig.device.use(used);
        for (const PacketPtr& packet : rig.burst(static_cast<uint16_t>(1 + random() % 64))) {
            ASSERT_EQ(bytes_of(packet.get()), frame_of(14 + arrived % 50, arrived));
            ++arrived;
        }
    }
    EXPECT_EQ(rig.queue.counters.packets.total(), arrived);
    EXPECT_EQ(rig.queue.fault, RingFault::None);
    rig.device.check_device_area();
}

INSTANTIATE_TEST_SUITE_P(Sizes, RxRing, testing::Values(2, 4, 8, 16, 32, 64, 128, 256));

class RxRingWrap : public RxRing {};

TEST_P(RxRingWrap, one_by_one_over_the_wrap_of_the_indices)
{
    RxRig rig(options(HeaderKind::Plain));
    const auto frame = frame_of(60);
    for (uint32_t i = 0; i < 66'000; ++i) {
        ASSERT_TRUE(rig.net.deliver(frame));
        ASSERT_EQ(rig.burst().size(), 1U) << i;
    }
    EXPECT_EQ(rig.changes(), (Changes{{"packets", 66'000}, {"bytes", 66'000 * 60}}));
    EXPECT_EQ(rig.queue.ring.used_index(), static_cast<uint16_t>(66'000));
}

INSTANTIATE_TEST_SUITE_P(Sizes, RxRingWrap, testing::Values(2, 256));

// As the driver sets a queue up: the floor makes one largest packet fit into a ring of few buffers.
class RxSmallRing : public testing::TestWithParam<uint16_t> {};

TEST_P(RxSmallRing, trouble_040_the_largest_frame_fits_and_goes_on_fitting)
{
    RxOptions options;
    options.ring_size = GetParam();
    options.pools = {{1536, 600}, {2048, 600}, {4096, 600}, {9216, 600}, {32768, 80}};
    options.largest_frame = 65000;
    RxRig rig(options);
    for (uint32_t i = 0; i < 3U * GetParam(); ++i) {
        rig.expect_arrives(frame_of(65000, i));
        rig.expect_arrives(frame_of(64, i));
    }
    EXPECT_EQ(rig.changes(),
              (Changes{{"packets", 6U * GetParam()}, {"bytes", 3U * GetParam() * (65000 + 64)}}));
}

INSTANTIATE_TEST_SUITE_P(Sizes, RxSmallRing, testing::Values(2, 4, 8, 16, 32));

TEST(RxOrder, trouble_057_merged_packet_whose_buffers_have_any_ids)
{
    RxOptions options;
    options.pools = {{512, 64}};
    options.ring_size = 16;
    RxRig rig(options);
    std::mt19937 random(3);
    for (uint32_t round = 0; round < 500; ++round) {
        const auto frame = frame_of(rig.capacity(4), round);
        std::vector<fake::Chain> taken;
        while (taken.size() < 4)
            taken.push_back(*rig.device.next_available());
        std::shuffle(taken.begin(), taken.end(), random);
        std::vector<fake::Used> used = {fill(rig, taken[0], std::span(frame).first(512))};
        std::byte* header =
            rig.memory.device().translate(taken[0].segments[0].address, rig.header_bytes());
        fake::store_little<uint16_t>(header + fake::kHeaderNumBuffers, 4);
        for (size_t i = 1; i < 4; ++i) {
            std::byte* at = rig.memory.device().translate(taken[i].segments[0].address, 524);
            std::copy_n(frame.begin() + static_cast<std::ptrdiff_t>(rig.capacity(i)), 524, at);
            used.push_back({taken[i].head, 524});
        }
        rig.device.use(used);
        const auto packets = rig.burst();
        ASSERT_EQ(packets.size(), 1U);
        ASSERT_EQ(bytes_of(packets[0].get()), frame);
    }
}

} // namespace
} // namespace fit
