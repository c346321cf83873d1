// The device side of one split virtqueue (VIRTIO 1.3, 2.7), played on raw bytes. It checks what the
// driver does as it goes; what it finds is recorded in the violations of its DeviceMemory under the
// row of doc/conformance.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "fake/guest_memory.hpp"
#include "fake/wire.hpp"

namespace fit::fake {

struct Segment {
    uint64_t address = 0; // device address
    uint32_t length = 0;
    bool writable = false; // by the device

    bool operator==(const Segment&) const = default;
};

struct Chain {
    uint16_t head = 0;
    std::vector<Segment> segments;

    [[nodiscard]] uint64_t readable_bytes() const;
    [[nodiscard]] uint64_t writable_bytes() const;
};

struct Used {
    uint32_t id = 0;
    uint32_t length = 0; // bytes that the device wrote
};

// Where one queue lies, as addresses of this process.
struct SplitAreas {
    std::byte* descriptor = nullptr;
    std::byte* driver = nullptr;
    std::byte* device = nullptr;
    uint16_t size = 0; // entries
};

class SplitDevice {
  public:
    // Takes over a fresh ring. Checks size (SPL_02), alignment (SPL_01) and that the used ring is
    // zeroed (SPL_03, its flags SPL_17). A ring that fails the first two is never touched.
    SplitDevice(DeviceMemory& memory, const SplitAreas& areas);
    // The same from device addresses, as a transport hands them over.
    static SplitDevice at_device_addresses(DeviceMemory& memory, uint64_t descriptor,
                                           uint64_t driver, uint64_t device, uint16_t size);

    // Reads the available index (acquire) and decodes, checks and snapshots every chain that is
    // new. Checks SPL_10 (index), SPL_11 (head in range), SPL_09 (no busy slot), SPL_07 (no loop),
    // SPL_08 (flags, length, next), SPL_04 (writable last), SPL_06 (sum), FEA_01 (no indirect) and
    // every address.
    void poll();
    // Chains made available and not taken yet, as of the last poll.
    [[nodiscard]] size_t available() const { return waiting_.size(); }
    // The chain that is i-th in line; i < available().
    [[nodiscard]] const Chain& peek(size_t i) const { return tracked_[waiting_[i]]->chain; }
    // Polls, then takes the first chain in line.
    std::optional<Chain> next_available();

    // Writes used elements at the used index and publishes them with one index store (release).
    // Heads in any order; each was taken before, and no length exceeds its writable bytes
    // (std::logic_error: a bug of the test). Compares the descriptors with the snapshot (GEN_31).
    void use(std::span<const Used> elements);
    void use(uint32_t id, uint32_t length) { use(std::array{Used{id, length}}); }

    // Hostility. The same with no check of ids and lengths; a chain that really is in flight counts
    // as completed.
    void use_unchecked(std::span<const Used> elements);
    void use_unchecked(uint32_t id, uint32_t length)
    {
        use_unchecked(std::array{Used{id, length}});
    }
    // Writes the element of used index `index` and moves no index.
    void poke_used(uint16_t index, uint32_t id, uint32_t length);
    // Publishes (release) any index; later use() goes on from there.
    void set_used_index(uint16_t index);
    // Overwrites the whole descriptor table with bytes drawn from `seed`.
    void scribble_descriptors(uint64_t seed);
    // used.flags (2.7.10). After switching it off, poll once more before sleeping.
    void set_no_notify(bool on);
    // The word that a driver without EVENT_IDX must ignore.
    void set_avail_event(uint16_t value);

    // avail.flags as it is now; anything but 0 and 1 is SPL_12.
    uint16_t available_flags();
    // Whether all that the device alone writes still holds what it wrote last (SPL_25).
    void check_device_area();

    [[nodiscard]] bool broken() const { return broken_; }
    [[nodiscard]] uint16_t size() const { return areas_.size; }
    [[nodiscard]] uint16_t used_index() const { return used_index_; }
    // The available index up to which chains were decoded.
    [[nodiscard]] uint16_t available_index() const { return next_available_; }
    [[nodiscard]] size_t in_flight() const { return in_flight_; } // decoded and not completed
    // Publications after which avail.flags asked for an interrupt, and those after which it did
    // not.
    [[nodiscard]] uint64_t interrupts_wanted() const { return interrupts_wanted_; }
    [[nodiscard]] uint64_t interrupts_suppressed() const { return interrupts_suppressed_; }

    DeviceMemory& memory() { return *memory_; }

  private:
    using Image = std::array<std::byte, kDescriptorBytes>;
    struct Tracked {
        Chain chain;
        std::vector<uint16_t> slots;
        std::vector<Image> images; // one per slot, as first seen
        bool taken = false;
    };

    void violate(const char* id, const std::string& text);
    void fail(const char* id, const std::string& text);
    bool sight(uint16_t position);
    std::optional<Tracked> walk(uint16_t head);
    bool add_slot(Tracked& tracked, uint16_t slot);
    void check_segment(const Tracked& tracked, uint16_t slot, uint16_t flags);
    void retire(uint16_t head);
    [[nodiscard]] Image image(uint16_t slot) const;
    void write_used(uint16_t index, Used element);
    void publish(uint16_t index);
    void store_device_word(size_t offset, uint16_t value, std::memory_order order);

    DeviceMemory* memory_;
    SplitAreas areas_;
    bool broken_ = false;
    uint16_t next_available_ = 0;
    uint16_t used_index_ = 0;
    size_t in_flight_ = 0;
    std::vector<std::optional<Tracked>> tracked_; // by head
    std::vector<bool> busy_;                      // by slot
    std::deque<uint16_t> waiting_;                // heads not taken yet, in the order of the ring
    std::vector<std::byte> device_area_;          // what the device area must hold
    uint64_t interrupts_wanted_ = 0;
    uint64_t interrupts_suppressed_ = 0;
};

} // namespace fit::fake
