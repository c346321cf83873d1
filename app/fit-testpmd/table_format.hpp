// The live table as text. Pure: values in, lines out; a line is at most 100 columns.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "options.hpp"

namespace fit::testpmd {

// One queue over one period. What the driver cannot tell is absent and shows as "-".
struct TableRow {
    double time = 0;      // seconds since the start
    std::string port;     // "0", or "0:1" for queue 1
    uint64_t packets = 0; // running total
    double mpps = 0;
    double gbps = 0; // frame bytes without CRC, preamble and gap
    std::optional<double> average;
    std::optional<uint64_t> room;
    std::optional<double> segments;  // per packet
    std::optional<double> footprint; // bytes of memory per payload byte
    std::optional<uint64_t> drops;   // in this period; absent on all but a port's first queue
    double tx_mpps = 0;
    uint64_t tx_drops = 0; // in this period
};

// What the columns mean, once before the first header.
[[nodiscard]] std::string table_legend(FwdMode mode);
[[nodiscard]] std::string table_header(FwdMode mode);
[[nodiscard]] std::string table_line(FwdMode mode, const TableRow& row);

} // namespace fit::testpmd
