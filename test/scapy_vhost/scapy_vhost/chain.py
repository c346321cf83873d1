"""One list of buffers that the driver made available, as the device uses it."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from .errors import RingError


@dataclass(frozen=True)
class Buffer:
    """One element of a chain; the address is a guest address."""

    address: int
    length: int
    writable: bool


@dataclass(eq=False)
class Chain:
    """A taken chain.

    Addresses are translated at each access, not once, so that a chain outlives a new memory table.
    """

    id: int                                 # split: head index in the descriptor table; packed: buffer id
    indirect: bool
    buffers: tuple[Buffer, ...]
    memory: Any = field(repr=False)
    slots: tuple[int, ...]                  # places in the descriptor table or ring
    place: Any                              # split: available index; packed: slot and wrap counter of the head
    sequence: int = field(repr=False)       # how many chains were taken before this one
    table: tuple[int, bytes] | None = field(repr=False)    # address and content of the indirect table

    @property
    def descriptors(self) -> int:
        """Slots of the ring that the chain takes; an indirect table takes one."""
        return len(self.slots)

    def readable(self) -> int:
        """Bytes in the device-readable buffers."""
        return sum(buffer.length for buffer in self.buffers if not buffer.writable)

    def writable(self) -> int:
        """Bytes in the device-writable buffers."""
        return sum(buffer.length for buffer in self.buffers if buffer.writable)

    def read(self) -> bytes:
        """All device-readable bytes."""
        views = (self.memory.view(buffer.address, buffer.length)
                 for buffer in self.buffers if not buffer.writable)
        return b"".join(views)

    def write(self, data: bytes, offset: int = 0) -> int:
        """Writes data into the device-writable bytes from offset on, and returns how many bytes that were."""
        size = len(data)
        if offset < 0 or offset + size > self.writable():
            raise RingError(f"chain {self.id}: {size} bytes at offset {offset} do not fit into"
                            f" {self.writable()} device-writable bytes")
        source = memoryview(data)
        for address, length in self._writable_parts(offset, size):
            self.memory.view(address, length)[:] = source[:length]
            self.memory.mark(address, length)
            source = source[length:]
        return size

    def _writable_parts(self, offset: int, size: int) -> Iterator[tuple[int, int]]:
        """Guest address and length."""
        for buffer in self.buffers:
            if not buffer.writable:
                continue
            part = min(buffer.length - offset, size)
            if part > 0:
                yield buffer.address + offset, part
                size -= part
            offset = max(offset - buffer.length, 0)
