#include <array>
#include <vector>

#include <gtest/gtest.h>

#include "fake/wire.hpp"
#include "virtq/split_ring.hpp"

namespace fit {
namespace {

// A ring of four with EVENT_IDX; the words lie at the spec's offsets (2.7.6, 2.7.8).
struct EventRig {
    EventRig() { ring.attach(layout, block.data(), priv.data(), {.event_idx = true}); }
    [[nodiscard]] uint16_t word(size_t at) const
    {
        return fake::load_little<uint16_t>(block.data() + at);
    }
    [[nodiscard]] uint16_t avail_flags() const { return word(layout.driver_area()); }
    [[nodiscard]] uint16_t used_event() const { return word(layout.driver_area() + 4 + 2 * 4); }
    void set_used_flags(uint16_t v) { store(layout.device_area(), v); }
    void set_avail_event(uint16_t v) { store(layout.device_area() + 4 + 8 * 4, v); }
    void store(size_t at, uint16_t v) { fake::store_little<uint16_t>(block.data() + at, v); }
    void post(int n)
    {
        for (; n > 0; --n)
            (void)ring.make_available<DescFlag::Write>({0x1000, 60});
        ring.publish();
    }
    // The device completes the next `n` buffers in order, and the driver takes them back.
    void complete(uint32_t n)
    {
        for (uint32_t i = 0; i < n; ++i, ++used)
            fake::store_little<uint32_t>(
                block.data() + layout.device_area() + 4 + size_t{8} * (used % 4), used % 4);
        store(layout.device_area() + 2, used);
        while (ring.poll_used() && ring.front_used())
            ring.take_back(static_cast<uint16_t>(ring.front_id()), 1);
    }

    SplitLayout layout{4};
    alignas(64) std::array<std::byte, 256> block{};
    std::array<std::byte, SplitRing::private_bytes(4)> priv{};
    SplitRing ring;
    uint16_t used = 0;
};

// 2.7.10.1: whether a move from `old` to `now` passes `event`.
bool crosses(uint16_t event, uint16_t now, uint16_t old)
{
    return static_cast<uint16_t>(now - event - 1) < static_cast<uint16_t>(now - old);
}

TEST(SplitRingEvent, FEA_12_FEA_16_driver_is_never_to_be_notified)
{
    EventRig rig;
    for (int burst = 0; burst < 100'000; ++burst) {
        const auto count = static_cast<uint16_t>(1 + burst % 4);
        rig.post(count);
        const auto now = static_cast<uint16_t>(rig.used + count);
        ASSERT_FALSE(crosses(rig.used_event(), now, rig.used)) << burst;
        rig.complete(count);
        ASSERT_EQ(rig.ring.outstanding(), 0);
        ASSERT_EQ(rig.avail_flags(), 0);
    }
}

TEST(SplitRingEvent, FEA_13_FEA_14_FEA_15_notifies_when_the_event_lies_among_what_was_shown)
{
    EventRig rig;
    uint16_t available = 0;
    for (int burst = 0; burst < 70'000; ++burst) {
        const auto count = static_cast<uint16_t>(1 + burst % 4);
        rig.post(count);
        rig.set_used_flags(1); // means nothing with EVENT_IDX
        const auto now = static_cast<uint16_t>(available + count);
        for (int distance = -2; distance <= count + 1; ++distance) {
            const auto event = static_cast<uint16_t>(available + distance);
            rig.set_avail_event(event);
            ASSERT_EQ(rig.ring.should_notify(), distance >= 0 && distance < count)
                << burst << ' ' << distance;
            ASSERT_EQ(rig.ring.should_notify(), crosses(event, now, available));
        }
        available = now;
        rig.complete(count);
    }
}

} // namespace
} // namespace fit
