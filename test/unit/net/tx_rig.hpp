// A transmit queue of real mbufs and the fake device at the other end of it.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "fake/guest_memory.hpp"
#include "fake/net_device.hpp"
#include "fake/split_device.hpp"
#include "mbuf_tools.hpp"
#include "net/net_header.hpp"
#include "net/tx_burst.hpp"

namespace fit {

struct TxOptions {
    HeaderKind header = HeaderKind::Mergeable;
    bool any_layout = true; // VERSION_1 or ANY_LAYOUT
    uint16_t ring_size = 64;
    uint16_t descriptor_limit = 0; // 0: the whole ring
    uint16_t reclaim_threshold = 1;
    unsigned mbufs = 600;
};

// Checks at its end that every mbuf is back and that the device saw no violation.
class TxRig {
  public:
    explicit TxRig(const TxOptions& options = {});
    ~TxRig();
    TxRig(const TxRig&) = delete;
    TxRig& operator=(const TxRig&) = delete;

    [[nodiscard]] uint32_t header_bytes() const { return header_size(options_.header); }
    // Offers packets to the transmit function. Those that it took are gone from `packets`.
    uint16_t burst(std::vector<PacketPtr>& packets);
    // Offers one; whether it was taken. One that was not is freed.
    bool send(PacketPtr packet);
    PacketPtr packet(size_t length, uint32_t seed = 1, uint16_t headroom = RTE_PKTMBUF_HEADROOM);
    // Fills the ring with packets of one descriptor until `free` of its descriptors are left. The
    // device takes them all and completes none.
    void occupy_all_but(uint16_t free);
    // The device takes the next packet, which must be `frame` behind a header of zeros;
    // descriptors.
    size_t expect_sent(std::span<const std::byte> frame);
    // What moved since the last call or the beginning. Without notifications.
    Changes changes();
    [[nodiscard]] unsigned mbufs_in_use() const { return rte_mempool_in_use_count(pool.get()); }
    [[nodiscard]] unsigned descriptors_in_flight() const;

    // Takes all packets back as the driver does when it stops a port, then starts the ring anew.
    void restart();
    void drain();
    [[nodiscard]] std::span<std::byte> driver_area();

  private:
    using Burst = uint16_t (*)(TxQueue<SplitRing>&, rte_mbuf**, uint16_t);

    TxOptions options_;
    SplitLayout ring_layout_;

  public:
    fake::GuestMemory memory;
    MempoolPtr pool;
    TxQueue<SplitRing> queue;

  private:
    fake::GuestMemory::Block shared_;
    std::vector<std::byte> private_;
    std::vector<TxSlot> slots_;
    alignas(64) std::array<std::byte, 64> header_{};

  public:
    fake::SplitDevice device;
    fake::NetTransmitter net;

  private:
    fake::SplitDevice attach();

    Burst burst_;
    Changes seen_;
};

} // namespace fit
