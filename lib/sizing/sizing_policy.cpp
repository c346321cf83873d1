#include "sizing/sizing_policy.hpp"

namespace fit {

uint32_t segment_floor(const SizingConfig& config)
{
    const uint64_t spread =
        (uint64_t{config.largest_frame} + config.ring_segments - 1) / config.ring_segments;
    const uint32_t floor =
        std::max({config.min_segment, static_cast<uint32_t>(spread), kLeastSegment});
    return config.one_segment_per_packet ? std::max(floor, config.largest_frame) : floor;
}

SizingPolicy::SizingPolicy(const SegmentLadder& ladder, const SizingConfig& config)
    : floor_(segment_floor(config)), class_(ladder.class_for(floor_)), ladder_(ladder),
      average_(config.ewma_weight)
{
}

Result<SizingPolicy> SizingPolicy::make(const SegmentLadder& ladder, const SizingConfig& config)
{
    if (ladder.count() == 0)
        return Error(Errno::InvalidArgument, "sizing", "the ladder has no size class");
    if (!Ewma::valid_weight(config.ewma_weight))
        return Error(Errno::InvalidArgument, "sizing",
                     "ewma_weight must be a power of two from 1 to 1024; given",
                     config.ewma_weight);
    if (config.largest_frame == 0)
        return Error(Errno::InvalidArgument, "sizing", "largest_frame must be at least 1; given",
                     0);
    if (config.ring_segments == 0)
        return Error(Errno::InvalidArgument, "sizing", "ring_segments must be at least 1; given",
                     0);

    if (config.one_segment_per_packet && ladder.largest_room() < config.largest_frame)
        return Error(Errno::OutOfRange, "sizing",
                     "no size class can hold the largest frame in one segment; add a larger "
                     "mempool, enable SCATTER or lower the MTU; frame bytes",
                     config.largest_frame);
    const uint64_t segments = std::min(config.ring_segments, kMostBuffersPerPacket);
    if (segments * ladder.largest_room() < config.largest_frame)
        return Error(Errno::OutOfRange, "sizing",
                     "no size class can hold the largest frame in as many segments as one packet "
                     "may take; add a larger mempool or lengthen the queue; frame bytes",
                     config.largest_frame);
    return SizingPolicy(ladder, config);
}

} // namespace fit
