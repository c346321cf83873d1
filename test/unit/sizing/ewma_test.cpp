// The estimate's arithmetic: the closed formula, the bias correction, the bounds.
#include "sizing/ewma.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace fit {
namespace {

const std::vector<uint32_t> kWeights = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024};

// The definition in floating point, one power per burst.
class Reference {
  public:
    explicit Reference(uint32_t weight) : weight_(weight) {}
    void add(uint64_t sum, uint32_t count)
    {
        const double mean = static_cast<double>(sum) / count;
        const double share = count / (seen_ + count);
        const double gain = std::max(share, 1 - std::pow(1 - 1 / weight_, count));
        seen_ += count;
        estimate_ += gain * (mean - estimate_);
    }
    double value() const { return estimate_; }

  private:
    double weight_;
    double seen_ = 0;
    double estimate_ = 0;
};

TEST(Ewma, is_empty_and_zero_before_the_first_packet)
{
    const Ewma average(64);
    EXPECT_TRUE(average.empty());
    EXPECT_EQ(average.value(), 0u);
    EXPECT_EQ(average.weight(), 64u);
}

TEST(Ewma, default_has_weight_1_and_follows_the_last_burst)
{
    Ewma average;
    EXPECT_EQ(average.weight(), 1u);
    EXPECT_TRUE(average.empty());
    average.add(9000, 1);
    EXPECT_EQ(average.value(), 9000u);
    average.add(64 + 128, 2);
    EXPECT_EQ(average.value(), 96u);
    EXPECT_FALSE(average.empty());
}

TEST(Ewma, valid_weights_are_the_powers_of_two_up_to_1024)
{
    for (uint32_t weight = 0; weight <= 5000; ++weight)
        EXPECT_EQ(Ewma::valid_weight(weight),
                  std::find(kWeights.begin(), kWeights.end(), weight) != kWeights.end())
            << weight;
    EXPECT_FALSE(Ewma::valid_weight(0x80000000));
}

TEST(EwmaDeathTest, a_weight_that_is_not_valid_ends_the_process)
{
    EXPECT_DEATH(Ewma(48), "");
    EXPECT_DEATH(Ewma(0), "");
}

TEST(Ewma, first_burst_of_any_size_gives_exactly_its_mean)
{
    for (const uint32_t weight : kWeights)
        for (const uint32_t count : {1u, 2u, 3u, 31u, 32u, 64u, 65u, 1000u})
            for (const uint32_t length : {1u, 60u, 1514u, 9000u, 65562u}) {
                Ewma average(weight);
                average.add(uint64_t{count} * length, count);
                EXPECT_EQ(average.value(), length) << weight << " " << count;
            }
}

TEST(Ewma, first_packets_count_equally)
{
    Ewma average(64);
    average.add(100, 1);
    average.add(200, 1);
    EXPECT_EQ(average.value(), 150u);
    average.add(600, 1);
    EXPECT_EQ(average.value(), 300u);
    average.add(3 * 900, 3);
    EXPECT_EQ(average.value(), 600u);
}

TEST(Ewma, after_weight_packets_one_packet_moves_it_by_one_weight_th)
{
    for (const uint32_t weight : kWeights) {
        Ewma average(weight);
        average.add(uint64_t{weight} * 1000, weight);
        average.add(1000 + 8 * weight, 1);
        EXPECT_EQ(average.value(), 1008u) << weight;
    }
}

TEST(Ewma, value_rounds_to_nearest)
{
    Ewma average(1);
    average.add(1000 + 1001, 2);
    EXPECT_EQ(average.value(), 1001u);
    average.add(1000 + 1000 + 1001, 3);
    EXPECT_EQ(average.value(), 1000u);
    average.add(1000 + 1001 + 1001, 3);
    EXPECT_EQ(average.value(), 1001u);
}

TEST(Ewma, empty_burst_changes_nothing)
{
    Ewma average(64);
    average.add(0, 0);
    EXPECT_TRUE(average.empty());
    average.add(1514, 1);
    average.add(0, 0);
    EXPECT_EQ(average.value(), 1514u);
    average.add(1500, 1);
    EXPECT_EQ(average.value(), 1507u); // still the second packet
}

