// Flags<E>: a set of flag bits whose enumerators are the masks themselves, so that nothing is
// shifted twice.
#pragma once

#include <type_traits>

namespace fit {

template <class E>
class Flags {
  public:
    using Bits = std::underlying_type_t<E>;

    constexpr Flags() = default;
    constexpr Flags(E flag) : bits_(static_cast<Bits>(flag)) {} // NOLINT: implicit by design
    constexpr explicit Flags(Bits bits) : bits_(bits) {}

    [[nodiscard]] constexpr Bits bits() const { return bits_; }
    [[nodiscard]] constexpr bool has(E flag) const
    {
        return (bits_ & static_cast<Bits>(flag)) == static_cast<Bits>(flag);
    }
    [[nodiscard]] constexpr bool empty() const { return bits_ == 0; }

    constexpr Flags operator|(Flags other) const
    {
        return Flags(static_cast<Bits>(bits_ | other.bits_));
    }
    constexpr Flags operator&(Flags other) const
    {
        return Flags(static_cast<Bits>(bits_ & other.bits_));
    }
    constexpr Flags& operator|=(Flags other) { return *this = *this | other; }
    constexpr bool operator==(const Flags&) const = default;

  private:
    Bits bits_ = 0;
};

} // namespace fit
