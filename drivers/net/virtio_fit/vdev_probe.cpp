// The vdev driver: net_virtio_fit0,path=... becomes an ethdev port.
#include <cstdio>
#include <cstring>
#include <new>

#include <bus_vdev_driver.h>
#include <ethdev_driver.h>
#include <ethdev_vdev.h>
#include <rte_malloc.h>
#include <rte_version.h>

#include "ethdev_ops.hpp"
#include "log.hpp"
#include "port.hpp"

namespace fit {
namespace {

// The layouts of driver structures are only promised within one release.
bool release_matches(const char* name)
{
    char built_for[32];
    const int length = std::snprintf(built_for, sizeof(built_for), "%s %d.%02d.", RTE_VER_PREFIX,
                                     RTE_VER_YEAR, RTE_VER_MONTH);
    if (std::strncmp(rte_version(), built_for, static_cast<size_t>(length)) == 0)
        return true;
    log_line(RTE_LOG_ERR, log_driver, name,
             "built for %s, loaded by %s; build the plug-in again for it",
             RTE_VER_PREFIX " " RTE_STR(RTE_VER_YEAR) "." RTE_STR(RTE_VER_MONTH), rte_version());
    return false;
}

int make_port(rte_vdev_device* vdev, const Devargs& args)
{
    rte_eth_dev* dev = rte_eth_vdev_allocate(vdev, sizeof(Port));
    const char* name = rte_vdev_device_name(vdev);
    if (dev == nullptr) {
        log_line(RTE_LOG_ERR, log_driver, name, "no ethdev port or no memory left for it");
        return -ENOMEM;
    }
    Port& port = *new (dev->data->dev_private) Port;
    port.port_id = dev->data->port_id;
    (void)std::snprintf(port.name, sizeof(port.name), "%s", name);
    port.args = args;

    // ethdev frees this one when the port is released.
    auto* mac = static_cast<rte_ether_addr*>(rte_zmalloc("fit_mac", sizeof(rte_ether_addr), 0));
    if (mac == nullptr) {
        (void)rte_eth_dev_release_port(dev);
        log_line(RTE_LOG_ERR, log_driver, name,
                 "no memory for the MAC address; give EAL more memory (-m)");
        return -ENOMEM;
    }
    // vhost-user without CONFIG names no address: the front end's own is the port's
    // (VIRTIO 1.3, 5.1.4.2).
    if (args.has_mac)
        *mac = args.mac;
    else
        rte_eth_random_addr(mac->addr_bytes);
    dev->data->mac_addrs = mac;
    dev->data->dev_flags |= RTE_ETH_DEV_AUTOFILL_QUEUE_XSTATS | RTE_ETH_DEV_INTR_LSC;
    dev->dev_ops = &kEthdevOps;
    rte_eth_link link = {};
    link.link_speed = RTE_ETH_SPEED_NUM_NONE;
    link.link_duplex = RTE_ETH_LINK_FULL_DUPLEX;
    (void)rte_eth_linkstatus_set(dev, &link);

    if (const int rc = connect_port(port); rc != 0) {
        (void)rte_eth_dev_release_port(dev);
        return rc;
    }
    rte_eth_dev_probing_finish(dev);
    return 0;
}

int probe(rte_vdev_device* vdev)
{
    const char* name = rte_vdev_device_name(vdev);
    if (!release_matches(name))
        return -ENOTSUP;
    if (rte_eal_process_type() != RTE_PROC_PRIMARY) {
        log_line(RTE_LOG_ERR, log_driver, name,
                 "secondary processes are not supported; use the primary process");
        return -ENOTSUP;
    }
    Devargs args;
    if (const int rc = parse_devargs(name, rte_vdev_device_args(vdev), args); rc != 0)
        return rc;
    return make_port(vdev, args);
}

int remove(rte_vdev_device* vdev)
{
    rte_eth_dev* dev = rte_eth_dev_allocated(rte_vdev_device_name(vdev));
    if (dev == nullptr)
        return 0; // closed by the application already
    return rte_eth_dev_close(dev->data->port_id);
}

constexpr rte_vdev_driver make_driver()
{
    rte_vdev_driver driver = {};
    driver.probe = probe;
    driver.remove = remove;
    return driver;
}

} // namespace
} // namespace fit

// Constant-initialised: the constructor below registers it before any other initialisation.
static constinit rte_vdev_driver fit_vdev_driver = fit::make_driver();

RTE_PMD_REGISTER_VDEV(net_virtio_fit, fit_vdev_driver);
RTE_PMD_REGISTER_PARAM_STRING(net_virtio_fit,
                              "path=<socket> queue_size=<int> mac=<mac> mrg_rxbuf=<0|1> "
                              "ewma_weight=<int> min_segment=<int>");
