// Calls of the ethdev interface that come before the ones they need: refused in one line or
// answered with what there is.
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include <rte_bus_vdev.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "fake/scripted_backend.hpp"
#include "fake/socket_tools.hpp"
#include "log_capture.hpp"

namespace fit {
namespace {

// VERSION_1, MRG_RXBUF, ANY_LAYOUT and the vhost-user bit (VIRTIO 1.3, 5.1.3 and 6; vhost-user).
constexpr uint64_t kOffered = 1ULL << 32 | 1ULL << 15 | 1ULL << 27 | 1ULL << 30;
constexpr uint64_t kReplyAck = 1ULL << 3;
constexpr const char* kDevice = "net_virtio_fit_order";

fake::BackendScript usual_script()
{
    fake::BackendScript script;
    script.features = kOffered;
    script.protocol_features = kReplyAck;
    return script;
}

class EthdevOrder : public testing::Test {
  protected:
    void SetUp() override
    {
        ASSERT_EQ(rte_vdev_init(kDevice, ("path=" + temp_.path()).c_str()), 0);
        ASSERT_EQ(rte_eth_dev_get_port_by_name(kDevice, &port_), 0);
        pool_ = rte_pktmbuf_pool_create("order", 1023, 0, 0, 2048 + RTE_PKTMBUF_HEADROOM, 0);
        ASSERT_NE(pool_, nullptr);
    }
    void TearDown() override
    {
        EXPECT_EQ(rte_vdev_uninit(kDevice), 0);
        EXPECT_EQ(rte_mempool_in_use_count(pool_), 0u);
        rte_mempool_free(pool_);
    }

    int configure(uint16_t rx, uint16_t tx) const
    {
        const rte_eth_conf conf = {};
        return rte_eth_dev_configure(port_, rx, tx, &conf);
    }
    int set_up_rx() const { return rte_eth_rx_queue_setup(port_, 0, 256, 0, nullptr, pool_); }
    int set_up_tx() const { return rte_eth_tx_queue_setup(port_, 0, 256, 0, nullptr); }

    fake::TempSocketPath temp_;
    fake::ScriptedBackend backend_{temp_.path(), usual_script()};
    uint16_t port_ = RTE_MAX_ETHPORTS;
    rte_mempool* pool_ = nullptr;
};

TEST_F(EthdevOrder, NothingHasBeenCountedBeforeTheQueuesAreThere)
{
    const auto expect_nothing = [this] {
        rte_eth_stats stats = {};
        EXPECT_EQ(rte_eth_stats_get(port_, &stats), 0);
        EXPECT_EQ(stats.ipackets + stats.opackets + stats.rx_nombuf, 0u);
        EXPECT_EQ(rte_eth_stats_reset(port_), 0);
        const int count = rte_eth_xstats_get(port_, nullptr, 0);
        ASSERT_GE(count, 0);
        std::vector<rte_eth_xstat> values(static_cast<size_t>(count));
        EXPECT_EQ(rte_eth_xstats_get(port_, values.data(), values.size()), count);
        EXPECT_EQ(rte_eth_xstats_reset(port_), 0);
    };
    expect_nothing();
    ASSERT_EQ(configure(1, 1), 0);
    expect_nothing();
    ASSERT_EQ(set_up_rx(), 0);
    expect_nothing();
    ASSERT_EQ(set_up_tx(), 0);
    expect_nothing();
}

TEST_F(EthdevOrder, TheMtuCanBeSetBeforeTheQueuesAreThere)
{
    ASSERT_EQ(configure(1, 1), 0);
    EXPECT_EQ(rte_eth_dev_set_mtu(port_, 1400), 0);
}

TEST_F(EthdevOrder, AQueueThatIsNotSetUpIsNamedAtStart)
{
    ASSERT_EQ(configure(1, 1), 0);
    {
        LogCapture log;
        EXPECT_EQ(rte_eth_dev_start(port_), -EINVAL);
        EXPECT_NE(log.text().find("rx queue 0: not set up; call rte_eth_rx_queue_setup"),
                  std::string::npos)
            << log.text();
    }
    ASSERT_EQ(set_up_rx(), 0);
    {
        LogCapture log;
        EXPECT_EQ(rte_eth_dev_start(port_), -EINVAL);
        EXPECT_NE(log.text().find("tx queue 0: not set up; call rte_eth_tx_queue_setup"),
                  std::string::npos)
            << log.text();
    }
    ASSERT_EQ(set_up_tx(), 0);
    EXPECT_EQ(rte_eth_dev_start(port_), 0);
    EXPECT_EQ(rte_eth_dev_stop(port_), 0);
}

TEST_F(EthdevOrder, QueuesComeInPairs)
{
    for (const uint16_t rx : {0, 1}) {
        LogCapture log;
        EXPECT_EQ(configure(rx, static_cast<uint16_t>(1 - rx)), -EINVAL);
        EXPECT_NE(log.text().find("come in pairs"), std::string::npos) << log.text();
    }
    // The refusal leaves a port that can be configured.
    ASSERT_EQ(configure(1, 1), 0);
    ASSERT_EQ(set_up_rx(), 0);
    ASSERT_EQ(set_up_tx(), 0);
    EXPECT_EQ(rte_eth_dev_start(port_), 0);
    EXPECT_EQ(rte_eth_dev_stop(port_), 0);
}

TEST_F(EthdevOrder, AQueueCanBeSetUpAgainAndConfigureKeepsWhatFits)
{
    ASSERT_EQ(configure(1, 1), 0);
    ASSERT_EQ(set_up_rx(), 0);
    ASSERT_EQ(set_up_rx(), 0);
    ASSERT_EQ(set_up_tx(), 0);
    ASSERT_EQ(set_up_tx(), 0);
    for (int i = 0; i < 3; ++i) {
        ASSERT_EQ(rte_eth_dev_start(port_), 0);
        ASSERT_EQ(rte_eth_dev_stop(port_), 0);
    }
    ASSERT_EQ(configure(1, 1), 0);
    ASSERT_EQ(set_up_rx(), 0);
    ASSERT_EQ(set_up_tx(), 0);
    EXPECT_EQ(rte_eth_dev_start(port_), 0);
    EXPECT_EQ(rte_eth_dev_stop(port_), 0);
}

TEST_F(EthdevOrder, EveryXstatHasAName)
{
    ASSERT_EQ(configure(1, 1), 0);
    ASSERT_EQ(set_up_rx(), 0);
    ASSERT_EQ(set_up_tx(), 0);
    const int count = rte_eth_xstats_get_names(port_, nullptr, 0);
    ASSERT_GT(count, 0);
    std::vector<rte_eth_xstat_name> names(static_cast<size_t>(count));
    ASSERT_EQ(rte_eth_xstats_get_names(port_, names.data(), static_cast<unsigned>(count)), count);
    std::vector<std::string> seen;
    for (const rte_eth_xstat_name& name : names)
        seen.emplace_back(name.name);
    std::ranges::sort(seen);
    EXPECT_TRUE(std::ranges::adjacent_find(seen) == seen.end());
    EXPECT_FALSE(seen.front().empty());
}

} // namespace
} // namespace fit
