// What a virtio transport can do (VIRTIO 1.3, section 4): the seam between the handshake and
// vhost-user, PCI or a fake. Header-only, without an out-of-line virtual, so that tests built with
// RTTI can derive from it.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.hpp"
#include "virtio/device_status.hpp"
#include "virtio/feature.hpp"

namespace fit {

// A stretch of driver memory that the device may be asked to read or write.
struct MemorySegment {
    uint64_t driver_address = 0; // where this process has it mapped
    uint64_t device_address = 0; // the address that descriptors carry for its first byte
    uint64_t length = 0;         // bytes
    int fd = -1; // the file behind it, not owned; -1: cannot be shared with another process
    uint64_t fd_offset = 0; // where the first byte lies in that file
};

// The three areas of one virtqueue (2.6), as addresses of this process.
struct QueueAddresses {
    uint64_t descriptor_area = 0;
    uint64_t driver_area = 0;
    uint64_t device_area = 0;
    uint16_t size = 0; // entries
};

// How the driver tells the device that a queue has new available buffers. Copied into the queue: it
// owns nothing.
struct Notifier {
    int fd = -1; // eventfd; the transport closes it when the queue stops
};

class Transport {
  public:
    virtual ~Transport() = default;

    virtual Result<FeatureSet> device_features() = 0;
    virtual Result<void> set_driver_features(FeatureSet features) = 0;
    virtual Result<DeviceStatus> status() = 0;
    // Writes the whole field; an empty status starts a reset, finished when status() reads empty
    // (2.4.2).
    virtual Result<void> set_status(DeviceStatus status) = 0;

    // Tells the device all memory that rings and buffers lie in; replaces what it was told before.
    // Errors: NotSupported (a segment that cannot be shared, more regions than the device takes).
    virtual Result<void> share_memory(std::span<const MemorySegment> segments) = 0;
    // Configures queue `index` (receive 2n, transmit 2n+1) with a zeroed ring; not yet enabled.
    virtual Result<Notifier> setup_queue(uint16_t index, const QueueAddresses& addresses) = 0;
    virtual Result<void> enable_queue(uint16_t index) = 0;
    // On return the device no longer touches the ring and its buffers. Idempotent. An error means
    // that the device did not confirm; the connection is then closed, which ends its access too.
    virtual Result<void> stop_queue(uint16_t index) = 0;

    // False once the device is gone for good.
    virtual bool alive() = 0;
};

} // namespace fit
