// Driver and device on two threads. Built with a thread sanitizer, a missing order between their
// accesses is a race.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include "base/deadline.hpp"
#include "split_rig.hpp"

namespace fit {
namespace {

constexpr std::chrono::seconds kLimit{120};
constexpr uint16_t kSize = 8;
constexpr uint32_t kBufferBytes = 8;

// Wakes a device that sleeps.
class Bell {
  public:
    void ring()
    {
        const std::lock_guard lock(mutex_);
        rung_ = true;
        changed_.notify_one();
    }
    // False when the deadline passes first.
    bool wait(const Deadline& deadline)
    {
        std::unique_lock lock(mutex_);
        const std::chrono::milliseconds left(deadline.left_ms());
        const bool woken = changed_.wait_for(lock, left, [&] { return rung_; });
        rung_ = false;
        return woken;
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool rung_ = false;
};

// A buffer holds a number of the driver, then one of the device: data flows both ways through plain
// memory.
class Driver {
  public:
    explicit Driver(SplitRig& rig) : rig_(rig), buffers_(rig.memory.allocate(kSize * kBufferBytes))
    {
        for (uint32_t i = 0; i < kSize; ++i)
            free_.push_back(i * kBufferBytes);
    }

    void make_available(uint32_t number)
    {
        const size_t at = free_.back();
        free_.pop_back();
        std::memcpy(buffers_.driver + at, &number, sizeof(number));
        owner_[rig_.ring.make_available<DescFlag::Write>({buffers_.device + at, kBufferBytes})] =
            at;
    }

    // Takes back what the device completed; adds up its numbers. False when the ring is not what it
    // must be.
    bool pop(uint64_t& popped, uint64_t& sum)
    {
        const uint32_t ready = rig_.ring.used_ready();
        if (ready > kSize)
            return false;
        for (uint32_t i = 0; i < ready; ++i) {
            const UsedElement used = rig_.ring.used_at(static_cast<uint16_t>(i));
            if (used.id >= kSize || used.length != kBufferBytes)
                return false;
            uint32_t number = 0;
            std::memcpy(&number, buffers_.driver + owner_[used.id] + 4, sizeof(number));
            sum += number;
            free_.push_back(owner_[used.id]);
            rig_.ring.release(static_cast<uint16_t>(used.id));
        }
        rig_.ring.consume(static_cast<uint16_t>(ready));
        popped += ready;
        return true;
    }
    [[nodiscard]] bool full() const { return free_.empty(); }

  private:
    SplitRig& rig_;
    fake::GuestMemory::Block buffers_;
    std::vector<size_t> free_; // offsets
    std::array<size_t, kSize> owner_{};
};

// The device's number is the driver's plus one.
void answer(fake::SplitDevice& device, const fake::Chain& chain)
{
    std::byte* at = device.memory().translate(chain.segments[0].address, kBufferBytes);
    uint32_t number = 0;
    std::memcpy(&number, at, sizeof(number));
    ++number;
    std::memcpy(at + 4, &number, sizeof(number));
    device.use(chain.head, kBufferBytes);
}

TEST(SplitRingThreads, SPL_21_SPL_23_trouble_055_contents_are_ordered_by_the_indices)
{
    constexpr uint64_t kRounds = 20'000;
    SplitRig rig(kSize);
    Driver driver(rig);
    const Deadline deadline = Deadline::after(kLimit);
    rig.device.set_no_notify(true);

    std::thread device([&] {
        for (uint64_t done = 0; done < kRounds && !deadline.passed();) {
            if (const auto chain = rig.device.next_available()) {
                answer(rig.device, *chain);
                ++done;
            } else {
                std::this_thread::yield();
            }
        }
    });
    uint64_t made = 0;
    uint64_t popped = 0;
    uint64_t sum = 0;
    bool sane = true;
    while (sane && popped < kRounds && !deadline.passed()) {
        for (; made < kRounds && !driver.full(); ++made)
            driver.make_available(static_cast<uint32_t>(made));
        rig.ring.publish();
        sane = driver.pop(popped, sum);
        std::this_thread::yield();
    }
    device.join();
    EXPECT_TRUE(sane);
    EXPECT_EQ(popped, kRounds);
    EXPECT_EQ(sum, kRounds * (kRounds + 1) / 2);
    EXPECT_EQ(rig.memory.violations().report(), "");
}

TEST(SplitRingThreads, SPL_22_no_notification_is_lost_when_the_device_goes_to_sleep)
{
    constexpr uint64_t kRounds = 20'000;
    SplitRig rig(kSize);
    Driver driver(rig);
    Bell bell;
    const Deadline deadline = Deadline::after(kLimit);
    bool awake = true;

    std::thread device([&] {
        for (uint64_t done = 0; done < kRounds && awake;) {
            if (const auto chain = rig.device.next_available()) {
                answer(rig.device, *chain);
                ++done;
                continue;
            }
            rig.device.set_no_notify(false);
            rig.device.poll();
            if (rig.device.available() == 0)
                awake = bell.wait(deadline);
            rig.device.set_no_notify(true);
        }
    });
    uint64_t popped = 0;
    uint64_t sum = 0;
    bool sane = true;
    // One buffer at a time: whoever misses the other one stops both.
    for (uint64_t i = 0; i < kRounds && sane; ++i) {
        driver.make_available(static_cast<uint32_t>(i));
        rig.ring.publish();
        if (rig.ring.should_notify())
            bell.ring();
        while (sane && popped <= i && !deadline.passed()) {
            std::this_thread::yield();
            sane = driver.pop(popped, sum);
        }
        sane = sane && popped == i + 1;
    }
    device.join();
    EXPECT_TRUE(awake) << "a notification was lost";
    EXPECT_TRUE(sane);
    EXPECT_EQ(popped, kRounds);
    EXPECT_EQ(sum, kRounds * (kRounds + 1) / 2);
    EXPECT_EQ(rig.memory.violations().report(), "");
}

} // namespace
} // namespace fit
