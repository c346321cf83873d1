"""The device side of a split virtqueue (VIRTIO 1.3, 2.7)."""

from collections.abc import Iterable

from .chain import Buffer, Chain
from .ring import LARGEST_QUEUE, Ring
from .words import DESCRIPTOR, DESCRIPTOR_BYTES, INDIRECT, NEXT, WRITE, words16, words32

# The used and the available ring both begin with these two 16-bit words; elements follow at byte 4.
FLAGS = 0
INDEX = 1
FIRST = 2

NO_INTERRUPT = 1
NO_NOTIFY = 1

LONGEST_CHAIN_BYTES = 1 << 32


class SplitRing(Ring):
    """Descriptor table, available ring and used ring."""

    kind = "split"

    def __init__(self, memory, size: int, desc: int, driver: int, device: int, *, event_idx: bool = False,
                 indirect: bool = False, in_order: bool = False, base: int = 0):
        super().__init__(memory, size, desc, driver, device,
                         event_idx=event_idx, indirect=indirect, in_order=in_order)
        if not 0 <= base <= 0xFFFF:
            self._fail("base", "not a 16-bit index", base)
        self._available_bytes = self._area("available ring", driver, 2, 6 + 2 * size)
        used = self._area("used ring", device, 4, 6 + 8 * size)
        self._available = words16(self._available_bytes)
        self._used = words16(used)
        self._elements = words32(used[4:4 + 8 * size])
        self._used_event = FIRST + size             # 2.7.7: after the last element, in 16-bit words
        self._avail_event = FIRST + 4 * size        # 2.7.10: likewise
        self._next = base
        self._seen = base
        self._used_index = self._used[INDEX]
        self._armed: int | None = None
        # 2.7.5: with IN_ORDER a fresh ring begins at descriptor 0. Where a ring goes on is known only from
        # its first head, because the base counts chains and not descriptors.
        self._expected_head = 0 if base == 0 else None

    @property
    def base(self) -> int:
        """The available index of the next chain to take."""
        return self._next

    def available(self) -> int:
        """Chains that are available and not taken."""
        index = self._available[INDEX]
        while True:
            self._see(index)
            if not self.event_idx or self._armed == self._event_for(index):
                return (index - self._next) & 0xFFFF
            self._arm(index)
            self._fence()
            index = self._available[INDEX]

    def take(self) -> Chain | None:
        """The next available chain, or None."""
        if self.available() == 0:
            return None
        place = self._next
        head = self._available[FIRST + place % self.size]
        name = f"available index {place}"
        if head >= self.size:
            self._fail(name, "head is outside the descriptor table", head)
        if head in self._flying:
            self._fail(name, "head is already in flight", head)
        if self.in_order and self._expected_head not in (None, head):
            self._fail(name, f"IN_ORDER expects head {self._expected_head}", head)
        buffers: list[Buffer] = []
        slots, table = self._walk(head, buffers)
        if len(buffers) > self.size:
            self._fail(f"chain {head}", "longer than the ring with its indirect table", len(buffers))
        total = sum(buffer.length for buffer in buffers)
        if total > LONGEST_CHAIN_BYTES:
            self._fail(f"chain {head}", "more than 2^32 bytes", total)
        self._next = (place + 1) & 0xFFFF
        self._expected_head = (head + len(slots)) % self.size
        return self._take(head, buffers, slots, table, place)

    def corrupt_used(self, id: int, written: int) -> None:
        """Writes any used element and moves the index in memory by one."""
        index = self._used[INDEX]
        self._store_element(index, id, written)
        self.set_used_index(index + 1)

    def set_used_index(self, index: int) -> None:
        """Stores any used index."""
        self._used[INDEX] = index & 0xFFFF
        self._mark_device_area(2 * INDEX, 2)

    def _size_allowed(self) -> bool:
        return 1 <= self.size <= LARGEST_QUEUE and self.size & (self.size - 1) == 0

    def _driver_area(self) -> memoryview:
        return self._available_bytes

    def _see(self, index: int) -> None:
        # 2.7.6.1: the index never goes back, and no more chains than slots are with the device. A step
        # back is a step forward of nearly 65536.
        waiting = (self._seen - self._next) & 0xFFFF
        step = (index - self._seen) & 0xFFFF
        if waiting + step + len(self._flying) > self.size:
            self._fail("available ring", f"index leaped from {self._seen} with {len(self._flying)} chains in"
                       f" flight and {waiting} waiting", index)
        self._seen = index

    def _walk(self, head: int, buffers: list[Buffer]) -> tuple[dict[int, bytes], tuple[int, bytes] | None]:
        slots: dict[int, bytes] = {}
        table = None
        index: int | None = head
        while index is not None:
            place = f"descriptor {index}"
            if index in slots:
                self._fail(place, f"chain {head} comes back here, longer than the ring after", len(slots))
            if self._kept[index] is not None:
                self._fail(place, f"link of chain {head} is already in flight", index)
            slots[index] = self._descriptor(index)
            address, length, flags, link = DESCRIPTOR.unpack(slots[index])
            self._check_flags(place, flags, NEXT | WRITE | INDIRECT)
            if flags & INDIRECT:
                # 2.7.5.3.2: the table may end a chain of direct descriptors, and its WRITE flag has no meaning.
                table = (address, self._read_table(place, address, length))
                self._walk_table(place, table[1], buffers)
            else:
                self._add_buffer(buffers, place, address, length, flags)
            index = self._link(place, index, link, self.size) if flags & NEXT else None
        return slots, table

    def _walk_table(self, place: str, raw: bytes, buffers: list[Buffer]) -> None:
        elements = len(raw) // DESCRIPTOR_BYTES
        walked: set[int] = set()
        index: int | None = 0
        while index is not None:
            where = f"{place}, element {index} of its indirect table"
            if index in walked:
                self._fail(where, "the table's chain comes back here, longer than the table after", len(walked))
            walked.add(index)
            address, length, flags, link = DESCRIPTOR.unpack_from(raw, DESCRIPTOR_BYTES * index)
            self._check_flags(where, flags, NEXT | WRITE)
            self._add_buffer(buffers, where, address, length, flags)
            index = self._link(where, index, link, elements) if flags & NEXT else None

    def _link(self, place: str, index: int, link: int, elements: int) -> int:
        if link >= elements:
            self._fail(place, "next is outside the table", link)
        # 2.7.5.2 for the descriptor table, 2.7.5.3.1 for an indirect one. A table is walked from element 0,
        # so coming back to 0 there is found as a loop.
        if self.in_order and link != (index + 1) % elements:
            self._fail(place, f"IN_ORDER expects next {(index + 1) % elements}", link)
        return link

    def _returned(self, chains: list[Chain]) -> Iterable[int]:
        return [slot for chain in chains for slot in chain.slots]

    def _used_step(self, chains: list[Chain]) -> int:
        return len(chains)

    def _publish(self, elements: list[tuple[int, int, int]]) -> None:
        for head, written, step in elements:
            self._store_element(self._used_index, head, written)
            self._used_index = (self._used_index + step) & 0xFFFF
        self.set_used_index(self._used_index)

    def _store_element(self, index: int, head: int, written: int) -> None:
        slot = index % self.size
        self._elements[2 * slot] = head
        self._elements[2 * slot + 1] = written
        self._mark_device_area(4 + 8 * slot, 8)

    def _give_back(self, chain: Chain) -> None:
        self._next = chain.place
        self._expected_head = chain.id

    def _driver_wants(self, completed: int) -> bool:
        flags = self._available[FLAGS]
        if flags & ~(0 if self.event_idx else NO_INTERRUPT):
            # 2.7.7.1: 0 or 1, and only 0 with EVENT_IDX.
            self._fail("available ring", "flags that are not allowed here", f"{flags:#06x}")
        if not self.event_idx:
            return not flags
        # 2.7.7.2: whether the span of the completed elements crossed the one that the driver named.
        event = self._available[self._used_event]
        return (self._used_index - event - 1) & 0xFFFF < completed

    def _event_for(self, index: int) -> int:
        # An element behind the index is crossed only after 65535 more of them.
        return index if self._kicks else (index - 1) & 0xFFFF

    def _arm(self, index: int) -> None:
        self._armed = self._event_for(index)
        self._used[self._avail_event] = self._armed
        self._mark_device_area(2 * self._avail_event, 2)

    def _ask_for_kicks(self) -> None:
        if self.event_idx:
            self._arm(self._available[INDEX])
        else:
            self._used[FLAGS] = 0 if self._kicks else NO_NOTIFY
            self._mark_device_area(2 * FLAGS, 2)
