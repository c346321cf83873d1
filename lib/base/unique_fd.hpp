// A file descriptor with one owner.
#pragma once

#include <unistd.h>

#include <utility>

namespace fit {

class UniqueFd {
  public:
    constexpr UniqueFd() = default;
    constexpr explicit UniqueFd(int fd) : fd_(fd) {}
    UniqueFd(UniqueFd&& other) noexcept : fd_(other.release()) {}
    UniqueFd& operator=(UniqueFd&& other) noexcept
    {
        if (this != &other)
            reset(other.release());
        return *this;
    }
    UniqueFd(const UniqueFd&) = delete;
    UniqueFd& operator=(const UniqueFd&) = delete;
    ~UniqueFd() { reset(); }

    [[nodiscard]] int get() const { return fd_; }
    [[nodiscard]] bool valid() const { return fd_ >= 0; }
    [[nodiscard]] int release() { return std::exchange(fd_, -1); }
    // Closes what was owned. close(2) frees the number even when it reports an error, so there is
    // nothing to retry.
    void reset(int fd = -1)
    {
        if (fd_ >= 0)
            (void)::close(fd_);
        fd_ = fd;
    }

  private:
    int fd_ = -1;
};

} // namespace fit
