// What the receive and transmit paths need of a virtqueue, split or packed, and the words that both
// have in common (VIRTIO 1.3, 2.7 and 2.8).
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

namespace fit {

// 2.7.5, 2.8.6
enum class DescFlag : uint16_t {
    None = 0,
    Next = 1,
    Write = 2, // device-writable
    Indirect = 4,
};

// What the device says of one completed buffer: nothing of it is checked yet.
struct UsedElement {
    uint32_t id;
    uint32_t length; // bytes written by the device
};

// One piece of a buffer.
struct Piece {
    uint64_t address; // device address
    uint32_t length;  // bytes, > 0
};

// What was negotiated about a ring.
struct RingOptions {
    bool event_idx = false; // EVENT_IDX
};

// used_ready(): the device completed more buffers than it has.
constexpr uint32_t kIndexFault = UINT32_MAX;

// Both rings work the same way. make_available() takes a buffer and gives it an id; publish() shows
// the device all buffers made available since the last one; should_notify() then says whether it
// wants to be told.
//
// Completed buffers are taken back in one of two ways:
// - where each takes one descriptor (receive): used_ready() counts them, used_at() reads, release()
//   frees the ids and consume() steps over them;
// - where they may be chains (transmit): poll_used() looks, and while front_used() says so,
//   front_id() reads the first one and take_back() frees it.
// An id is the device's word: valid_id() says whether it is one of the ring's, and only the caller
// knows whether it is in flight.
template <class R>
concept Ring = requires(R ring, const R& view, uint32_t count, uint16_t id, Piece piece,
                        std::span<const Piece> pieces)
{
    {
        view.size()
        } -> std::same_as<uint16_t>;
    {
        view.free_descriptors()
        } -> std::same_as<uint16_t>;
    {
        view.outstanding()
        } -> std::same_as<uint16_t>;
    {
        view.valid_id(count)
        } -> std::same_as<bool>;
    {
        view.mask()
        } -> std::same_as<uint32_t>;
    {
        ring.used_ready()
        } -> std::same_as<uint32_t>;
    {
        view.used_at(count)
        } -> std::same_as<UsedElement>;
    {
        view.used_id_at(count)
        } -> std::same_as<uint32_t>;
    ring.release(id);
    ring.consume(count);
    {
        ring.poll_used()
        } -> std::same_as<bool>;
    {
        view.front_used()
        } -> std::same_as<bool>;
    {
        view.front_id()
        } -> std::same_as<uint32_t>;
    ring.take_back(id, id);
    {
        ring.template make_available<DescFlag::Write>(piece)
        } -> std::same_as<uint16_t>;
    {
        ring.make_available(pieces)
        } -> std::same_as<uint16_t>;
    {
        view.has_unpublished()
        } -> std::same_as<bool>;
    ring.publish();
    {
        view.should_notify()
        } -> std::same_as<bool>;
    ring.catch_up(view);
};

} // namespace fit
