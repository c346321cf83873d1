#include "table_format.hpp"

#include <array>

#include "text.hpp"

namespace fit::testpmd {

namespace {

std::string decimal(std::optional<double> value, int digits)
{
    return value ? format("%.*f", digits, *value) : "-";
}

std::string whole(std::optional<uint64_t> value)
{
    return value ? grouped(*value) : "-";
}

// The modes that show a column.
enum Shown : unsigned { kRx = 1, kTx = 2, kForward = 4, kAll = kRx | kTx | kForward };

struct Column {
    const char* title;
    int width; // with at least one space in front of what is usual
    unsigned shown;
    std::string (*cell)(const TableRow&);
};

// The widths sum up to 100 for io and mac.
const std::array kColumns{
    Column{"time", 8, kAll, [](const TableRow& r) { return format("%.1f s", r.time); }},
    Column{"port", 5, kAll, [](const TableRow& r) { return r.port; }},
    Column{"packets", 14, kAll, [](const TableRow& r) { return grouped(r.packets); }},
    Column{"Mpps", 8, kAll, [](const TableRow& r) { return decimal(r.mpps, 3); }},
    Column{"Gbit/s", 8, kAll, [](const TableRow& r) { return decimal(r.gbps, 3); }},
    Column{"average", 8, kAll, [](const TableRow& r) { return decimal(r.average, 0); }},
    Column{"segment", 8, kRx | kForward,
           [](const TableRow& r) { return r.room ? std::to_string(*r.room) : "-"; }},
    Column{"seg/pkt", 8, kAll, [](const TableRow& r) { return decimal(r.segments, 3); }},
    Column{"mem/B", 7, kRx | kForward, [](const TableRow& r) { return decimal(r.footprint, 2); }},
    Column{"drops", 9, kRx | kForward, [](const TableRow& r) { return whole(r.drops); }},
    Column{"tx-Mpps", 8, kForward, [](const TableRow& r) { return decimal(r.tx_mpps, 3); }},
    Column{"tx-drops", 9, kTx | kForward, [](const TableRow& r) { return grouped(r.tx_drops); }},
};

unsigned group_of(FwdMode mode)
{
    if (mode == FwdMode::TxOnly)
        return kTx;
    return forwards(mode) ? kForward : kRx;
}

} // namespace

std::string table_legend(FwdMode mode)
{
    if (mode == FwdMode::TxOnly)
        return "packets: sent so far; average: frame length in bytes; seg/pkt: mbufs per packet;\n"
               "tx-drops: frames that the ring had no room for, since the row before\n";
    return "packets: received so far; average: frame length, segment: data room in use, both in "
           "bytes;\n"
           "seg/pkt: segments per packet; mem/B: bytes of memory per payload byte; drops: since "
           "the row "
           "before\n";
}

std::string table_header(FwdMode mode)
{
    std::string line;
    for (const Column& column : kColumns) {
        if ((column.shown & group_of(mode)) != 0)
            line += format("%*s", column.width, column.title);
    }
    return line + "\n";
}

std::string table_line(FwdMode mode, const TableRow& row)
{
    std::string line;
    for (const Column& column : kColumns) {
        if ((column.shown & group_of(mode)) != 0)
            line += format("%*s", column.width, column.cell(row).c_str());
    }
    return line + "\n";
}

} // namespace fit::testpmd
