#include "ethdev_ops.hpp"

#include <cstdio>

#include "log.hpp"
#include "path_table.hpp"
#include "queues.hpp"
#include "stats.hpp"
#include "watch.hpp"

namespace fit {
namespace {

int configure(rte_eth_dev* dev)
{
    const Port& port = port_of(dev);
    if (dev->data->dev_conf.intr_conf.rxq != 0) {
        log_line(RTE_LOG_ERR, log_driver, port.name,
                 "intr_conf.rxq=1: receive interrupts are not supported; poll");
        return -ENOTSUP;
    }
    // A device takes a pair of rings into use as one (VIRTIO 1.3, 5.1.2).
    if (dev->data->nb_rx_queues != dev->data->nb_tx_queues) {
        log_line(RTE_LOG_ERR, log_driver, port.name,
                 "%u receive and %u transmit queues: the queues of a virtio-net device come in "
                 "pairs; configure as many of the one as of the other",
                 dev->data->nb_rx_queues, dev->data->nb_tx_queues);
        return -EINVAL;
    }
    return 0;
}

int infos_get(rte_eth_dev* dev, rte_eth_dev_info* info)
{
    const Port& port = port_of(dev);
    info->max_rx_queues = 1;
    info->max_tx_queues = 1;
    info->max_mac_addrs = 1;
    info->min_mtu = RTE_ETHER_MIN_MTU;
    info->max_mtu = kMaxFrame - kFrameOverhead;
    info->max_rx_pktlen = kMaxFrame;
    info->min_rx_bufsize = kLeastPoolRoom;
    info->max_rx_mempools = kMaxClasses;
    info->rx_offload_capa =
        expected_features(port).has(Feature::MrgRxbuf) ? RTE_ETH_RX_OFFLOAD_SCATTER : 0;
    info->tx_offload_capa = RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
    // More descriptors than the ring has are clamped with a warning, so the limit is the format's.
    info->rx_desc_lim = {.nb_max = SplitLayout::kMaxSize,
                         .nb_min = 1,
                         .nb_align = 1,
                         .nb_seg_max = 0,
                         .nb_mtu_seg_max = 0};
    info->tx_desc_lim = {.nb_max = SplitLayout::kMaxSize,
                         .nb_min = 1,
                         .nb_align = 1,
                         .nb_seg_max = kMostTxPieces - 1,
                         .nb_mtu_seg_max = kMostTxPieces - 1};
    info->default_rxconf.rx_free_thresh = kDefaultFreeThreshold;
    info->default_txconf.tx_free_thresh = kDefaultFreeThreshold;
    info->default_rxportconf = {
        .burst_size = 32, .ring_size = port.args.queue_size, .nb_queues = 1};
    info->default_txportconf = info->default_rxportconf;
    return 0;
}

int set_mtu(rte_eth_dev* dev, uint16_t mtu)
{
    const Port& port = port_of(dev);
    if (dev->data->dev_started != 0) {
        log_line(RTE_LOG_ERR, log_driver, port.name, "MTU %u: the port is running; stop it first",
                 mtu);
        return -EBUSY;
    }
    for (uint16_t i = 0; i < dev->data->nb_rx_queues; ++i) {
        if (dev->data->rx_queues[i] == nullptr)
            continue;
        if (const int rc = check_rx_sizes(port, *rx_queue(dev, i), mtu, expected_features(port));
            rc != 0)
            return rc;
    }
    return 0;
}

int update_link(rte_eth_dev* dev, int)
{
    if (port_of(dev).link_up && !link_is_up(dev))
        set_link(dev, false);
    return 0;
}

void get_rxq_info(rte_eth_dev* dev, uint16_t index, rte_eth_rxq_info* info)
{
    const RxQueueEntry& q = *rx_queue(dev, index);
    info->mp = q.class_count == 1 ? q.classes[0].pool : nullptr;
    info->conf = q.conf;
    info->scattered_rx = q.scatter ? 1 : 0;
    info->nb_desc = q.buffer_limit;
    info->rx_buf_size = static_cast<uint16_t>(q.sizes[0].room);
}

void get_txq_info(rte_eth_dev* dev, uint16_t index, rte_eth_txq_info* info)
{
    const TxQueueEntry& q = *tx_queue(dev, index);
    info->conf = q.conf;
    info->nb_desc = q.descriptor_limit;
}

int get_burst_mode(const rte_eth_dev* dev, rte_eth_burst_mode* mode)
{
    if (dev->data->dev_started == 0)
        return -EINVAL; // the layout is agreed with the device at start
    (void)std::snprintf(mode->info, sizeof(mode->info), "%s",
                        path_for(header_kind(port_of(dev).accepted)).name);
    return 0;
}

int get_rx_burst_mode(rte_eth_dev* dev, uint16_t, rte_eth_burst_mode* mode)
{
    return get_burst_mode(dev, mode);
}

int get_tx_burst_mode(rte_eth_dev* dev, uint16_t, rte_eth_burst_mode* mode)
{
    return get_burst_mode(dev, mode);
}

int close_port(rte_eth_dev* dev)
{
    // ethdev has stopped the port. A secondary process owns nothing of it.
    if (rte_eal_process_type() != RTE_PROC_PRIMARY)
        return 0;
    for (uint16_t i = 0; i < dev->data->nb_rx_queues; ++i)
        release_rx_queue(dev, i);
    for (uint16_t i = 0; i < dev->data->nb_tx_queues; ++i)
        release_tx_queue(dev, i);
    transport_of(port_of(dev)).reset();
    return 0;
}

// ethdev has stopped the port: what is left is a connection that starts from nothing.
int reset_port(rte_eth_dev* dev)
{
    transport_of(port_of(dev)).reset();
    return connect_port(port_of(dev));
}

constexpr eth_dev_ops make_ops()
{
    // By assignment: the order of the members changes between DPDK releases.
    eth_dev_ops ops = {};
    ops.dev_configure = configure;
    ops.dev_start = start_port;
    ops.dev_stop = stop_port;
    ops.dev_close = close_port;
    ops.dev_reset = reset_port;
    ops.dev_infos_get = infos_get;
    ops.mtu_set = set_mtu;
    ops.link_update = update_link;
    ops.rx_queue_setup = setup_rx_queue;
    ops.rx_queue_release = release_rx_queue;
    ops.tx_queue_setup = setup_tx_queue;
    ops.tx_queue_release = release_tx_queue;
    ops.rxq_info_get = get_rxq_info;
    ops.txq_info_get = get_txq_info;
    ops.rx_burst_mode_get = get_rx_burst_mode;
    ops.tx_burst_mode_get = get_tx_burst_mode;
    ops.stats_get = get_stats;
    ops.stats_reset = reset_stats;
    ops.xstats_get = get_xstats;
    ops.xstats_get_names = get_xstat_names;
    ops.xstats_reset = reset_stats;
    return ops;
}

} // namespace

constinit const eth_dev_ops kEthdevOps = make_ops();

} // namespace fit
