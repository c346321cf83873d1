// Why an operation failed: a code for the caller, words for the person who reads the log.
#pragma once

#include <cerrno>
#include <cstdint>

namespace fit {

// The errno values that this driver returns; doc/design.md section 6 says which one means what.
enum class Errno : int {
    InvalidArgument = EINVAL,
    NotSupported = ENOTSUP,
    NoDevice = ENODEV,
    NotFound = ENOENT,
    Busy = EBUSY,
    TimedOut = ETIMEDOUT,
    Protocol = EPROTO,
    Io = EIO,
    NoMemory = ENOMEM,
    NameTooLong = ENAMETOOLONG,
    NotASocket = ENOTSOCK,
    PermissionDenied = EACCES,
    ConnectionRefused = ECONNREFUSED,
    NotConnected = ENOTCONN,
    OutOfRange = ERANGE,
    NoBufferSpace = ENOBUFS,
};

// `thing` is what was being done ("SET_MEM_TABLE", "connect"), `why` the reason with the next step,
// both static strings; `value` is the offending number and is printed only when `has_value`.
struct Error {
    Errno code = Errno::Io;
    const char* thing = "";
    const char* why = "";
    int64_t value = 0;
    bool has_value = false;

    constexpr Error(Errno c, const char* t, const char* w) : code(c), thing(t), why(w) {}
    constexpr Error(Errno c, const char* t, const char* w, int64_t v)
        : code(c), thing(t), why(w), value(v), has_value(true)
    {
    }

    // The negative errno that crosses the DPDK boundary.
    [[nodiscard]] constexpr int negative() const { return -static_cast<int>(code); }
};

} // namespace fit
