"""What the split and the packed ring have in common on the device side: the account of chains in flight.

A ring belongs to one thread. A chain is in flight from take to complete; until then the driver must leave its
descriptors alone (VIRTIO 1.3, 3.3.1), so their bytes are kept at take and compared at completion.

RingError and OutsideMemory say that the driver broke a rule; the ring's account is then as it was before the
call. ValueError says that the caller of this package did.
"""

import random
from abc import ABC, abstractmethod
from collections.abc import Iterable
from itertools import islice
from typing import Any, NoReturn

from .chain import Buffer, Chain
from .errors import OutsideMemory, RingError
from .words import DESCRIPTOR_BYTES, INDIRECT, NEXT, WRITE, Fence

LARGEST_QUEUE = 32768


class Ring(ABC):
    """The account of one virtqueue."""

    kind = ""

    def __init__(self, memory, size: int, desc: int, driver: int, device: int, *,
                 event_idx: bool, indirect: bool, in_order: bool):
        self.memory = memory
        self.size = size
        self.event_idx = event_idx
        self.indirect = indirect
        self.in_order = in_order
        self.log_address: int | None = None     # guest address that stands for the device area in the dirty log
        if not self._size_allowed():
            self._fail("queue size", "not allowed", size)
        self._desc, self._driver = desc, driver
        self._table = self._area("descriptor area", desc, 16, DESCRIPTOR_BYTES * size)
        self._fence = Fence()
        self._flying: dict[int, Chain] = {}         # by id, in the order of take
        self._kept: list[bytes | None] = [None] * size      # bytes of each descriptor in flight
        self._sequence = 0
        self._kicks = True
        self._uncalled = 0      # completed since the last wants_call: split chains, packed slots

    def complete(self, chain: Chain, written: int) -> None:
        """Hands one chain back; written goes out as it is, also when it is not true."""
        self.complete_batch([(chain, written)])

    def complete_batch(self, pairs: Iterable[tuple[Chain, int]]) -> None:
        """Hands chains back, each with a used element of its own, and shows them all at once."""
        pairs = list(pairs)
        chains = [chain for chain, _ in pairs]
        self._check_completion(chains)
        self._finish(chains, [(chain.id, written, self._used_step([chain])) for chain, written in pairs])

    def complete_in_order_batch(self, chains: Iterable[Chain], written: int) -> None:
        """Hands the oldest chains back with one used element, which names the last of them (2.7.9, 2.8.8)."""
        if not self.in_order:
            raise ValueError("a batch with one used element needs IN_ORDER")
        chains = list(chains)
        self._check_completion(chains)
        if chains:
            self._finish(chains, [(chains[-1].id, written, self._used_step(chains))])

    def untake(self, n: int = 1) -> None:
        """Gives the last n taken chains back to the driver side; they stay available."""
        last = list(islice(reversed(self._flying.values()), n))
        if [chain.sequence for chain in last] != [self._sequence - 1 - i for i in range(n)]:
            raise ValueError(f"the last {n} taken chains are not all in flight")
        for chain in last:
            del self._flying[chain.id]
            for slot in chain.slots:
                self._kept[slot] = None
            self._give_back(chain)
        self._sequence -= n

    def wants_call(self) -> bool:
        """Whether the driver wants a notification for what was completed since the last call of this method."""
        if self._uncalled == 0:
            return False
        self._fence()
        wanted = self._driver_wants(self._uncalled)
        self._uncalled = 0
        return wanted

    def want_kicks(self, wanted: bool) -> None:
        """Turns kicks on or off; after turning them on, look at the ring once more before sleeping.

        With EVENT_IDX every later look at the ring asks for a kick at the next new chain again.
        """
        self._kicks = wanted
        self._ask_for_kicks()
        self._fence()

    def scribble(self, seed: int) -> None:
        """Writes random bytes over the descriptor area and the driver area, which are the driver's."""
        source = random.Random(seed)
        for address, area in ((self._desc, self._table), (self._driver, self._driver_area())):
            area[:] = source.randbytes(len(area))
            self.memory.mark_user(address, len(area))

    @abstractmethod
    def _size_allowed(self) -> bool:
        """Whether the queue size is one that this kind of ring can have."""

    @abstractmethod
    def _driver_area(self) -> memoryview:
        """The bytes of the driver area."""

    @abstractmethod
    def _returned(self, chains: list[Chain]) -> Iterable[int]:
        """The slots that go back to the driver when the chains are completed."""

    @abstractmethod
    def _used_step(self, chains: list[Chain]) -> int:
        """How far the used position moves over these chains."""

    @abstractmethod
    def _publish(self, elements: list[tuple[int, int, int]]) -> None:
        """Writes used elements (id, written bytes, step), the one word that shows them last."""

    @abstractmethod
    def _give_back(self, chain: Chain) -> None:
        """Moves the available position back to the chain."""

    @abstractmethod
    def _driver_wants(self, completed: int) -> bool:
        """The driver's suppression words against the completed span."""

    @abstractmethod
    def _ask_for_kicks(self) -> None:
        """Stores what the driver reads before it kicks."""

    def _fail(self, place: str, why: str, value: Any) -> NoReturn:
        raise RingError(f"{self.kind} ring, {place}: {why}: {value}")

    def _area(self, name: str, address: int, alignment: int, length: int) -> memoryview:
        if address % alignment:
            self._fail(name, f"address is not aligned to {alignment}", hex(address))
        return self.memory.view_user(address, length)

    def _mark_device_area(self, offset: int, length: int) -> None:
        """To be called after a write into the device area. The front end names an address for it and need not
        share memory there, so it is not found out from where the area lies."""
        if self.log_address is not None:
            self.memory.mark(self.log_address + offset, length)

    def _descriptor(self, slot: int) -> bytes:
        return bytes(self._table[DESCRIPTOR_BYTES * slot:DESCRIPTOR_BYTES * (slot + 1)])

    def _view(self, place: str, address: int, length: int) -> memoryview:
        try:
            return self.memory.view(address, length)
        except OutsideMemory as error:
            raise OutsideMemory(f"{self.kind} ring, {place}: {error}") from error

    def _check_flags(self, place: str, flags: int, allowed: int) -> None:
        shown = f"{flags:#06x}"
        if flags & INDIRECT and not allowed & INDIRECT:
            self._fail(place, "INDIRECT inside an indirect table", shown)
        if flags & ~allowed:
            self._fail(place, "flags that are not allowed here", shown)
        if flags & INDIRECT and not self.indirect:
            self._fail(place, "INDIRECT was not accepted", shown)
        if flags & INDIRECT and flags & NEXT:
            self._fail(place, "INDIRECT and NEXT together", shown)

    def _add_buffer(self, buffers: list[Buffer], place: str, address: int, length: int, flags: int) -> None:
        writable = bool(flags & WRITE)
        if length == 0:
            self._fail(place, "length is zero", length)
        if buffers and buffers[-1].writable and not writable:
            self._fail(place, "device-readable after device-writable", f"{flags:#06x}")
        self._view(place, address, length)
        buffers.append(Buffer(address, length, writable))

    def _read_table(self, place: str, address: int, length: int) -> bytes:
        if length == 0 or length % DESCRIPTOR_BYTES:
            self._fail(place, "indirect table length is not a non-zero multiple of 16", length)
        if length > DESCRIPTOR_BYTES * self.size:
            self._fail(place, "indirect table is longer than the ring", length // DESCRIPTOR_BYTES)
        return bytes(self._view(place, address, length))

    def _take(self, chain_id: int, buffers: list[Buffer], slots: dict[int, bytes],
              table: tuple[int, bytes] | None, place: Any) -> Chain:
        chain = Chain(chain_id, table is not None, tuple(buffers), self.memory, tuple(slots), place,
                      self._sequence, table)
        self._sequence += 1
        self._flying[chain_id] = chain
        for slot, raw in slots.items():
            self._kept[slot] = raw
        return chain

    def _check_completion(self, chains: list[Chain]) -> None:
        if len(set(map(id, chains))) != len(chains):
            raise ValueError("a chain is in the batch twice")
        for chain in chains:
            if self._flying.get(chain.id) is not chain:
                raise ValueError(f"chain {chain.id} is not in flight")
        if self.in_order and chains != list(islice(self._flying.values(), len(chains))):
            raise ValueError("with IN_ORDER the oldest chains are completed first")
        for chain in chains:
            self._check_table(chain)
            self._check_kept(chain.slots)
        self._check_kept(self._returned(chains))

    def _check_kept(self, slots: Iterable[int]) -> None:
        for slot in slots:
            kept = self._kept[slot]
            if kept is not None and self._descriptor(slot) != kept:
                self._fail(f"descriptor {slot}", f"changed in flight, was {kept.hex()}, is now",
                           self._descriptor(slot).hex())

    def _check_table(self, chain: Chain) -> None:
        if chain.table is None:
            return
        address, kept = chain.table
        place = f"indirect table of chain {chain.id}"
        now = bytes(self._view(place, address, len(kept)))
        for at in range(0, len(kept), DESCRIPTOR_BYTES):
            old, new = kept[at:at + DESCRIPTOR_BYTES], now[at:at + DESCRIPTOR_BYTES]
            if old != new:
                self._fail(f"{place}, element {at // DESCRIPTOR_BYTES}",
                           f"changed in flight, was {old.hex()}, is now", new.hex())

    def _finish(self, chains: list[Chain], elements: list[tuple[int, int, int]]) -> None:
        for _, written, _ in elements:
            if not 0 <= written <= 0xFFFFFFFF:
                raise ValueError(f"written is a 32-bit number, not {written}")
        for chain in chains:
            del self._flying[chain.id]
        for slot in self._returned(chains):
            self._kept[slot] = None
        if elements:
            self._publish(elements)
        self._uncalled += sum(step for _, _, step in elements)
