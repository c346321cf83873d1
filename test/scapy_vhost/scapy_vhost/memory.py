"""The memory that the front end shares: regions of its address space, mapped here."""

import mmap
import os
from dataclasses import dataclass

from .errors import OutsideMemory, ProtocolError


@dataclass(frozen=True)
class Mapped:
    guest_address: int
    user_address: int
    size: int
    view: memoryview


class SharedMemory:
    """Mappings go away when nobody holds a view of them any more."""

    def __init__(self):
        self.regions = []
        self.logging = False  # whether what is written is marked in `dirty_log`
        self.dirty_log = None
        self.log_fd = None  # an eventfd that tells of new marks

    def close(self):
        self.regions = []
        self.dirty_log = None
        self.set_log_fd(None)

    def set_log_fd(self, fd):
        """SET_LOG_FD. Takes the fd."""
        if self.log_fd is not None:
            os.close(self.log_fd)
        self.log_fd = fd

    def replace(self, regions, fds):
        """SET_MEM_TABLE. Takes the fds."""
        self.regions = []
        try:
            for region, fd in zip(regions, fds, strict=True):
                self.regions.append(mapped(region, fd))
        finally:
            for fd in fds:
                os.close(fd)

    def add(self, region, fd):
        """ADD_MEM_REG. Takes the fd."""
        try:
            self.regions.append(mapped(region, fd))
        finally:
            os.close(fd)

    def remove(self, region):
        """REM_MEM_REG: the region with the same addresses and size."""
        wanted = (region.guest_address, region.user_address, region.size)
        kept = [r for r in self.regions if (r.guest_address, r.user_address, r.size) != wanted]
        if len(kept) == len(self.regions):
            raise ProtocolError(f"REM_MEM_REG: no region at guest address {region.guest_address:#x}, "
                                f"user address {region.user_address:#x} of {region.size:#x} bytes")
        self.regions = kept

    def view(self, address, length):
        """Writable bytes at a guest address: what descriptors hold."""
        region, offset = self._find("guest", address, length)
        return region.view[offset:offset + length]

    def view_user(self, address, length):
        """Writable bytes at an address of the front end's process: what SET_VRING_ADDR has."""
        region, offset = self._find("user", address, length)
        return region.view[offset:offset + length]

    def mark(self, address, length):
        """To be called after these bytes at a guest address were written."""
        if self.logging and self.dirty_log is not None:
            self.dirty_log.mark(address, length, self.log_fd)

    def mark_user(self, address, length):
        """The same of an address of the front end's process."""
        if self.logging:
            region, offset = self._find("user", address, length)
            self.mark(region.guest_address + offset, length)

    def _find(self, space, address, length):
        for region in self.regions:
            offset = address - (region.guest_address if space == "guest" else region.user_address)
            if 0 <= offset and offset + length <= region.size:
                return region, offset
        raise OutsideMemory(f"{length} bytes at {space} address {address:#x} are in no region")


def mapped(region, fd):
    if region.size == 0:
        raise ProtocolError(f"region at guest address {region.guest_address:#x} has no bytes")
    view = shared(fd, region.mmap_offset, region.size, f"the region at guest address {region.guest_address:#x}")
    return Mapped(region.guest_address, region.user_address, region.size, view)


def shared(fd, offset, size, what):
    """`size` bytes of a file from `offset` on, for reading and writing; `what` they are is for the error."""
    # From the start of the file: the offset of a region need not be a multiple of the page size. A
    # mapping of huge pages can only be undone in whole pages; st_blksize is their size there. Other files
    # may end in the middle of a page.
    file = os.fstat(fd)
    page = max(file.st_blksize, mmap.PAGESIZE)
    length = max(offset + size, min(-(-(offset + size) // page) * page, file.st_size))
    try:
        area = mmap.mmap(fd, length, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
    except (OSError, ValueError, OverflowError) as error:
        raise ProtocolError(f"cannot map {length:#x} bytes of {what}: {error}") from None
    return memoryview(area)[offset:offset + size]
