"""The device side of a packed virtqueue (VIRTIO 1.3, 2.8)."""

from collections.abc import Iterable

from .chain import Buffer, Chain
from .ring import LARGEST_QUEUE, Ring
from .words import DESCRIPTOR, DESCRIPTOR_BYTES, INDIRECT, NEXT, WRITE, words16, words32

AVAIL = 0x80
USED = 0x8000

# Event structures (2.8.14), in 16-bit words, and the values of their flags.
OFF_WRAP = 0
EVENT_FLAGS = 1
ENABLE = 0
DISABLE = 1
DESC = 2

FRESH_BASE = 0x80008000


class PackedRing(Ring):
    """Descriptor ring, driver event structure and device event structure.

    Positions are pairs of slot and wrap counter. From the used position up to the available position the
    slots are with the device. Chains completed out of order make the used position pass over slots of chains
    that are still in flight: those slots are the driver's again, the chain's buffers are not.
    """

    kind = "packed"

    def __init__(self, memory, size: int, desc: int, driver: int, device: int, *, event_idx: bool = False,
                 indirect: bool = False, in_order: bool = False, base: int = FRESH_BASE):
        super().__init__(memory, size, desc, driver, device,
                         event_idx=event_idx, indirect=indirect, in_order=in_order)
        self._driver_bytes = self._area("driver event", driver, 4, 4)
        self._driver_event = words16(self._driver_bytes)
        self._device_event = words16(self._area("device event", device, 4, 4))
        self._words = words16(self._table)
        self._double_words = words32(self._table)
        self._next = (base & 0x7FFF, base >> 15 & 1)
        self._used = (base >> 16 & 0x7FFF, base >> 31 & 1)
        if max(self._next[0], self._used[0]) >= size:
            self._fail("base", "index is outside the ring", f"{base:#010x}")
        self._armed: tuple[int, int] | None = None

    @property
    def base(self) -> int:
        """Available index and wrap counter, used index and wrap counter."""
        return self._next[0] | self._next[1] << 15 | self._used[0] << 16 | self._used[1] << 31

    def available(self) -> int:
        """1 when at least one chain is available and not taken, else 0."""
        while not self._is_available(self._next):
            if not (self.event_idx and self._kicks) or self._armed == self._next:
                return 0
            self._arm()
            self._fence()
        return 1

    def take(self) -> Chain | None:
        """The next available chain, or None."""
        if self.available() == 0:
            return None
        place = self._next
        buffers: list[Buffer] = []
        slots, table, buffer_id = self._walk(buffers)
        if buffer_id in self._flying:
            self._fail(f"descriptor {place[0]}", "buffer id is already in flight", buffer_id)
        self._next = self._after(place, len(slots))
        return self._take(buffer_id, buffers, slots, table, place)

    def corrupt_used(self, id: int, written: int) -> None:
        """Writes any used descriptor at the used position.

        A driver may take the slot for its own from here on, so it is no longer compared at completion.
        """
        slot = self._used[0]
        self._kept[slot] = None
        self._store_flags(slot, self._store_element(slot, id & 0xFFFF, written))

    def set_used_index(self, index: int) -> None:
        """Only a split ring has one."""
        raise ValueError(f"a packed ring has no used index to set to {index}")

    def _size_allowed(self) -> bool:
        return 1 <= self.size <= LARGEST_QUEUE

    def _driver_area(self) -> memoryview:
        return self._driver_bytes

    def _after(self, place: tuple[int, int], count: int) -> tuple[int, int]:
        slot, wrap = place
        slot += count
        return (slot, wrap) if slot < self.size else (slot - self.size, wrap ^ 1)

    def _is_available(self, place: tuple[int, int]) -> bool:
        # 2.8.1: AVAIL equals the wrap counter of this slot and USED does not. The word is polled, so it is
        # one load, and the rest of the descriptor is read after it.
        slot, wrap = place
        return self._words[8 * slot + 7] & (AVAIL | USED) == (AVAIL if wrap else USED)

    def _walk(self, buffers: list[Buffer]) -> tuple[dict[int, bytes], tuple[int, bytes] | None, int]:
        slots: dict[int, bytes] = {}
        at = self._next
        while True:
            slot = at[0]
            place = f"descriptor {slot}"
            if slot in slots:
                self._fail(place, f"chain from {self._next[0]} is longer than the ring", len(slots))
            if not self._is_available(at):
                # 2.8.17: the head becomes available after all that follows it.
                self._fail(place, f"not available though its head {self._next[0]} is, flags",
                           f"{self._words[8 * slot + 7]:#06x}")
            if self._kept[slot] is not None:
                self._fail(place, "made available while it is in flight, flags",
                           f"{self._words[8 * slot + 7]:#06x}")
            slots[slot] = self._descriptor(slot)
            address, length, buffer_id, flags = DESCRIPTOR.unpack(slots[slot])
            self._check_flags(place, flags & ~(AVAIL | USED), NEXT | WRITE | INDIRECT)
            if flags & INDIRECT:
                if buffers:
                    self._fail(place, "INDIRECT after direct descriptors", f"{flags:#06x}")
                # 2.8.7: the WRITE flag of this descriptor has no meaning.
                table = self._read_table(place, address, length)
                self._walk_table(place, table, buffers)
                return slots, (address, table), buffer_id
            self._add_buffer(buffers, place, address, length, flags)
            if not flags & NEXT:
                return slots, None, buffer_id
            at = self._after(at, 1)

    def _walk_table(self, place: str, raw: bytes, buffers: list[Buffer]) -> None:
        # 2.8.7: elements lie one after the other and have no link and no id. 2.8.19: no flag but WRITE.
        for element, (address, length, _, flags) in enumerate(DESCRIPTOR.iter_unpack(raw)):
            where = f"{place}, element {element} of its indirect table"
            self._check_flags(where, flags, WRITE)
            self._add_buffer(buffers, where, address, length, flags)

    def _used_step(self, chains: list[Chain]) -> int:
        return sum(chain.descriptors for chain in chains)

    def _returned(self, chains: list[Chain]) -> Iterable[int]:
        first = self._used[0]
        return [at % self.size for at in range(first, first + self._used_step(chains))]

    def _publish(self, elements: list[tuple[int, int, int]]) -> None:
        # 2.8.9: the driver waits at the first element, so it sees the batch when that one's flags change.
        head = self._used[0]
        head_flags = None
        for buffer_id, written, step in elements:
            slot = self._used[0]
            flags = self._store_element(slot, buffer_id, written)
            if head_flags is None:
                head_flags = flags
            else:
                self._store_flags(slot, flags)
            self._used = self._after(self._used, step)
        self._store_flags(head, head_flags)

    def _store_element(self, slot: int, buffer_id: int, written: int) -> int:
        # 2.8.4: without WRITE the driver ignores the length. Its flags word is returned, not stored.
        self._double_words[4 * slot + 2] = written
        self._words[8 * slot + 6] = buffer_id
        return (AVAIL | USED if self._used[1] else 0) | (WRITE if written else 0)

    def _store_flags(self, slot: int, flags: int) -> None:
        self._words[8 * slot + 7] = flags
        self.memory.mark_user(self._desc + DESCRIPTOR_BYTES * slot, DESCRIPTOR_BYTES)

    def _give_back(self, chain: Chain) -> None:
        self._next = chain.place

    def _driver_wants(self, completed: int) -> bool:
        flags = self._driver_event[EVENT_FLAGS]
        # 2.8.14: the third value only with EVENT_IDX, the other bits reserved.
        if flags > (DESC if self.event_idx else DISABLE):
            self._fail("driver event", "flags that are not allowed here", f"{flags:#06x}")
        if flags != DESC:
            return flags == ENABLE
        off_wrap = self._driver_event[OFF_WRAP]
        event = (off_wrap & 0x7FFF, off_wrap >> 15)
        if event[0] >= self.size:
            self._fail("driver event", "offset is outside the ring", event[0])
        # A slot with its wrap counter names one place in two laps. Whether the completed span passed it.
        return (self._in_two_laps(self._used) - self._in_two_laps(event) - 1) % (2 * self.size) < completed

    def _in_two_laps(self, place: tuple[int, int]) -> int:
        return place[0] if place[1] else place[0] + self.size

    def _arm(self) -> None:
        self._armed = self._next
        self._device_event[OFF_WRAP] = self._next[0] | self._next[1] << 15
        self._device_event[EVENT_FLAGS] = DESC
        self._mark_device_area(0, 4)

    def _ask_for_kicks(self) -> None:
        # A position that is available already brings no kick, so then every new chain is asked for, until a
        # look finds the ring empty and names the position where the next chain will be.
        self._armed = None
        if self._kicks and self.event_idx and not self._is_available(self._next):
            self._arm()
        else:
            self._device_event[EVENT_FLAGS] = ENABLE if self._kicks else DISABLE
            self._mark_device_area(0, 4)
