"""What a driver must not make available on a packed ring."""

import pytest
from ring_images import (AVAIL, DATA, DESC, DEVICE, DRIVER, GUEST, INDIRECT, NEXT, REGION, TABLES,
                         USED, USER, WRITE, FakeMemory, PackedDriver)
from scapy_vhost.errors import OutsideMemory, RingError
from scapy_vhost.packed import PackedRing

AT = GUEST + DATA


def refused(driver, message, error=RingError, **options):
    """The chain at slot 0 is refused, every time, and stays where it is."""
    ring = driver.ring(PackedRing, **options)
    for _ in range(2):
        with pytest.raises(error, match="^packed ring, " + message):
            ring.take()
        assert ring.base == 0x80008000


@pytest.mark.parametrize("descriptors, message", [
    ([(0, AVAIL)], "descriptor 0: length is zero: 0"),
    ([(8, AVAIL | NEXT), (0, AVAIL)], "descriptor 1: length is zero: 0"),
    ([(8, AVAIL | 0x8)], "descriptor 0: flags that are not allowed here: 0x0008"),
    ([(8, AVAIL | 0x4002)], "descriptor 0: flags that are not allowed here: 0x4002"),
    ([(8, AVAIL | NEXT | WRITE), (8, AVAIL)], "descriptor 1: device-readable after device-writable: 0x0080"),
    ([(8, AVAIL | INDIRECT)], "descriptor 0: INDIRECT was not accepted: 0x0004"),
    ([(8, AVAIL | NEXT), (8, 0)], "descriptor 1: not available though its head 0 is, flags: 0x0000"),
    ([(8, AVAIL | NEXT), (8, AVAIL | USED)], "descriptor 1: not available though its head 0 is, flags: 0x8080"),
    ([(8, AVAIL | NEXT), (8, USED)], "descriptor 1: not available though its head 0 is, flags: 0x8000"),
])
def test_chains_that_are_refused(descriptors, message):
    driver = PackedDriver(3)
    for slot, (length, flags) in enumerate(descriptors):
        driver.descriptor(slot, AT, length, 1, flags)
    refused(driver, message)


def test_a_chain_longer_than_the_ring():
    driver = PackedDriver(3)
    for slot in range(3):
        driver.descriptor(slot, AT, 8, 1, AVAIL | NEXT)
    refused(driver, "descriptor 0: chain from 0 is longer than the ring: 3")


def test_a_chain_across_the_end_with_the_wrap_value_of_its_head():
    driver = PackedDriver(3)
    driver.descriptor(2, AT, 8, 1, AVAIL | NEXT)
    driver.descriptor(0, AT, 8, 1, AVAIL)
    ring = driver.ring(PackedRing, base=0x80028002)
    with pytest.raises(RingError, match="descriptor 0: not available though its head 2 is, flags: 0x0080"):
        ring.take()
    driver.descriptor(0, AT, 8, 1, USED)
    assert ring.take().descriptors == 2


@pytest.mark.parametrize("length, flags, message", [
    (16, INDIRECT | NEXT, "descriptor 0: INDIRECT and NEXT together: 0x0005"),
    (0, INDIRECT, "descriptor 0: indirect table length is not a non-zero multiple of 16: 0"),
    (31, INDIRECT, "descriptor 0: indirect table length is not a non-zero multiple of 16: 31"),
    (64, INDIRECT, "descriptor 0: indirect table is longer than the ring: 4"),
])
def test_references_to_tables_that_are_refused(length, flags, message):
    driver = PackedDriver(3)
    driver.offer(1, (GUEST + TABLES, length, flags))
    refused(driver, message, indirect=True)


def test_indirect_after_direct_descriptors():
    driver = PackedDriver(3)
    driver.offer(1, (AT, 8, 0), (*driver.table((AT, 8, 0, 0)), INDIRECT))
    refused(driver, "descriptor 1: INDIRECT after direct descriptors: 0x0084", indirect=True)


@pytest.mark.parametrize("flags, message", [
    (INDIRECT, "INDIRECT inside an indirect table: 0x0004"),
    (NEXT, "flags that are not allowed here: 0x0001"),
    (AVAIL, "flags that are not allowed here: 0x0080"),
    (USED | WRITE, "flags that are not allowed here: 0x8002"),
    (0x10, "flags that are not allowed here: 0x0010"),
])
def test_flags_in_tables_that_are_refused(flags, message):
    driver = PackedDriver(3)
    driver.offer(1, (*driver.table((AT, 8, 0, 0), (AT, 8, 0, flags)), INDIRECT))
    refused(driver, "descriptor 0, element 1 of its indirect table: " + message, indirect=True)


@pytest.mark.parametrize("entries, message", [
    ([(0, 0)], "0 of its indirect table: length is zero: 0"),
    ([(8, WRITE), (8, 0)], "1 of its indirect table: device-readable after device-writable: 0x0000"),
])
def test_tables_that_are_refused(entries, message):
    driver = PackedDriver(3)
    driver.offer(1, (*driver.table(*[(AT, length, 0, flags) for length, flags in entries]), INDIRECT))
    refused(driver, "descriptor 0, element " + message, indirect=True)


