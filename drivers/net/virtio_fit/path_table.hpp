// Which receive and transmit function serves which negotiated layout: set-up, logs, burst_mode_get
// and tests read this.
#pragma once

#include <array>

#include <ethdev_driver.h>

#include "net/rx_burst.hpp"
#include "net/tx_burst.hpp"

namespace fit {

template <class Ring, class Header>
uint16_t rx_entry(void* queue, rte_mbuf** packets, uint16_t budget)
{
    return rx_burst<Ring, Header>(*static_cast<RxQueue<Ring>*>(queue), packets, budget);
}

template <class Ring, class Header>
uint16_t tx_entry(void* queue, rte_mbuf** packets, uint16_t count)
{
    return tx_burst<Ring, Header>(*static_cast<TxQueue<Ring>*>(queue), packets, count);
}

struct Path {
    HeaderKind header;
    eth_rx_burst_t rx;
    eth_tx_burst_t tx;
    const char* name;
};

inline constexpr std::array<Path, 3> kPaths = {{
    {HeaderKind::Legacy, rx_entry<SplitRing, LegacyHeader>, tx_entry<SplitRing, LegacyHeader>,
     "split ring, one buffer a packet, 10-byte header"},
    {HeaderKind::Plain, rx_entry<SplitRing, PlainHeader>, tx_entry<SplitRing, PlainHeader>,
     "split ring, one buffer a packet, 12-byte header"},
    {HeaderKind::Mergeable, rx_entry<SplitRing, MergeableHeader>,
     tx_entry<SplitRing, MergeableHeader>, "split ring, mergeable buffers, 12-byte header"},
}};

constexpr const Path& path_for(HeaderKind header)
{
    for (const Path& path : kPaths) {
        if (path.header == header)
            return path;
    }
    __builtin_unreachable();
}

} // namespace fit
