// What the command line of fit-ring-load asks for.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace fit::perf {

constexpr uint16_t kMostBurst = 32;
constexpr uint16_t kMtu = 9000;

struct Load {
    const char* socket = nullptr; // where the vhost port listens
    std::string vdev;             // the driver under test with its devargs, but for path
    bool receive = true;
    uint16_t frame = 0;          // bytes; 0: polls of an empty queue
    uint16_t burst = 0;          // packets, 1 to kMostBurst
    uint32_t rounds = 0;         // bursts to measure
    std::vector<uint16_t> rooms; // data bytes of the mbufs of each class
};

extern const char* const kUsage;

// The arguments behind `--`, argv[0] being the program. Ends the process when they make no sense.
Load parse(int argc, char** argv);

// Ends the process with this message, in the form of printf.
template <class... Args>
[[noreturn]] void fail(const char* text, Args... values)
{
    (void)std::fprintf(stderr, "fit-ring-load: ");
    (void)std::fprintf(stderr, text, values...);
    (void)std::fputc('\n', stderr);
    std::exit(1);
}

} // namespace fit::perf