TEST(Ewma, agrees_with_the_formula_for_every_weight_and_burst)
{
    std::mt19937 random(1);
    std::uniform_int_distribution<uint32_t> length(60, 65562);
    for (const uint32_t weight : kWeights)
        for (const uint32_t burst : {1u, 2u, 7u, 32u, 63u, 64u, 65u, 128u, 200u, 5000u}) {
            Ewma average(weight);
            Reference reference(weight);
            for (uint32_t i = 0; i < 300; ++i) {
                const uint64_t sum = uint64_t{length(random)} * burst - i % 60;
                average.add(sum, burst);
                reference.add(sum, burst);
                ASSERT_NEAR(average.value(), reference.value(), 1.0) << weight << " " << burst;
            }
        }
}

TEST(Ewma, stays_within_the_lengths_seen)
{
    std::mt19937 random(2);
    std::uniform_int_distribution<uint32_t> weight_bits(0, 10), size(1, 100), bits(0, 16);
    for (int run = 0; run < 200; ++run) {
        Ewma average(1u << weight_bits(random));
        uint32_t least = UINT32_MAX;
        uint32_t most = 0;
        for (int i = 0; i < 200; ++i) {
            const uint32_t count = size(random);
            uint64_t sum = 0;
            for (uint32_t packet = 0; packet < count; ++packet) {
                const uint32_t length =
                    1 + (static_cast<uint32_t>(random()) & ((1u << bits(random)) - 1));
                sum += length;
                least = std::min(least, length);
                most = std::max(most, length);
            }
            average.add(sum, count);
            ASSERT_GE(average.value(), least);
            ASSERT_LE(average.value(), most);
        }
    }
}

TEST(Ewma, constant_length_is_a_fixed_point)
{
    for (const uint32_t weight : kWeights) {
        Ewma average(weight);
        for (uint32_t burst = 1; burst <= 100; ++burst) {
            average.add(uint64_t{1514} * burst, burst);
            ASSERT_EQ(average.value(), 1514u) << weight << " " << burst;
        }
    }
}

TEST(Ewma, reaches_a_new_constant_length_exactly_from_both_sides)
{
    for (const uint32_t weight : kWeights)
        for (const uint32_t from : {64u, 65562u}) {
            Ewma average(weight);
            average.add(uint64_t{from} * 2048, 2048);
            for (uint32_t packet = 0; packet < 16 * weight; ++packet)
                average.add(1514, 1);
            EXPECT_EQ(average.value(), 1514u) << weight << " from " << from;
        }
}

// Blocks of 32 packets of one length, so that the order inside a burst carries no information.
TEST(Ewma, cutting_the_same_packets_into_bursts_of_1_or_32_agrees_within_1_percent)
{
    std::mt19937 random(3);
    std::uniform_int_distribution<uint32_t> length(60, 9014);
    for (const uint32_t weight : kWeights) {
        Ewma single(weight);
        Ewma burst(weight);
        for (int block = 0; block < 500; ++block) {
            const uint32_t bytes = length(random);
            for (int packet = 0; packet < 32; ++packet)
                single.add(bytes, 1);
            burst.add(uint64_t{bytes} * 32, 32);
            ASSERT_NEAR(single.value(), burst.value(), 0.01 * burst.value()) << weight;
        }
    }
}

TEST(Ewma, one_burst_equals_the_same_packets_in_small_bursts_beyond_the_gain_table)
{
    for (const uint32_t weight : {64u, 256u, 1024u}) {
        Ewma large(weight);
        Ewma small(weight);
        large.add(uint64_t{9000} * 2048, 2048);
        small.add(uint64_t{9000} * 2048, 2048);
        large.add(uint64_t{64} * 320, 320);
        for (int i = 0; i < 10; ++i)
            small.add(uint64_t{64} * 32, 32);
        EXPECT_NEAR(large.value(), small.value(), 1.0) << weight;
    }
}

TEST(Ewma, trouble_042_one_64_KB_packet_per_63_small_ones_stays_near_the_mean)
{
    Ewma average(64);
    for (int round = 0; round < 100; ++round)
        average.add(65536 + 63 * 64, 64);
    EXPECT_EQ(average.value(), 1087u); // (65536 + 63 * 64) / 64
}

TEST(Ewma, largest_mean_and_count_of_the_documented_range)
{
    constexpr uint32_t most = (1u << 27) - 1;
    Ewma average(1024);
    average.add(most, 1);
    EXPECT_EQ(average.value(), most);
    average.add(0, UINT32_MAX);
    EXPECT_EQ(average.value(), 0u);
    average.add(uint64_t{most} << 16, 1u << 16);
    EXPECT_EQ(average.value(), most);
}

} // namespace
} // namespace fit
