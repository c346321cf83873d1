// What the user asked for after "--" on the command line. Pure: needs no EAL.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fit::testpmd {

enum class FwdMode { RxOnly, Io, Mac, TxOnly };

[[nodiscard]] const char* name_of(FwdMode mode);

// True when received frames are sent out again.
[[nodiscard]] constexpr bool forwards(FwdMode mode)
{
    return mode == FwdMode::Io || mode == FwdMode::Mac;
}

struct Options {
    FwdMode fwd = FwdMode::RxOnly;
    std::vector<uint16_t> segments{1536, 2048, 4096, 9216, 16384}; // data rooms, bytes, ascending
    double stats_period = 1.0;                                     // seconds; 0: no table
    double duration = 0.0;                                         // seconds; 0: until a signal
    uint32_t mbufs = 0;                                            // per pool; 0: computed
    uint16_t queues = 1;                                           // queue pairs per port
    uint16_t rxd = 0; // descriptors; 0: the driver's choice
    uint16_t txd = 0;
    uint16_t burst = 32;
    uint16_t mtu = 0; // 0: the driver's default
    bool scatter = true;
    std::vector<uint16_t> txpkts{64}; // frame lengths in bytes without CRC, sent in turn
    uint16_t tx_segment = 2048;       // data room of the pool that txonly sends from
    uint64_t total_packets = 0;       // 0: no limit
    std::string summary_json;         // empty: none
    bool xstats = false;
};

// The command line cut at "--": the EAL's part (with argv[0]) and the application's part (with
// argv[0]).
struct CommandLine {
    std::vector<char*> eal;
    std::vector<char*> app;
    bool help = false; // --help or -h on either side
};

// Throws UserError when an application option stands before "--", where the EAL would refuse it
// unexplained.
[[nodiscard]] CommandLine split_command_line(int argc, char** argv);

// Throws UserError naming the option, its value and what would be valid. args[0] is the program
// name.
[[nodiscard]] Options parse_options(std::vector<char*> args);

[[nodiscard]] std::string usage();

} // namespace fit::testpmd
