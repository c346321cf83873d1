// The header in front of each packet (VIRTIO 1.3, 5.1.6; conformance table W4).
#pragma once

#include <cstdint>
#include <cstring>

#include "base/endian.hpp"
#include "virtio/feature.hpp"

namespace fit {

constexpr uint32_t kMaxFrame = 65535; // bytes, without this header

// Offset of num_buffers; a header of 10 bytes ends before it.
constexpr uint32_t kNumBuffersOffset = 10;

// A receive specialisation: bytes of the header, and whether one packet may lie in several buffers.
template <uint32_t Size, bool Mergeable>
struct NetHeader {
    static constexpr uint32_t kSize = Size;
    static constexpr bool kMergeable = Mergeable;
    static constexpr bool kHasNumBuffers = Size > kNumBuffersOffset;
    static_assert(!Mergeable || kHasNumBuffers);

    // `header` has at least kSize bytes that the device wrote. Read once: the device may change it
    // any time.
    static uint16_t num_buffers(const std::byte* header)
    {
        uint16_t raw;
        std::memcpy(&raw, header + kNumBuffersOffset, sizeof(raw));
        return to_little(raw);
    }
};

using LegacyHeader = NetHeader<10, false>;
using PlainHeader = NetHeader<12, false>;
using MergeableHeader = NetHeader<12, true>;

// The layout that an accepted feature set implies, for receive and transmit alike.
enum class HeaderKind : uint8_t { Legacy, Plain, Mergeable };

constexpr HeaderKind header_kind(FeatureSet accepted)
{
    if (accepted.has(Feature::MrgRxbuf))
        return HeaderKind::Mergeable;
    return accepted.has(Feature::Version1) ? HeaderKind::Plain : HeaderKind::Legacy;
}

// Bytes.
constexpr uint32_t header_size(HeaderKind kind)
{
    return kind == HeaderKind::Legacy ? LegacyHeader::kSize : MergeableHeader::kSize;
}

} // namespace fit
