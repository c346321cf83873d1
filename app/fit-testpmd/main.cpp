// fit-testpmd: drives Ethernet ports and shows how the receive segments fit the traffic.

#include <atomic>
#include <csignal>
#include <cstdio>
#include <memory>

#include <rte_eal.h>
#include <rte_errno.h>

#include "options.hpp"
#include "run.hpp"
#include "summary.hpp"
#include "text.hpp"

namespace {

using namespace fit::testpmd;

std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free, "set by a signal handler");

struct CloseFile {
    void operator()(std::FILE* file) const { (void)std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

// The EAL is initialised for the life of this object.
class Eal {
  public:
    explicit Eal(std::vector<char*> args)
    {
        if (rte_eal_init(static_cast<int>(args.size()), args.data()) < 0)
            throw UserError(
                format("EAL: %s; see the EAL's log lines above", errno_text(rte_errno).c_str()));
    }
    ~Eal() { (void)rte_eal_cleanup(); }
    Eal(const Eal&) = delete;
    Eal& operator=(const Eal&) = delete;
};

// Opened before anything runs: a path that cannot be written should not cost a measurement.
File open_summary(const std::string& path)
{
    if (path.empty())
        return nullptr;
    File file(std::fopen(path.c_str(), "w"));
    if (!file)
        throw UserError(format("--summary-json '%s': %s; pass a path that can be written",
                               path.c_str(), errno_text(errno).c_str()));
    return file;
}

void write_summary(const std::string& path, std::FILE* file, const RunSummary& summary)
{
    const std::string text = to_json(summary);
    if (std::fwrite(text.data(), 1, text.size(), file) != text.size() || std::fflush(file) != 0)
        throw UserError(format("--summary-json '%s': %s; free some space", path.c_str(),
                               errno_text(errno).c_str()));
}

void catch_signals()
{
    struct sigaction action = {};
    // A driver may write to the socket of a peer that is gone.
    action.sa_handler = SIG_IGN;
    if (sigaction(SIGPIPE, &action, nullptr) != 0)
        throw UserError(
            format("signal %d: %s; cannot ignore it", SIGPIPE, errno_text(errno).c_str()));
    action.sa_handler = [](int) { interrupted.store(true, std::memory_order_relaxed); };
    for (const int signal : {SIGINT, SIGTERM}) {
        if (sigaction(signal, &action, nullptr) != 0)
            throw UserError(
                format("signal %d: %s; cannot stop cleanly", signal, errno_text(errno).c_str()));
    }
}

bool run(const CommandLine& line)
{
    const Options options = parse_options(line.app);
    const File json = open_summary(options.summary_json);
    const Eal eal(line.eal);
    catch_signals();

    Run forwarding(options);
    RunSummary summary = forwarding.forward(interrupted);
    print(stdout, "\nstopped by %s after %.2f s\n", summary.stop_reason.c_str(), summary.seconds);
    for (const PortSummary& port : summary.ports)
        print_port(stdout, options.fwd, port, options.xstats);
    bool ok = forwarding.close(summary);
    ok = print_pools(stdout, summary.pools) && ok;
    if (json)
        write_summary(options.summary_json, json.get(), summary);
    return ok;
}

} // namespace

int main(int argc, char** argv)
{
    try {
        const CommandLine line = split_command_line(argc, argv);
        if (line.help) {
            print(stdout, "%s", usage().c_str());
            return 0;
        }
        return run(line) ? 0 : 1;
    } catch (const std::exception& error) {
        print(stderr, "fit-testpmd: %s\n", error.what());
        return 1;
    }
}
