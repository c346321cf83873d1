// Pool sizes, times and table lines of fit-testpmd; no EAL.
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "active_time.hpp"
#include "pool_sizing.hpp"
#include "table_format.hpp"
#include "text.hpp"

namespace fit::testpmd {
namespace {

using Sizes = std::vector<uint16_t>;

TEST(PoolSizing, mbufs_cover_rings_bursts_and_caches)
{
    // 2 queues x (256 in the ring + 32 on the way) + 3 lcores x 1.5 x 128 in caches.
    EXPECT_EQ(mbufs_for({.queues = 2, .descriptors = 256, .held = 32, .lcores = 3}), 576U + 576U);
    EXPECT_EQ(mbufs_for({.queues = 1, .descriptors = 256, .held = 256, .lcores = 2}), 896U);
}

TEST(PoolSizing, cache_never_exceeds_a_quarter_of_the_pool)
{
    EXPECT_EQ(cache_for(896), 128U);
    EXPECT_EQ(cache_for(512), 128U);
    EXPECT_EQ(cache_for(511), 127U);
    EXPECT_EQ(cache_for(3), 0U);
}

TEST(PoolSizing, segments_of_a_frame)
{
    EXPECT_EQ(segments_of(1536, 1536), 1U);
    EXPECT_EQ(segments_of(1537, 1536), 2U);
    EXPECT_EQ(segments_of(9000, 2048), 5U);
    EXPECT_EQ(segments_of(0, 2048), 1U);
}

TEST(PoolSizing, largest_frame_is_not_bound_by_the_mtu)
{
    EXPECT_EQ(largest_frame(1522, 2048), 9216U);
    EXPECT_EQ(largest_frame(1522, 16384), 16384U);
    EXPECT_EQ(largest_frame(9722, 2048), 9722U);
}

TEST(PoolSizing, single_class_is_the_smallest_that_holds_a_frame)
{
    const Sizes ladder{1536, 2048, 4096};
    EXPECT_EQ(single_class(ladder, 1522), 0U);
    EXPECT_EQ(single_class(ladder, 1536), 0U);
    EXPECT_EQ(single_class(ladder, 1537), 1U);
    EXPECT_EQ(single_class(ladder, 4096), 2U);
    EXPECT_EQ(single_class(ladder, 9022), 2U);
}

TEST(ActiveTime, pauses_do_not_count)
{
    ActiveTime time;
    time.sample(0.5, 0);
    time.sample(0.75, 10); // the traffic began between two samples
    EXPECT_EQ(time.seconds(), 0.25);
    time.sample(1.0, 10);
    time.sample(1.25, 20); // a gap of half a second is traffic
    EXPECT_EQ(time.seconds(), 0.75);
    time.sample(9.0, 20);
    time.sample(9.25, 30); // a gap of eight seconds is a pause
    EXPECT_EQ(time.seconds(), 1.0);
}

TEST(Table, receive_line)
{
    TableRow row;
    row.time = 12.04;
    row.port = "0";
    row.packets = 12'345'678;
    row.mpps = 1.2345;
    row.gbps = 14.9517;
    row.average = 1514;
    row.room = 1536;
    row.segments = 1;
    row.footprint = 1.099;
    row.drops = 1234;
    EXPECT_EQ(
        table_header(FwdMode::RxOnly),
        "    time port       packets    Mpps  Gbit/s average segment seg/pkt  mem/B    drops\n");
    EXPECT_EQ(
        table_line(FwdMode::RxOnly, row),
        "  12.0 s    0    12,345,678   1.234  14.952    1514    1536   1.000   1.10    1,234\n");
}

TEST(Table, absent_values_are_dashes)
{
    TableRow row;
    row.port = "1:3";
    EXPECT_EQ(
        table_line(FwdMode::RxOnly, row),
        "   0.0 s  1:3             0   0.000   0.000       -       -       -      -        -\n");
}

TEST(Table, forwarding_fits_100_columns)
{
    EXPECT_EQ(table_header(FwdMode::Io).size(), 101U); // with the line end
    EXPECT_EQ(table_header(FwdMode::Io),
              "    time port       packets    Mpps  Gbit/s average segment seg/pkt  mem/B    drops"
              " tx-Mpps tx-drops\n");
    EXPECT_EQ(table_header(FwdMode::TxOnly),
              "    time port       packets    Mpps  Gbit/s average seg/pkt tx-drops\n");
}

TEST(Text, grouped_digits)
{
    EXPECT_EQ(grouped(0), "0");
    EXPECT_EQ(grouped(999), "999");
    EXPECT_EQ(grouped(1000), "1,000");
    EXPECT_EQ(grouped(UINT64_MAX), "18,446,744,073,709,551,615");
}

} // namespace
} // namespace fit::testpmd
