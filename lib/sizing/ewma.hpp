// Ewma: the moving average of packet lengths that one receive queue sizes its segments by
// (doc/design.md section 4). Integers only and no heap: it lies in memory that secondary processes
// map.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <type_traits>

namespace fit {

class Ewma {
  public:
    static constexpr uint32_t kMaxWeight = 1024;

    // Weight 1: the estimate is the mean of the last burst.
    Ewma() : Ewma(1) {}
    // Precondition: valid_weight(weight); a broken one ends the process, as a bug of the caller.
    explicit Ewma(uint32_t weight);

    // A power of two in 1..1024.
    [[nodiscard]] static constexpr bool valid_weight(uint32_t weight)
    {
        return weight != 0 && weight <= kMaxWeight && (weight & (weight - 1)) == 0;
    }

    // One burst: `count` packets of `sum` bytes together, their mean below 2^27 bytes. A burst of
    // none changes nothing. The estimate moves toward the mean by as much as `count` packets of
    // that length fed one by one would move it, so the result does not depend on how the poll loop
    // cut the bursts.
    void add(uint64_t sum, uint32_t count)
    {
        if (count == 0)
            return;
        uint32_t gain = count <= kTableSize ? gains_[count - 1] : gain_of(weight_, count);
        // The first `weight` packets count equally: without it the estimate would start biased to
        // zero. From `weight` packets on this share is never above the gain, so the division can be
        // left out.
        if (seen_ < weight_) {
            const uint64_t packets = uint64_t{seen_} + count;
            gain = std::max(gain, static_cast<uint32_t>((uint64_t{count} << kGainBits) / packets));
            seen_ = static_cast<uint32_t>(std::min<uint64_t>(packets, weight_));
        }
        const auto mean = static_cast<int64_t>((sum << kFractionBits) / count);
        // A gain of at most 1 and rounding to nearest keep the estimate between its old value and
        // the mean.
        constexpr int64_t half = int64_t{1} << (kGainBits - 1);
        estimate_ += ((mean - estimate_) * static_cast<int64_t>(gain) + half) >> kGainBits;
    }

    // Bytes, rounded to nearest, never outside the lengths seen; 0 before the first packet.
    [[nodiscard]] uint32_t value() const
    {
        constexpr int64_t half = int64_t{1} << (kFractionBits - 1);
        return static_cast<uint32_t>((estimate_ + half) >> kFractionBits);
    }
    [[nodiscard]] bool empty() const { return seen_ == 0; }
    [[nodiscard]] uint32_t weight() const { return weight_; }

  private:
    // 27 bits of length + 16 + 20 leave one bit for the sign in the product of add().
    static constexpr uint32_t kFractionBits = 16;
    static constexpr uint32_t kGainBits = 20;
    static constexpr uint32_t kTableSize = 64;

    static uint32_t gain_of(uint32_t weight, uint32_t count);

    int64_t estimate_ = 0;
    uint32_t weight_;
    uint32_t seen_ = 0; // stops at weight_
    std::array<uint32_t, kTableSize> gains_;
};

static_assert(std::is_trivially_copyable_v<Ewma>);

} // namespace fit
