#include "run.hpp"

#include <chrono>
#include <cstdio>

#include <rte_cycles.h>
#include <rte_launch.h>
#include <rte_lcore.h>

#include "text.hpp"

namespace fit::testpmd {

namespace {

// How often the main lcore looks at counters and clock.
constexpr unsigned kTickMicroseconds = 10'000;
// With a single lcore: polls between two looks at the clock.
constexpr unsigned kPollsPerTick = 256;

} // namespace

void Run::launch()
{
    if (main_polls_)
        return;
    size_t next = 0;
    unsigned lcore = 0;
    RTE_LCORE_FOREACH_WORKER(lcore)
    {
        if (next == workers_.size())
            break;
        const int code = rte_eal_remote_launch(Worker::run, workers_[next++].get(), lcore);
        if (code != 0) {
            join();
            throw UserError(format("lcore %u: cannot start: %s; is it in use?", lcore,
                                   errno_text(code).c_str()));
        }
    }
}

void Run::join()
{
    stop_.store(true, std::memory_order_relaxed);
    rte_eal_mp_wait_lcore();
}

void Run::wait_or_poll()
{
    if (!main_polls_) {
        rte_delay_us_sleep(kTickMicroseconds);
        return;
    }
    for (unsigned i = 0; i < kPollsPerTick; ++i)
        workers_.front()->poll_all();
}

const char* Run::sample(double now, const std::atomic<bool>& interrupted)
{
    uint64_t total = 0;
    for (size_t i = 0; i < ports_.size(); ++i) {
        uint64_t rx = 0;
        uint64_t tx = 0;
        for (uint16_t queue = 0; queue < ports_[i]->queues(); ++queue) {
            rx += get(ports_[i]->counters(queue).rx_packets);
            tx += get(ports_[i]->counters(queue).tx_packets);
        }
        activity_[i].rx.sample(now, rx);
        activity_[i].tx.sample(now, tx);
        total += options_.fwd == FwdMode::TxOnly ? tx : rx;
    }
    if (interrupted.load(std::memory_order_relaxed))
        return "signal";
    if (options_.total_packets != 0 && total >= options_.total_packets)
        return "total-packets";
    if (options_.duration > 0 && now >= options_.duration)
        return "duration";
    return nullptr;
}

RunSummary Run::forward(const std::atomic<bool>& interrupted)
{
    using Clock = std::chrono::steady_clock;
    StatsTable table(options_, ports_, xstats_);
    launch();
    const auto start = Clock::now();
    const auto elapsed = [start] {
        return std::chrono::duration<double>(Clock::now() - start).count();
    };
    const double period = options_.stats_period;
    double next_row = period;
    const char* reason = nullptr;
    while (reason == nullptr) {
        wait_or_poll();
        const double now = elapsed();
        reason = sample(now, interrupted);
        if (reason == nullptr && std::ferror(stdout) != 0)
            reason = "closed output";
        if (period > 0 && now >= next_row) {
            table.print(now);
            // A main lcore that was held up skips rows, it does not print them in a burst.
            while (next_row <= now)
                next_row += period;
        }
    }
    join();
    const double now = elapsed();
    (void)sample(now, interrupted); // what arrived until the workers stopped
    // The last row is shorter than the others; a very short one would show rates that mean nothing.
    const bool first = next_row == period;
    if (period > 0 && table.has_news() && (first || now - (next_row - period) >= period / 4))
        table.print(now);

    RunSummary summary;
    summary.fwd = options_.fwd;
    summary.stop_reason = reason;
    summary.seconds = now;
    for (size_t i = 0; i < ports_.size(); ++i)
        summary.ports.push_back(summary_of(i));
    return summary;
}

PortSummary Run::summary_of(size_t index)
{
    const Port& port = *ports_[index];
    PortSummary out;
    out.id = port.id();
    out.name = port.name();
    out.driver = port.driver();
    out.mac = port.mac_text();
    for (uint16_t queue = 0; queue < port.queues(); ++queue) {
        const QueueCounters& counters = port.counters(queue);
        out.rx.packets += get(counters.rx_packets);
        out.rx.bytes += get(counters.rx_bytes);
        out.rx.segments += get(counters.rx_segments);
        out.tx.packets += get(counters.tx_packets);
        out.tx.bytes += get(counters.tx_bytes);
        out.tx.segments += get(counters.tx_segments);
        out.tx_dropped += get(counters.tx_dropped);
        out.tx_no_mbuf += get(counters.tx_no_mbuf);
    }
    out.rx.seconds = activity_[index].rx.seconds();
    out.tx.seconds = activity_[index].tx.seconds();
    rte_eth_stats stats{};
    if (const int code = rte_eth_stats_get(port.id(), &stats); code != 0)
        print(stderr, "fit-testpmd: port %u %s: statistics: %s\n", port.id(), port.name().c_str(),
              errno_text(code).c_str());
    out.missed = stats.imissed;
    out.errors = stats.ierrors;
    out.no_mbuf = stats.rx_nombuf;
    xstats_[index].read();
    out.footprint = xstats_[index].total(SizingStat::Footprint);
    out.payload = xstats_[index].total(SizingStat::Payload);
    const std::vector<uint64_t> segments = xstats_[index].class_segments();
    for (size_t k = 0; k < segments.size(); ++k) {
        const bool ours = segments.size() == port.classes().size();
        out.classes.push_back(
            {ours ? std::optional(options_.segments[port.classes()[k]]) : std::nullopt,
             segments[k]});
    }
    out.xstats = all_xstats(port.id());
    return out;
}

bool Run::close(RunSummary& summary)
{
    bool ok = true;
    for (const auto& port : ports_)
        ok = port->close() && ok;
    for (const auto& pool : ladder_) {
        if (pool)
            summary.pools.push_back({pool->name(), pool->mbufs(), pool->in_use()});
    }
    if (tx_pool_)
        summary.pools.push_back({tx_pool_->name(), tx_pool_->mbufs(), tx_pool_->in_use()});
    return ok;
}

} // namespace fit::testpmd
