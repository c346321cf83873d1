// Extended statistics: the sizing statistics of a queue, read by id, and lists by name for the
// summary.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fit::testpmd {

struct NamedCount {
    std::string name;
    uint64_t value = 0;
};

// The rx_qN_* statistics that a driver of fitting segments offers. Other drivers have none of them.
enum class SizingStat {
    AveragePacket,
    SegmentRoom,
    Segments,
    Footprint,
    Payload,
    Posted,
    ClassChanges
};

class SizingXstats {
  public:
    // Looks the names up once.
    SizingXstats(uint16_t port, uint16_t queues);

    // Reads all values of the port in one call; without success every value is absent until the
    // next read.
    void read();

    [[nodiscard]] std::optional<uint64_t> value(uint16_t queue, SizingStat stat) const;
    // Sum over queues; absent unless every queue has it.
    [[nodiscard]] std::optional<uint64_t> total(SizingStat stat) const;
    // Segments by class, summed over the queues; empty when the driver has no classes.
    [[nodiscard]] std::vector<uint64_t> class_segments() const;

  private:
    static constexpr size_t kStats = 7;
    using Slot = std::optional<size_t>; // index into ids_ and values_

    struct Queue {
        std::array<Slot, kStats> stats;
        std::vector<Slot> classes;
    };

    [[nodiscard]] Slot look_up(const std::vector<std::string>& names, const std::string& name);
    [[nodiscard]] std::optional<uint64_t> at(Slot slot) const;

    uint16_t port_;
    std::vector<uint64_t> ids_;
    std::vector<uint64_t> values_; // as long as ids_, or empty: nothing read
    std::vector<Queue> queues_;
};

// Every extended statistic of the port, in the driver's order; empty when the driver refuses.
[[nodiscard]] std::vector<NamedCount> all_xstats(uint16_t port);

// Those that are not zero and whose name contains "drop", "error" or "missed".
[[nodiscard]] std::vector<NamedCount> losses_of(const std::vector<NamedCount>& xstats);

} // namespace fit::testpmd
