#include "option_values.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <utility>

#include "text.hpp"

namespace fit::testpmd {

namespace {

constexpr double kMaxSeconds = 1e7;

constexpr std::array<std::pair<const char*, FwdMode>, 4> kModes{{
    {"rxonly", FwdMode::RxOnly},
    {"io", FwdMode::Io},
    {"mac", FwdMode::Mac},
    {"txonly", FwdMode::TxOnly},
}};

[[noreturn]] void refuse(std::string_view name, std::string_view value, const std::string& reason)
{
    throw UserError("--" + std::string(name) + " '" + std::string(value) + "': " + reason);
}

std::vector<uint16_t> parse_list(std::string_view name, std::string_view value, uint64_t low,
                                 uint64_t high, size_t most)
{
    std::vector<uint16_t> list;
    for (size_t start = 0; start <= value.size();) {
        const size_t comma = std::min(value.find(',', start), value.size());
        const std::string_view item = value.substr(start, comma - start);
        if (item.empty())
            refuse(name, value, "empty entry; separate numbers with single commas");
        list.push_back(static_cast<uint16_t>(parse_number(name, item, low, high)));
        start = comma + 1;
    }
    if (list.size() > most)
        refuse(name, value, format("%zu entries; give at most %zu", list.size(), most));
    return list;
}

} // namespace

const char* name_of(FwdMode mode)
{
    for (const auto& [text, value] : kModes) {
        if (value == mode)
            return text;
    }
    return "?";
}

uint64_t parse_number(std::string_view name, std::string_view value, uint64_t low, uint64_t high)
{
    uint64_t number = 0;
    const char* end = value.data() + value.size();
    const auto [stop, status] = std::from_chars(value.data(), end, number);
    const bool too_big = status == std::errc::result_out_of_range && stop == end;
    if (!too_big && (status != std::errc{} || stop != end))
        refuse(name, value,
               format("not a whole number; give %s to %s", grouped(low).c_str(),
                      grouped(high).c_str()));
    if (too_big || number < low || number > high)
        refuse(name, value,
               format("out of range; give %s to %s", grouped(low).c_str(), grouped(high).c_str()));
    return number;
}

double parse_seconds(std::string_view name, std::string_view value)
{
    double seconds = 0;
    const char* end = value.data() + value.size();
    const auto [stop, status] =
        std::from_chars(value.data(), end, seconds, std::chars_format::fixed);
    if (status != std::errc{} || stop != end || !(seconds >= 0 && seconds <= kMaxSeconds))
        refuse(name, value, "not a number of seconds; give 0 or more, such as 1 or 0.5");
    return seconds;
}

FwdMode parse_fwd(std::string_view name, std::string_view value)
{
    std::string valid;
    for (const auto& [text, mode] : kModes) {
        if (value == text)
            return mode;
        valid += valid.empty() ? text : std::string(", ") + text;
    }
    refuse(name, value, "unknown forwarding mode; use one of " + valid);
}

std::vector<uint16_t> parse_segments(std::string_view name, std::string_view value)
{
    auto rooms = parse_list(name, value, kMinSegment, kMaxSegment, kMaxSegments);
    std::sort(rooms.begin(), rooms.end());
    const auto twin = std::adjacent_find(rooms.begin(), rooms.end());
    if (twin != rooms.end())
        refuse(name, value, format("%u appears twice; give each data room once", *twin));
    return rooms;
}

std::vector<uint16_t> parse_frames(std::string_view name, std::string_view value)
{
    return parse_list(name, value, kMinFrame, kMaxFrame, kMaxFrameSizes);
}

} // namespace fit::testpmd
