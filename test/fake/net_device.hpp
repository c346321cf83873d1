// The network device on top of split rings (VIRTIO 1.3, 5.1.6): what it receives from the driver
// and delivers to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "fake/split_device.hpp"

namespace fit::fake {

// What the negotiated features say about packets.
struct NetLayout {
    size_t header_size = 12; // bytes: 10, 12 or 20
    bool mergeable = false;  // MRG_RXBUF
};

struct DeliverOptions {
    // Bytes to write into each buffer, header included; they add up to header + frame. Empty: each
    // buffer is filled.
    std::vector<uint32_t> split{};
    // What the used elements say instead of the bytes really written; as many as buffers.
    std::vector<uint32_t> used_lengths{};
    // num_buffers of the header instead of the real number.
    std::optional<uint16_t> num_buffers{};
    // All bytes of the header, header_size of them; num_buffers above still applies. Empty: zeros.
    std::vector<std::byte> header{};
    // Fills what each buffer holds beyond the bytes written with kPoison (SPL_14, SPL_15).
    bool poison = false;
};

inline constexpr std::byte kPoison{0xdb};

// The device side of a receive queue.
class NetReceiver {
  public:
    NetReceiver(SplitDevice& queue, const NetLayout& layout) : queue_(&queue), layout_(layout) {}

    // Writes one frame and publishes all its buffers at once. False, with nothing taken, when the
    // buffers there do not suffice: too few, or, not mergeable, the first one too small; or split
    // asks more of a buffer than it holds. Checks each buffer it takes: device-writable only, and
    // room for the header (NET_46).
    bool deliver(std::span<const std::byte> frame, const DeliverOptions& options = {});

    // The same in pieces: stage() writes all and publishes nothing, then publish(n) completes the
    // next n buffers.
    bool stage(std::span<const std::byte> frame, const DeliverOptions& options = {});
    void publish(size_t buffers);
    [[nodiscard]] size_t staged() const { return staged_.size(); }

  private:
    std::vector<uint32_t> plan(size_t bytes, const DeliverOptions& options);
    void check_buffer(const Chain& chain);
    void write(const Chain& chain, std::span<const std::byte> bytes, bool poison);

    SplitDevice* queue_;
    NetLayout layout_;
    std::deque<Used> staged_;
};

struct SentFrame {
    uint16_t id = 0;
    size_t descriptors = 0; // that the driver spent on it
    std::vector<std::byte> header;
    std::vector<std::byte> frame;
};

// The device side of a transmit queue.
class NetTransmitter {
  public:
    NetTransmitter(SplitDevice& queue, const NetLayout& layout) : queue_(&queue), layout_(layout) {}

    // Gathers the next chain and, unless hold() is on, completes it with length 0. Checks that the
    // chain is readable only and not shorter than the header (NET_43), and the header fields that
    // every sent packet obeys: NET_24 (num_buffers 0), NET_42 (no receive-only flag).
    std::optional<SentFrame> take();

    // While on, taken chains stay in flight until complete().
    void hold(bool on) { hold_ = on; }
    [[nodiscard]] size_t held() const { return held_.size(); }
    // Completes held chains with one index store. `order` holds positions in the order of taking, 0
    // the oldest one still held; each at most once (std::logic_error).
    void complete(std::span<const size_t> order);
    void complete_all();

  private:
    void check(const Chain& chain, std::span<const std::byte> header);

    SplitDevice* queue_;
    NetLayout layout_;
    bool hold_ = false;
    std::deque<uint16_t> held_;
};

} // namespace fit::fake
