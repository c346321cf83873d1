#include "text.hpp"

#include <cstdarg>
#include <cstdlib>
#include <cstring>

namespace fit::testpmd {

std::string format(const char* pattern, ...)
{
    va_list args;
    va_start(args, pattern);
    va_list again;
    va_copy(again, args);
    const int length = std::vsnprintf(nullptr, 0, pattern, args);
    va_end(args);
    std::string text(length > 0 ? static_cast<size_t>(length) : 0, '\0');
    if (length > 0)
        (void)std::vsnprintf(text.data(), text.size() + 1, pattern, again);
    va_end(again);
    return text;
}

void print(std::FILE* out, const char* pattern, ...)
{
    va_list args;
    va_start(args, pattern);
    (void)std::vfprintf(out, pattern, args);
    va_end(args);
    (void)std::fflush(out);
}

std::string grouped(uint64_t value)
{
    std::string text = std::to_string(value);
    for (size_t from_end = 3; from_end < text.size(); from_end += 4)
        text.insert(text.size() - from_end, 1, ',');
    return text;
}

std::string errno_text(int code)
{
    return std::strerror(std::abs(code));
}

} // namespace fit::testpmd
