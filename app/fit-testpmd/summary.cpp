#include "summary.hpp"

#include "text.hpp"

namespace fit::testpmd {

namespace {

// Shorter times are a few ticks of the sampling: a rate over them means nothing.
constexpr double kShortest = 0.1;

std::optional<double> ratio(uint64_t part, uint64_t whole)
{
    if (whole == 0)
        return std::nullopt;
    return static_cast<double>(part) / static_cast<double>(whole);
}

void print_direction(std::FILE* out, const char* title, const Direction& direction)
{
    print(out, "  %-12s %s packets  %s bytes", title, grouped(direction.packets).c_str(),
          grouped(direction.bytes).c_str());
    if (direction.seconds >= kShortest)
        print(out, "  %.3f Mpps  %.3f Gbit/s over %.2f s", direction.mpps(), direction.gbps(),
              direction.seconds);
    print(out, "\n");
    if (const auto average = direction.average())
        print(out, "  %-12s %s, %.3f per packet, average packet %.0f B\n", "  segments",
              grouped(direction.segments).c_str(), *direction.segments_per_packet(), *average);
}

void print_classes(std::FILE* out, const PortSummary& port)
{
    if (port.classes.empty())
        return;
    print(out, "  %-12s", "by class");
    for (size_t k = 0; k < port.classes.size(); ++k) {
        const ClassUse& use = port.classes[k];
        const std::string label = use.room ? format("%u B", *use.room) : format("class %zu", k);
        print(out, "%s %s: %s", k == 0 ? "" : " ", label.c_str(), grouped(use.segments).c_str());
    }
    print(out, "\n");
}

void print_losses(std::FILE* out, FwdMode fwd, const PortSummary& port)
{
    std::vector<NamedCount> losses = losses_of(port.xstats);
    if (port.tx_dropped != 0)
        losses.push_back(
            {fwd == FwdMode::TxOnly ? "tx-dropped (no room in the ring)" : "tx-dropped",
             port.tx_dropped});
    if (port.tx_no_mbuf != 0)
        losses.push_back({"tx-nombuf (pool empty)", port.tx_no_mbuf});
    print(out, "  %-12s", "drops");
    if (losses.empty())
        print(out, " none");
    for (size_t i = 0; i < losses.size(); ++i)
        print(out, "%s %s: %s", i == 0 ? "" : ",", losses[i].name.c_str(),
              grouped(losses[i].value).c_str());
    print(out, "\n");
}

// A device without a buffer drops in its own counters, which this side cannot see.
void print_ring_level(std::FILE* out, const PortSummary& port)
{
    uint64_t polls = 0;
    for (const NamedCount& one : port.xstats) {
        if (one.name.ends_with("_ring_empty"))
            polls += one.value;
    }
    if (polls != 0)
        print(
            out,
            "  %-12s %s polls found no buffer left for the back end, which may have dropped; give "
            "more descriptors (--rxd and queue_size)\n",
            "ring empty", grouped(polls).c_str());
}

} // namespace

double Direction::mpps() const
{
    return seconds > 0 ? static_cast<double>(packets) / seconds / 1e6 : 0;
}

double Direction::gbps() const
{
    return seconds > 0 ? static_cast<double>(bytes) * 8 / seconds / 1e9 : 0;
}

std::optional<double> Direction::average() const
{
    return ratio(bytes, packets);
}

std::optional<double> Direction::segments_per_packet() const
{
    return ratio(segments, packets);
}

std::optional<double> PortSummary::footprint_ratio() const
{
    if (!footprint || !payload)
        return std::nullopt;
    return ratio(*footprint, *payload);
}

void print_port(std::FILE* out, FwdMode fwd, const PortSummary& port, bool all_xstats)
{
    print(out, "port %u: %s  %s\n", port.id, port.name.c_str(), port.mac.c_str());
    if (fwd != FwdMode::TxOnly) {
        print_direction(out, "received", port.rx);
        print_classes(out, port);
        if (const auto footprint = port.footprint_ratio())
            print(out, "  %-12s %.3f bytes of memory per payload byte\n", "footprint", *footprint);
    }
    if (fwd != FwdMode::RxOnly)
        print_direction(out, "sent", port.tx);
    print_losses(out, fwd, port);
    print_ring_level(out, port);
    if (!all_xstats)
        return;
    print(out, "  extended statistics\n");
    for (const NamedCount& one : port.xstats)
        print(out, "    %-40s %20s\n", one.name.c_str(), grouped(one.value).c_str());
}

bool print_pools(std::FILE* out, const std::vector<PoolSummary>& pools)
{
    uint64_t total = 0;
    bool ok = true;
    for (const PoolSummary& pool : pools) {
        total += pool.mbufs;
        if (pool.in_use == 0)
            continue;
        ok = false;
        print(stderr,
              "fit-testpmd: pool %s: %u of %u mbufs did not come back; a driver or a ring still "
              "holds them\n",
              pool.name.c_str(), pool.in_use, pool.mbufs);
    }
    if (ok)
        print(out, "pools: all %s mbufs of %zu %s came back\n", grouped(total).c_str(),
              pools.size(), pools.size() == 1 ? "pool" : "pools");
    return ok;
}

} // namespace fit::testpmd
