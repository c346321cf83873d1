// Makes the frames of txonly: Ethernet, IPv4, UDP and a payload of zeros, with valid checksums.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_mbuf.h>
#include <rte_udp.h>

namespace fit::testpmd {

// Fills every mbuf's data room with zeros. The payload is never written again: a frame costs one
// header.
void clear_data(rte_mempool* pool);

class FrameMaker {
  public:
    // `pool` was cleared by clear_data and has mbufs of `room` bytes. `lengths`: frames in turn.
    FrameMaker(rte_mempool* pool, uint16_t room, std::span<const uint16_t> lengths,
               const rte_ether_addr& source);

    // Makes up to `count` frames; fewer when the pool runs out. Ownership goes to the caller.
    [[nodiscard]] uint16_t make(rte_mbuf** frames, uint16_t count);

    // The last `count` frames were not sent: their lengths come again.
    void rewind(uint16_t count);

  private:
    static constexpr size_t kHeader =
        sizeof(rte_ether_hdr) + sizeof(rte_ipv4_hdr) + sizeof(rte_udp_hdr);

    struct Shape {
        uint16_t length;
        uint16_t segments;
        std::array<uint8_t, kHeader> header;
    };

    [[nodiscard]] static Shape shape(uint16_t length, uint16_t room, const rte_ether_addr& source);
    void fill(const Shape& shape, rte_mbuf** segments) const;

    rte_mempool* pool_;
    uint16_t room_;
    std::vector<Shape> shapes_;
    size_t next_ = 0;
    std::vector<rte_mbuf*> segments_; // scratch of make
};

} // namespace fit::testpmd
