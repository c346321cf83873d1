#include <string_view>

#include "summary.hpp"
#include "text.hpp"

namespace fit::testpmd {

namespace {

std::string quoted(std::string_view text)
{
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\')
            out += '\\';
        if (static_cast<unsigned char>(c) < 0x20)
            out += format("\\u%04x", static_cast<unsigned>(c));
        else
            out += c;
    }
    return out + '"';
}

std::string number(uint64_t value)
{
    return std::to_string(value);
}

std::string number(std::optional<uint64_t> value)
{
    return value ? std::to_string(*value) : "null";
}

std::string number(std::optional<double> value)
{
    return value ? format("%.6f", *value) : "null";
}

template <class List, class Text>
std::string array_of(const List& list, Text text)
{
    std::string out = "[";
    for (const auto& one : list)
        out += (out.size() == 1 ? "" : ", ") + text(one);
    return out + "]";
}

std::string counts(const std::vector<NamedCount>& list)
{
    std::string out = "{";
    for (const NamedCount& one : list)
        out += (out.size() == 1 ? "" : ", ") + quoted(one.name) + ": " + number(one.value);
    return out + "}";
}

std::string direction(const Direction& d)
{
    return "{\"packets\": " + number(d.packets) + ", \"bytes\": " + number(d.bytes) +
           ", \"segments\": " + number(d.segments) +
           ", \"active_seconds\": " + number(std::optional(d.seconds)) +
           ", \"mpps\": " + number(std::optional(d.mpps())) +
           ", \"gbps\": " + number(std::optional(d.gbps())) +
           ", \"average_bytes\": " + number(d.average()) +
           ", \"segments_per_packet\": " + number(d.segments_per_packet()) + "}";
}

std::string class_use(const ClassUse& use)
{
    return "{\"room\": " + number(std::optional<uint64_t>(use.room)) +
           ", \"segments\": " + number(use.segments) + "}";
}

std::string port_json(const PortSummary& port)
{
    return "{\"id\": " + number(uint64_t{port.id}) + ", \"name\": " + quoted(port.name) +
           ", \"driver\": " + quoted(port.driver) + ", \"mac\": " + quoted(port.mac) +
           ",\n   \"rx\": " + direction(port.rx) + ",\n   \"tx\": " + direction(port.tx) +
           ",\n   \"tx_dropped\": " + number(port.tx_dropped) +
           ", \"tx_nombuf\": " + number(port.tx_no_mbuf) + ", \"imissed\": " + number(port.missed) +
           ", \"ierrors\": " + number(port.errors) + ", \"rx_nombuf\": " + number(port.no_mbuf) +
           ",\n   \"footprint_bytes\": " + number(port.footprint) +
           ", \"payload_bytes\": " + number(port.payload) +
           ", \"footprint_per_payload_byte\": " + number(port.footprint_ratio()) +
           ",\n   \"classes\": " + array_of(port.classes, class_use) +
           ",\n   \"losses\": " + counts(losses_of(port.xstats)) +
           ",\n   \"xstats\": " + counts(port.xstats) + "}";
}

std::string pool_json(const PoolSummary& pool)
{
    return "{\"name\": " + quoted(pool.name) + ", \"mbufs\": " + number(uint64_t{pool.mbufs}) +
           ", \"in_use\": " + number(uint64_t{pool.in_use}) + "}";
}

} // namespace

std::string to_json(const RunSummary& run)
{
    return "{\"fwd\": " + quoted(name_of(run.fwd)) +
           ", \"stop_reason\": " + quoted(run.stop_reason) +
           ", \"seconds\": " + number(std::optional(run.seconds)) +
           ",\n \"ports\": " + array_of(run.ports, port_json) +
           ",\n \"pools\": " + array_of(run.pools, pool_json) + "}\n";
}

} // namespace fit::testpmd
