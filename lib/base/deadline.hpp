// A point in time after which a wait gives up: every wait of the control path has one.
#pragma once

#include <algorithm>
#include <chrono>

namespace fit {

class Deadline {
  public:
    using Clock = std::chrono::steady_clock;

    static Deadline after(std::chrono::milliseconds span) { return Deadline(Clock::now() + span); }

    [[nodiscard]] bool passed() const { return Clock::now() >= at_; }
    // Milliseconds left, rounded up, never negative: the time-out argument of poll(2).
    [[nodiscard]] int left_ms() const
    {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(at_ - Clock::now()).count();
        return static_cast<int>(std::clamp<decltype(left)>(left, 0, 3'600'000));
    }

  private:
    explicit Deadline(Clock::time_point at) : at_(at) {}

    Clock::time_point at_;
};

} // namespace fit
