// The live table: takes the difference of two readings of every queue and prints it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "options.hpp"
#include "port.hpp"
#include "table_format.hpp"
#include "xstats.hpp"

namespace fit::testpmd {

class StatsTable {
  public:
    // `rooms`: Options::segments. Keeps references to all; `xstats` runs parallel to `ports`.
    StatsTable(const Options& options, std::span<const std::unique_ptr<Port>> ports,
               std::span<SizingXstats> xstats);

    // One line per queue for the time since the last call (or since 0). `now`: seconds since the
    // start.
    void print(double now);

    // True when a packet moved since the last print.
    [[nodiscard]] bool has_news() const;

  private:
    struct Reading {
        uint64_t rx_packets = 0;
        uint64_t rx_bytes = 0;
        uint64_t rx_segments = 0;
        uint64_t tx_packets = 0;
        uint64_t tx_bytes = 0;
        uint64_t tx_segments = 0;
        uint64_t tx_dropped = 0;
        uint64_t footprint = 0;
        uint64_t payload = 0;
    };

    void print_header();
    // Sizing statistics that could not be read keep the value of `last`.
    [[nodiscard]] static Reading read(const Port& port, uint16_t queue, const SizingXstats& xstats,
                                      const Reading& last);
    [[nodiscard]] TableRow row(const Port& port, uint16_t queue, const SizingXstats& xstats,
                               double now);

    const Options& options_;
    std::span<const std::unique_ptr<Port>> ports_;
    std::span<SizingXstats> xstats_;
    std::vector<std::vector<Reading>> last_; // by port, by queue
    std::vector<uint64_t> last_drops_;       // by port
    double last_time_ = 0;
    unsigned lines_ = 0;
};

} // namespace fit::testpmd
