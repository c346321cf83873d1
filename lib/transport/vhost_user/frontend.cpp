#include "transport/vhost_user/frontend.hpp"

#include <sys/eventfd.h>
#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <new>
#include <utility>

#include "transport/vhost_user/vring_check.hpp"

namespace fit::vhost_user {
namespace {

// The vring index has 8 bits, so there are at most 128 pairs.
constexpr uint16_t kMaxPairs = kMaxVrings / 2;

constexpr ProtocolFeatureSet kWanted = ProtocolFeatureSet()
                                           .with(ProtocolFeature::Mq)
                                           .with(ProtocolFeature::ReplyAck)
                                           .with(ProtocolFeature::Status);

// The back end maps up to the region's last byte: beyond the end of the file it would only find out
// by SIGBUS. What is no file at all is a descriptor that an allocator without one gave out.
Result<void> check_files(const MemoryTable& memory)
{
    constexpr const char* kThing = "SET_MEM_TABLE";
    const auto regions = memory.regions();
    for (size_t i = 0; i < regions.size(); ++i) {
        struct stat info {};
        if (::fstat(memory.fds()[i], &info) != 0)
            return Error(Errno::InvalidArgument, kThing,
                         "the file behind a memory segment is not open; its descriptor",
                         memory.fds()[i]);
        if (!S_ISREG(info.st_mode))
            return unshareable_memory();
        if (regions[i].mmap_offset + regions[i].size > static_cast<uint64_t>(info.st_size))
            return Error(Errno::InvalidArgument, kThing,
                         "a memory segment passes the end of its file; bytes of the file",
                         info.st_size);
    }
    return {};
}

Error not_connected(const char* thing)
{
    return {Errno::NotConnected, thing, "the connection to the back end is closed"};
}

} // namespace

Result<std::unique_ptr<Frontend>> Frontend::connect(std::string_view path, Deadline deadline,
                                                    std::chrono::milliseconds request_timeout)
{
    Result<Connection> connection = Connection::connect_to(path, deadline);
    if (!connection)
        return connection.error();
    std::unique_ptr<Frontend> frontend(new (std::nothrow)
                                           Frontend(std::move(*connection), request_timeout));
    if (frontend == nullptr)
        return Error(Errno::NoMemory, "connect", "no memory for the front end");
    if (auto done = frontend->negotiate(); !done)
        return done.error();
    return frontend;
}

Result<void> Frontend::negotiate()
{
    if (auto owned = exchange_.tell(Request::SetOwner); !owned)
        return owned;
    const auto features = exchange_.ask_u64(Request::GetFeatures);
    if (!features)
        return features.error();
    offered_ = *features;
    return has_protocol_bit() ? negotiate_protocol() : Result<void>();
}

Result<void> Frontend::negotiate_protocol()
{
    const auto offered = exchange_.ask_u64(Request::GetProtocolFeatures);
    if (!offered)
        return offered.error();
    offered_protocol_ = ProtocolFeatureSet(*offered);
    protocol_ = offered_protocol_ & kWanted;
    if (auto set = exchange_.tell_u64(Request::SetProtocolFeatures, protocol_.bits()); !set)
        return set;
    if (protocol_.has(ProtocolFeature::ReplyAck))
        exchange_.turn_acks_on();
    if (!protocol_.has(ProtocolFeature::Mq))
        return {};
    // The document says queues; for net devices back ends mean pairs.
    const auto pairs = exchange_.ask_u64(Request::GetQueueNum);
    if (!pairs)
        return pairs.error();
    if (*pairs == 0) {
        exchange_.close();
        return Error(Errno::Protocol, name(Request::GetQueueNum), "the back end has no queue");
    }
    max_queue_pairs_ = static_cast<uint16_t>(std::min<uint64_t>(*pairs, kMaxPairs));
    return {};
}

Result<FeatureSet> Frontend::device_features()
{
    if (!exchange_.open())
        return not_connected(name(Request::GetFeatures));
    return FeatureSet(offered_ & ~(kProtocolFeaturesFeature | kLogAllFeature));
}

Result<void> Frontend::set_driver_features(FeatureSet features)
{
    constexpr const char* kThing = "SET_FEATURES";
    const uint64_t device = offered_ & ~(kProtocolFeaturesFeature | kLogAllFeature);
    const uint64_t unknown = features.bits() & ~device;
    if (unknown != 0)
        return Error(Errno::InvalidArgument, kThing, "the back end did not offer this feature; bit",
                     std::countr_zero(unknown));
    if (any_queue_set_up())
        return Error(Errno::Busy, kThing, "stop all queues first");
    const uint64_t transport = offered_ & kProtocolFeaturesFeature;
    if (auto set = exchange_.tell_u64(Request::SetFeatures, features.bits() | transport); !set)
        return set;
    accepted_ = features;
    protocol_bit_acked_ = transport != 0;
    return {};
}

Result<DeviceStatus> Frontend::status()
{
    if (!exchange_.open())
        return not_connected(name(Request::GetStatus));
    if (!protocol_.has(ProtocolFeature::Status))
        return local_status_;
    const auto value = exchange_.ask_u64(Request::GetStatus);
    if (!value)
        return value.error();
    if (*value > 0xFF) {
        exchange_.close();
        return Error(Errno::Protocol, name(Request::GetStatus),
                     "the status does not fit its 8 bits; value", static_cast<int64_t>(*value));
    }
    return DeviceStatus(static_cast<uint8_t>(*value));
}

Result<void> Frontend::set_status(DeviceStatus status)
{
    if (!exchange_.open())
        return not_connected(name(Request::SetStatus));
    if (protocol_.has(ProtocolFeature::Status))
        return exchange_.tell_u64(Request::SetStatus, status.bits());
    local_status_ = status;
    return {};
}

Result<void> Frontend::share_memory(std::span<const MemorySegment> segments)
{
    if (any_queue_set_up())
        return Error(Errno::Busy, name(Request::SetMemTable), "stop all queues first");
    const auto table = MemoryTable::build(segments);
    if (!table)
        return table.error();
    if (auto checked = check_files(*table); !checked)
        return checked;
    if (auto told = exchange_.tell(Request::SetMemTable, table->payload(), table->fds()); !told)
        return told;
    memory_ = *table;
    return {};
}

Result<Notifier> Frontend::setup_queue(uint16_t index, const QueueAddresses& addresses)
{
    constexpr const char* kThing = "queue set-up";
    if (index >= 2 * max_queue_pairs_)
        return Error(Errno::InvalidArgument, kThing, "the back end has fewer queues; index", index);
    Vring& vring = vrings_[index];
    if (vring.set_up())
        return Error(Errno::Busy, kThing, "the queue is set up already; index", index);
    const bool packed = accepted_.has(Feature::RingPacked);
    if (auto checked = check_vring(addresses, packed, memory_); !checked)
        return checked.error();
    Vring fresh{.kick = UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
                .call = UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))};
    if (!fresh.kick.valid() || !fresh.call.valid())
        return Error(Errno::Io, "eventfd", "cannot be created; errno follows", errno);
    if (auto done = configure(static_cast<uint8_t>(index), addresses, fresh); !done)
        return done.error();
    vring = std::move(fresh);
    return Notifier{vring.kick.get()};
}

