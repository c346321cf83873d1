// One pktmbuf pool, freed with its owner.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <rte_mbuf.h>
#include <rte_mempool.h>

namespace fit::testpmd {

class Pool {
  public:
    // `room`: bytes of packet data in one mbuf, behind RTE_PKTMBUF_HEADROOM. Throws UserError.
    Pool(std::string name, uint16_t room, uint32_t mbufs);

    [[nodiscard]] rte_mempool* get() const { return pool_.get(); }
    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] uint16_t room() const { return room_; }
    [[nodiscard]] uint32_t mbufs() const { return mbufs_; }
    // Mbufs that are neither in the pool nor in a cache of it.
    [[nodiscard]] uint32_t in_use() const { return rte_mempool_in_use_count(pool_.get()); }

  private:
    struct Free {
        void operator()(rte_mempool* pool) const { rte_mempool_free(pool); }
    };

    std::string name_;
    uint16_t room_;
    uint32_t mbufs_;
    std::unique_ptr<rte_mempool, Free> pool_;
};

} // namespace fit::testpmd
