#include "forward.hpp"

#include <algorithm>
#include <array>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "option_values.hpp"

namespace fit::testpmd {

namespace {

struct Sum {
    uint64_t bytes = 0;
    uint64_t segments = 0;
};

Sum sum_of(rte_mbuf* const* frames, uint16_t count)
{
    Sum sum;
    for (uint16_t i = 0; i < count; ++i) {
        sum.bytes += frames[i]->pkt_len;
        sum.segments += frames[i]->nb_segs;
    }
    return sum;
}

using Burst = std::array<rte_mbuf*, kMaxBurst>;

Sum receive(Stream& stream, Burst& frames, uint16_t& count)
{
    count = rte_eth_rx_burst(stream.rx_port, stream.queue, frames.data(), stream.burst);
    if (count == 0)
        return {};
    const Sum sum = sum_of(frames.data(), count);
    add(stream.rx->rx_packets, count);
    add(stream.rx->rx_bytes, sum.bytes);
    add(stream.rx->rx_segments, sum.segments);
    return sum;
}

// Sends what fits and frees the rest; `sum` covers all `count` frames. Returns the number sent.
uint16_t send(Stream& stream, Burst& frames, uint16_t count, Sum sum)
{
    const uint16_t sent = rte_eth_tx_burst(stream.tx_port, stream.queue, frames.data(), count);
    if (sent < count) {
        rte_mbuf** rest = frames.data() + sent;
        const auto unsent = static_cast<uint16_t>(count - sent);
        const Sum lost = sum_of(rest, unsent);
        rte_pktmbuf_free_bulk(rest, unsent);
        sum.bytes -= lost.bytes;
        sum.segments -= lost.segments;
        add(stream.tx->tx_dropped, unsent);
    }
    add(stream.tx->tx_packets, sent);
    add(stream.tx->tx_bytes, sum.bytes);
    add(stream.tx->tx_segments, sum.segments);
    return sent;
}

void poll_rxonly(Stream& stream)
{
    Burst frames;
    uint16_t count = 0;
    receive(stream, frames, count);
    rte_pktmbuf_free_bulk(frames.data(), count);
}

void poll_io(Stream& stream)
{
    Burst frames;
    uint16_t count = 0;
    const Sum sum = receive(stream, frames, count);
    if (count > 0)
        send(stream, frames, count, sum);
}

void poll_mac(Stream& stream)
{
    Burst frames;
    uint16_t count = 0;
    const Sum sum = receive(stream, frames, count);
    if (count == 0)
        return;
    for (uint16_t i = 0; i < count; ++i) {
        auto* header = rte_pktmbuf_mtod(frames[i], rte_ether_hdr*);
        header->src_addr = stream.source;
        header->dst_addr = stream.destination;
    }
    send(stream, frames, count, sum);
}

void poll_txonly(Stream& stream)
{
    Burst frames;
    const uint16_t want = stream.budget ? stream.budget->take(stream.burst) : stream.burst;
    const uint16_t made = stream.maker->make(frames.data(), want);
    const uint16_t sent = made == 0 ? 0 : send(stream, frames, made, sum_of(frames.data(), made));
    if (made < want)
        add(stream.tx->tx_no_mbuf, static_cast<uint64_t>(want - made));
    stream.maker->rewind(static_cast<uint16_t>(made - sent));
    if (stream.budget)
        stream.budget->give_back(static_cast<uint16_t>(want - sent));
}

} // namespace

uint16_t Budget::take(uint16_t want)
{
    uint64_t left = left_.load(std::memory_order_relaxed);
    uint64_t taken = 0;
    do {
        taken = std::min<uint64_t>(left, want);
    } while (!left_.compare_exchange_weak(left, left - taken, std::memory_order_relaxed));
    return static_cast<uint16_t>(taken);
}

Poll poll_function(FwdMode mode)
{
    switch (mode) {
    case FwdMode::Io:
        return poll_io;
    case FwdMode::Mac:
        return poll_mac;
    case FwdMode::TxOnly:
        return poll_txonly;
    case FwdMode::RxOnly:
        break;
    }
    return poll_rxonly;
}

void Worker::poll_all()
{
    for (Stream& stream : streams_)
        poll_(stream);
}

int Worker::run(void* self)
{
    auto* worker = static_cast<Worker*>(self);
    while (!worker->stop_.load(std::memory_order_relaxed))
        worker->poll_all();
    return 0;
}

} // namespace fit::testpmd