// KICK last: back ends translate the ring addresses when they get it.
Result<void> Frontend::configure(uint8_t index, const QueueAddresses& addresses, const Vring& fresh)
{
    const bool packed = accepted_.has(Feature::RingPacked);
    const VringAddr areas{.index = index,
                          .flags = 0,
                          .descriptor_area = addresses.descriptor_area,
                          .device_area = addresses.device_area,
                          .driver_area = addresses.driver_area,
                          .log = 0};
    const uint64_t fd_word = vring_fd_word(index, true);
    const int call = fresh.call.get();
    const int kick = fresh.kick.get();
    if (auto r = exchange_.tell_state(Request::SetVringNum, {index, addresses.size}); !r)
        return r;
    if (auto r = exchange_.tell_state(Request::SetVringBase,
                                      {index, packed ? kFreshPackedBase : kFreshSplitBase});
        !r)
        return r;
    if (auto r = exchange_.tell(Request::SetVringAddr, std::as_bytes(std::span(&areas, 1))); !r)
        return r;
    if (auto r = exchange_.tell_u64(Request::SetVringCall, fd_word, std::span(&call, 1)); !r)
        return r;
    return exchange_.tell_u64(Request::SetVringKick, fd_word, std::span(&kick, 1));
}

Result<void> Frontend::enable_queue(uint16_t index)
{
    if (index >= kMaxVrings || !vrings_[index].set_up())
        return Error(Errno::InvalidArgument, name(Request::SetVringEnable),
                     "the queue is not set up; index", index);
    // Without bit 30 all rings are enabled from the start.
    if (protocol_bit_acked_) {
        if (auto r = exchange_.tell_state(Request::SetVringEnable, {index, 1}); !r)
            return r;
        vrings_[index].enabled = true;
    }
    if (exchange_.acks())
        return {};
    // A request with a reply is the barrier: packets queued before the ring runs may be discarded.
    const auto barrier = exchange_.ask_u64(Request::GetFeatures);
    return barrier ? Result<void>() : barrier.error();
}

Result<void> Frontend::stop_queue(uint16_t index)
{
    if (index >= kMaxVrings || !vrings_[index].set_up())
        return {};
    const Vring vring = std::exchange(vrings_[index], Vring());
    auto stopped = stop(static_cast<uint8_t>(index), vring);
    if (!stopped)
        exchange_.close();
    return stopped;
}

// GET_VRING_BASE stops the ring; its reply says that the back end is done with it.
Result<void> Frontend::stop(uint8_t index, const Vring& vring)
{
    if (vring.enabled) {
        if (auto r = exchange_.tell_state(Request::SetVringEnable, {index, 0}); !r)
            return r;
    }
    const auto base = exchange_.ask_state(Request::GetVringBase, {index, 0});
    return base ? Result<void>() : base.error();
}

bool Frontend::alive()
{
    return exchange_.open() && !exchange_.peer_gone();
}

bool Frontend::any_queue_set_up() const
{
    return std::ranges::any_of(vrings_, &Vring::set_up);
}

} // namespace fit::vhost_user
