#include "ring_load_arguments.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string_view>

namespace fit::perf {

const char* const kUsage =
    "usage: fit-ring-load EAL-ARGUMENTS -- SOCKET VDEV rx|tx FRAME BURST ROUNDS ROOM[,ROOM...]\n"
    "  SOCKET  where the vhost port shall listen\n"
    "  VDEV    name of the driver under test with its devargs, but for path\n"
    "  FRAME   bytes; with rx, 0 polls an empty queue\n"
    "  BURST   packets a call, 1 to 32; ROUNDS such bursts are measured\n"
    "  ROOM    data bytes of the mbufs of the driver, one mempool each\n"
    "What counts happens in measured_rx and measured_tx. The last line is\n"
    "measured packets=N calls=N cycles=N, the last being the median of the TSC cycles of a "
    "round.\n";

namespace {

uint32_t number(std::string_view text, const char* what, uint32_t least, uint32_t most)
{
    uint32_t value = 0;
    const char* end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, value);
    if (parsed.ec != std::errc{} || parsed.ptr != end || value < least || value > most)
        fail("%s must be %u to %u, not '%.*s'", what, least, most, static_cast<int>(text.size()),
             text.data());
    return value;
}

} // namespace

Load parse(int argc, char** argv)
{
    if (argc != 8) {
        (void)std::fputs(kUsage, stderr);
        std::exit(2);
    }
    Load load;
    load.socket = argv[1];
    load.vdev = argv[2];
    load.receive = std::strcmp(argv[3], "rx") == 0;
    if (!load.receive && std::strcmp(argv[3], "tx") != 0)
        fail("the direction must be rx or tx, not '%s'", argv[3]);
    load.frame = static_cast<uint16_t>(number(argv[4], "FRAME", load.receive ? 0 : 60, kMtu));
    load.burst = static_cast<uint16_t>(number(argv[5], "BURST", 1, kMostBurst));
    load.rounds = number(argv[6], "ROUNDS", 1, 1'000'000);
    for (std::string_view rest = argv[7]; !rest.empty();) {
        const size_t comma = std::min(rest.find(','), rest.size());
        load.rooms.push_back(
            static_cast<uint16_t>(number(rest.substr(0, comma), "ROOM", 64, 65'000)));
        rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
    return load;
}

} // namespace fit::perf
