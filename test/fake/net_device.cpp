#include "fake/net_device.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>

namespace fit::fake {

bool NetReceiver::deliver(std::span<const std::byte> frame, const DeliverOptions& options)
{
    if (!stage(frame, options))
        return false;
    publish(staged_.size());
    return true;
}

bool NetReceiver::stage(std::span<const std::byte> frame, const DeliverOptions& options)
{
    if (!options.header.empty() && options.header.size() != layout_.header_size)
        throw std::logic_error("deliver: the header has not the negotiated size");
    if (options.num_buffers && layout_.header_size < kHeaderBytesWithNumBuffers)
        throw std::logic_error("deliver: the negotiated header has no num_buffers");
    queue_->poll();
    const std::vector<uint32_t> lengths = plan(layout_.header_size + frame.size(), options);
    if (lengths.empty())
        return false;
    if (!options.used_lengths.empty() && options.used_lengths.size() != lengths.size())
        throw std::logic_error("deliver: used_lengths names another number of buffers");

    std::vector<std::byte> bytes = options.header;
    bytes.resize(layout_.header_size);
    if (layout_.header_size >= kHeaderBytesWithNumBuffers &&
        (options.header.empty() || options.num_buffers))
        store_little<uint16_t>(bytes.data() + kHeaderNumBuffers,
                               options.num_buffers.value_or(static_cast<uint16_t>(lengths.size())));
    bytes.insert(bytes.end(), frame.begin(), frame.end());

    std::span<const std::byte> rest = bytes;
    for (size_t i = 0; i < lengths.size(); ++i) {
        const Chain chain = *queue_->next_available();
        check_buffer(chain);
        write(chain, rest.first(lengths[i]), options.poison);
        rest = rest.subspan(lengths[i]);
        staged_.push_back(
            {chain.head, options.used_lengths.empty() ? lengths[i] : options.used_lengths[i]});
    }
    return true;
}

// How many bytes go into each of the next buffers; empty when they do not suffice.
std::vector<uint32_t> NetReceiver::plan(size_t bytes, const DeliverOptions& options)
{
    const std::vector<uint32_t>& split = options.split;
    if (!split.empty() && std::accumulate(split.begin(), split.end(), size_t{0}) != bytes)
        throw std::logic_error("deliver: split does not add up to header and frame");
    std::vector<uint32_t> lengths;
    size_t left = bytes;
    while (left > 0 || lengths.size() < split.size()) {
        if (lengths.size() == queue_->available() || (!layout_.mergeable && lengths.size() == 1))
            return {};
        const uint64_t room = queue_->peek(lengths.size()).writable_bytes();
        const uint64_t length =
            split.empty() ? std::min<uint64_t>(room, left) : split[lengths.size()];
        if (length > room)
            return {};
        lengths.push_back(static_cast<uint32_t>(length));
        left -= length;
    }
    return lengths;
}

void NetReceiver::check_buffer(const Chain& chain)
{
    const std::string which = "receive buffer " + std::to_string(chain.head);
    if (chain.readable_bytes() != 0)
        queue_->memory().violations().add("NET_46", which + " has a device-readable part");
    if (chain.writable_bytes() < layout_.header_size)
        queue_->memory().violations().add("NET_46", which + " cannot hold the header");
}

void NetReceiver::write(const Chain& chain, std::span<const std::byte> bytes, bool poison)
{
    for (const Segment& s : chain.segments) {
        std::byte* at = s.writable ? queue_->memory().translate(s.address, s.length) : nullptr;
        if (at == nullptr)
            continue;
        const size_t n = std::min<size_t>(s.length, bytes.size());
        std::copy_n(bytes.begin(), n, at);
        if (poison)
            std::fill(at + n, at + s.length, kPoison);
        bytes = bytes.subspan(n);
    }
}

void NetReceiver::publish(size_t buffers)
{
    if (buffers > staged_.size())
        throw std::logic_error("publish: fewer buffers are staged");
    const auto end = staged_.begin() + static_cast<std::ptrdiff_t>(buffers);
    const std::vector<Used> elements(staged_.begin(), end);
    staged_.erase(staged_.begin(), end);
    queue_->use_unchecked(elements);
}

std::optional<SentFrame> NetTransmitter::take()
{
    const std::optional<Chain> chain = queue_->next_available();
    if (!chain)
        return std::nullopt;
    std::vector<std::byte> bytes;
    for (const Segment& s : chain->segments) {
        const std::byte* at =
            s.writable ? nullptr : queue_->memory().translate(s.address, s.length);
        if (at != nullptr)
            bytes.insert(bytes.end(), at, at + s.length);
    }
    const auto split =
        bytes.begin() + static_cast<std::ptrdiff_t>(std::min(layout_.header_size, bytes.size()));
    SentFrame sent{
        chain->head, chain->segments.size(), {bytes.begin(), split}, {split, bytes.end()}};
    check(*chain, sent.header);
    if (hold_)
        held_.push_back(chain->head);
    else
        queue_->use(chain->head, 0);
    return sent;
}

void NetTransmitter::check(const Chain& chain, std::span<const std::byte> header)
{
    const std::string which = "sent chain " + std::to_string(chain.head);
    Violations& violations = queue_->memory().violations();
    if (chain.writable_bytes() != 0)
        violations.add("NET_43", which + " has a device-writable part");
    if (header.size() < layout_.header_size) {
        violations.add("NET_43", which + " is shorter than the header");
        return;
    }
    if ((header[kHeaderFlags] & kHeaderReceiveOnlyFlags) != std::byte{0})
        violations.add("NET_42", which + " has a receive-only flag");
    if (header.size() >= kHeaderBytesWithNumBuffers &&
        load_little<uint16_t>(header.data() + kHeaderNumBuffers) != 0)
        violations.add("NET_24", which + " has num_buffers other than 0");
}

void NetTransmitter::complete(std::span<const size_t> order)
{
    std::vector<Used> elements;
    for (size_t position : order)
        elements.push_back({held_.at(position), 0});
    queue_->use(elements);
    for (const Used& e : elements)
        std::erase(held_, static_cast<uint16_t>(e.id));
}

void NetTransmitter::complete_all()
{
    std::vector<size_t> order(held_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    complete(order);
}

} // namespace fit::fake
