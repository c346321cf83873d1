// The values of options: numbers, lists and modes, each checked against its range.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "options.hpp"

namespace fit::testpmd {

// An mbuf's data room is 16 bits and includes the headroom of 128 bytes.
inline constexpr uint64_t kMinSegment = 64;
inline constexpr uint64_t kMaxSegment = 65535 - 128;
inline constexpr size_t kMaxSegments = 8;
inline constexpr uint64_t kMinFrame = 60;
inline constexpr uint64_t kMaxFrame = 65535;
inline constexpr size_t kMaxFrameSizes = 64;
inline constexpr uint64_t kMaxBurst = 512;

// Each throws UserError "--<name> <value>: <reason>; <next step>".
[[nodiscard]] uint64_t parse_number(std::string_view name, std::string_view value, uint64_t low,
                                    uint64_t high);
[[nodiscard]] double parse_seconds(std::string_view name, std::string_view value);
[[nodiscard]] FwdMode parse_fwd(std::string_view name, std::string_view value);
// Ascending, without duplicates.
[[nodiscard]] std::vector<uint16_t> parse_segments(std::string_view name, std::string_view value);
// In the order given; lengths may repeat.
[[nodiscard]] std::vector<uint16_t> parse_frames(std::string_view name, std::string_view value);

} // namespace fit::testpmd
