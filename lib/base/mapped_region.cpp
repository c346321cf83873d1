#include "base/mapped_region.hpp"

#include <sys/mman.h>

#include <utility>

namespace fit {

Result<MappedRegion> MappedRegion::map(int fd, uint64_t offset, size_t length)
{
    if (length == 0)
        return Error(Errno::InvalidArgument, "mmap", "the length is zero");
    void* address =
        ::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, static_cast<off_t>(offset));
    if (address == MAP_FAILED)
        return Error(static_cast<Errno>(errno), "mmap",
                     "the file cannot be mapped; length in bytes follows",
                     static_cast<int64_t>(length));
    return MappedRegion({static_cast<std::byte*>(address), length});
}

MappedRegion::MappedRegion(MappedRegion&& other) noexcept : bytes_(std::exchange(other.bytes_, {}))
{
}

MappedRegion& MappedRegion::operator=(MappedRegion&& other) noexcept
{
    if (this != &other) {
        unmap();
        bytes_ = std::exchange(other.bytes_, {});
    }
    return *this;
}

MappedRegion::~MappedRegion()
{
    unmap();
}

void MappedRegion::unmap()
{
    if (!bytes_.empty())
        (void)::munmap(bytes_.data(), bytes_.size());
}

} // namespace fit
