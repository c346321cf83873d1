// One load on one queue of a virtio driver, for counting instructions. A vhost port and the driver
// under test live in this one process and its one thread, so that every burst has the same shape in
// every run and counts are exact. Only public DPDK API: any virtio driver can be loaded.
#include <algorithm>
#include <array>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <rte_cycles.h>
#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "ring_load_arguments.hpp"

namespace {

using namespace fit::perf;

constexpr uint16_t kDescriptors = 256;
constexpr unsigned kMbufs = 2047;
constexpr unsigned kCache = 250;
constexpr uint16_t kPeerRoom = 16384;
// Enough for a size average to settle and for every mbuf of the ring to be replaced.
constexpr unsigned kWarmUpRounds = 256;
constexpr unsigned kMostPolls = 64;
constexpr std::chrono::seconds kPatience{60};

using Burst = std::array<rte_mbuf*, kMostBurst>;
using BurstCall = uint16_t (*)(uint16_t port, rte_mbuf** packets, uint16_t count);

uint16_t plain_rx(uint16_t port, rte_mbuf** packets, uint16_t count)
{
    return rte_eth_rx_burst(port, 0, packets, count);
}

uint16_t plain_tx(uint16_t port, rte_mbuf** packets, uint16_t count)
{
    return rte_eth_tx_burst(port, 0, packets, count);
}

} // namespace

// The profiler finds these two by name, so they must not be inlined or renamed.
extern "C" [[gnu::noinline]] uint16_t measured_rx(uint16_t port, rte_mbuf** packets, uint16_t count)
{
    return rte_eth_rx_burst(port, 0, packets, count);
}

extern "C" [[gnu::noinline]] uint16_t measured_tx(uint16_t port, rte_mbuf** packets, uint16_t count)
{
    return rte_eth_tx_burst(port, 0, packets, count);
}

namespace {

rte_mempool* make_pool(const std::string& name, uint16_t room)
{
    rte_mempool* pool =
        rte_pktmbuf_pool_create(name.c_str(), kMbufs, kCache, 0,
                                static_cast<uint16_t>(room + RTE_PKTMBUF_HEADROOM), SOCKET_ID_ANY);
    if (pool == nullptr)
        fail("no memory for mempool %s; give the EAL more (-m)", name.c_str());
    return pool;
}

uint16_t probe(const std::string& name, const std::string& devargs)
{
    if (rte_dev_probe((name + "," + devargs).c_str()) != 0)
        fail("cannot probe %s,%s", name.c_str(), devargs.c_str());
    uint16_t port = 0;
    if (rte_eth_dev_get_port_by_name(name.c_str(), &port) != 0)
        fail("%s has no port", name.c_str());
    return port;
}

// One queue pair; `pools` are the receive classes: more than one only where the driver takes them.
void start(uint16_t port, std::vector<rte_mempool*> pools)
{
    rte_eth_dev_info info{};
    int rc = rte_eth_dev_info_get(port, &info);
    if (rc != 0)
        fail("port %u: no device information: %d", port, rc);
    rte_eth_conf conf{};
    conf.rxmode.mtu = kMtu;
    conf.rxmode.offloads = info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_SCATTER;
    conf.txmode.offloads = info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
    rte_eth_rxconf rx = info.default_rxconf;
    rx.offloads = conf.rxmode.offloads;
    const bool several = pools.size() > 1;
    if (several) {
        rx.rx_mempools = pools.data();
        rx.rx_nmempool = static_cast<uint16_t>(pools.size());
    }
    if ((rc = rte_eth_dev_configure(port, 1, 1, &conf)) != 0 ||
        (rc = rte_eth_rx_queue_setup(port, 0, kDescriptors, 0, &rx,
                                     several ? nullptr : pools.front())) != 0 ||
        (rc = rte_eth_tx_queue_setup(port, 0, kDescriptors, 0, nullptr)) != 0 ||
        (rc = rte_eth_dev_start(port)) != 0)
        fail("port %u does not start: %d", port, rc);
}

void wait_for_link(uint16_t port)
{
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    for (rte_eth_link link{}; link.link_status != RTE_ETH_LINK_UP;) {
        if (std::chrono::steady_clock::now() > deadline)
            fail("port %u: the link did not come up", port);
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        (void)rte_eth_link_get_nowait(port, &link);
    }
}

// `count` frames of `bytes` bytes out of one pool, in as many segments as it takes.
void make_burst(rte_mempool* pool, rte_mbuf** packets, uint16_t count, uint16_t bytes)
{
    const auto room =
        static_cast<uint16_t>(rte_pktmbuf_data_room_size(pool) - RTE_PKTMBUF_HEADROOM);
    for (uint16_t i = 0; i < count; ++i) {
        packets[i] = nullptr;
        for (uint16_t left = bytes; left > 0;) {
            rte_mbuf* segment = rte_pktmbuf_alloc(pool);
            if (segment == nullptr)
                fail("mempool %s is empty", pool->name);
            const uint16_t part = std::min(left, room);
            (void)std::memset(rte_pktmbuf_append(segment, part), 0x5a, part);
            left = static_cast<uint16_t>(left - part);
            if (packets[i] == nullptr)
                packets[i] = segment;
            else if (rte_pktmbuf_chain(packets[i], segment) != 0)
                fail("a frame of %u bytes takes too many segments", bytes);
        }
    }
}

// The calls of a burst function.
struct Meter {
    BurstCall call;
    unsigned calls = 0;
    uint64_t cycles = 0;

