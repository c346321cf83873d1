// Starts the tests with an EAL that shares nothing and leaves nothing behind: no hugepages, no
// devices, and a run-time folder of its own, so that two runs at the same time do not meet.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <sched.h>

#include <rte_eal.h>
#include <rte_errno.h>

namespace {

// One lcore that may run wherever this process may.
std::string floating_lcore()
{
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
        return "0";
    std::string list;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (CPU_ISSET(cpu, &allowed))
            list += (list.empty() ? "" : ",") + std::to_string(cpu);
    }
    return "0@(" + list + ")";
}

// EAL makes its folder in the one that RUNTIME_DIRECTORY names. Without shared configuration and
// telemetry it puts nothing there, so the folder lives no longer than the start: a test that
// crashes leaves nothing either.
class RuntimeFolder {
  public:
    RuntimeFolder()
    {
        std::string name = (std::filesystem::temp_directory_path() / "fit-unit-XXXXXX").string();
        if (mkdtemp(name.data()) != nullptr && setenv("RUNTIME_DIRECTORY", name.c_str(), 1) == 0)
            path_ = name;
    }
    RuntimeFolder(const RuntimeFolder&) = delete;
    RuntimeFolder& operator=(const RuntimeFolder&) = delete;
    ~RuntimeFolder()
    {
        std::error_code ignored; // a folder that stays breaks no test
        std::filesystem::remove_all(path_, ignored);
    }
    [[nodiscard]] bool made() const { return !path_.empty(); }

  private:
    std::filesystem::path path_;
};

bool start_eal(const char* program)
{
    const RuntimeFolder folder;
    if (!folder.made()) {
        std::perror("no folder for EAL");
        return false;
    }
    std::vector<std::string> args = {program,
                                     "--no-huge",
                                     "-m",
                                     "256",
                                     "--no-shconf",
                                     "--no-pci",
                                     "--no-telemetry",
                                     "--log-level=lib.eal:error",
                                     "--lcores",
                                     floating_lcore()};
    std::vector<char*> argv;
    argv.reserve(args.size());
    for (std::string& arg : args)
        argv.push_back(arg.data());
    return rte_eal_init(static_cast<int>(argv.size()), argv.data()) >= 0;
}

} // namespace

int main(int argc, char** argv)
{
    testing::InitGoogleTest(&argc, argv);
    if (!start_eal(argv[0])) {
        std::fprintf(stderr, "EAL does not start: %s\n", rte_strerror(rte_errno));
        return 1;
    }
    const int failed = RUN_ALL_TESTS();
    return rte_eal_cleanup() == 0 ? failed : 1;
}
