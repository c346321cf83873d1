#include <algorithm>
#include <cstring>
#include <new>

#include <rte_malloc.h>

#include "log.hpp"
#include "net/drain.hpp"
#include "queues.hpp"

namespace fit {

int setup_tx_queue(rte_eth_dev* dev, uint16_t index, uint16_t descriptors, unsigned socket,
                   const rte_eth_txconf* conf)
{
    const Port& port = port_of(dev);
    if (conf->tx_deferred_start != 0) {
        log_line(RTE_LOG_ERR, log_driver, port.name,
                 "tx queue %u: tx_deferred_start=1: queues start with the port; clear it", index);
        return -ENOTSUP;
    }
    release_tx_queue(dev, index);
    void* memory = rte_zmalloc_socket("fit_tx", sizeof(TxQueueEntry), RTE_CACHE_LINE_SIZE,
                                      static_cast<int>(socket));
    if (memory == nullptr) {
        log_line(RTE_LOG_ERR, log_driver, port.name,
                 "tx queue %u: no memory; give EAL more memory (-m)", index);
        return -ENOMEM;
    }
    auto* q = new (memory) TxQueueEntry;
    q->index = index;
    q->conf = *conf;
    q->descriptor_limit = clamp_descriptors(port, "tx", index, descriptors);
    q->reclaim_threshold = free_threshold(conf->tx_free_thresh, q->descriptor_limit);
    dev->data->tx_queues[index] = static_cast<TxQueueType*>(q);
    const int rc =
        q->memory.allocate(port, "tx", index, socket, RTE_CACHE_LINE_SIZE, sizeof(TxSlot));
    if (rc != 0)
        release_tx_queue(dev, index);
    return rc;
}

void release_tx_queue(rte_eth_dev* dev, uint16_t index)
{
    if (dev->data->tx_queues[index] == nullptr)
        return;
    TxQueueEntry* q = tx_queue(dev, index);
    q->memory.free();
    dev->data->tx_queues[index] = nullptr;
    rte_free(q);
}

void reset_tx_queue(TxQueueEntry& q, FeatureSet accepted)
{
    q.ring.attach(q.memory.layout, q.memory.ring(), q.memory.ring_private());
    q.slots = reinterpret_cast<TxSlot*>(q.memory.slots());
    std::fill_n(q.slots, q.memory.layout.size, TxSlot{});
    q.fault = RingFault::None;
    q.header_in_headroom = accepted.has(Feature::Version1) || accepted.has(Feature::AnyLayout);
    std::byte* header = q.memory.ring() + q.memory.layout.bytes();
    std::memset(header, 0, RTE_CACHE_LINE_SIZE);
    q.shared_header = reinterpret_cast<uint64_t>(header);
}

void drain_tx_queue(TxQueueEntry& q)
{
    if (q.slots != nullptr)
        drain({q.slots, q.memory.layout.size});
}

} // namespace fit
