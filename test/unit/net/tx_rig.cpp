#include "tx_rig.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "net/drain.hpp"

namespace fit {

namespace {

Changes counters_of(const TxCounters& c)
{
    Changes all = {{"packets", c.packets.total()},
                   {"bytes", c.bytes.total()},
                   {"ring_full", c.ring_full.total()}};
    for (size_t i = 0; i < kTxDrops.size(); ++i)
        all[std::string("drop_") + kTxDrops[i].name] = c.drops[i].total();
    return all;
}

uint16_t (*burst_for(HeaderKind kind))(TxQueue<SplitRing>&, rte_mbuf**, uint16_t)
{
    switch (kind) {
    case HeaderKind::Legacy:
        return tx_burst<SplitRing, LegacyHeader>;
    case HeaderKind::Plain:
        return tx_burst<SplitRing, PlainHeader>;
    case HeaderKind::Mergeable:
        break;
    }
    return tx_burst<SplitRing, MergeableHeader>;
}

fake::NetLayout layout_for(HeaderKind kind)
{
    return {header_size(kind), kind == HeaderKind::Mergeable};
}

} // namespace

TxRig::TxRig(const TxOptions& options)
    : options_(options), ring_layout_{options.ring_size},
      pool(make_pool(2048, options.mbufs, memory.device())),
      shared_(memory.allocate(ring_layout_.bytes(), SplitLayout::kLine)),
      private_(SplitRing::private_bytes(options.ring_size)), slots_(options.ring_size),
      device(attach()), net(device, layout_for(options.header)), burst_(burst_for(options.header))
{
    queue.slots = slots_.data();
    queue.shared_header = reinterpret_cast<uint64_t>(header_.data());
    queue.descriptor_limit =
        options.descriptor_limit == 0 ? options.ring_size : options.descriptor_limit;
    queue.reclaim_threshold = options.reclaim_threshold;
    queue.header_in_headroom = options.any_layout;
    memory.device().add_region(header_.data(), queue.shared_header, header_.size());
}

TxRig::~TxRig()
{
    drain();
    EXPECT_EQ(mbufs_in_use(), 0U) << "mbufs are lost";
    EXPECT_TRUE(
        std::all_of(header_.begin(), header_.end(), [](std::byte b) { return b == std::byte{0}; }));
    EXPECT_EQ(memory.violations().report(), "");
}

fake::SplitDevice TxRig::attach()
{
    queue.ring.attach(ring_layout_, shared_.driver, private_.data());
    return fake::SplitDevice::at_device_addresses(
        memory.device(), shared_.device, shared_.device + ring_layout_.driver_area(),
        shared_.device + ring_layout_.device_area(), ring_layout_.size);
}

uint16_t TxRig::burst(std::vector<PacketPtr>& packets)
{
    std::vector<rte_mbuf*> raw;
    raw.reserve(packets.size());
    for (const PacketPtr& packet : packets)
        raw.push_back(packet.get());
    const uint16_t taken = burst_(queue, raw.data(), static_cast<uint16_t>(raw.size()));
    for (uint16_t i = 0; i < taken; ++i)
        (void)packets[i].release();
    packets.erase(packets.begin(), packets.begin() + taken);
    if (queue.fault == RingFault::None) {
        EXPECT_EQ(descriptors_in_flight() + queue.ring.free_descriptors(), options_.ring_size);
        EXPECT_LE(descriptors_in_flight(), queue.descriptor_limit);
    }
    return taken;
}

unsigned TxRig::descriptors_in_flight() const
{
    unsigned sum = 0;
    for (const TxSlot& slot : slots_)
        sum += slot.descriptors;
    return sum;
}

bool TxRig::send(PacketPtr packet)
{
    std::vector<PacketPtr> one;
    one.push_back(std::move(packet));
    return burst(one) == 1;
}

PacketPtr TxRig::packet(size_t length, uint32_t seed, uint16_t headroom)
{
    return make_packet(pool.get(), frame_of(length, seed), headroom);
}

void TxRig::occupy_all_but(uint16_t free)
{
    net.hold(true);
    queue.header_in_headroom = true; // otherwise no odd number could be left
    for (uint16_t i = 0; i + free < queue.descriptor_limit; ++i) {
        EXPECT_TRUE(send(packet(60, i)));
        EXPECT_EQ(expect_sent(frame_of(60, i)), 1U);
    }
    queue.header_in_headroom = options_.any_layout;
    EXPECT_EQ(tx_free(queue), free);
}

size_t TxRig::expect_sent(std::span<const std::byte> frame)
{
    const auto sent = net.take();
    EXPECT_TRUE(sent.has_value()) << "the device has nothing to take";
    if (!sent)
        return 0;
    // NET_24, NET_25, NET_36: without offloads every field is zero.
    EXPECT_EQ(sent->header, std::vector<std::byte>(header_bytes()));
    EXPECT_TRUE(std::ranges::equal(sent->frame, frame));
    return sent->descriptors;
}

Changes TxRig::changes()
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

void TxRig::restart()
{
    drain();
    queue.fault = RingFault::None;
    device = attach();
    net = fake::NetTransmitter(device, layout_for(options_.header));
}

void TxRig::drain()
{
    fit::drain(slots_);
}

std::span<std::byte> TxRig::driver_area()
{
    return shared_.bytes().subspan(ring_layout_.driver_area(),
                                   ring_layout_.device_area() - ring_layout_.driver_area());
}

} // namespace fit
