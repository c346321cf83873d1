#include "stats_table.hpp"

#include <cstdio>

#include "text.hpp"

namespace fit::testpmd {

namespace {

constexpr unsigned kLinesPerHeader = 20;

std::optional<double> ratio(uint64_t part, uint64_t whole)
{
    if (whole == 0)
        return std::nullopt;
    return static_cast<double>(part) / static_cast<double>(whole);
}

// Drops are counted per port by the ethdev API.
uint64_t drops_of(uint16_t port)
{
    rte_eth_stats stats{};
    if (rte_eth_stats_get(port, &stats) != 0)
        return 0;
    return stats.imissed + stats.ierrors + stats.rx_nombuf;
}

} // namespace

StatsTable::StatsTable(const Options& options, std::span<const std::unique_ptr<Port>> ports,
                       std::span<SizingXstats> xstats)
    : options_(options), ports_(ports), xstats_(xstats), last_drops_(ports.size())
{
    for (const auto& port : ports)
        last_.emplace_back(port->queues());
}

StatsTable::Reading StatsTable::read(const Port& port, uint16_t queue, const SizingXstats& xstats,
                                     const Reading& last)
{
    const QueueCounters& counters = port.counters(queue);
    return {get(counters.rx_packets),
            get(counters.rx_bytes),
            get(counters.rx_segments),
            get(counters.tx_packets),
            get(counters.tx_bytes),
            get(counters.tx_segments),
            get(counters.tx_dropped),
            xstats.value(queue, SizingStat::Footprint).value_or(last.footprint),
            xstats.value(queue, SizingStat::Payload).value_or(last.payload)};
}

TableRow StatsTable::row(const Port& port, uint16_t queue, const SizingXstats& xstats, double now)
{
    const size_t index = static_cast<size_t>(&xstats - xstats_.data());
    Reading& last = last_[index][queue];
    const Reading reading = read(port, queue, xstats, last);
    const double seconds = now > last_time_ ? now - last_time_ : 1e-9;
    const bool tx = options_.fwd == FwdMode::TxOnly;
    const uint64_t packets =
        tx ? reading.tx_packets - last.tx_packets : reading.rx_packets - last.rx_packets;
    const uint64_t bytes = tx ? reading.tx_bytes - last.tx_bytes : reading.rx_bytes - last.rx_bytes;
    const uint64_t segments =
        tx ? reading.tx_segments - last.tx_segments : reading.rx_segments - last.rx_segments;

    TableRow out;
    out.time = now;
    out.port = port.queues() == 1 ? std::to_string(port.id()) : format("%u:%u", port.id(), queue);
    out.packets = tx ? reading.tx_packets : reading.rx_packets;
    out.mpps = static_cast<double>(packets) / seconds / 1e6;
    out.gbps = static_cast<double>(bytes) * 8 / seconds / 1e9;
    out.average = ratio(bytes, packets);
    if (const auto average = xstats.value(queue, SizingStat::AveragePacket); !tx && average)
        out.average = static_cast<double>(*average);
    out.room = xstats.value(queue, SizingStat::SegmentRoom);
    if (!out.room && port.classes().size() == 1)
        out.room = options_.segments[port.classes().front()];
    out.segments = ratio(segments, packets);
    out.footprint = ratio(reading.footprint - last.footprint, reading.payload - last.payload);
    if (queue == 0) {
        const uint64_t drops = drops_of(port.id());
        out.drops = drops - last_drops_[index];
        last_drops_[index] = drops;
    }
    out.tx_mpps = static_cast<double>(reading.tx_packets - last.tx_packets) / seconds / 1e6;
    out.tx_drops = reading.tx_dropped - last.tx_dropped;
    last = reading;
    return out;
}

void StatsTable::print_header()
{
    if (lines_ == 0)
        testpmd::print(stdout, "%s", table_legend(options_.fwd).c_str());
    testpmd::print(stdout, "\n%s", table_header(options_.fwd).c_str());
}

void StatsTable::print(double now)
{
    for (size_t i = 0; i < ports_.size(); ++i) {
        xstats_[i].read();
        for (uint16_t queue = 0; queue < ports_[i]->queues(); ++queue) {
            if (lines_ % kLinesPerHeader == 0)
                print_header();
            ++lines_;
            testpmd::print(
                stdout, "%s",
                table_line(options_.fwd, row(*ports_[i], queue, xstats_[i], now)).c_str());
        }
    }
    last_time_ = now;
}

bool StatsTable::has_news() const
{
    for (size_t i = 0; i < ports_.size(); ++i) {
        for (uint16_t queue = 0; queue < ports_[i]->queues(); ++queue) {
            const QueueCounters& counters = ports_[i]->counters(queue);
            const Reading& last = last_[i][queue];
            if (get(counters.rx_packets) != last.rx_packets ||
                get(counters.tx_packets) != last.tx_packets)
                return true;
        }
    }
    return false;
}

} // namespace fit::testpmd
