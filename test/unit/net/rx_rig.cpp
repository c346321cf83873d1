#include "rx_rig.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "net/drain.hpp"
#include "net/rx_classes.hpp"

namespace fit {

namespace {

Changes counters_of(const RxCounters& c)
{
    Changes all = {{"packets", c.packets.total()},
                   {"bytes", c.bytes.total()},
                   {"no_mbuf", c.no_mbuf.total()},
                   {"header_anomalies", c.header_anomalies.total()}};
    for (size_t i = 0; i < kRxDrops.size(); ++i)
        all[std::string("drop_") + kRxDrops[i].name] = c.drops[i].total();
    return all;
}

uint16_t (*burst_for(HeaderKind kind))(RxQueue<SplitRing>&, rte_mbuf**, uint16_t)
{
    switch (kind) {
    case HeaderKind::Legacy:
        return rx_burst<SplitRing, LegacyHeader>;
    case HeaderKind::Plain:
        return rx_burst<SplitRing, PlainHeader>;
    case HeaderKind::Mergeable:
        break;
    }
    return rx_burst<SplitRing, MergeableHeader>;
}

SizingPolicy policy_of(const RxOptions& options)
{
    std::vector<SizeClass> sizes;
    for (const PoolSize& size : options.pools)
        sizes.push_back({size.room, size.room + 320U});
    const bool one_segment = options.header != HeaderKind::Mergeable || !options.scatter;
    return SizingPolicy::make(SegmentLadder::make(sizes).value(),
                              {.ewma_weight = options.ewma_weight,
                               .min_segment = 1,
                               .largest_frame = options.largest_frame,
                               .ring_segments = options.buffer_limit,
                               .one_segment_per_packet = one_segment})
        .value();
}

} // namespace

RxRig::RxRig(const RxOptions& options)
    : options_(options), ring_layout_{options.ring_size},
      shared_(memory.allocate(ring_layout_.bytes(), SplitLayout::kLine)),
      private_(SplitRing::private_bytes(options.ring_size)), slots_(options.ring_size),
      device(attach()), net(device, {}), burst_(burst_for(options.header))
{
    if (options_.buffer_limit == 0)
        options_.buffer_limit = options_.ring_size;
    add_pools();
    set_up_queue();
    start();
    seen_ = counters_of(queue.counters);
}

void RxRig::add_pools()
{
    std::vector<rte_mempool*> raw;
    for (const PoolSize& size : options_.pools) {
        pools.push_back(options_.pinned
                            ? make_pinned_pool(size.room, size.mbufs, memory.device(), outside_)
                            : make_pool(size.room, size.mbufs, memory.device()));
        raw.push_back(pools.back().get());
    }
    fill_classes(queue, raw);
}

void RxRig::set_up_queue()
{
    queue.slots = slots_.data();
    queue.buffer_limit = options_.buffer_limit;
    queue.refill_threshold = options_.refill_threshold;
    queue.scatter = options_.scatter;
    queue.header_size = header_size(options_.header);
    queue.rearm_first = rearm_word(RTE_PKTMBUF_HEADROOM, kPort);
    queue.rearm_next =
        rearm_word(static_cast<uint16_t>(RTE_PKTMBUF_HEADROOM - queue.header_size), kPort);
    queue.prefetch_offset = RTE_PKTMBUF_HEADROOM;
    queue.partial_limit = options_.partial_limit;
    queue.sizing = policy_of(options_);
    const uint32_t smallest = room(queue.sizing.lowest_class()) + queue.header_size;
    queue.most_buffers =
        static_cast<uint16_t>((65535 + queue.header_size + smallest - 1) / smallest);
}

fake::SplitDevice RxRig::attach()
{
    queue.ring.attach(ring_layout_, shared_.driver, private_.data());
    return fake::SplitDevice::at_device_addresses(
        memory.device(), shared_.device, shared_.device + ring_layout_.driver_area(),
        shared_.device + ring_layout_.device_area(), ring_layout_.size);
}

void RxRig::start()
{
    std::fill(slots_.begin(), slots_.end(), RxSlot{});
    queue.fault = RingFault::None;
    queue.partial = {};
    device = attach();
    net = fake::NetReceiver(device, layout());
    refill(queue);
    expect_accounts();
}

RxRig::~RxRig()
{
    drain();
    for (const MempoolPtr& pool : pools)
        EXPECT_EQ(rte_mempool_in_use_count(pool.get()), 0U) << "mbufs are lost";
    EXPECT_EQ(memory.violations().report(), "");
}

fake::NetLayout RxRig::layout() const
{
    return {queue.header_size, options_.header == HeaderKind::Mergeable};
}

std::vector<PacketPtr> RxRig::burst(uint16_t budget)
{
    std::vector<rte_mbuf*> raw(budget);
    raw.resize(burst_(queue, raw.data(), budget));
    std::vector<PacketPtr> packets(raw.begin(), raw.end());
    for (const PacketPtr& packet : packets) {
        expect_chain_ok(packet.get());
        EXPECT_EQ(packet->port, kPort);
        note_delivered(packet.get());
    }
    expect_accounts();
    return packets;
}

void RxRig::note_delivered(const rte_mbuf* packet)
{
    for (const rte_mbuf* m = packet; m != nullptr; m = m->next)
        ++delivered_[m->pool];
}

void RxRig::expect_accounts() const
{
    uint64_t posted = 0;
    for (uint8_t k = 0; k < queue.class_count; ++k) {
        const RxClass& c = queue.classes[k];
        const auto it = delivered_.find(c.pool);
        const uint64_t delivered = it == delivered_.end() ? 0 : it->second;
        EXPECT_EQ(c.posted.total() - c.consumed.total(), slots_of_class(k)) << unsigned{k};
        EXPECT_EQ(c.consumed.total() - c.discarded.total() - gathered_of_class(k), delivered)
            << unsigned{k};
        posted += slots_of_class(k);
    }
    EXPECT_LE(posted, queue.buffer_limit);
    if (queue.fault == RingFault::None) {
        EXPECT_EQ(posted, queue.ring.outstanding());
    }
}

unsigned RxRig::slots_of_class(uint8_t k) const
{
    return static_cast<unsigned>(
        std::count_if(slots_.begin(), slots_.end(), [&](const RxSlot& slot) {
            return slot.posted != 0 && slot.size_class == k &&
                   slot.posted == room(k) + header_bytes();
        }));
}

uint64_t RxRig::gathered_of_class(uint8_t k) const
{
    uint64_t count = 0;
    for (const rte_mbuf* m = queue.partial.head; m != nullptr; m = m->next) {
        if (m->pool == queue.classes[k].pool)
            ++count;
    }
    return count;
}

std::vector<uint32_t> RxRig::expect_arrives(std::span<const std::byte> frame,
                                            const fake::DeliverOptions& how)
{
    EXPECT_TRUE(net.deliver(frame, how)) << "the device has not enough buffers";
    const std::vector<PacketPtr> packets = burst();
    EXPECT_EQ(packets.size(), 1U) << "frame of " << frame.size();
    if (packets.size() != 1)
        return {};
    EXPECT_TRUE(std::ranges::equal(bytes_of(packets[0].get()), frame))
        << "frame of " << frame.size();
    return segment_lengths(packets[0].get());
}

void RxRig::expect_dropped(std::span<const std::byte> frame, const fake::DeliverOptions& how)
{
    ASSERT_TRUE(net.deliver(frame, how)) << "the device has not enough buffers";
    EXPECT_EQ(burst().size(), 0U);
}

void RxRig::expect_good()
{
    const Changes before = changes();
    EXPECT_EQ(before, Changes()) << "counters moved that the test did not look at";
    expect_arrives(frame_of(64, ++seed_));
    const uint32_t posted = room(queue.sizing.current_class());
    const auto held_by = [&](size_t n) { return n * (posted + header_bytes()) - header_bytes(); };
    size_t large = posted;
    if (layout().mergeable && queue.scatter) {
        large = std::max<size_t>(9000, held_by(2) + 1);
        if (large > held_by(queue.buffer_limit))
            large = held_by(std::min<size_t>(3, queue.buffer_limit));
    }
    expect_arrives(frame_of(large, ++seed_));
    EXPECT_EQ(changes(), (Changes{{"packets", 2}, {"bytes", 64 + large}}));
}

Changes RxRig::changes()
{
    const Changes now = counters_of(queue.counters);
    Changes moved;
    for (const auto& [name, value] : now) {
        if (value != seen_[name])
            moved[name] = value - seen_[name];
    }
    seen_ = now;
    return moved;
}

void RxRig::restart()
{
    drain();
    start();
}

void RxRig::drain()
{
    fit::drain(queue, slots_);
}

unsigned RxRig::mbufs_in_use() const
{
    unsigned sum = 0;
    for (const MempoolPtr& pool : pools)
        sum += rte_mempool_in_use_count(pool.get());
    return sum;
}

std::span<std::byte> RxRig::driver_area()
{
    return shared_.bytes().subspan(ring_layout_.driver_area(),
                                   ring_layout_.device_area() - ring_layout_.driver_area());
}

} // namespace fit
