#include "sizing/ewma.hpp"

namespace fit {

Ewma::Ewma(uint32_t weight) : weight_(weight)
{
    if (!valid_weight(weight))
        __builtin_trap();
    for (uint32_t count = 1; count <= kTableSize; ++count)
        gains_[count - 1] = gain_of(weight, count);
}

// 1 - (1 - 1/weight)^count with kGainBits fraction bits. The power is taken by squaring, so its
// cost is bounded for any burst; 31 fraction bits hold 1 - 1/weight exactly and keep the products
// in 64 bits.
uint32_t Ewma::gain_of(uint32_t weight, uint32_t count)
{
    constexpr uint32_t bits = 31;
    constexpr uint64_t one = uint64_t{1} << bits;
    const auto product = [](uint64_t a, uint64_t b) { return (a * b + one / 2) >> bits; };

    uint64_t kept = one;
    for (uint64_t base = one - one / weight; count != 0; count >>= 1) {
        if ((count & 1) != 0)
            kept = product(kept, base);
        base = product(base, base);
    }
    constexpr uint32_t drop = bits - kGainBits;
    return static_cast<uint32_t>((one - kept + (uint64_t{1} << (drop - 1))) >> drop);
}

} // namespace fit
