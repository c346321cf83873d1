// The table of operations that ethdev calls.
#pragma once

#include <ethdev_driver.h>

namespace fit {

extern const eth_dev_ops kEthdevOps;

} // namespace fit
