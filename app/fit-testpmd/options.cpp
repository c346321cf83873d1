#include "options.hpp"

#include <array>
#include <cstring>
#include <getopt.h>
#include <limits>
#include <string_view>

#include "option_values.hpp"
#include "text.hpp"

namespace fit::testpmd {

namespace {

using Apply = void (*)(Options&, std::string_view name, std::string_view value);

// One row per option: parsing, the list of valid names and --help all come from here.
struct Spec {
    const char* name;
    const char* argument; // nullptr: takes none
    const char* help;
    Apply apply;
};

uint16_t number16(std::string_view name, std::string_view value, uint64_t low, uint64_t high)
{
    return static_cast<uint16_t>(parse_number(name, value, low, high));
}

constexpr uint64_t kAny = std::numeric_limits<uint64_t>::max();

constexpr std::array kSpecs{
    Spec{"fwd", "rxonly|io|mac|txonly",
         "what to do with frames (default rxonly)\n"
         "rxonly: receive and free; io: send on unchanged; mac: send on with the\n"
         "sending port's source and destination 02:00:00:00:00:0P; txonly: send\n"
         "UDP/IPv4 frames. io and mac pair the ports 0-1, 2-3, ...; a port without\n"
         "a partner sends to itself",
         [](Options& o, auto n, auto v) { o.fwd = parse_fwd(n, v); }},
    Spec{"segments", "BYTES[,BYTES...]",
         "data rooms of the receive pools (default 1536,2048,4096,9216,16384);\n"
         "a driver that takes one pool gets the smallest that holds a frame",
         [](Options& o, auto n, auto v) { o.segments = parse_segments(n, v); }},
    Spec{"mbufs", "N", "mbufs per pool (default: rings + bursts + caches)",
         [](Options& o, auto n, auto v) {
             o.mbufs = static_cast<uint32_t>(parse_number(n, v, 1, 1U << 24));
         }},
    Spec{"queues", "N", "queue pairs per port (default 1)",
         [](Options& o, auto n, auto v) { o.queues = number16(n, v, 1, 256); }},
    Spec{"rxd", "N", "receive descriptors per queue (default: the driver's choice)",
         [](Options& o, auto n, auto v) { o.rxd = number16(n, v, 1, 32768); }},
    Spec{"txd", "N", "transmit descriptors per queue (default: the driver's choice)",
         [](Options& o, auto n, auto v) { o.txd = number16(n, v, 1, 32768); }},
    Spec{"burst", "N", "packets per burst (default 32)",
         [](Options& o, auto n, auto v) { o.burst = number16(n, v, 1, kMaxBurst); }},
    Spec{"mtu", "BYTES", "MTU of every port (default: the driver's)",
         [](Options& o, auto n, auto v) { o.mtu = number16(n, v, 68, 65535); }},
    Spec{"no-scatter", nullptr, "one mbuf per received frame, even when chains are offered",
         [](Options& o, auto, auto) { o.scatter = false; }},
    Spec{"txpkts", "BYTES[,BYTES...]",
         "txonly: frame lengths without CRC, sent in turn (default 64)",
         [](Options& o, auto n, auto v) { o.txpkts = parse_frames(n, v); }},
    Spec{"tx-segment", "BYTES",
         "txonly: data room of the sending pool (default 2048); longer frames\n"
         "become chains",
         [](Options& o, auto n, auto v) {
             o.tx_segment = number16(n, v, kMinSegment, kMaxSegment);
         }},
    Spec{"total-packets", "N", "stop after N packets over all ports: received, or sent in txonly",
         [](Options& o, auto n, auto v) { o.total_packets = parse_number(n, v, 1, kAny); }},
    Spec{"duration", "SECONDS", "stop after that time (default 0: until SIGINT or SIGTERM)",
         [](Options& o, auto n, auto v) { o.duration = parse_seconds(n, v); }},
    Spec{"stats-period", "SECONDS", "time between rows of the live table (default 1; 0: no table)",
         [](Options& o, auto n, auto v) { o.stats_period = parse_seconds(n, v); }},
    Spec{"summary-json", "FILE", "also write the final summary to FILE as JSON",
         [](Options& o, auto, auto v) { o.summary_json = v; }},
    Spec{"xstats", nullptr, "print every extended statistic at the end",
         [](Options& o, auto, auto) { o.xstats = true; }},
    Spec{"help", nullptr, "print this text", [](Options&, auto, auto) {}},
};

const Spec* find_spec(std::string_view name)
{
    for (const Spec& spec : kSpecs) {
        if (name == spec.name)
            return &spec;
    }
    return nullptr;
}

std::string valid_options()
{
    std::string list;
    for (const Spec& spec : kSpecs)
        list += std::string(list.empty() ? "--" : " --") + spec.name;
    return list;
}

[[noreturn]] void refuse_word(const std::string& word)
{
    const std::string_view text = word;
    const size_t equals = text.find('=');
    // getopt reports `--flag=value` of an option without value in the same way as an unknown one.
    const Spec* spec = text.starts_with("--") ? find_spec(text.substr(2, equals - 2)) : nullptr;
    if (spec != nullptr && equals != std::string_view::npos)
        throw UserError(format("--%s: takes no value; write --%s alone", spec->name, spec->name));
    throw UserError(
        format("%s: unknown option; valid are %s", word.c_str(), valid_options().c_str()));
}

// An option that would be ignored is an error: the user expects it to act.
void check_mode(const Options& options, const std::array<bool, kSpecs.size()>& given)
{
    for (size_t i = 0; i < kSpecs.size(); ++i) {
        const std::string_view name = kSpecs[i].name;
        const bool for_txonly = name == "txpkts" || name == "tx-segment";
        if (given[i] && for_txonly && options.fwd != FwdMode::TxOnly)
            throw UserError(format("--%s with --fwd=%s: only txonly makes frames; add --fwd=txonly",
                                   kSpecs[i].name, name_of(options.fwd)));
    }
}

} // namespace

CommandLine split_command_line(int argc, char** argv)
{
    CommandLine line;
    int i = 0;
    for (; i < argc && std::strcmp(argv[i], "--") != 0; ++i) {
        const std::string_view word = argv[i];
        line.help = line.help || word == "--help" || word == "-h";
        if (i > 0 && word.starts_with("--") && word != "--help" &&
            find_spec(word.substr(2, word.find('=') - 2)) != nullptr)
            throw UserError(
                format("%s: an option of fit-testpmd before '--'; put it after '--'", argv[i]));
        line.eal.push_back(argv[i]);
    }
    line.app.push_back(argc > 0 ? argv[0] : nullptr);
    for (++i; i < argc; ++i) {
        line.help =
            line.help || std::strcmp(argv[i], "--help") == 0 || std::strcmp(argv[i], "-h") == 0;
        line.app.push_back(argv[i]);
    }
    return line;
}

Options parse_options(std::vector<char*> args)
{
    std::array<option, kSpecs.size() + 1> table{};
    for (size_t i = 0; i < kSpecs.size(); ++i)
        table[i] = {kSpecs[i].name, kSpecs[i].argument == nullptr ? no_argument : required_argument,
                    nullptr, static_cast<int>(i)};

    Options options;
    std::array<bool, kSpecs.size()> given{};
    const int count = static_cast<int>(args.size());
    args.push_back(nullptr);
    optind = 0; // glibc: forget an earlier parse
    opterr = 0;
    int index = 0;
    int which = 0;
    while ((which = getopt_long(count, args.data(), "+:", table.data(), &index)) != -1) {
        const char* word = args[static_cast<size_t>(optind) - 1];
        if (which == ':')
            throw UserError(format("%s: needs a value; see fit-testpmd --help", word));
        if (which == '?')
            refuse_word(optopt > ' ' ? format("-%c", optopt) : word);
        const Spec& spec = kSpecs[static_cast<size_t>(which)];
        given[static_cast<size_t>(which)] = true;
        spec.apply(options, spec.name, optarg == nullptr ? "" : optarg);
    }
    if (optind < count)
        throw UserError(format("%s: not an option; valid are %s", args[static_cast<size_t>(optind)],
                               valid_options().c_str()));
    check_mode(options, given);
    return options;
}

std::string usage()
{
    std::string text =
        "usage: fit-testpmd <EAL arguments> -- <options>\n\n"
        "Receives or sends on every port and shows how the receive segments fit the traffic.\n"
        "\n"
        "  fit-testpmd -l 0,1 -d ./librte_net_virtio_fit.so \\\n"
        "      --vdev=net_virtio_fit0,path=/run/vhost.sock -- --fwd=rxonly\n"
        "\n"
        "The first lcore prints, each further lcore serves one port (rxonly, txonly) or one pair\n"
        "of ports (io, mac); with a single lcore it does both. EAL arguments used most: -l "
        "LCORES,\n"
        "-d DRIVER.so, --vdev=NAME,ARGS, --no-pci, --no-huge -m MEGABYTES, --file-prefix=NAME.\n"
        "\n"
        "options:\n";
    for (const Spec& spec : kSpecs) {
        text += format("  --%s%s%s\n", spec.name, spec.argument == nullptr ? "" : "=",
                       spec.argument == nullptr ? "" : spec.argument);
        for (std::string_view rest = spec.help; !rest.empty();) {
            const size_t end = std::min(rest.find('\n'), rest.size());
            text += "        " + std::string(rest.substr(0, end)) + "\n";
            rest.remove_prefix(std::min(end + 1, rest.size()));
        }
    }
    text += "\nThe exit code is 0 when every mbuf came back to its pool, else 1.\n";
    return text;
}

} // namespace fit::testpmd
