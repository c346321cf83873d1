// Command line of fit-testpmd; no EAL.
#include <cstring>
#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "options.hpp"
#include "text.hpp"

namespace fit::testpmd {
namespace {

// Owns writable argument strings, as main() gets them.
class Args {
  public:
    Args(std::initializer_list<const char*> words)
    {
        strings_.emplace_back("fit-testpmd");
        for (const char* word : words)
            strings_.emplace_back(word);
        for (std::string& s : strings_)
            pointers_.push_back(s.data());
    }
    [[nodiscard]] const std::vector<char*>& all() const { return pointers_; }
    [[nodiscard]] Options parse() const { return parse_options(pointers_); }
    [[nodiscard]] CommandLine split()
    {
        return split_command_line(static_cast<int>(pointers_.size()), pointers_.data());
    }

  private:
    std::vector<std::string> strings_;
    std::vector<char*> pointers_;
};

std::string error_of(const std::function<void()>& action)
{
    try {
        action();
    } catch (const UserError& error) {
        return error.what();
    }
    return "no error";
}

std::string parse_error(std::initializer_list<const char*> words)
{
    const Args args(words);
    return error_of([&] { (void)args.parse(); });
}

using Sizes = std::vector<uint16_t>;

TEST(Options, defaults)
{
    const Options o = Args({}).parse();
    EXPECT_EQ(o.fwd, FwdMode::RxOnly);
    EXPECT_EQ(o.segments, (Sizes{1536, 2048, 4096, 9216, 16384}));
    EXPECT_EQ(o.stats_period, 1.0);
    EXPECT_EQ(o.duration, 0.0);
    EXPECT_EQ(o.mbufs, 0U);
    EXPECT_EQ(o.queues, 1);
    EXPECT_EQ(o.rxd, 0);
    EXPECT_EQ(o.txd, 0);
    EXPECT_EQ(o.burst, 32);
    EXPECT_EQ(o.mtu, 0);
    EXPECT_TRUE(o.scatter);
    EXPECT_EQ(o.txpkts, Sizes{64});
    EXPECT_EQ(o.tx_segment, 2048);
    EXPECT_EQ(o.total_packets, 0U);
    EXPECT_EQ(o.summary_json, "");
    EXPECT_FALSE(o.xstats);
}

TEST(Options, every_option_sets_its_own_field)
{
    const Options o =
        Args({"--fwd=txonly", "--segments=2048,64,65407", "--mbufs=5000", "--queues=2", "--rxd=128",
              "--txd=512", "--burst=512", "--mtu=9000", "--no-scatter", "--txpkts=9000,60,9000",
              "--tx-segment=1024", "--total-packets=18446744073709551615", "--duration=2.5",
              "--stats-period=0", "--summary-json", "f.json", "--xstats"})
            .parse();
    EXPECT_EQ(o.fwd, FwdMode::TxOnly);
    EXPECT_EQ(o.segments, (Sizes{64, 2048, 65407}));
    EXPECT_EQ(o.mbufs, 5000U);
    EXPECT_EQ(o.queues, 2);
    EXPECT_EQ(o.rxd, 128);
    EXPECT_EQ(o.txd, 512);
    EXPECT_EQ(o.burst, 512);
    EXPECT_EQ(o.mtu, 9000);
    EXPECT_FALSE(o.scatter);
    EXPECT_EQ(o.txpkts, (Sizes{9000, 60, 9000}));
    EXPECT_EQ(o.tx_segment, 1024);
    EXPECT_EQ(o.total_packets, UINT64_MAX);
    EXPECT_EQ(o.duration, 2.5);
    EXPECT_EQ(o.stats_period, 0.0);
    EXPECT_EQ(o.summary_json, "f.json");
    EXPECT_TRUE(o.xstats);
}

TEST(Options, fwd_modes_have_names)
{
    EXPECT_EQ(Args({"--fwd=rxonly"}).parse().fwd, FwdMode::RxOnly);
    EXPECT_EQ(Args({"--fwd=io"}).parse().fwd, FwdMode::Io);
    EXPECT_EQ(Args({"--fwd=mac"}).parse().fwd, FwdMode::Mac);
    EXPECT_STREQ(name_of(FwdMode::RxOnly), "rxonly");
    EXPECT_STREQ(name_of(FwdMode::Io), "io");
    EXPECT_STREQ(name_of(FwdMode::Mac), "mac");
    EXPECT_STREQ(name_of(FwdMode::TxOnly), "txonly");
}

TEST(Options, unknown_mode_lists_the_valid_ones)
{
    EXPECT_EQ(parse_error({"--fwd=fast"}),
              "--fwd 'fast': unknown forwarding mode; use one of rxonly, io, mac, txonly");
}

TEST(Options, bad_numbers_name_option_value_and_range)
{
    EXPECT_EQ(parse_error({"--burst=0"}), "--burst '0': out of range; give 1 to 512");
    EXPECT_EQ(parse_error({"--burst=513"}), "--burst '513': out of range; give 1 to 512");
    EXPECT_EQ(parse_error({"--burst=8x"}), "--burst '8x': not a whole number; give 1 to 512");
    EXPECT_EQ(parse_error({"--burst="}), "--burst '': not a whole number; give 1 to 512");
    EXPECT_EQ(parse_error({"--burst=-1"}), "--burst '-1': not a whole number; give 1 to 512");
    EXPECT_EQ(parse_error({"--mtu=67"}), "--mtu '67': out of range; give 68 to 65,535");
    EXPECT_EQ(parse_error({"--rxd=99999999999999999999"}),
              "--rxd '99999999999999999999': out of range; give 1 to 32,768");
}

TEST(Options, bad_segments)
{
    EXPECT_EQ(parse_error({"--segments=2048,63"}),
              "--segments '63': out of range; give 64 to 65,407");
    EXPECT_EQ(parse_error({"--segments=65408"}),
              "--segments '65408': out of range; give 64 to 65,407");
    EXPECT_EQ(parse_error({"--segments=2048,"}),
              "--segments '2048,': empty entry; separate numbers with single commas");
    EXPECT_EQ(parse_error({"--segments="}),
              "--segments '': empty entry; separate numbers with single commas");
    EXPECT_EQ(parse_error({"--segments=2048,1536,2048"}),
              "--segments '2048,1536,2048': 2048 appears twice; give each data room once");
    EXPECT_EQ(parse_error({"--segments=100,101,102,103,104,105,106,107,108"}),
              "--segments '100,101,102,103,104,105,106,107,108': 9 entries; give at most 8");
}

TEST(Options, bad_seconds)
{
    const std::string why = ": not a number of seconds; give 0 or more, such as 1 or 0.5";
    EXPECT_EQ(parse_error({"--duration=-1"}), "--duration '-1'" + why);
    EXPECT_EQ(parse_error({"--duration=nan"}), "--duration 'nan'" + why);
    EXPECT_EQ(parse_error({"--stats-period=1s"}), "--stats-period '1s'" + why);
    EXPECT_EQ(parse_error({"--stats-period="}), "--stats-period ''" + why);
}

TEST(Options, unknown_words_are_refused)
{
    const std::string valid =
        "valid are --fwd --segments --mbufs --queues --rxd --txd --burst --mtu --no-scatter "
        "--txpkts --tx-segment --total-packets --duration --stats-period --summary-json "
        "--xstats --help";
    EXPECT_EQ(parse_error({"--frobnicate=1"}), "--frobnicate=1: unknown option; " + valid);
    EXPECT_EQ(parse_error({"-x"}), "-x: unknown option; " + valid);
    EXPECT_EQ(parse_error({"--mtu=1400", "-xy"}), "-x: unknown option; " + valid);
    EXPECT_EQ(parse_error({"rxonly"}), "rxonly: not an option; " + valid);
    EXPECT_EQ(parse_error({"--burst"}), "--burst: needs a value; see fit-testpmd --help");
    EXPECT_EQ(parse_error({"--xstats=1"}), "--xstats: takes no value; write --xstats alone");
}

TEST(Options, options_of_txonly_need_txonly)
{
    EXPECT_EQ(parse_error({"--txpkts=64"}),
              "--txpkts with --fwd=rxonly: only txonly makes frames; add --fwd=txonly");
    EXPECT_EQ(parse_error({"--tx-segment=2048", "--fwd=io"}),
              "--tx-segment with --fwd=io: only txonly makes frames; add --fwd=txonly");
}

TEST(Options, a_second_parse_does_not_see_the_first)
{
    EXPECT_EQ(parse_error({"--burst=16", "--nope"}).substr(0, 6), "--nope");
    const Options o = Args({"--mtu=1400"}).parse();
    EXPECT_EQ(o.mtu, 1400);
    EXPECT_EQ(o.burst, 32);
}

TEST(CommandLine, is_cut_at_two_dashes)
{
    Args args({"-l", "0,1", "--vdev=net_null0", "--", "--fwd=io"});
    const CommandLine line = args.split();
    ASSERT_EQ(line.eal.size(), 4U);
    EXPECT_STREQ(line.eal[3], "--vdev=net_null0");
    ASSERT_EQ(line.app.size(), 2U);
    EXPECT_STREQ(line.app[0], "fit-testpmd");
    EXPECT_STREQ(line.app[1], "--fwd=io");
    EXPECT_FALSE(line.help);
}

TEST(CommandLine, without_two_dashes_all_is_for_the_eal)
{
    Args args({"--no-pci"});
    const CommandLine line = args.split();
    EXPECT_EQ(line.eal.size(), 2U);
    EXPECT_EQ(line.app.size(), 1U);
}

TEST(CommandLine, help_is_seen_on_both_sides)
{
    EXPECT_TRUE(Args({"--help"}).split().help);
    EXPECT_TRUE(Args({"--", "-h"}).split().help);
    EXPECT_NE(usage().find("--segments=BYTES[,BYTES...]\n"), std::string::npos);
}

TEST(CommandLine, own_option_on_the_side_of_the_eal)
{
    Args args({"--fwd=io", "--", "--burst=8"});
    EXPECT_EQ(error_of([&] { (void)args.split(); }),
              "--fwd=io: an option of fit-testpmd before '--'; put it after '--'");
}
} // namespace
} // namespace fit::testpmd
