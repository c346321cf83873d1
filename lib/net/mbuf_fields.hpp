// Writing the receive fields of an mbuf with few stores.
#pragma once

#include <cstddef>
#include <cstring>

#include <rte_mbuf.h>

#include "base/endian.hpp"

namespace fit {

// The stores below cover these fields; a release that moves one must not compile.
static_assert(offsetof(rte_mbuf, refcnt) == offsetof(rte_mbuf, data_off) + 2);
static_assert(offsetof(rte_mbuf, nb_segs) == offsetof(rte_mbuf, data_off) + 4);
static_assert(offsetof(rte_mbuf, port) == offsetof(rte_mbuf, data_off) + 6);
static_assert(offsetof(rte_mbuf, pkt_len) == offsetof(rte_mbuf, packet_type) + 4);
static_assert(offsetof(rte_mbuf, data_len) == offsetof(rte_mbuf, packet_type) + 8);
static_assert(offsetof(rte_mbuf, vlan_tci) == offsetof(rte_mbuf, packet_type) + 10);
static_assert(offsetof(rte_mbuf, hash.rss) == offsetof(rte_mbuf, packet_type) + 12);
static_assert(std::endian::native == std::endian::little,
              "the stores below are laid out for little-endian");

// data_off, refcnt 1, nb_segs 1, port as one word.
constexpr uint64_t rearm_word(uint16_t data_off, uint16_t port)
{
    return data_off | uint64_t{1} << 16 | uint64_t{1} << 32 | uint64_t{port} << 48;
}

// A whole packet (or the first segment of one) of `length` bytes fresh from its pool, where `next`
// is NULL.
inline void fill_mbuf(rte_mbuf* m, uint64_t rearm, uint32_t length)
{
    auto* bytes = reinterpret_cast<std::byte*>(m);
    const uint64_t type_and_pkt_len = uint64_t{length} << 32;
    const uint64_t data_len_vlan_rss = length & 0xffff;
    std::memcpy(bytes + offsetof(rte_mbuf, data_off), &rearm, sizeof(rearm));
    m->ol_flags &= RTE_MBUF_F_EXTERNAL; // that the pool's buffers lie elsewhere stays true
    std::memcpy(bytes + offsetof(rte_mbuf, packet_type), &type_and_pkt_len,
                sizeof(type_and_pkt_len));
    std::memcpy(bytes + offsetof(rte_mbuf, data_len), &data_len_vlan_rss,
                sizeof(data_len_vlan_rss));
}

} // namespace fit
