#include "run.hpp"

#include <algorithm>
#include <cstdio>

#include <rte_lcore.h>

#include "pool_sizing.hpp"
#include "text.hpp"

namespace fit::testpmd {

Run::Run(const Options& options) : options_(options), ladder_(options.segments.size())
{
    uint16_t id = 0;
    RTE_ETH_FOREACH_DEV(id)
    ports_.push_back(std::make_unique<Port>(id, options_));
    if (ports_.empty())
        throw UserError(
            "ports 0: no Ethernet port was probed; pass --vdev=NAME,ARGS or bind a device");
    create_pools();
    if (options_.fwd == FwdMode::TxOnly)
        create_tx_pool();
    start_ports();
    build_workers();
}

PoolDemand Run::demand_for(size_t size_class) const
{
    const uint16_t room = options_.segments[size_class];
    PoolDemand demand{0, 0, 0, rte_lcore_count()};
    for (size_t i = 0; i < ports_.size(); ++i) {
        const Port& port = *ports_[i];
        const auto& used = port.classes();
        if (std::find(used.begin(), used.end(), size_class) == used.end())
            continue;
        demand.queues += port.queues();
        uint32_t descriptors = port.rxd();
        if (forwards(options_.fwd)) {
            // What this port received waits in its partner's ring, perhaps a whole chain per
            // descriptor.
            const uint32_t frame = largest_frame(port.mtu_frame(), options_.segments.back());
            descriptors += ports_[partner(i)]->txd() * segments_of(frame, room);
        }
        demand.descriptors = std::max(demand.descriptors, descriptors);
        // A burst of chains can hold as many segments as the ring.
        demand.held = std::max<uint32_t>({demand.held, port.rxd(), options_.burst});
    }
    return demand;
}

void Run::create_pools()
{
    for (size_t k = 0; k < ladder_.size(); ++k) {
        const PoolDemand demand = demand_for(k);
        if (demand.queues == 0)
            continue;
        const uint16_t room = options_.segments[k];
        const uint32_t mbufs = options_.mbufs != 0 ? options_.mbufs : mbufs_for(demand);
        ladder_[k] = std::make_unique<Pool>(format("seg_%u", room), room, mbufs);
    }
}

void Run::create_tx_pool()
{
    const uint16_t longest = *std::max_element(options_.txpkts.begin(), options_.txpkts.end());
    const uint32_t segments = segments_of(longest, options_.tx_segment);
    PoolDemand demand{0, 0, options_.burst * segments, rte_lcore_count()};
    for (const auto& port : ports_) {
        port->require_tx_segments(segments, longest, options_.tx_segment);
        demand.queues += port->queues();
        // A driver may put a whole chain behind one descriptor.
        demand.descriptors = std::max<uint32_t>(demand.descriptors, port->txd() * segments);
    }
    tx_pool_ = std::make_unique<Pool>(format("tx_%u", options_.tx_segment), options_.tx_segment,
                                      options_.mbufs != 0 ? options_.mbufs : mbufs_for(demand));
    clear_data(tx_pool_->get());
}

void Run::start_ports()
{
    for (const auto& port : ports_) {
        std::vector<rte_mempool*> pools;
        for (const size_t k : port->classes())
            pools.push_back(ladder_[k]->get());
        port->start(pools);
        print(stdout, "%s", port->description(options_.segments).c_str());
        xstats_.emplace_back(port->id(), port->queues());
    }
    activity_.resize(ports_.size());
}

size_t Run::partner(size_t port) const
{
    const size_t other = port ^ 1;
    return other < ports_.size() ? other : port;
}

Stream Run::stream_of(Port& port, uint16_t queue, const std::shared_ptr<Budget>& budget)
{
    const auto self =
        static_cast<size_t>(std::find_if(ports_.begin(), ports_.end(),
                                         [&](const auto& p) { return p.get() == &port; }) -
                            ports_.begin());
    Port& out = forwards(options_.fwd) ? *ports_[partner(self)] : port;
    Stream stream;
    stream.rx_port = port.id();
    stream.tx_port = out.id();
    stream.queue = queue;
    stream.burst = options_.burst;
    stream.rx = &port.counters(queue);
    stream.tx = &out.counters(queue);
    stream.source = out.mac();
    stream.destination = {{0x02, 0, 0, 0, 0, static_cast<uint8_t>(out.id())}};
    if (tx_pool_)
        stream.maker = std::make_unique<FrameMaker>(tx_pool_->get(), tx_pool_->room(),
                                                    options_.txpkts, out.mac());
    stream.budget = budget;
    return stream;
}

void Run::build_workers()
{
    const unsigned workers = rte_lcore_count() - 1;
    main_polls_ = workers == 0;
    // A pair of ports stays together: each of its transmit queues is then used by one lcore only.
    const size_t per_group = forwards(options_.fwd) ? 2 : 1;
    const size_t groups = (ports_.size() + per_group - 1) / per_group;
    const size_t count = std::clamp<size_t>(workers, 1, groups);
    for (size_t i = 0; i < count; ++i)
        workers_.push_back(std::make_unique<Worker>(options_.fwd, stop_));
    std::shared_ptr<Budget> budget;
    if (tx_pool_ && options_.total_packets != 0)
        budget = std::make_shared<Budget>(options_.total_packets);
    for (size_t i = 0; i < ports_.size(); ++i) {
        for (uint16_t queue = 0; queue < ports_[i]->queues(); ++queue)
            workers_[i / per_group % count]->add_stream(stream_of(*ports_[i], queue, budget));
    }
    print(stdout, "%s with bursts of %u on %s\n\n", name_of(options_.fwd), options_.burst,
          main_polls_ ? "the main lcore"
                      : format("%zu worker %s", count, count == 1 ? "lcore" : "lcores").c_str());
}

} // namespace fit::testpmd
