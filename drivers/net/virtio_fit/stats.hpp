// Basic and extended statistics.
#pragma once

#include <ethdev_driver.h>

namespace fit {

int get_stats(rte_eth_dev* dev, rte_eth_stats* stats);
int reset_stats(rte_eth_dev* dev);
int get_xstats(rte_eth_dev* dev, rte_eth_xstat* values, unsigned count);
int get_xstat_names(rte_eth_dev* dev, rte_eth_xstat_name* names, unsigned count);

} // namespace fit
