// What a run amounted to: plain values, printed for people and written as JSON for programs.
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "options.hpp"
#include "xstats.hpp"

namespace fit::testpmd {

// One direction of a port. Rates are over the seconds in which packets moved.
struct Direction {
    uint64_t packets = 0;
    uint64_t bytes = 0; // frames without CRC
    uint64_t segments = 0;
    double seconds = 0;

    [[nodiscard]] double mpps() const;
    [[nodiscard]] double gbps() const;
    // Absent without packets.
    [[nodiscard]] std::optional<double> average() const;
    [[nodiscard]] std::optional<double> segments_per_packet() const;
};

struct ClassUse {
    std::optional<uint16_t>
        room; // absent when the driver's classes are not the application's ladder
    uint64_t segments = 0;
};

struct PortSummary {
    uint16_t id = 0;
    std::string name;
    std::string driver;
    std::string mac;
    Direction rx;
    Direction tx;
    uint64_t tx_dropped = 0;
    uint64_t tx_no_mbuf = 0;
    uint64_t missed = 0; // rte_eth_stats: imissed, ierrors, rx_nombuf
    uint64_t errors = 0;
    uint64_t no_mbuf = 0;
    std::optional<uint64_t> footprint; // bytes over all queues, when the driver accounts for it
    std::optional<uint64_t> payload;
    std::vector<ClassUse> classes;
    std::vector<NamedCount> xstats;

    // Bytes of memory per payload byte.
    [[nodiscard]] std::optional<double> footprint_ratio() const;
};

struct PoolSummary {
    std::string name;
    uint32_t mbufs = 0;
    uint32_t in_use = 0; // after all ports were closed: must be 0
};

struct RunSummary {
    FwdMode fwd = FwdMode::RxOnly;
    std::string stop_reason;
    double seconds = 0;
    std::vector<PortSummary> ports;
    std::vector<PoolSummary> pools;
};

void print_port(std::FILE* out, FwdMode fwd, const PortSummary& port, bool all_xstats);

// One line when all is well, else one line per pool that lacks mbufs. Returns whether all came
// back.
[[nodiscard]] bool print_pools(std::FILE* out, const std::vector<PoolSummary>& pools);

[[nodiscard]] std::string to_json(const RunSummary& run);

} // namespace fit::testpmd
