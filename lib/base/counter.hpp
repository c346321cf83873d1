// A statistic with one writer (the queue's thread) and any number of readers. It is never set back,
// because that would race with the writer: restart() moves the point that value() counts from.
#pragma once

#include <atomic>
#include <cstdint>

namespace fit {

class Counter {
  public:
    void add(uint64_t n)
    {
        std::atomic_ref<uint64_t> ref(value_);
        ref.store(ref.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
    }
    // Since the beginning.
    [[nodiscard]] uint64_t total() const
    {
        return std::atomic_ref<uint64_t>(const_cast<uint64_t&>(value_))
            .load(std::memory_order_relaxed);
    }
    // Since the last restart(). Readers and restart() share one thread.
    [[nodiscard]] uint64_t value() const { return total() - start_; }
    void restart() { start_ = total(); }

  private:
    alignas(8) uint64_t value_ = 0;
    uint64_t start_ = 0;
};

} // namespace fit
