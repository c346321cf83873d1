// A statistic with one writer (the queue's thread) and any number of readers. It is never set back,
// because that would race with the writer: restart() moves the point that value() counts from.
#pragma once

#include <algorithm>
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

// The smallest value noted since restart(): one writer, any number of readers. A note that races
// with restart() may be lost or kept.
class Lowest {
  public:
    void note(uint32_t value)
    {
        if (value < current()) [[unlikely]]
            store(value);
    }
    // `highest` when nothing below it was noted.
    [[nodiscard]] uint32_t value(uint32_t highest) const { return std::min(current(), highest); }
    void restart() { store(UINT32_MAX); }

  private:
    [[nodiscard]] uint32_t current() const
    {
        return std::atomic_ref<uint32_t>(const_cast<uint32_t&>(value_))
            .load(std::memory_order_relaxed);
    }
    void store(uint32_t value)
    {
        std::atomic_ref<uint32_t>(value_).store(value, std::memory_order_relaxed);
    }
    uint32_t value_ = UINT32_MAX;
};

} // namespace fit
