#include "port.hpp"

#include <array>
#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "log.hpp"
#include "memory.hpp"
#include "path_table.hpp"
#include "queues.hpp"
#include "transport/vhost_user/frontend.hpp"
#include "virtio/handshake.hpp"
#include "watch.hpp"

namespace fit {
namespace {

constexpr std::chrono::milliseconds kConnectLimit{3000};

std::array<std::unique_ptr<Transport>, RTE_MAX_ETHPORTS> transports;

// Queue numbers of the device (VIRTIO 1.3, 5.1.2).
constexpr uint16_t rx_virtqueue(uint16_t pair)
{
    return static_cast<uint16_t>(2 * pair);
}
constexpr uint16_t tx_virtqueue(uint16_t pair)
{
    return static_cast<uint16_t>(2 * pair + 1);
}

int failed(const Port& port, const char* what, const Error& error)
{
    log_error(log_vhost, port.name, what, error);
    return error.negative();
}

int prepare_rx(rte_eth_dev* dev, uint16_t i, Transport& transport)
{
    const Port& port = port_of(dev);
    RxQueueEntry& q = *rx_queue(dev, i);
    if (const int rc = reset_rx_queue(port, q, dev->data->mtu, port.accepted); rc != 0)
        return rc;
    const auto notifier = transport.setup_queue(rx_virtqueue(i), q.memory.addresses());
    if (!notifier)
        return failed(port, "rx queue set-up", notifier.error());
    q.notifier = *notifier;
    const uint16_t posted = post_segments(static_cast<RxQueueType&>(q), q.buffer_limit);
    if (posted < q.buffer_limit)
        log_line(
            RTE_LOG_WARNING, log_rx, port.name,
            "rx queue %u: %u of %u buffers posted, the mempools hold no more; give them more mbufs",
            i, posted, q.buffer_limit);
    q.ring.publish();
    return 0;
}

int prepare_tx(rte_eth_dev* dev, uint16_t i, Transport& transport)
{
    const Port& port = port_of(dev);
    TxQueueEntry& q = *tx_queue(dev, i);
    reset_tx_queue(q, port.accepted);
    const auto notifier = transport.setup_queue(tx_virtqueue(i), q.memory.addresses());
    if (!notifier)
        return failed(port, "tx queue set-up", notifier.error());
    q.notifier = *notifier;
    return 0;
}

int prepare_queues(rte_eth_dev* dev, Transport& transport)
{
    for (uint16_t i = 0; i < dev->data->nb_rx_queues; ++i) {
        if (const int rc = prepare_rx(dev, i, transport); rc != 0)
            return rc;
    }
    for (uint16_t i = 0; i < dev->data->nb_tx_queues; ++i) {
        if (const int rc = prepare_tx(dev, i, transport); rc != 0)
            return rc;
    }
    return 0;
}

int enable_queues(rte_eth_dev* dev, Transport& transport)
{
    const Port& port = port_of(dev);
    for (uint16_t i = 0; i < dev->data->nb_rx_queues; ++i) {
        if (auto done = transport.enable_queue(rx_virtqueue(i)); !done)
            return failed(port, "rx queue enable", done.error());
    }
    for (uint16_t i = 0; i < dev->data->nb_tx_queues; ++i) {
        if (auto done = transport.enable_queue(tx_virtqueue(i)); !done)
            return failed(port, "tx queue enable", done.error());
    }
    return 0;
}

int refuse_missing_queues(const rte_eth_dev* dev)
{
    const auto refuse = [dev](const char* kind, uint16_t queue) {
        log_line(RTE_LOG_ERR, log_driver, port_of(dev).name,
                 "%s queue %u: not set up; call rte_eth_%s_queue_setup before the start", kind,
                 queue, kind);
        return -EINVAL;
    };
    for (uint16_t i = 0; i < dev->data->nb_rx_queues; ++i) {
        if (dev->data->rx_queues[i] == nullptr)
            return refuse("rx", i);
    }
    for (uint16_t i = 0; i < dev->data->nb_tx_queues; ++i) {
        if (dev->data->tx_queues[i] == nullptr)
            return refuse("tx", i);
    }
    return 0;
}

int check_accepted(const rte_eth_dev* dev)
{
    const Port& port = port_of(dev);
    const bool scatter = (dev->data->dev_conf.rxmode.offloads & RTE_ETH_RX_OFFLOAD_SCATTER) != 0;
    if (!scatter || port.accepted.has(Feature::MrgRxbuf))
        return 0;
    log_line(RTE_LOG_ERR, log_driver, port.name,
             "SCATTER was configured but the device no longer offers MRG_RXBUF; configure the port "
             "again without it");
    return -EIO;
}

// From the reset to DRIVER_OK (VIRTIO 1.3, 3.1.1).
int bring_up(rte_eth_dev* dev, Transport& transport, Handshake& handshake)
{
    Port& port = port_of(dev);
    const auto accepted = handshake.negotiate(wanted_features(port.args));
    if (!accepted)
        return failed(port, "start", accepted.error());
    port.accepted = *accepted;
    if (const int rc = check_accepted(dev); rc != 0)
        return rc;
    if (auto done = transport.share_memory(eal_memory()); !done)
        return failed(port, "start", done.error());
    if (const int rc = prepare_queues(dev, transport); rc != 0)
        return rc;
    if (const int rc = enable_queues(dev, transport); rc != 0)
        return rc;
    if (auto done = handshake.driver_ok(); !done)
        return failed(port, "start", done.error());
    return 0;
}

// No notification before DRIVER_OK (3.1.1), and one right after it on every ring: back ends written
// to the older vhost-user text start a ring at its first kick.
void first_notifications(rte_eth_dev* dev)
{
    for (uint16_t i = 0; i < dev->data->nb_rx_queues; ++i)
        notify(rx_queue(dev, i)->notifier, rx_queue(dev, i)->counters.notifications);
    for (uint16_t i = 0; i < dev->data->nb_tx_queues; ++i)
        notify(tx_queue(dev, i)->notifier, tx_queue(dev, i)->counters.notifications);
}

// Ends the device's access, then takes all mbufs back. Returns the first error; goes on after it,
// because a device that does not answer loses its connection and with it its access.
Result<void> take_down(rte_eth_dev* dev, Transport& transport)
{
    Result<void> first;
    const auto stop = [&](uint16_t virtqueue) {
        if (auto done = transport.stop_queue(virtqueue); !done && first)
            first = done;
    };
    for (uint16_t i = 0; i < dev->data->nb_rx_queues; ++i)
        stop(rx_virtqueue(i));
    for (uint16_t i = 0; i < dev->data->nb_tx_queues; ++i)
        stop(tx_virtqueue(i));
    for (uint16_t i = 0; i < dev->data->nb_rx_queues; ++i)
        drain_rx_queue(*rx_queue(dev, i));
    for (uint16_t i = 0; i < dev->data->nb_tx_queues; ++i)
        drain_tx_queue(*tx_queue(dev, i));
    return first;
}

void set_queue_states(rte_eth_dev* dev, uint8_t state)
{
    for (uint16_t i = 0; i < dev->data->nb_rx_queues; ++i)
        dev->data->rx_queue_state[i] = state;
    for (uint16_t i = 0; i < dev->data->nb_tx_queues; ++i)
        dev->data->tx_queue_state[i] = state;
}

void log_start(const Port& port, const Path& path)
{
    char names[256] = "";
    size_t used = 0;
    for (unsigned bit = 0; bit < 64; ++bit) {
        const char* name = feature_name(bit);
        if (name != nullptr && (port.accepted.bits() >> bit & 1) != 0 && used < sizeof(names))
            used +=
                static_cast<size_t>(std::snprintf(names + used, sizeof(names) - used, " %s", name));
    }
    log_line(RTE_LOG_INFO, log_driver, port.name, "started: %s; features 0x%" PRIx64 ":%s",
             path.name, port.accepted.bits(), names);
}

} // namespace

std::unique_ptr<Transport>& transport_of(const Port& port)
{
    return transports[port.port_id];
}

FeatureSet wanted_features(const Devargs& args)
{
    const FeatureSet base = {Feature::Version1, Feature::AnyLayout};
    return args.mrg_rxbuf ? base.with(Feature::MrgRxbuf) : base;
}

int connect_port(Port& port)
{
    auto frontend = vhost_user::Frontend::connect(port.args.path, Deadline::after(kConnectLimit));
    if (!frontend) {
        Error e = frontend.error();
        char what[sizeof(port.args.path) + 32];
        (void)std::snprintf(what, sizeof(what), "cannot connect to %s", port.args.path);
        if (std::strcmp(e.thing, "connect") == 0)
            e.thing = "";
        log_error(log_vhost, port.name, what, e);
        return e.negative();
    }
    const auto offered = (*frontend)->device_features();
    if (!offered)
        return failed(port, "connect", offered.error());
    port.offered = *offered;
    transport_of(port) = std::move(*frontend);
    return 0;
}

int start_port(rte_eth_dev* dev)
{
    Port& port = port_of(dev);
    if (const int rc = refuse_missing_queues(dev); rc != 0)
        return rc;
    // A connection that ended while the port was stopped is made again: stop and start recover from
    // a restart.
    if (transport_of(port) == nullptr || !transport_of(port)->alive()) {
        transport_of(port).reset();
        if (const int rc = connect_port(port); rc != 0)
            return rc;
    }
    Transport& transport = *transport_of(port);
    Handshake handshake(transport);
    if (const int rc = bring_up(dev, transport, handshake); rc != 0) {
        handshake.fail();
        // The error above is the one that is reported.
        (void)take_down(dev, transport);
        return rc;
    }
    first_notifications(dev);

    const Path& path = path_for(header_kind(port.accepted));
    dev->rx_pkt_burst = path.rx;
    dev->tx_pkt_burst = path.tx;
    set_queue_states(dev, RTE_ETH_QUEUE_STATE_STARTED);
    port.fault_reported = false;
    set_link(dev, true);
    watch_port(dev);
    log_start(port, path);
    return 0;
}

int stop_port(rte_eth_dev* dev)
{
    Port& port = port_of(dev);
    unwatch_port(dev);
    set_link(dev, false);
    set_queue_states(dev, RTE_ETH_QUEUE_STATE_STOPPED);
    Transport& transport = *transport_of(port);
    if (!transport.alive()) {
        // The device is gone, and with it its access; the link watch has said so. Nothing can be
        // refused any more.
        (void)take_down(dev, transport);
        return 0;
    }
    auto down = take_down(dev, transport);
    if (down)
        down = Handshake(transport).reset();
    return down ? 0 : failed(port, "stop", down.error());
}

} // namespace fit
