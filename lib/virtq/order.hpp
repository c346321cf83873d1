// Every access to a word that driver and device both use while the queue is live, and the only
// place that spells memory orders. Each use names the access it orders, what it pairs with, and the
// section.
#pragma once

#include <atomic>
#include <concepts>

#include "base/endian.hpp"

namespace fit::order {

// Orders this load before every later access; pairs with the device's store after it filled what
// the word announces.
template <std::unsigned_integral T>
T load_acquire(T& little)
{
    return to_little(std::atomic_ref<T>(little).load(std::memory_order_acquire));
}

// Orders every earlier access before this store; pairs with the device's load of the word.
template <std::unsigned_integral T>
void store_release(T& little, T value)
{
    std::atomic_ref<T>(little).store(to_little(value), std::memory_order_release);
}

// One read, never repeated or torn by the compiler: what is checked is what is used (the device may
// rewrite it).
template <std::unsigned_integral T>
T load_once(const T& little)
{
    return to_little(std::atomic_ref<T>(const_cast<T&>(little)).load(std::memory_order_relaxed));
}

// One write without ordering of its own; a later store_release makes it visible.
template <std::unsigned_integral T>
void store_once(T& little, T value)
{
    std::atomic_ref<T>(little).store(to_little(value), std::memory_order_relaxed);
}

// One write of eight aligned bytes over fields of other types, without ordering of its own.
inline void store_word(void* little, uint64_t value)
{
    using Word [[gnu::may_alias]] = uint64_t;
    __atomic_store_n(static_cast<Word*>(little), to_little(value), __ATOMIC_RELAXED);
}

// Orders the store that makes buffers available (index or flags) before the load of the device's
// suppression word; pairs with the device's fence between its store of that word and its last look
// at the ring. Otherwise
// both sides can miss each other and the queue sleeps for ever
// (VIRTIO 1.3, 2.7.13.4.1, 2.8.21.3.1).
inline void full_fence()
{
    std::atomic_thread_fence(std::memory_order_seq_cst);
}

} // namespace fit::order
