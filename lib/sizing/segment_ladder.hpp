// SegmentLadder: the size classes of one receive queue, ascending (doc/design.md section 4).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <type_traits>

#include "base/result.hpp"

namespace fit {

constexpr uint8_t kMaxClasses = 8;

struct SizeClass {
    uint32_t room = 0;      // data bytes that one segment holds
    uint32_t footprint = 0; // bytes of memory that one segment occupies, overhead included
};

class SegmentLadder {
  public:
    // No classes: count() and the rooms are 0, class_for() is always 0.
    SegmentLadder() = default;

    // 1..kMaxClasses classes, rooms above 0 and ascending (equal ones allowed), footprint at least
    // the room. The order is the caller's, so that a class index is also the index of the caller's
    // mempool. Errors: InvalidArgument, with the number that is wrong.
    static Result<SegmentLadder> make(std::span<const SizeClass> classes);

    [[nodiscard]] uint8_t count() const { return count_; }
    // Precondition: index < count().
    [[nodiscard]] const SizeClass& operator[](uint8_t index) const { return classes_[index]; }

    [[nodiscard]] uint8_t largest() const { return largest_; }
    [[nodiscard]] uint32_t largest_room() const { return classes_[largest_].room; }
    [[nodiscard]] uint32_t smallest_room() const { return classes_[0].room; }

    // The smallest class with room for `bytes`; the largest class when none has.
    [[nodiscard]] uint8_t class_for(uint32_t bytes) const
    {
        uint8_t index = 0;
        while (index < largest_ && classes_[index].room < bytes)
            ++index;
        return index;
    }

  private:
    std::array<SizeClass, kMaxClasses> classes_{};
    uint8_t count_ = 0;
    uint8_t largest_ = 0;
};

static_assert(std::is_trivially_copyable_v<SegmentLadder>);

} // namespace fit
