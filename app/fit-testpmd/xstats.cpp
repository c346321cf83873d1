#include "xstats.hpp"

#include <algorithm>

#include <rte_ethdev.h>

#include "text.hpp"

namespace fit::testpmd {

namespace {

constexpr std::array kNames{"avg_packet_len", "segment_room", "segments",     "footprint_bytes",
                            "payload_bytes",  "posted_bytes", "class_changes"};
constexpr unsigned kMaxClasses = 8;

// By id. One call instead of a look-up per name: a driver that has no statistics yet logs an error
// each time.
std::vector<std::string> xstat_names(uint16_t port)
{
    const int count = rte_eth_xstats_get_names(port, nullptr, 0);
    if (count <= 0)
        return {};
    std::vector<rte_eth_xstat_name> names(static_cast<size_t>(count));
    if (rte_eth_xstats_get_names(port, names.data(), static_cast<unsigned>(count)) != count)
        return {};
    std::vector<std::string> list;
    list.reserve(names.size());
    for (const rte_eth_xstat_name& one : names)
        list.emplace_back(one.name);
    return list;
}

} // namespace

SizingXstats::SizingXstats(uint16_t port, uint16_t queues) : port_(port), queues_(queues)
{
    static_assert(kNames.size() == kStats);
    const std::vector<std::string> names = xstat_names(port);
    for (uint16_t q = 0; q < queues; ++q) {
        for (size_t i = 0; i < kStats; ++i)
            queues_[q].stats[i] = look_up(names, format("rx_q%u_%s", q, kNames[i]));
        for (unsigned k = 0; k < kMaxClasses; ++k) {
            const Slot slot = look_up(names, format("rx_q%u_class_%u_segments", q, k));
            if (!slot)
                break;
            queues_[q].classes.push_back(slot);
        }
    }
}

SizingXstats::Slot SizingXstats::look_up(const std::vector<std::string>& names,
                                         const std::string& name)
{
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end())
        return std::nullopt;
    ids_.push_back(static_cast<uint64_t>(found - names.begin()));
    return ids_.size() - 1;
}

void SizingXstats::read()
{
    values_.resize(ids_.size());
    if (ids_.empty())
        return;
    const auto size = static_cast<unsigned>(ids_.size());
    if (rte_eth_xstats_get_by_id(port_, ids_.data(), values_.data(), size) !=
        static_cast<int>(size))
        values_.clear();
}

std::optional<uint64_t> SizingXstats::at(Slot slot) const
{
    if (!slot || *slot >= values_.size())
        return std::nullopt;
    return values_[*slot];
}

std::optional<uint64_t> SizingXstats::value(uint16_t queue, SizingStat stat) const
{
    return at(queues_[queue].stats[static_cast<size_t>(stat)]);
}

std::optional<uint64_t> SizingXstats::total(SizingStat stat) const
{
    uint64_t sum = 0;
    for (const Queue& queue : queues_) {
        const auto one = at(queue.stats[static_cast<size_t>(stat)]);
        if (!one)
            return std::nullopt;
        sum += *one;
    }
    return sum;
}

std::vector<uint64_t> SizingXstats::class_segments() const
{
    std::vector<uint64_t> sums;
    for (const Queue& queue : queues_) {
        sums.resize(std::max(sums.size(), queue.classes.size()));
        for (size_t k = 0; k < queue.classes.size(); ++k)
            sums[k] += at(queue.classes[k]).value_or(0);
    }
    return sums;
}

std::vector<NamedCount> all_xstats(uint16_t port)
{
    const std::vector<std::string> names = xstat_names(port);
    std::vector<rte_eth_xstat> values(names.size());
    const auto size = static_cast<unsigned>(values.size());
    if (names.empty() || rte_eth_xstats_get(port, values.data(), size) != static_cast<int>(size))
        return {};
    std::vector<NamedCount> list;
    for (const rte_eth_xstat& value : values) {
        if (value.id < names.size())
            list.push_back({names[value.id], value.value});
    }
    return list;
}

std::vector<NamedCount> losses_of(const std::vector<NamedCount>& xstats)
{
    std::vector<NamedCount> losses;
    for (const NamedCount& one : xstats) {
        for (const char* word : {"drop", "error", "missed"}) {
            if (one.value != 0 && one.name.find(word) != std::string::npos) {
                losses.push_back(one);
                break;
            }
        }
    }
    return losses;
}

} // namespace fit::testpmd
