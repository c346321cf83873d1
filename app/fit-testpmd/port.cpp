#include "port.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <numeric>

#include "pool_sizing.hpp"
#include "text.hpp"

namespace fit::testpmd {

namespace {

constexpr uint16_t kDefaultDescriptors = 256;
// Ethernet header and two VLAN tags.
constexpr uint32_t kFrameOverhead = RTE_ETHER_HDR_LEN + 8;

// Bounds the drain when a peer keeps sending.
constexpr unsigned kDrainPolls = 1024;

uint16_t descriptors(uint16_t asked, uint16_t preferred)
{
    if (asked != 0)
        return asked;
    return preferred != 0 ? preferred : kDefaultDescriptors;
}

// Called on the EAL's interrupt thread.
int print_event(uint16_t port, rte_eth_event_type type, void*, void*)
{
    if (type == RTE_ETH_EVENT_INTR_LSC) {
        rte_eth_link link{};
        const bool up =
            rte_eth_link_get_nowait(port, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
        print(stdout, "port %u: link is now %s\n", port, up ? "up" : "down");
    } else {
        print(
            stdout,
            "port %u: the driver asks for a %s; its traffic stops until fit-testpmd is restarted\n",
            port, type == RTE_ETH_EVENT_INTR_RESET ? "reset" : "removal");
    }
    return 0;
}

} // namespace

Port::Port(uint16_t id, const Options& options)
    : id_(id), queues_(options.queues), counters_(options.queues)
{
    std::array<char, RTE_ETH_NAME_MAX_LEN> name{};
    int code = rte_eth_dev_get_name_by_port(id, name.data());
    name_ = code == 0 ? name.data() : "?";
    code = rte_eth_dev_info_get(id, &info_);
    if (code != 0)
        fail("device information", code, "is the device still there?");
    code = rte_eth_macaddr_get(id, &mac_);
    if (code != 0)
        fail("MAC address", code, "is the device still there?");
    check_limits(options);
    configure(options);
    choose_classes(options);
}

Port::~Port()
{
    if (!closed_)
        (void)close(); // a failure is printed there, and an error is already under way
}

void Port::fail(const std::string& what, int code, const char* next_step) const
{
    throw UserError(format("port %u %s: %s: %s; %s", id_, name_.c_str(), what.c_str(),
                           errno_text(code).c_str(), next_step));
}

void Port::check_limits(const Options& options) const
{
    const unsigned most = std::min(info_.max_rx_queues, info_.max_tx_queues);
    if (queues_ > most)
        throw UserError(
            format("port %u %s: --queues %u: the driver has %u; pass a smaller --queues", id_,
                   name_.c_str(), queues_, most));
    if (options.mtu != 0 && (options.mtu < info_.min_mtu || options.mtu > info_.max_mtu))
        throw UserError(
            format("port %u %s: --mtu %u: the driver takes %u to %u; pass an --mtu in that range",
                   id_, name_.c_str(), options.mtu, info_.min_mtu, info_.max_mtu));
}

void Port::configure(const Options& options)
{
    conf_.rxmode.mtu = options.mtu;
    if (options.scatter)
        conf_.rxmode.offloads = info_.rx_offload_capa & RTE_ETH_RX_OFFLOAD_SCATTER;
    conf_.txmode.offloads = info_.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
    conf_.intr_conf.lsc = (*info_.dev_flags & RTE_ETH_DEV_INTR_LSC) != 0;
    int code = rte_eth_dev_configure(id_, queues_, queues_, &conf_);
    if (code != 0)
        fail("configure", code, "see the driver's log line above");

    rxd_ = descriptors(options.rxd, info_.default_rxportconf.ring_size);
    txd_ = descriptors(options.txd, info_.default_txportconf.ring_size);
    code = rte_eth_dev_adjust_nb_rx_tx_desc(id_, &rxd_, &txd_);
    if (code != 0)
        fail(format("--rxd %u --txd %u", rxd_, txd_), code, "pass other ring sizes");
    code = rte_eth_dev_get_mtu(id_, &mtu_);
    if (code != 0)
        fail("MTU", code, "is the device still there?");
}

void Port::choose_classes(const Options& options)
{
    const size_t count = options.segments.size();
    if (count > 1 && info_.max_rx_mempools >= count) {
        classes_.resize(count);
        std::iota(classes_.begin(), classes_.end(), size_t{0});
    } else {
        classes_ = {single_class(options.segments, mtu_frame())};
    }
}

void Port::setup_rx(uint16_t queue, std::span<rte_mempool* const> pools)
{
    rte_eth_rxconf conf = info_.default_rxconf;
    conf.offloads = conf_.rxmode.offloads;
    std::vector<rte_mempool*> ladder(pools.begin(), pools.end());
    rte_mempool* single = ladder.front();
    if (ladder.size() > 1) {
        conf.rx_mempools = ladder.data();
        conf.rx_nmempool = static_cast<uint16_t>(ladder.size());
        single = nullptr;
    }
    const int code = rte_eth_rx_queue_setup(
        id_, queue, rxd_, static_cast<unsigned>(rte_eth_dev_socket_id(id_)), &conf, single);
    if (code != 0)
        fail(format("receive queue %u with %u descriptors", queue, rxd_), code,
             "see the driver's log line above");
}

void Port::start(std::span<rte_mempool* const> pools)
{
    for (uint16_t queue = 0; queue < queues_; ++queue) {
        setup_rx(queue, pools);
        rte_eth_txconf conf = info_.default_txconf;
        conf.offloads = conf_.txmode.offloads;
        const int code = rte_eth_tx_queue_setup(
            id_, queue, txd_, static_cast<unsigned>(rte_eth_dev_socket_id(id_)), &conf);
        if (code != 0)
            fail(format("transmit queue %u with %u descriptors", queue, txd_), code,
                 "see the driver's log line above");
    }
    watch_events();
    int code = rte_eth_dev_start(id_);
    if (code != 0)
        fail("start", code, "see the driver's log line above");
    started_ = true;
    code = rte_eth_promiscuous_enable(id_);
    if (code != 0)
        print(stdout, "port %u: no promiscuous mode (%s): frames for other addresses may be lost\n",
              id_, errno_text(code).c_str());
}

void Port::watch_events()
{
    for (const auto event :
         {RTE_ETH_EVENT_INTR_LSC, RTE_ETH_EVENT_INTR_RESET, RTE_ETH_EVENT_INTR_RMV}) {
        const int code = rte_eth_dev_callback_register(id_, event, print_event, nullptr);
        if (code != 0)
            fail("event callback", code, "give the EAL more memory (-m)");
    }
}

// A port that is a software ring keeps what nobody read; other drivers free theirs when they stop.
void Port::drain()
{
    std::array<rte_mbuf*, 32> frames{};
    for (uint16_t queue = 0; queue < queues_; ++queue) {
        for (unsigned polls = 0; polls < kDrainPolls; ++polls) {
            const uint16_t count = rte_eth_rx_burst(id_, queue, frames.data(), frames.size());
            if (count == 0)
                break;
            rte_pktmbuf_free_bulk(frames.data(), count);
        }
    }
}

bool Port::close()
{
    closed_ = true;
    if (started_) {
        drain();
        const int code = rte_eth_dev_stop(id_);
        if (code != 0) {
            complain("stop", code); // and a started port cannot be closed
            return false;
        }
    }
    const int code = rte_eth_dev_close(id_);
    if (code != 0)
        complain("close", code);
    return code == 0;
}

void Port::complain(const char* what, int code) const
{
    print(stderr, "fit-testpmd: port %u %s: %s: %s; see the driver's log line above\n", id_,
          name_.c_str(), what, errno_text(code).c_str());
}

uint32_t Port::mtu_frame() const
{
    return mtu_ + kFrameOverhead;
}

std::string Port::mac_text() const
{
    std::array<char, RTE_ETHER_ADDR_FMT_SIZE> text{};
    rte_ether_format_addr(text.data(), text.size(), &mac_);
    return text.data();
}

void Port::require_tx_segments(uint32_t segments, uint16_t frame, uint16_t room) const
{
    if (segments == 1)
        return;
    if ((conf_.txmode.offloads & RTE_ETH_TX_OFFLOAD_MULTI_SEGS) == 0)
        throw UserError(
            format("port %u %s: --txpkts %u: longer than --tx-segment %u and the driver sends no "
                   "chains; pass --tx-segment=%u",
                   id_, name_.c_str(), frame, room, frame));
    const uint32_t most = std::min<uint32_t>(
        info_.tx_desc_lim.nb_seg_max != 0 ? info_.tx_desc_lim.nb_seg_max : UINT16_MAX, txd_);
    if (segments > most)
        throw UserError(
            format("port %u %s: --txpkts %u: %u mbufs of %u bytes, the driver sends at most %u; "
                   "pass a larger --tx-segment",
                   id_, name_.c_str(), frame, segments, room, most));
}

std::string Port::description(std::span<const uint16_t> rooms) const
{
    rte_eth_link link{};
    const bool up = rte_eth_link_get_nowait(id_, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
    std::string text =
        format("port %u: %s  %s  link %s  MTU %u  rings %u rx, %u tx\n", id_, name_.c_str(),
               mac_text().c_str(), up ? "up" : "down", mtu_, rxd_, txd_);
    text += "        segments of";
    for (const size_t index : classes_)
        text += format(" %u", rooms[index]);
    text += " bytes";
    if (classes_.size() > 1)
        text += ", chosen by the driver";
    else if (rooms.size() > 1)
        text += format(": the driver takes %s",
                       info_.max_rx_mempools <= 1
                           ? "one pool per queue"
                           : format("at most %u pools per queue", info_.max_rx_mempools).c_str());
    const bool scatter = (conf_.rxmode.offloads & RTE_ETH_RX_OFFLOAD_SCATTER) != 0;
    text += format("; scatter %s", scatter ? "on" : "off");
    rte_eth_burst_mode mode{};
    if (rte_eth_rx_burst_mode_get(id_, 0, &mode) == 0)
        text += format("\n        receive path: %s", mode.info);
    return text + "\n";
}

} // namespace fit::testpmd
