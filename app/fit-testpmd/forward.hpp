// The polling loops: what a worker lcore does with the queues that it owns.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include <rte_ether.h>

#include "counters.hpp"
#include "frame_maker.hpp"
#include "options.hpp"

namespace fit::testpmd {

// Frames that txonly may still send, shared by all workers; only used with --total-packets.
class Budget {
  public:
    explicit Budget(uint64_t frames) : left_(frames) {}
    // Takes up to `want`.
    [[nodiscard]] uint16_t take(uint16_t want);
    void give_back(uint16_t unsent) { left_.fetch_add(unsent, std::memory_order_relaxed); }

  private:
    std::atomic<uint64_t> left_;
};

// One receive queue and the transmit queue that its frames go to. Polled by one lcore only.
struct Stream {
    uint16_t rx_port = 0;
    uint16_t tx_port = 0;
    uint16_t queue = 0;
    uint16_t burst = 0;
    QueueCounters* rx = nullptr;
    QueueCounters* tx = nullptr;
    rte_ether_addr source{};           // mac: address of tx_port
    rte_ether_addr destination{};      // mac: 02:00:00:00:00:<tx_port>
    std::unique_ptr<FrameMaker> maker; // txonly
    std::shared_ptr<Budget> budget;    // txonly with --total-packets
};

using Poll = void (*)(Stream&);

// One burst on one stream.
[[nodiscard]] Poll poll_function(FwdMode mode);

// The streams of one lcore. The main lcore runs them itself when there is no other.
class Worker {
  public:
    Worker(FwdMode mode, const std::atomic<bool>& stop) : poll_(poll_function(mode)), stop_(stop) {}

    void add_stream(Stream stream) { streams_.push_back(std::move(stream)); }
    void poll_all();
    // Entry of a worker lcore; `self` is a Worker.
    static int run(void* self);

  private:
    Poll poll_;
    const std::atomic<bool>& stop_;
    std::vector<Stream> streams_;
};

} // namespace fit::testpmd
