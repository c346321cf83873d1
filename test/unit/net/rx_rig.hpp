// A receive queue of real mbufs and the fake device at the other end of it.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "fake/guest_memory.hpp"
#include "fake/net_device.hpp"
#include "fake/split_device.hpp"
#include "mbuf_tools.hpp"
#include "net/rx_burst.hpp"

namespace fit {

struct PoolSize {
    uint16_t room;
    unsigned mbufs;
};

struct RxOptions {
    HeaderKind header = HeaderKind::Mergeable;
    std::vector<PoolSize> pools = {{2048, 600}}; // ascending rooms
    uint16_t ring_size = 256;
    uint16_t buffer_limit = 0; // 0: the whole ring
    uint16_t refill_threshold = 1;
    bool scatter = true;
    uint32_t ewma_weight = 64;
    uint32_t largest_frame = 1518;
    uint64_t partial_limit = UINT64_MAX; // TSC cycles
    bool pinned = false;                 // buffers outside the mempool
};

// Checks after each burst that the accounts are exact, and at its end that every mbuf is back in
// its pool and that the device saw no violation. Packets must be freed before the rig.
class RxRig {
  public:
    static constexpr uint16_t kPort = 7;

    explicit RxRig(const RxOptions& options = {});
    ~RxRig();
    RxRig(const RxRig&) = delete;
    RxRig& operator=(const RxRig&) = delete;

    [[nodiscard]] fake::NetLayout layout() const;
    [[nodiscard]] uint32_t header_bytes() const { return queue.header_size; }
    [[nodiscard]] uint32_t room(uint8_t k = 0) const { return queue.classes[k].room; }
    // Data bytes that `buffers` buffers of class 0 hold for one packet.
    [[nodiscard]] size_t capacity(size_t buffers) const
    {
        return buffers * (room() + header_bytes()) - header_bytes();
    }

    // One call of the receive function.
    std::vector<PacketPtr> burst(uint16_t budget = 64);
    // Delivers, bursts once, and expects exactly these bytes as one packet; its segment lengths.
    std::vector<uint32_t> expect_arrives(std::span<const std::byte> frame,
                                         const fake::DeliverOptions& how = {});
    // Delivers, bursts once, and expects that nothing arrives.
    void expect_dropped(std::span<const std::byte> frame, const fake::DeliverOptions& how);
    // GOOD: 64 bytes, then 9000 bytes over at least three buffers, or what the ring can take.
    void expect_good();
    // What moved since the last call or the beginning. Without notifications and the level of the
    // ring.
    Changes changes();

    // Takes all buffers back as the driver does when it stops a port, then starts the ring anew.
    void restart();
    void drain();
    [[nodiscard]] unsigned mbufs_in_use() const;
    // Slots that hold a buffer of class k.
    [[nodiscard]] unsigned slots_of_class(uint8_t k) const;

  private:
    using Burst = uint16_t (*)(RxQueue<SplitRing>&, rte_mbuf**, uint16_t);

    RxOptions options_;
    SplitLayout ring_layout_;
    std::vector<std::byte> outside_; // buffers of pinned pools

  public:
    fake::GuestMemory memory;
    std::vector<MempoolPtr> pools;
    RxQueue<SplitRing> queue;

  private:
    fake::GuestMemory::Block shared_;
    std::vector<std::byte> private_;
    std::vector<RxSlot> slots_;

  public:
    fake::SplitDevice device;
    fake::NetReceiver net;
    // Written over the available ring and its index by a test that plays a hostile peer.
    [[nodiscard]] std::span<std::byte> driver_area();

  private:
    void add_pools();
    void set_up_queue();
    void start();
    fake::SplitDevice attach();
    void expect_accounts() const;
    // Segments of class k in a packet that is not complete.
    [[nodiscard]] uint64_t gathered_of_class(uint8_t k) const;
    void note_delivered(const rte_mbuf* packet);

    Burst burst_;
    std::map<const rte_mempool*, uint64_t> delivered_; // segments by pool, ever
    Changes seen_;
    uint32_t seed_ = 0;
};

} // namespace fit
