// SizingPolicy: which size class a receive queue posts next, from the packets that it delivered
// (doc/design.md section 4, policy `ewma`).
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "base/result.hpp"
#include "sizing/ewma.hpp"
#include "sizing/segment_ladder.hpp"

namespace fit {

// A back end on DPDK's vhost library spreads one packet over at most 256 buffers ...
constexpr uint32_t kMostBuffersPerPacket = 256;
// ... and so needs segments of 257 bytes for the largest packet, 65,562 bytes with its header.
constexpr uint32_t kLeastSegment = 257;

struct SizingConfig {
    uint32_t ewma_weight = 64;   // packets, see Ewma::valid_weight
    uint32_t min_segment = 1518; // bytes; a wish: a ladder of smaller classes is used as it is
    uint32_t largest_frame = 0;  // bytes, >= 1: the largest frame that the device may deliver
    uint32_t ring_segments = 0;  // >= 1: segments that a full ring offers
    bool one_segment_per_packet = false; // chains may not be delivered (no SCATTER)
};

// Bytes below which no segment should be posted: max(min_segment, ceil(largest_frame /
// ring_segments), 257), and at least largest_frame when a packet must fit one segment.
// Precondition: ring_segments >= 1.
[[nodiscard]] uint32_t segment_floor(const SizingConfig& config);

class SizingPolicy {
  public:
    // Without classes: current_class() stays 0. For storage that make() fills later.
    SizingPolicy() = default;

    // Errors: InvalidArgument for an empty ladder, a weight that is not valid, a largest_frame or
    // ring_segments of 0; OutOfRange, with largest_frame, when it fits neither one segment of the
    // largest class (if a packet must fit one) nor as many of them as one packet may take.
    static Result<SizingPolicy> make(const SegmentLadder& ladder, const SizingConfig& config);

    // One burst: `packets` delivered packets of `bytes` bytes together; ranges as for Ewma::add.
    // Growing is immediate, because small segments cost ring entries at once. Shrinking waits until
    // a smaller class was enough for `weight` packets in a row, then takes the largest class wanted
    // meanwhile: traffic that alternates around a boundary changes down at most once per `weight`
    // packets.
    void on_burst(uint64_t bytes, uint32_t packets)
    {
        average_.add(bytes, packets);
        const uint8_t wanted = ladder_.class_for(std::max(average_.value(), floor_));
        if (wanted >= class_) {
            if (wanted != class_)
                change_to(wanted);
            dwell_ = 0;
            dwell_class_ = 0;
            return;
        }
        dwell_class_ = std::max(dwell_class_, wanted);
        dwell_ += std::min(packets, average_.weight()); // bounded, so that no burst can wrap it
        if (dwell_ >= average_.weight()) {
            change_to(dwell_class_);
            dwell_ = 0;
            dwell_class_ = 0;
        }
    }

    [[nodiscard]] uint8_t current_class() const { return class_; }
    // The smallest class that may be posted at all.
    [[nodiscard]] uint8_t lowest_class() const { return ladder_.class_for(floor_); }
    // Bytes: average length of the delivered packets, 0 before the first.
    [[nodiscard]] uint32_t estimate() const { return average_.value(); }
    // Bytes: segment_floor() of the configuration.
    [[nodiscard]] uint32_t floor() const { return floor_; }
    // Changes of current_class() since make().
    [[nodiscard]] uint64_t class_changes() const { return class_changes_; }

  private:
    SizingPolicy(const SegmentLadder& ladder, const SizingConfig& config);

    void change_to(uint8_t index)
    {
        class_ = index;
        ++class_changes_;
    }

    uint64_t class_changes_ = 0;
    uint32_t floor_ = 0;
    uint32_t dwell_ = 0; // packets in a row for which a smaller class was enough
    uint8_t class_ = 0;
    uint8_t dwell_class_ = 0; // the largest class wanted during them
    SegmentLadder ladder_;
    Ewma average_;
};

static_assert(std::is_trivially_copyable_v<SizingPolicy>);

} // namespace fit
