// A shared mapping of a file, unmapped by its owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.hpp"

namespace fit {

class MappedRegion {
  public:
    MappedRegion() = default;
    // Maps `length` bytes (> 0) of `fd` from `offset` (page aligned), shared, readable and
    // writable. Errors: InvalidArgument, NoMemory, PermissionDenied, as mmap(2) says.
    static Result<MappedRegion> map(int fd, uint64_t offset, size_t length);

    MappedRegion(MappedRegion&& other) noexcept;
    MappedRegion& operator=(MappedRegion&& other) noexcept;
    MappedRegion(const MappedRegion&) = delete;
    MappedRegion& operator=(const MappedRegion&) = delete;
    ~MappedRegion();

    [[nodiscard]] std::span<std::byte> bytes() const { return bytes_; }

  private:
    explicit MappedRegion(std::span<std::byte> bytes) : bytes_(bytes) {}
    void unmap();

    std::span<std::byte> bytes_;
};

} // namespace fit
