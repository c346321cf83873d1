// From the mempools of a receive queue to its size classes.
#include <gtest/gtest.h>

#include "net/rx_classes.hpp"
#include "rx_rig.hpp"

namespace fit {
namespace {

class RxClasses : public testing::Test {
  protected:
    rte_mempool* pool(uint16_t room, uint16_t private_bytes = 0)
    {
        pools_.push_back(make_pool(room, 8, memory_.device(), private_bytes));
        return pools_.back().get();
    }
    void fill(const std::vector<rte_mempool*>& pools) { fill_classes(queue, pools); }
    [[nodiscard]] std::vector<rte_mempool*> order() const
    {
        std::vector<rte_mempool*> all;
        for (uint8_t k = 0; k < queue.class_count; ++k)
            all.push_back(queue.classes[k].pool);
        return all;
    }

  private:
    fake::GuestMemory memory_;
    std::vector<MempoolPtr> pools_;

  protected:
    RxQueueState queue;
};

TEST_F(RxClasses, ascend_by_room_whatever_the_order_of_the_mempools)
{
    rte_mempool* small = pool(260);
    rte_mempool* middle = pool(1536);
    rte_mempool* large = pool(9216);
    fill({middle, large, small});
    EXPECT_EQ(order(), (std::vector{small, middle, large}));
    EXPECT_EQ(queue.classes[0].room, 260U);
    EXPECT_EQ(queue.classes[2].room, 9216U);
}

TEST_F(RxClasses, mempools_of_equal_room_stay_two_classes_in_the_order_given)
{
    rte_mempool* first = pool(512);
    rte_mempool* second = pool(512);
    fill({second, first});
    EXPECT_EQ(order(), (std::vector{second, first}));
}

// Two classes of one pool could not tell whose a dropped segment was.
TEST_F(RxClasses, mempool_that_is_named_again_adds_nothing)
{
    rte_mempool* small = pool(260);
    rte_mempool* large = pool(9216);
    fill({large, small, large, small, small, large, large, large});
    EXPECT_EQ(order(), (std::vector{small, large}));
}

TEST_F(RxClasses, eight_different_mempools_are_eight_classes)
{
    std::vector<rte_mempool*> pools;
    for (uint16_t k = 0; k < kMaxClasses; ++k)
        pools.push_back(pool(static_cast<uint16_t>(300 + 10 * k)));
    fill(pools);
    EXPECT_EQ(order(), pools);
}

TEST_F(RxClasses, know_where_the_buffer_lies_unless_it_is_outside_the_mbuf)
{
    fill({pool(512, 64)});
    EXPECT_EQ(queue.classes[0].mbuf_to_buffer, sizeof(rte_mbuf) + 64);
    fake::GuestMemory memory;
    std::vector<std::byte> outside;
    const MempoolPtr pinned = make_pinned_pool(2048, 8, memory.device(), outside);
    EXPECT_EQ(make_class(pinned.get()).mbuf_to_buffer, 0U);
    EXPECT_EQ(make_class(pinned.get()).room, 2048U);
}

} // namespace
} // namespace fit
