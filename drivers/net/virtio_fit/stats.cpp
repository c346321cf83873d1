#include "stats.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>
#include <vector>

#include "queues.hpp"

namespace fit {
namespace {

struct Stat {
    std::array<char, RTE_ETH_XSTATS_NAME_SIZE> name{};
    uint64_t value = 0;
};

// What the device completed of a class, less what was dropped. A packet that was begun before the
// statistics were reset and dropped after it is the only way below zero.
uint64_t delivered_segments(const RxQueueEntry& q, uint8_t k)
{
    const uint64_t consumed = q.classes[k].consumed.value();
    return consumed - std::min(consumed, q.classes[k].discarded.value());
}

// A state, not a count: from totals, which no reset changes.
uint64_t posted_segments(const RxQueueEntry& q, uint8_t k)
{
    return q.classes[k].posted.total() - q.classes[k].consumed.total();
}

uint64_t class_changes(const RxQueueEntry& q)
{
    return q.earlier_class_changes + q.sizing.class_changes();
}

template <class PerClass>
uint64_t sum_classes(const RxQueueEntry& q, PerClass per_class)
{
    uint64_t sum = 0;
    for (uint8_t k = 0; k < q.class_count; ++k)
        sum += per_class(k);
    return sum;
}

class StatList {
  public:
    StatList(const char* direction, uint16_t queue) : direction_(direction), queue_(queue) {}

    void add(const char* name, uint64_t value, const char* rest = "")
    {
        Stat stat;
        (void)std::snprintf(stat.name.data(), stat.name.size(), "%s_q%u_%s%s", direction_, queue_,
                            name, rest);
        stat.value = value;
        list.push_back(stat);
    }

    std::vector<Stat> list;

  private:
    const char* direction_;
    uint16_t queue_;
};

std::vector<Stat> rx_stats(const RxQueueEntry& q)
{
    StatList s("rx", q.index);
    s.add("avg_packet_len", q.sizing.estimate());
    s.add("segment_room", q.classes[q.sizing.current_class()].room);
    s.add("segments", sum_classes(q, [&](uint8_t k) { return delivered_segments(q, k); }));
    s.add("footprint_bytes", sum_classes(q, [&](uint8_t k) {
              return delivered_segments(q, k) * q.sizes[k].footprint;
          }));
    s.add("payload_bytes", q.counters.bytes.value());
    s.add("posted_segments", sum_classes(q, [&](uint8_t k) { return posted_segments(q, k); }));
    s.add("posted_bytes",
          sum_classes(q, [&](uint8_t k) { return posted_segments(q, k) * q.sizes[k].footprint; }));
    for (uint8_t k = 0; k < q.class_count; ++k) {
        char name[32];
        (void)std::snprintf(name, sizeof(name), "class_%u_segments", k);
        s.add(name, delivered_segments(q, k));
    }
    s.add("ring_empty", q.counters.ring_empty.value());
    s.add("ring_low_watermark", q.counters.low_watermark.value(q.buffer_limit));
    s.add("class_changes", class_changes(q) - q.class_changes_start);
    s.add("header_anomalies", q.counters.header_anomalies.value());
    s.add("notifications", q.counters.notifications.value());
    for (size_t i = 0; i < kRxDrops.size(); ++i)
        s.add("drop_", q.counters.drops[i].value(), kRxDrops[i].name);
    return std::move(s.list);
}

std::vector<Stat> tx_stats(const TxQueueEntry& q)
{
    StatList s("tx", q.index);
    s.add("ring_full", q.counters.ring_full.value());
    s.add("notifications", q.counters.notifications.value());
    for (size_t i = 0; i < kTxDrops.size(); ++i)
        s.add("drop_", q.counters.drops[i].value(), kTxDrops[i].name);
    return std::move(s.list);
}

// All of the port, as they have counted since its queues were set up.
std::vector<Stat> all_stats(const rte_eth_dev* dev)
{
    std::vector<Stat> all;
    const auto append = [&](std::vector<Stat> some) {
        all.insert(all.end(), some.begin(), some.end());
    };
    for_each_rx_queue(dev, [&](const RxQueueEntry& q) { append(rx_stats(q)); });
    for_each_tx_queue(dev, [&](const TxQueueEntry& q) { append(tx_stats(q)); });
    return all;
}

template <class Counters>
uint64_t dropped(const Counters& counters)
{
    uint64_t sum = 0;
    for (const Counter& drop : counters.drops)
        sum += drop.value();
    return sum;
}

template <class Counters>
void restart_drops(Counters& counters)
{
    for (Counter& drop : counters.drops)
        drop.restart();
}

void restart(RxQueueEntry& q)
{
    for (RxClass& c : q.classes) {
        c.consumed.restart();
        c.discarded.restart();
    }
    q.counters.packets.restart();
    q.counters.bytes.restart();
    q.counters.no_mbuf.restart();
    q.counters.ring_empty.restart();
    q.counters.low_watermark.restart();
    q.counters.header_anomalies.restart();
    q.counters.notifications.restart();
    restart_drops(q.counters);
    q.class_changes_start = class_changes(q);
}

void restart(TxQueueEntry& q)
{
    q.counters.packets.restart();
    q.counters.bytes.restart();
    q.counters.ring_full.restart();
    q.counters.notifications.restart();
    restart_drops(q.counters);
}

} // namespace

int get_stats(rte_eth_dev* dev, rte_eth_stats* stats)
{
    for_each_rx_queue(dev, [&](const RxQueueEntry& q) {
        stats->ipackets += q.counters.packets.value();
        stats->ibytes += q.counters.bytes.value();
        stats->ierrors += dropped(q.counters);
        stats->rx_nombuf += q.counters.no_mbuf.value();
        if (q.index < RTE_ETHDEV_QUEUE_STAT_CNTRS) {
            stats->q_ipackets[q.index] = q.counters.packets.value();
            stats->q_ibytes[q.index] = q.counters.bytes.value();
            stats->q_errors[q.index] = dropped(q.counters);
        }
    });
    for_each_tx_queue(dev, [&](const TxQueueEntry& q) {
        stats->opackets += q.counters.packets.value();
        stats->obytes += q.counters.bytes.value();
        stats->oerrors += dropped(q.counters);
        if (q.index < RTE_ETHDEV_QUEUE_STAT_CNTRS) {
            stats->q_opackets[q.index] = q.counters.packets.value();
            stats->q_obytes[q.index] = q.counters.bytes.value();
        }
    });
    return 0;
}

int reset_stats(rte_eth_dev* dev)
{
    for_each_rx_queue(dev, [](RxQueueEntry& q) { restart(q); });
    for_each_tx_queue(dev, [](TxQueueEntry& q) { restart(q); });
    return 0;
}

int get_xstats(rte_eth_dev* dev, rte_eth_xstat* values, unsigned count)
{
    const std::vector<Stat> all = all_stats(dev);
    if (values != nullptr && count >= all.size()) {
        for (size_t i = 0; i < all.size(); ++i)
            values[i] = {.id = i, .value = all[i].value};
    }
    return static_cast<int>(all.size());
}

int get_xstat_names(rte_eth_dev* dev, rte_eth_xstat_name* names, unsigned count)
{
    const std::vector<Stat> all = all_stats(dev);
    if (names != nullptr && count >= all.size()) {
        for (size_t i = 0; i < all.size(); ++i)
            std::copy(all[i].name.begin(), all[i].name.end(), names[i].name);
    }
    return static_cast<int>(all.size());
}

} // namespace fit
