// The ladder and policy that the sizing tests share.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "sizing/sizing_policy.hpp"

namespace fit {

constexpr uint8_t kRoom1536 = 0;
constexpr uint8_t kRoom2048 = 1;
constexpr uint8_t kRoom4096 = 2;
constexpr uint8_t kRoom9216 = 3;
constexpr uint8_t kRoom16384 = 4;

inline SegmentLadder ladder_of(std::initializer_list<uint32_t> rooms)
{
    std::vector<SizeClass> classes;
    for (const uint32_t room : rooms)
        classes.push_back({room, room + 320});
    return SegmentLadder::make(classes).value();
}

inline SegmentLadder usual_ladder()
{
    return ladder_of({1536, 2048, 4096, 9216, 16384});
}

inline SizingConfig merging(uint32_t weight)
{
    return {.ewma_weight = weight, .largest_frame = 65562, .ring_segments = 256};
}

inline SizingPolicy usual_policy(uint32_t weight)
{
    return SizingPolicy::make(usual_ladder(), merging(weight)).value();
}

// Whole bursts of one length, at least `packets` packets.
inline void feed(SizingPolicy& policy, uint32_t length, uint32_t packets, uint32_t burst)
{
    for (uint32_t sent = 0; sent < packets; sent += burst)
        policy.on_burst(uint64_t{length} * burst, burst);
}

} // namespace fit
