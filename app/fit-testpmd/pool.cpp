#include "pool.hpp"

#include <utility>

#include <rte_errno.h>
#include <rte_lcore.h>

#include "option_values.hpp"
#include "pool_sizing.hpp"
#include "text.hpp"

namespace fit::testpmd {

static_assert(kMaxSegment + RTE_PKTMBUF_HEADROOM <= UINT16_MAX);

Pool::Pool(std::string name, uint16_t room, uint32_t mbufs)
    : name_(std::move(name)), room_(room), mbufs_(mbufs),
      pool_(rte_pktmbuf_pool_create(name_.c_str(), mbufs, cache_for(mbufs), 0,
                                    static_cast<uint16_t>(room + RTE_PKTMBUF_HEADROOM),
                                    static_cast<int>(rte_socket_id())))
{
    if (pool_ == nullptr)
        throw UserError(
            format("pool %s: %u mbufs of %u bytes: %s; give the EAL more memory (-m), or pass "
                   "a smaller --mbufs or fewer --segments",
                   name_.c_str(), mbufs, room, errno_text(rte_errno).c_str()));
}

} // namespace fit::testpmd
