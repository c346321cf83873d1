// A front end, its scripted back end and a piece of shareable memory.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/mapped_region.hpp"
#include "fake/scripted_backend.hpp"
#include "transport/vhost_user/frontend.hpp"

namespace fit::vhost_user {

inline constexpr uint64_t kProtocolBit = uint64_t{1} << 30;
inline constexpr uint64_t kVersion1 = uint64_t{1} << 32;
inline constexpr uint64_t kPacked = uint64_t{1} << 34;
inline constexpr uint64_t kMergeable = uint64_t{1} << 15;
inline constexpr uint64_t kLogAll = uint64_t{1} << 26;
inline constexpr uint64_t kPfMq = 1u << 0;
inline constexpr uint64_t kPfReplyAck = 1u << 3;
inline constexpr uint64_t kPfStatus = 1u << 16;
inline constexpr uint64_t kPfAll = 0xFFFFFF; // all that are known, and four more

// For tests that run into the time-out: long enough for a live back end on a busy machine to answer
// what comes before.
inline constexpr std::chrono::milliseconds kShort{400};
inline constexpr std::chrono::milliseconds kLong{10000};

inline constexpr uint64_t kMemoryBytes = 0x10000;
inline constexpr uint64_t kDeviceAddress = 0x40000000; // not where the driver has it
inline constexpr uint16_t kQueueSize = 64;

// One message as text: id, flags, payload as 32-bit words, and the fds. "12 f9 1 0 +1fd".
inline std::string text(const fake::LoggedMessage& m)
{
    std::string line = std::to_string(m.request);
    const auto add = [&line](const char* format, unsigned value) {
        char buffer[16];
        (void)std::snprintf(buffer, sizeof(buffer), format, value);
        line += buffer;
    };
    add(" f%x", m.flags);
    for (size_t at = 0; at < m.payload.size(); at += 4)
        add(" %x", fake::u32_at(m.payload, at));
    if (m.header_fds != 0)
        add(" +%ufd", static_cast<unsigned>(m.header_fds));
    if (m.late_fds != 0)
        add(" LATE+%ufd", static_cast<unsigned>(m.late_fds));
    return line;
}

inline std::vector<std::string> texts(const std::vector<fake::LoggedMessage>& log, size_t from = 0)
{
    std::vector<std::string> lines;
    for (size_t i = from; i < log.size(); ++i)
        lines.push_back(text(log[i]));
    return lines;
}

inline fake::BackendScript offering(uint64_t features, uint64_t protocol_features)
{
    fake::BackendScript script;
    script.features = features;
    script.protocol_features = protocol_features;
    return script;
}

class Bench {
  public:
    explicit Bench(fake::BackendScript script, std::chrono::milliseconds request_timeout = kLong)
        : memfd_(::memfd_create("fit-test", MFD_CLOEXEC)),
          backend_(temp_.path(), std::move(script)), timeout_(request_timeout)
    {
        if (::ftruncate(memfd_.get(), kMemoryBytes) != 0)
            fake::fail_test_setup("ftruncate");
        auto mapped = MappedRegion::map(memfd_.get(), 0, kMemoryBytes);
        if (!mapped)
            fake::fail_test_setup("mmap");
        memory_ = std::move(*mapped);
    }

    Result<void> connect()
    {
        auto frontend =
            Frontend::connect(temp_.path(), Deadline::after(std::chrono::seconds(5)), timeout_);
        if (!frontend)
            return frontend.error();
        frontend_ = std::move(*frontend);
        return {};
    }
    void disconnect() { frontend_.reset(); }

    Frontend& frontend() { return *frontend_; }
    fake::ScriptedBackend& backend() { return backend_; }

    [[nodiscard]] uint64_t base() const
    {
        return reinterpret_cast<uint64_t>(memory_.bytes().data());
    }
    [[nodiscard]] MemorySegment segment() const
    {
        return {base(), kDeviceAddress, kMemoryBytes, memfd_.get(), 0};
    }
    Result<void> share() { return frontend_->share_memory(std::vector{segment()}); }
    // Queue `index` has 4 KB: descriptor area at 0, driver area at 0x800, device area at 0xc00.
    [[nodiscard]] QueueAddresses addresses(uint16_t index) const
    {
        const uint64_t start = base() + 0x1000u * index;
        return {start, start + 0x800, start + 0xc00, kQueueSize};
    }
    // Features and memory, as both come before any queue.
    Result<void> prepare(uint64_t features)
    {
        if (auto r = frontend_->set_driver_features(FeatureSet(features)); !r)
            return r;
        return share();
    }

  private:
    fake::TempSocketPath temp_;
    UniqueFd memfd_;
    MappedRegion memory_;
    fake::ScriptedBackend backend_;
    std::chrono::milliseconds timeout_;
    std::unique_ptr<Frontend> frontend_;
};

// The text of SET_VRING_ADDR's payload for a queue of the bench.
inline std::string addr_words(const QueueAddresses& a, unsigned index)
{
    char line[128];
    const auto low = [](uint64_t v) { return static_cast<unsigned>(v); };
    const auto high = [](uint64_t v) { return static_cast<unsigned>(v >> 32); };
    (void)std::snprintf(line, sizeof(line), "%x 0 %x %x %x %x %x %x 0 0", index,
                        low(a.descriptor_area), high(a.descriptor_area), low(a.device_area),
                        high(a.device_area), low(a.driver_area), high(a.driver_area));
    return line;
}

} // namespace fit::vhost_user