@pytest.mark.parametrize("address, length", [(GUEST - 1, 2), (GUEST + REGION - 63, 64), (USER, 64)])
def test_addresses_outside_memory(address, length):
    driver = PackedDriver(3)
    driver.offer(1, (address, length, 0))
    refused(driver, "descriptor 0: offset", OutsideMemory)


def test_addresses_outside_memory_for_tables_and_in_them():
    driver = PackedDriver(3)
    driver.offer(1, (GUEST + REGION, 16, INDIRECT))
    refused(driver, "descriptor 0: offset", OutsideMemory, indirect=True)
    driver = PackedDriver(3)
    driver.offer(1, (*driver.table((GUEST + REGION, 1, 0, 0)), INDIRECT))
    refused(driver, "descriptor 0, element 0 of its indirect table: offset", OutsideMemory, indirect=True)


def test_a_buffer_id_in_flight():
    driver = PackedDriver(4)
    driver.offer(9, (AT, 8, 0), (AT, 8, 0))
    driver.offer(9, (AT, 8, 0))
    ring = driver.ring(PackedRing)
    first = ring.take()
    with pytest.raises(RingError, match="^packed ring, descriptor 2: buffer id is already in flight: 9"):
        ring.take()
    ring.complete(first, 0)
    assert ring.take().id == 9


def test_a_slot_made_available_while_it_is_in_flight():
    driver = PackedDriver(2)
    driver.offer(1, (AT, 8, 0))
    driver.offer(2, (AT, 8, 0))
    ring = driver.ring(PackedRing)
    ring.take()
    ring.take()
    driver.offer(3, (AT, 8, 0))
    with pytest.raises(RingError, match="descriptor 0: made available while it is in flight, flags: 0x8000"):
        ring.take()


@pytest.mark.parametrize("offset", range(16))
@pytest.mark.parametrize("slot", [0, 1])
def test_descriptors_that_change_in_flight(slot, offset):
    driver = PackedDriver(4)
    driver.offer(1, (AT, 8, 0), (AT, 8, 0))
    ring = driver.ring(PackedRing)
    chain = ring.take()
    at = DESC + 16 * slot + offset
    kept = driver.memory.get(at, 1)
    driver.memory.put(at, bytes([kept[0] ^ 1]))
    with pytest.raises(RingError, match=f"^packed ring, descriptor {slot}: changed in flight, was"):
        ring.complete(chain, 0)
    assert ring.base == 0x80008002
    driver.memory.put(at, kept)
    ring.complete(chain, 0)
    assert ring.base == 0x80028002


def test_a_slot_of_another_chain_that_changed_is_seen_before_it_is_overwritten():
    driver = PackedDriver(4)
    driver.offer(1, (AT, 8, 0))
    driver.offer(2, (AT, 8, 0))
    ring = driver.ring(PackedRing)
    ring.take()
    second = ring.take()
    driver.memory.put(DESC + 8, b"\x09")
    with pytest.raises(RingError, match="^packed ring, descriptor 0: changed in flight"):
        ring.complete(second, 0)


def test_tables_that_change_in_flight():
    driver = PackedDriver(4)
    driver.offer(1, (*driver.table((AT, 8, 0, 0), (AT, 8, 0, 0)), INDIRECT))
    ring = driver.ring(PackedRing, indirect=True)
    chain = ring.take()
    driver.memory.put(TABLES + 16 + 12, b"\x01")
    with pytest.raises(RingError, match="^packed ring, indirect table of chain 1, element 1: changed in flight"):
        ring.complete(chain, 0)


@pytest.mark.parametrize("size", [0, 32769])
def test_sizes_that_are_refused(size):
    with pytest.raises(RingError, match=f"^packed ring, queue size: not allowed: {size}"):
        PackedRing(FakeMemory(), size, USER, USER + DRIVER, USER + DEVICE)


@pytest.mark.parametrize("areas, message", [
    ((4, DRIVER, DEVICE), "descriptor area: address is not aligned to 16"),
    ((0, DRIVER + 2, DEVICE), "driver event: address is not aligned to 4"),
    ((0, DRIVER, DEVICE + 2), "device event: address is not aligned to 4"),
])
def test_areas_that_are_not_aligned(areas, message):
    with pytest.raises(RingError, match="^packed ring, " + message):
        PackedRing(FakeMemory(), 4, *[USER + area for area in areas])


@pytest.mark.parametrize("base", [0x80008004, 0x80048000])
def test_a_base_outside_the_ring(base):
    with pytest.raises(RingError, match=f"^packed ring, base: index is outside the ring: {base:#x}"):
        PackedDriver(4).ring(PackedRing, base=base)


def test_areas_outside_memory():
    with pytest.raises(OutsideMemory):
        PackedRing(FakeMemory(), 5, USER + REGION - 64, USER + DRIVER, USER + DEVICE)
    PackedRing(FakeMemory(), 4, USER + REGION - 64, USER + DRIVER, USER + DEVICE)
