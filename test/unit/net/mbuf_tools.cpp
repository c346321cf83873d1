#include "mbuf_tools.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include <rte_errno.h>

namespace fit {

namespace {

std::string next_name()
{
    static unsigned number = 0;
    return "unit_net_" + std::to_string(number++);
}

void adopt(rte_mempool*, void* memory, void* object, unsigned)
{
    auto* m = static_cast<rte_mbuf*>(object);
    auto* buffer = static_cast<std::byte*>(m->buf_addr);
    std::fill_n(buffer, m->buf_len, kUntouched);
    static_cast<fake::DeviceMemory*>(memory)->add_region(buffer, reinterpret_cast<uint64_t>(buffer),
                                                         m->buf_len);
}

MempoolPtr adopted(rte_mempool* raw, fake::DeviceMemory& memory)
{
    MempoolPtr pool(raw);
    if (pool == nullptr)
        throw std::runtime_error(std::string("no mempool: ") + rte_strerror(rte_errno));
    rte_mempool_obj_iter(pool.get(), adopt, &memory);
    return pool;
}

uint16_t buffer_bytes(uint16_t room)
{
    return static_cast<uint16_t>(room + RTE_PKTMBUF_HEADROOM);
}

} // namespace

std::string name_of(HeaderKind kind)
{
    switch (kind) {
    case HeaderKind::Legacy:
        return "legacy";
    case HeaderKind::Plain:
        return "plain";
    case HeaderKind::Mergeable:
        break;
    }
    return "mergeable";
}

MempoolPtr make_pool(uint16_t room, unsigned count, fake::DeviceMemory& memory,
                     uint16_t private_bytes)
{
    return adopted(rte_pktmbuf_pool_create(next_name().c_str(), count, 0, private_bytes,
                                           buffer_bytes(room), SOCKET_ID_ANY),
                   memory);
}

MempoolPtr make_pinned_pool(uint16_t room, unsigned count, fake::DeviceMemory& memory,
                            std::vector<std::byte>& area)
{
    const uint16_t bytes = buffer_bytes(room);
    area.resize(size_t{bytes} * count);
    const rte_pktmbuf_extmem block = {.buf_ptr = area.data(),
                                      .buf_iova = RTE_BAD_IOVA,
                                      .buf_len = area.size(),
                                      .elt_size = bytes};
    return adopted(rte_pktmbuf_pool_create_extbuf(next_name().c_str(), count, 0, 0, bytes,
                                                  SOCKET_ID_ANY, &block, 1),
                   memory);
}

std::vector<PacketPtr> take_all(rte_mempool* pool)
{
    std::vector<PacketPtr> all;
    while (rte_mbuf* m = rte_pktmbuf_alloc(pool))
        all.emplace_back(m);
    return all;
}

std::vector<std::byte> frame_of(size_t length, uint32_t seed)
{
    std::vector<std::byte> bytes(length);
    uint32_t state = seed * 2654435761U + 12345;
    for (std::byte& b : bytes) {
        state = state * 1664525 + 1013904223;
        b = static_cast<std::byte>(state >> 24);
    }
    return bytes;
}

std::vector<std::byte> bytes_of(const rte_mbuf* packet)
{
    std::vector<std::byte> bytes;
    bytes.reserve(packet->pkt_len);
    for (const rte_mbuf* m = packet; m != nullptr; m = m->next) {
        const auto* data = rte_pktmbuf_mtod(m, const std::byte*);
        bytes.insert(bytes.end(), data, data + m->data_len);
    }
    return bytes;
}

std::vector<uint32_t> segment_lengths(const rte_mbuf* packet)
{
    std::vector<uint32_t> lengths;
    for (const rte_mbuf* m = packet; m != nullptr; m = m->next)
        lengths.push_back(m->data_len);
    return lengths;
}

void expect_chain_ok(const rte_mbuf* packet)
{
    const char* why = nullptr;
    EXPECT_EQ(rte_mbuf_check(packet, 1, &why), 0) << why;
    const std::vector<uint32_t> lengths = segment_lengths(packet);
    EXPECT_EQ(packet->nb_segs, lengths.size());
    EXPECT_EQ(packet->pkt_len, std::accumulate(lengths.begin(), lengths.end(), 0U));
    for (const rte_mbuf* m = packet->next; m != nullptr; m = m->next)
        EXPECT_EQ(m->nb_segs, 1);
}

PacketPtr make_packet(rte_mempool* pool, std::span<const std::byte> data, uint16_t headroom)
{
    PacketPtr packet(rte_pktmbuf_alloc(pool));
    if (packet == nullptr)
        throw std::runtime_error("the mempool is empty");
    packet->data_off = headroom;
    if (data.size() > rte_pktmbuf_tailroom(packet.get()))
        throw std::logic_error("the data does not fit the buffer");
    packet->data_len = static_cast<uint16_t>(data.size());
    packet->pkt_len = packet->data_len;
    std::copy(data.begin(), data.end(), rte_pktmbuf_mtod(packet.get(), std::byte*));
    return packet;
}

PacketPtr make_chain(rte_mempool* pool, std::span<const uint16_t> lengths, uint32_t seed)
{
    const std::vector<std::byte> frame =
        frame_of(std::accumulate(lengths.begin(), lengths.end(), size_t{0}), seed);
    std::span<const std::byte> rest = frame;
    PacketPtr head;
    rte_mbuf* tail = nullptr;
    for (uint16_t length : lengths) {
        PacketPtr segment = make_packet(pool, rest.first(length));
        rest = rest.subspan(length);
        rte_mbuf* m = segment.release();
        if (head == nullptr) {
            head.reset(m);
        } else {
            tail->next = m;
            head->nb_segs++;
            head->pkt_len += length;
        }
        tail = m;
    }
    return head;
}

} // namespace fit
