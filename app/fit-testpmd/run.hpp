// A run from the probed ports to the summary.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "active_time.hpp"
#include "forward.hpp"
#include "options.hpp"
#include "pool.hpp"
#include "pool_sizing.hpp"
#include "port.hpp"
#include "stats_table.hpp"
#include "summary.hpp"

namespace fit::testpmd {

class Run {
  public:
    // Configures every probed port, creates the pools and starts. Throws UserError; nothing is left
    // behind.
    explicit Run(const Options& options);

    // Forwards until `interrupted`, the duration or the packet count. Returns the values of the
    // summary, read before the ports stop.
    [[nodiscard]] RunSummary forward(const std::atomic<bool>& interrupted);

    // Stops and closes the ports and adds the pools to the summary; false when a port refused.
    [[nodiscard]] bool close(RunSummary& summary);

  private:
    struct Activity {
        ActiveTime rx;
        ActiveTime tx;
    };

    [[nodiscard]] PoolDemand demand_for(size_t size_class) const;
    void create_pools();
    void create_tx_pool();
    void start_ports();
    void build_workers();
    [[nodiscard]] Stream stream_of(Port& port, uint16_t queue,
                                   const std::shared_ptr<Budget>& budget);
    [[nodiscard]] size_t partner(size_t port) const;

    void launch();
    void join();
    // What ended the run, or nullptr to go on.
    [[nodiscard]] const char* sample(double now, const std::atomic<bool>& interrupted);
    void wait_or_poll();
    [[nodiscard]] PortSummary summary_of(size_t index);

    Options options_;
    std::vector<std::unique_ptr<Pool>> ladder_; // by class; null when no port uses it
    std::unique_ptr<Pool> tx_pool_;             // txonly
    // Behind the pools: the ports close before the pools are freed.
    std::vector<std::unique_ptr<Port>> ports_;
    std::vector<SizingXstats> xstats_;
    std::vector<Activity> activity_;
    std::atomic<bool> stop_{false};
    std::vector<std::unique_ptr<Worker>> workers_;
    bool main_polls_ = false;
};

} // namespace fit::testpmd
