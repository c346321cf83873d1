#include "frame_maker.hpp"

#include <algorithm>
#include <cstring>

#include "pool_sizing.hpp"

namespace fit::testpmd {

namespace {

// RFC 2544 appendix C: addresses for benchmarks; port 9 is discard.
constexpr rte_be32_t kSource = RTE_BE32(RTE_IPV4(198, 18, 0, 1));
constexpr rte_be32_t kDestination = RTE_BE32(RTE_IPV4(198, 18, 0, 2));
constexpr rte_be16_t kSourcePort = RTE_BE16(49152);
constexpr rte_be16_t kDestinationPort = RTE_BE16(9);

void clear_one(rte_mempool*, void*, void* object, unsigned)
{
    auto* mbuf = static_cast<rte_mbuf*>(object);
    std::memset(mbuf->buf_addr, 0, mbuf->buf_len);
}

} // namespace

void clear_data(rte_mempool* pool)
{
    rte_mempool_obj_iter(pool, clear_one, nullptr);
}

FrameMaker::FrameMaker(rte_mempool* pool, uint16_t room, std::span<const uint16_t> lengths,
                       const rte_ether_addr& source)
    : pool_(pool), room_(room)
{
    for (const uint16_t length : lengths)
        shapes_.push_back(shape(length, room, source));
    size_t most = 1;
    for (const Shape& s : shapes_)
        most = std::max<size_t>(most, s.segments);
    segments_.resize(most);
}

FrameMaker::Shape FrameMaker::shape(uint16_t length, uint16_t room, const rte_ether_addr& source)
{
    std::vector<uint8_t> frame(length);
    auto* ether = reinterpret_cast<rte_ether_hdr*>(frame.data());
    auto* ip = reinterpret_cast<rte_ipv4_hdr*>(ether + 1);
    auto* udp = reinterpret_cast<rte_udp_hdr*>(ip + 1);
    std::memset(&ether->dst_addr, 0xff, sizeof(ether->dst_addr));
    ether->src_addr = source;
    ether->ether_type = RTE_BE16(RTE_ETHER_TYPE_IPV4);
    ip->version_ihl = RTE_IPV4_VHL_DEF;
    ip->total_length = rte_cpu_to_be_16(static_cast<uint16_t>(length - sizeof(*ether)));
    ip->time_to_live = 64;
    ip->next_proto_id = IPPROTO_UDP;
    ip->src_addr = kSource;
    ip->dst_addr = kDestination;
    ip->hdr_checksum = rte_ipv4_cksum(ip);
    udp->src_port = kSourcePort;
    udp->dst_port = kDestinationPort;
    udp->dgram_len = rte_cpu_to_be_16(static_cast<uint16_t>(length - sizeof(*ether) - sizeof(*ip)));
    udp->dgram_cksum = rte_ipv4_udptcp_cksum(ip, udp);

    Shape result{length, static_cast<uint16_t>(segments_of(length, room)), {}};
    std::copy_n(frame.begin(), kHeader, result.header.begin());
    return result;
}

void FrameMaker::fill(const Shape& shape, rte_mbuf** segments) const
{
    rte_mbuf* head = segments[0];
    std::memcpy(rte_pktmbuf_mtod(head, void*), shape.header.data(), kHeader);
    head->data_len = std::min(shape.length, room_);
    head->pkt_len = shape.length;
    head->nb_segs = shape.segments;
    rte_mbuf* last = head;
    uint32_t left = shape.length - head->data_len;
    for (uint16_t i = 1; i < shape.segments; ++i) {
        rte_mbuf* segment = segments[i];
        // It may have been the first of another frame.
        std::memset(rte_pktmbuf_mtod(segment, void*), 0, kHeader);
        segment->data_len = static_cast<uint16_t>(std::min<uint32_t>(left, room_));
        left -= segment->data_len;
        last->next = segment;
        last = segment;
    }
}

uint16_t FrameMaker::make(rte_mbuf** frames, uint16_t count)
{
    uint16_t made = 0;
    for (; made < count; ++made) {
        const Shape& shape = shapes_[next_];
        if (rte_pktmbuf_alloc_bulk(pool_, segments_.data(), shape.segments) != 0)
            break;
        fill(shape, segments_.data());
        frames[made] = segments_[0];
        next_ = next_ + 1 == shapes_.size() ? 0 : next_ + 1;
    }
    return made;
}

void FrameMaker::rewind(uint16_t count)
{
    next_ = (next_ + shapes_.size() - count % shapes_.size()) % shapes_.size();
}

} // namespace fit::testpmd
