#include "sizing/segment_ladder.hpp"

#include <algorithm>

namespace fit {

Result<SegmentLadder> SegmentLadder::make(std::span<const SizeClass> classes)
{
    constexpr auto code = Errno::InvalidArgument;
    if (classes.empty() || classes.size() > kMaxClasses)
        return Error(code, "segment ladder", "1 to 8 size classes are possible; given",
                     static_cast<int64_t>(classes.size()));

    uint32_t below = 0;
    for (const SizeClass& one : classes) {
        if (one.room == 0)
            return Error(code, "segment ladder", "a size class needs room for data; its room is",
                         one.room);
        if (one.footprint < one.room)
            return Error(code, "segment ladder",
                         "a segment occupies at least its room; footprint given", one.footprint);
        if (one.room < below)
            return Error(code, "segment ladder", "rooms must ascend; out of order is the room",
                         one.room);
        below = one.room;
    }

    SegmentLadder ladder;
    std::copy(classes.begin(), classes.end(), ladder.classes_.begin());
    ladder.count_ = static_cast<uint8_t>(classes.size());
    ladder.largest_ = static_cast<uint8_t>(classes.size() - 1);
    return ladder;
}

} // namespace fit
