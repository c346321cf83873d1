#include "transport/vhost_user/exchange.hpp"

#include "base/deadline.hpp"

namespace fit::vhost_user {
namespace {

template <class T>
std::span<const std::byte> bytes_of(const T& value)
{
    return std::as_bytes(std::span(&value, 1));
}

template <class T>
std::span<std::byte> writable_bytes_of(T& value)
{
    return std::as_writable_bytes(std::span(&value, 1));
}

} // namespace

Result<void> Exchange::tell(Request request, std::span<const std::byte> payload,
                            std::span<const int> fds)
{
    const Deadline deadline = Deadline::after(timeout_);
    const MessageFlags flags = acks_ ? MessageFlags(MessageFlag::NeedReply) : MessageFlags();
    if (auto sent = connection_.send(request, flags, payload, fds, deadline); !sent || !acks_)
        return sent;
    uint64_t answer = 0;
    if (auto got = connection_.receive(request, writable_bytes_of(answer), deadline); !got)
        return got;
    if (answer != 0)
        return Error(Errno::Io, name(request), "the back end refused it; its answer",
                     static_cast<int64_t>(answer));
    return {};
}

Result<void> Exchange::tell_u64(Request request, uint64_t value, std::span<const int> fds)
{
    return tell(request, bytes_of(value), fds);
}

Result<void> Exchange::tell_state(Request request, VringState state)
{
    return tell(request, bytes_of(state));
}

Result<uint64_t> Exchange::ask_u64(Request request)
{
    const Deadline deadline = Deadline::after(timeout_);
    if (auto sent = connection_.send(request, {}, {}, {}, deadline); !sent)
        return sent.error();
    uint64_t answer = 0;
    if (auto got = connection_.receive(request, writable_bytes_of(answer), deadline); !got)
        return got.error();
    return answer;
}

Result<VringState> Exchange::ask_state(Request request, VringState state)
{
    const Deadline deadline = Deadline::after(timeout_);
    if (auto sent = connection_.send(request, {}, bytes_of(state), {}, deadline); !sent)
        return sent.error();
    VringState answer;
    if (auto got = connection_.receive(request, writable_bytes_of(answer), deadline); !got)
        return got.error();
    if (answer.index != state.index) {
        connection_.close();
        return Error(Errno::Protocol, name(request), "the reply is about another vring; its index",
                     answer.index);
    }
    return answer;
}

} // namespace fit::vhost_user
