// One ethdev port. Port lies in dev_private, which secondary processes map: no vtable, no owned
// heap. What belongs to the primary process alone (the connection) is kept in a table beside it.
#pragma once

#include <memory>

#include <ethdev_driver.h>

#include "devargs.hpp"
#include "net/net_header.hpp"
#include "net/rx_queue.hpp"
#include "net/tx_queue.hpp"
#include "virtio/feature.hpp"
#include "virtio/transport.hpp"
#include "virtq/split_ring.hpp"

namespace fit {

using RxQueueType = RxQueue<SplitRing>;
using TxQueueType = TxQueue<SplitRing>;

constexpr uint32_t kFrameOverhead = 18;  // Ethernet header and one VLAN tag around the MTU
constexpr uint32_t kLeastPoolRoom = 256; // so that all headers lie in the first segment
constexpr uint32_t kLeastPlainFrame =
    1514; // VIRTIO 1.3, 5.1.6.3.1: without merging each buffer holds this much

struct Port {
    uint16_t port_id = 0;
    char name[RTE_DEV_NAME_MAX_LEN] = {};
    Devargs args;
    FeatureSet offered;
    FeatureSet accepted; // of the last start
    bool link_up = false;
    bool fault_reported = false;
};

inline Port& port_of(const rte_eth_dev* dev)
{
    return *static_cast<Port*>(dev->data->dev_private);
}

// The transport of a port, null while there is none. Primary process only.
std::unique_ptr<Transport>& transport_of(const Port& port);

// What the driver can use, before the device has its say.
FeatureSet wanted_features(const Devargs& args);
// What a start would accept from the device as it was last seen.
inline FeatureSet expected_features(const Port& port)
{
    return acceptable(port.offered, wanted_features(port.args));
}

// Each returns 0 or a negative errno and has logged one line in the second case.
[[nodiscard]] int connect_port(Port& port);
[[nodiscard]] int start_port(rte_eth_dev* dev);
[[nodiscard]] int stop_port(rte_eth_dev* dev);

} // namespace fit
