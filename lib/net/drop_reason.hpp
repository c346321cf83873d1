// Why a packet was dropped or a queue was given up: one list each of enumerator, xstat name and
// sentence.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace fit {

struct Reason {
    const char* name;     // xstat `rx_qN_drop_NAME` or `tx_qN_drop_NAME`
    const char* sentence; // for logs and the guide
};

enum class RxDrop : uint8_t {
    Short,
    OverLong,
    PartialSegment,
    NumBuffers,
    TooLarge,
    NoScatter,
    Incomplete,
    Count
};

constexpr std::array<Reason, static_cast<size_t>(RxDrop::Count)> kRxDrops = {{
    {"short", "the device wrote less than a header and an Ethernet header"},
    {"over_long", "the device says that it wrote more than the buffer holds"},
    {"partial_segment", "a buffer of a merged packet is not full although another one follows"},
    {"num_buffers", "the header asks for more buffers than the largest packet can need"},
    {"too_large", "the buffers of a merged packet hold more than 65535 bytes"},
    {"no_scatter", "the packet takes several segments and the application did not ask for SCATTER"},
    {"incomplete", "the rest of a merged packet did not arrive in time"},
}};

enum class TxDrop : uint8_t { TooManySegments, Empty, Count };

constexpr std::array<Reason, static_cast<size_t>(TxDrop::Count)> kTxDrops = {{
    {"too_many_segments", "the packet needs more descriptors than the queue may use"},
    {"empty", "the packet has no data"},
}};

// What a device must never do to a ring. The queue stops until the port is restarted.
enum class RingFault : uint8_t { None, IndexLeap, UnknownId, NotInFlight };

constexpr const char* sentence(RingFault fault)
{
    switch (fault) {
    case RingFault::IndexLeap:
        return "the used index moved further than buffers are outstanding";
    case RingFault::UnknownId:
        return "a used element has an id outside the ring";
    case RingFault::NotInFlight:
        return "a used element has an id that is not in flight";
    case RingFault::None:
        break;
    }
    return "no fault";
}

} // namespace fit
