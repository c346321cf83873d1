#include "watch.hpp"

#include <rte_alarm.h>

#include "log.hpp"
#include "queues.hpp"

namespace fit {
namespace {

constexpr uint64_t kPeriodUs = 100'000;

void check_port(void* arg);

void arm(rte_eth_dev* dev)
{
    if (rte_eal_alarm_set(kPeriodUs, check_port, dev) != 0)
        log_line(RTE_LOG_ERR, log_driver, port_of(dev).name,
                 "no alarm for the link watch: link changes will only be seen by link_update");
}

// The application's callback may have stopped or closed the port.
bool still_running(const rte_eth_dev* dev)
{
    return dev->data != nullptr && dev->data->dev_started != 0;
}

template <class Queue>
bool log_fault(const Port& port, const char* kind, const Queue& q)
{
    if (q.fault == RingFault::None)
        return false;
    log_line(RTE_LOG_ERR, log_driver, port.name,
             "%s queue %u: %s; the queue is stopped, restart the port (rte_eth_dev_reset, or stop "
             "and start)",
             kind, q.index, sentence(q.fault));
    return true;
}

bool log_faults(const rte_eth_dev* dev)
{
    const Port& port = port_of(dev);
    bool any = false;
    for (uint16_t i = 0; i < dev->data->nb_rx_queues; ++i)
        any |= log_fault(port, "rx", *rx_queue(dev, i));
    for (uint16_t i = 0; i < dev->data->nb_tx_queues; ++i)
        any |= log_fault(port, "tx", *tx_queue(dev, i));
    return any;
}

void check_port(void* arg)
{
    auto* dev = static_cast<rte_eth_dev*>(arg);
    // First, so that a callback below which stops the port cancels it.
    arm(dev);
    Port& port = port_of(dev);
    if (port.link_up && !transport_of(port)->alive()) {
        log_line(
            RTE_LOG_WARNING, log_driver, port.name,
            "the back end closed the connection; start it again, then stop and start the port");
        set_link(dev, false);
    }
    if (!still_running(dev) || port.fault_reported || !log_faults(dev))
        return;
    port.fault_reported = true;
    set_link(dev, false);
    if (still_running(dev))
        (void)rte_eth_dev_callback_process(dev, RTE_ETH_EVENT_INTR_RESET, nullptr);
}

} // namespace

void watch_port(rte_eth_dev* dev)
{
    arm(dev);
}

void unwatch_port(rte_eth_dev* dev)
{
    // Waits for a running check, unless this is one. A check that is not there is no error.
    (void)rte_eal_alarm_cancel(check_port, dev);
}

bool link_is_up(const rte_eth_dev* dev)
{
    // Not dev_started: ethdev sets that only after the start, from which the first link event
    // comes.
    const Port& port = port_of(dev);
    return port.link_up && transport_of(port)->alive();
}

void set_link(rte_eth_dev* dev, bool up)
{
    Port& port = port_of(dev);
    port.link_up = up;
    rte_eth_link link = {};
    link.link_speed = up ? RTE_ETH_SPEED_NUM_UNKNOWN : RTE_ETH_SPEED_NUM_NONE;
    link.link_duplex = RTE_ETH_LINK_FULL_DUPLEX;
    link.link_autoneg = RTE_ETH_LINK_FIXED;
    link.link_status = up ? RTE_ETH_LINK_UP : RTE_ETH_LINK_DOWN;
    const bool changed = rte_eth_linkstatus_set(dev, &link) == 0;
    if (changed && dev->data->dev_conf.intr_conf.lsc != 0)
        (void)rte_eth_dev_callback_process(dev, RTE_ETH_EVENT_INTR_LSC, nullptr);
}

} // namespace fit