    uint16_t operator()(uint16_t port, rte_mbuf** packets, uint16_t count)
    {
        const uint64_t begin = rte_rdtsc_precise();
        const uint16_t done = call(port, packets, count);
        cycles += rte_rdtsc_precise() - begin;
        ++calls;
        return done;
    }
};

// Polls until a whole burst has come and frees it. A driver may give less than it has at each poll.
void take(uint16_t port, Meter& receive, const Load& load)
{
    Burst packets{};
    unsigned polls = 0;
    for (uint16_t got = 0; got < load.burst;) {
        if (polls++ == kMostPolls)
            fail("port %u: %u of %u packets came", port, got, load.burst);
        const uint16_t count =
            receive(port, packets.data(), static_cast<uint16_t>(load.burst - got));
        for (uint16_t i = 0; i < count; ++i) {
            if (packets[i]->pkt_len != load.frame)
                fail("port %u: a packet of %u bytes came, not %u", port, packets[i]->pkt_len,
                     load.frame);
        }
        rte_pktmbuf_free_bulk(packets.data(), count);
        got = static_cast<uint16_t>(got + count);
    }
}

void give(uint16_t port, Meter& transmit, const Load& load, rte_mempool* pool)
{
    Burst packets{};
    make_burst(pool, packets.data(), load.burst, load.frame);
    const uint16_t sent = transmit(port, packets.data(), load.burst);
    if (sent != load.burst)
        fail("port %u took %u of %u packets", port, sent, load.burst);
}

void poll_nothing(uint16_t port, Meter& receive, const Load& load)
{
    Burst packets{};
    if (receive(port, packets.data(), load.burst) != 0)
        fail("a packet came that nobody sent");
}

struct Ports {
    uint16_t vhost = 0;
    uint16_t tested = 0;
    rte_mempool* vhost_pool = nullptr;
    rte_mempool* tested_pool = nullptr;
};

struct Measured {
    unsigned calls = 0;
    uint64_t cycles = 0; // of the median round
};

// `call` is what the tested port receives or sends with.
Measured run(const Load& load, const Ports& ports, BurstCall call, uint32_t rounds)
{
    Measured total;
    std::vector<uint64_t> cycles;
    Meter other{load.receive ? plain_tx : plain_rx};
    for (uint32_t i = 0; i < rounds; ++i) {
        Meter meter{call};
        if (load.frame == 0) {
            poll_nothing(ports.tested, meter, load);
        } else if (load.receive) {
            give(ports.vhost, other, load, ports.vhost_pool);
            take(ports.tested, meter, load);
        } else {
            give(ports.tested, meter, load, ports.tested_pool);
            take(ports.vhost, other, load);
        }
        total.calls += meter.calls;
        cycles.push_back(meter.cycles);
    }
    const auto middle = cycles.begin() + rounds / 2;
    std::nth_element(cycles.begin(), middle, cycles.end());
    total.cycles = *middle;
    return total;
}

} // namespace

int main(int argc, char** argv)
{
    const int used = rte_eal_init(argc, argv);
    if (used < 0) {
        (void)std::fputs(kUsage, stderr);
        return 2;
    }
    const Load load = parse(argc - used, argv + used);
    Ports ports;
    ports.vhost_pool = make_pool("vhost", kPeerRoom);
    std::vector<rte_mempool*> pools;
    for (const uint16_t room : load.rooms)
        pools.push_back(make_pool("tested" + std::to_string(room), room));
    ports.tested_pool = pools.front();

    ports.vhost = probe("net_vhost0", std::string("iface=") + load.socket);
    start(ports.vhost, {ports.vhost_pool});
    const size_t comma = std::min(load.vdev.find(','), load.vdev.size());
    ports.tested = probe(load.vdev.substr(0, comma),
                         std::string("path=") + load.socket + load.vdev.substr(comma));
    start(ports.tested, pools);
    wait_for_link(ports.vhost);

    (void)run(load, ports, load.receive ? plain_rx : plain_tx, kWarmUpRounds);
    const Measured measured =
        run(load, ports, load.receive ? measured_rx : measured_tx, load.rounds);
    const uint64_t packets = load.frame == 0 ? 0 : uint64_t{load.rounds} * load.burst;
    std::printf("measured packets=%" PRIu64 " calls=%u cycles=%" PRIu64 "\n", packets,
                measured.calls, measured.cycles);
    // The ports end with the process. To stop them would be to wait in busy loops for other
    // threads, which a profiler that runs one thread at a time can make very long.
    (void)std::fflush(stdout);
    std::_Exit(0);
}
