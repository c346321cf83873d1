// How long traffic flowed: a counter is sampled, and pauses longer than a second do not count.
#pragma once

#include <cstdint>

namespace fit::testpmd {

class ActiveTime {
  public:
    static constexpr double kPause = 1.0;

    // `now` in seconds since the start, never falling; `packets` the running total.
    void sample(double now, uint64_t packets)
    {
        if (packets != packets_) {
            const double since_moved = now - moved_at_;
            active_ += (packets_ != 0 && since_moved <= kPause) ? since_moved : now - sampled_at_;
            moved_at_ = now;
            packets_ = packets;
        }
        sampled_at_ = now;
    }

    [[nodiscard]] double seconds() const { return active_; }

  private:
    double active_ = 0;
    double sampled_at_ = 0;
    double moved_at_ = 0;
    uint64_t packets_ = 0;
};

} // namespace fit::testpmd
