// Set-up and tear-down of receive and transmit queues.
#pragma once

#include "queue_memory.hpp"

namespace fit {

struct RxQueueEntry : RxQueueType {
    QueueMemory memory;
    rte_eth_rxconf conf;
    uint16_t index = 0;
    std::array<SizeClass, kMaxClasses> sizes{};
    uint64_t earlier_class_changes = 0; // those of policies that ended with a stop
    uint64_t class_changes_start = 0;   // where the statistic counts from
};

struct TxQueueEntry : TxQueueType {
    QueueMemory memory;
    rte_eth_txconf conf;
    uint16_t index = 0;
};

inline RxQueueEntry* rx_queue(const rte_eth_dev* dev, uint16_t index)
{
    return static_cast<RxQueueEntry*>(static_cast<RxQueueType*>(dev->data->rx_queues[index]));
}
inline TxQueueEntry* tx_queue(const rte_eth_dev* dev, uint16_t index)
{
    return static_cast<TxQueueEntry*>(static_cast<TxQueueType*>(dev->data->tx_queues[index]));
}

// Calls visit(queue) for every queue that is set up: statistics may be asked for before.
template <class Visit>
void for_each_rx_queue(const rte_eth_dev* dev, Visit visit)
{
    for (uint16_t i = 0; i < dev->data->nb_rx_queues; ++i) {
        if (dev->data->rx_queues[i] != nullptr)
            visit(*rx_queue(dev, i));
    }
}
template <class Visit>
void for_each_tx_queue(const rte_eth_dev* dev, Visit visit)
{
    for (uint16_t i = 0; i < dev->data->nb_tx_queues; ++i) {
        if (dev->data->tx_queues[i] != nullptr)
            visit(*tx_queue(dev, i));
    }
}

// eth_dev_ops entries; 0 or a negative errno, one logged line in the second case.
int setup_rx_queue(rte_eth_dev* dev, uint16_t index, uint16_t descriptors, unsigned socket,
                   const rte_eth_rxconf* conf, rte_mempool* pool);
int setup_tx_queue(rte_eth_dev* dev, uint16_t index, uint16_t descriptors, unsigned socket,
                   const rte_eth_txconf* conf);
void release_rx_queue(rte_eth_dev* dev, uint16_t index);
void release_tx_queue(rte_eth_dev* dev, uint16_t index);

// Whether the queue's classes can hold what `mtu` demands with these features; logs both numbers if
// not.
[[nodiscard]] int check_rx_sizes(const Port& port, const RxQueueEntry& q, uint16_t mtu,
                                 FeatureSet accepted);

// Empties the ring and starts it again in the layout that `accepted` implies. No buffer may be in
// flight.
[[nodiscard]] int reset_rx_queue(const Port& port, RxQueueEntry& q, uint16_t mtu,
                                 FeatureSet accepted);
void reset_tx_queue(TxQueueEntry& q, FeatureSet accepted);

// Frees every mbuf that the queue holds. The device must not use the ring any more.
void drain_rx_queue(RxQueueEntry& q);
void drain_tx_queue(TxQueueEntry& q);

} // namespace fit
