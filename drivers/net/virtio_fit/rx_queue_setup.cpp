#include <algorithm>
#include <new>
#include <span>

#include <rte_cycles.h>
#include <rte_malloc.h>

#include "log.hpp"
#include "memory.hpp"
#include "net/drain.hpp"
#include "net/mbuf_fields.hpp"
#include "net/rx_classes.hpp"
#include "queues.hpp"

namespace fit {
namespace {

// The whole object: mempool header, mbuf, private area, buffer, trailer and padding.
uint32_t footprint(const rte_mempool* pool)
{
    return pool->header_size + pool->elt_size + pool->trailer_size;
}

void fill_ladder(const Port& port, RxQueueEntry& q, std::span<rte_mempool* const> pools)
{
    fill_classes(q, pools);
    for (uint8_t k = 0; k < q.class_count; ++k)
        q.sizes[k] = {q.classes[k].room, footprint(q.classes[k].pool)};
    if (q.class_count < pools.size())
        log_line(RTE_LOG_NOTICE, log_driver, port.name,
                 "rx queue %u: %zu mempools are given and %u of them differ; each counts once",
                 q.index, pools.size(), q.class_count);
}

SizingConfig sizing_config(const Port& port, const RxQueueEntry& q, uint16_t mtu,
                           FeatureSet accepted)
{
    const bool mergeable = accepted.has(Feature::MrgRxbuf);
    const uint32_t frame = mtu + kFrameOverhead;
    return {.ewma_weight = port.args.ewma_weight,
            .min_segment = port.args.min_segment,
            .largest_frame = mergeable ? frame : std::max(frame, kLeastPlainFrame),
            // One less than the threshold may be waiting for refill when the largest frame comes.
            .ring_segments = uint32_t{q.buffer_limit} - q.refill_threshold + 1,
            .one_segment_per_packet = !(mergeable && q.scatter)};
}

Result<SizingPolicy> make_policy(const Port& port, const RxQueueEntry& q, uint16_t mtu,
                                 FeatureSet accepted)
{
    const auto ladder = SegmentLadder::make({q.sizes.data(), q.class_count});
    if (!ladder)
        return ladder.error();
    return SizingPolicy::make(*ladder, sizing_config(port, q, mtu, accepted));
}

int refuse_rx_conf(const Port& port, uint16_t index, const rte_eth_rxconf& conf)
{
    if (conf.rx_deferred_start != 0) {
        log_line(RTE_LOG_ERR, log_driver, port.name,
                 "rx queue %u: rx_deferred_start=1: queues start with the port; clear it", index);
        return -ENOTSUP;
    }
    if (conf.rx_nseg != 0) {
        log_line(RTE_LOG_ERR, log_driver, port.name,
                 "rx queue %u: rx_nseg=%u: buffer split is not supported; pass rx_mempools for "
                 "several sizes",
                 index, conf.rx_nseg);
        return -ENOTSUP;
    }
    return 0;
}

int refuse_unshared_pools(const Port& port, const RxQueueEntry& q)
{
    for (const RxClass& c : std::span(q.classes).first(q.class_count)) {
        if (in_eal_memory(c.pool))
            continue;
        log_line(
            RTE_LOG_ERR, log_driver, port.name,
            "rx queue %u: mempool %s lies in memory that EAL does not share with the back end; "
            "create it by rte_pktmbuf_pool_create (testpmd: --mp-alloc=native)",
            q.index, c.pool->name);
        return -ENOTSUP;
    }
    return 0;
}

} // namespace

int check_rx_sizes(const Port& port, const RxQueueEntry& q, uint16_t mtu, FeatureSet accepted)
{
    const auto policy = make_policy(port, q, mtu, accepted);
    if (policy)
        return 0;
    const SizingConfig need = sizing_config(port, q, mtu, accepted);
    const char* advice = "give a larger mempool or more descriptors";
    if (need.one_segment_per_packet)
        advice = accepted.has(Feature::MrgRxbuf)
                     ? "give a larger mempool, or ask for RTE_ETH_RX_OFFLOAD_SCATTER"
                     : "give a larger mempool, or use a device with MRG_RXBUF";
    log_line(RTE_LOG_ERR, log_driver, port.name,
             "rx queue %u: MTU %u needs %u bytes, the largest segment holds %u and %u are always "
             "posted; %s",
             q.index, mtu, need.largest_frame, q.sizes[q.class_count - 1u].room, need.ring_segments,
             advice);
    return policy.error().negative();
}

int setup_rx_queue(rte_eth_dev* dev, uint16_t index, uint16_t descriptors, unsigned socket,
                   const rte_eth_rxconf* conf, rte_mempool* pool)
{
    const Port& port = port_of(dev);
    if (const int rc = refuse_rx_conf(port, index, *conf); rc != 0)
        return rc;
    release_rx_queue(dev, index);

    void* memory = rte_zmalloc_socket("fit_rx", sizeof(RxQueueEntry), RTE_CACHE_LINE_SIZE,
                                      static_cast<int>(socket));
    if (memory == nullptr) {
        log_line(RTE_LOG_ERR, log_driver, port.name,
                 "rx queue %u: no memory; give EAL more memory (-m)", index);
        return -ENOMEM;
    }
    auto* q = new (memory) RxQueueEntry;
    q->index = index;
    q->conf = *conf;
    q->conf.rx_mempools = nullptr; // the caller's array ends with this call
    q->conf.rx_nmempool = 0;
    q->scatter =
        ((dev->data->dev_conf.rxmode.offloads | conf->offloads) & RTE_ETH_RX_OFFLOAD_SCATTER) != 0;
    q->buffer_limit = clamp_descriptors(port, "rx", index, descriptors);
    q->refill_threshold = free_threshold(conf->rx_free_thresh, q->buffer_limit);
    if (pool != nullptr)
        fill_ladder(port, *q, {&pool, 1});
    else
        fill_ladder(port, *q, {conf->rx_mempools, conf->rx_nmempool});
    dev->data->rx_queues[index] = static_cast<RxQueueType*>(q);

    int rc = refuse_unshared_pools(port, *q);
    if (rc == 0)
        rc = check_rx_sizes(port, *q, dev->data->mtu, expected_features(port));
    if (rc == 0)
        rc = q->memory.allocate(port, "rx", index, socket, 0, sizeof(RxSlot));
    if (rc != 0)
        release_rx_queue(dev, index);
    return rc;
}

void release_rx_queue(rte_eth_dev* dev, uint16_t index)
{
    if (dev->data->rx_queues[index] == nullptr)
        return;
    RxQueueEntry* q = rx_queue(dev, index);
    q->memory.free();
    dev->data->rx_queues[index] = nullptr;
    rte_free(q);
}

int reset_rx_queue(const Port& port, RxQueueEntry& q, uint16_t mtu, FeatureSet accepted)
{
    if (const int rc = check_rx_sizes(port, q, mtu, accepted); rc != 0)
        return rc;
    auto policy = make_policy(port, q, mtu, accepted);
    if (!policy)
        return policy.error().negative();
    q.earlier_class_changes += q.sizing.class_changes();
    q.sizing = *policy;
    q.ring.attach(q.memory.layout, q.memory.ring(), q.memory.ring_private());
    q.slots = reinterpret_cast<RxSlot*>(q.memory.slots());
    std::fill_n(q.slots, q.memory.layout.size, RxSlot{});
    q.fault = RingFault::None;
    q.partial = {};
    q.header_size = header_size(header_kind(accepted));
    q.rearm_first = rearm_word(RTE_PKTMBUF_HEADROOM, port.port_id);
    q.rearm_next =
        rearm_word(static_cast<uint16_t>(RTE_PKTMBUF_HEADROOM - q.header_size), port.port_id);
    q.prefetch_offset = q.classes[0].mbuf_to_buffer + RTE_PKTMBUF_HEADROOM - q.header_size;
    const uint32_t smallest = q.classes[q.sizing.lowest_class()].room + q.header_size;
    q.most_buffers = static_cast<uint16_t>((kMaxFrame + q.header_size + smallest - 1) / smallest);
    q.partial_limit = rte_get_tsc_hz(); // one second
    return 0;
}

void drain_rx_queue(RxQueueEntry& q)
{
    if (q.slots != nullptr)
        drain(q, {q.slots, q.memory.layout.size});
}

} // namespace fit
