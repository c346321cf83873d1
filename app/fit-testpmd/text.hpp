// Text helpers and the one exception type of the application.
#pragma once

#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>

namespace fit::testpmd {

// Set-up cannot go on. what() is one line "<thing> <value>: <reason>; <next step>", without the
// program name.
class UserError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

// printf into a string.
[[nodiscard]] std::string format(const char* pattern, ...) __attribute__((format(printf, 1, 2)));

// printf to `out`, visible at once. A failure stays in ferror(out), which ends the run.
void print(std::FILE* out, const char* pattern, ...) __attribute__((format(printf, 2, 3)));

// 12345678 -> "12,345,678".
[[nodiscard]] std::string grouped(uint64_t value);

// "Invalid argument" for -EINVAL and for EINVAL.
[[nodiscard]] std::string errno_text(int code);

} // namespace fit::testpmd
