// Result<T>: a value or an Error. std::expected is C++23; this is the part of it that the driver
// needs.
#pragma once

#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/error.hpp"

namespace fit {

template <class T>
class [[nodiscard]] Result {
  public:
    Result(T value)
        : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit by design
    Result(Error error) : state_(std::in_place_index<1>, error) {} // NOLINT: implicit by design

    [[nodiscard]] bool ok() const { return state_.index() == 0; }
    explicit operator bool() const { return ok(); }

    // Precondition of value(): ok(); of error(): !ok(). Both end the process when broken: a bug of
    // the caller.
    T& value() & { return *require(std::get_if<0>(&state_)); }
    const T& value() const& { return *require(std::get_if<0>(&state_)); }
    T&& value() && { return std::move(*require(std::get_if<0>(&state_))); }
    T& operator*() & { return value(); }
    const T& operator*() const& { return value(); }
    T* operator->() { return &value(); }
    const T* operator->() const { return &value(); }
    [[nodiscard]] const Error& error() const { return *require(std::get_if<1>(&state_)); }

  private:
    template <class P>
    static P* require(P* p)
    {
        if (p == nullptr)
            __builtin_trap();
        return p;
    }

    std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
  public:
    Result() = default;
    Result(Error error) : error_(error) {} // NOLINT: implicit by design

    [[nodiscard]] bool ok() const { return !error_.has_value(); }
    explicit operator bool() const { return ok(); }
    [[nodiscard]] const Error& error() const
    {
        if (!error_)
            __builtin_trap();
        return *error_;
    }

  private:
    std::optional<Error> error_;
};

} // namespace fit
