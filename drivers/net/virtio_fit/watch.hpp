// Noticing, ten times a second, what no other call would tell the application: a device that went
// away, a queue that was given up.
#pragma once

#include "port.hpp"

namespace fit {

void watch_port(rte_eth_dev* dev);
// On return no check of this port runs and none will.
void unwatch_port(rte_eth_dev* dev);

// Sets the link state that applications see, and tells them when it changed.
void set_link(rte_eth_dev* dev, bool up);
// Whether the port is started and its device there.
bool link_is_up(const rte_eth_dev* dev);

} // namespace fit
