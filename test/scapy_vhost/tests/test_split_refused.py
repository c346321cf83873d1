"""What a driver must not make available on a split ring, and what IN_ORDER asks of it."""

import pytest
from ring_images import (DATA, DESC, DEVICE, DRIVER, GUEST, INDIRECT, NEXT, REGION, TABLES, USER,
                         WRITE, FakeMemory, SplitDriver)
from scapy_vhost.errors import OutsideMemory, RingError
from scapy_vhost.split import SplitRing


def refused(driver, message, error=RingError, **options):
    """The chain at head 0 is refused, every time, and stays where it is."""
    driver.offer(0)
    ring = driver.ring(SplitRing, **options)
    for _ in range(2):
        with pytest.raises(error, match="^split ring, " + message):
            ring.take()
        assert (ring.base, driver.used_index()) == (0, 0)


@pytest.mark.parametrize("index, message", [
    (5, "index leaped from 0 with 0 chains in flight and 0 waiting: 5"),
    (65535, "index leaped from 0 with 0 chains in flight and 0 waiting: 65535"),
])
def test_index_leaps(index, message):
    driver = SplitDriver(4)
    ring = driver.ring(SplitRing)
    driver.set_index(index)
    for look in (ring.available, ring.take):
        with pytest.raises(RingError, match="^split ring, available ring: " + message):
            look()


def test_index_goes_back():
    driver = SplitDriver.offered(count=3)
    ring = driver.ring(SplitRing)
    assert ring.available() == 3
    driver.set_index(2)
    with pytest.raises(RingError, match="index leaped from 3 with 0 chains in flight and 3 waiting: 2"):
        ring.available()


def test_index_counts_chains_in_flight():
    driver = SplitDriver.offered()
    ring = driver.ring(SplitRing)
    ring.take()
    driver.set_index(5)
    with pytest.raises(RingError, match="index leaped from 4 with 1 chains in flight and 3 waiting: 5"):
        ring.take()


def test_head_outside_the_table():
    driver = SplitDriver(4)
    driver.offer(4)
    with pytest.raises(RingError, match="^split ring, available index 0: head is outside the descriptor table: 4"):
        driver.ring(SplitRing).take()


@pytest.mark.parametrize("descriptors, message", [
    ([(64, NEXT, 4)], "descriptor 0: next is outside the table: 4"),
    ([(64, NEXT, 0)], "descriptor 0: chain 0 comes back here, longer than the ring after: 1"),
    ([(64, NEXT, 1), (64, NEXT, 2), (64, NEXT, 3), (64, NEXT, 1)],
     "descriptor 1: chain 0 comes back here, longer than the ring after: 4"),
    ([(0, 0, 0)], "descriptor 0: length is zero: 0"),
    ([(64, NEXT, 1), (0, WRITE, 0)], "descriptor 1: length is zero: 0"),
    ([(64, 8, 0)], "descriptor 0: flags that are not allowed here: 0x0008"),
    ([(64, 0x8002, 0)], "descriptor 0: flags that are not allowed here: 0x8002"),
    ([(64, NEXT | WRITE, 1), (64, 0, 0)], "descriptor 1: device-readable after device-writable: 0x0000"),
    ([(64, INDIRECT, 0)], "descriptor 0: INDIRECT was not accepted: 0x0004"),
])
def test_chains_that_are_refused(descriptors, message):
    driver = SplitDriver(4)
    for slot, (length, flags, link) in enumerate(descriptors):
        driver.descriptor(slot, length=length, flags=flags, link=link)
    refused(driver, message)


@pytest.mark.parametrize("length, flags, message", [
    (16, INDIRECT | NEXT, "descriptor 0: INDIRECT and NEXT together: 0x0005"),
    (0, INDIRECT, "descriptor 0: indirect table length is not a non-zero multiple of 16: 0"),
    (24, INDIRECT, "descriptor 0: indirect table length is not a non-zero multiple of 16: 24"),
    (80, INDIRECT, "descriptor 0: indirect table is longer than the ring: 5"),
])
def test_references_to_tables_that_are_refused(length, flags, message):
    driver = SplitDriver(4)
    driver.descriptor(0, GUEST + TABLES, length, flags)
    refused(driver, message, indirect=True)


@pytest.mark.parametrize("entries, message", [
    ([(16, INDIRECT, 0)], "0 of its indirect table: INDIRECT inside an indirect table: 0x0004"),
    ([(8, 0x10, 0)], "0 of its indirect table: flags that are not allowed here: 0x0010"),
    ([(8, NEXT, 2), (8, 0, 0)], "0 of its indirect table: next is outside the table: 2"),
    ([(8, NEXT, 1), (8, NEXT, 0)],
     "0 of its indirect table: the table's chain comes back here, longer than the table after: 2"),
    ([(0, 0, 0)], "0 of its indirect table: length is zero: 0"),
    ([(8, NEXT | WRITE, 1), (8, 0, 0)], "1 of its indirect table: device-readable after device-writable: 0x0000"),
])
def test_tables_that_are_refused(entries, message):
    driver = SplitDriver(4)
    address, size = driver.table(*[(GUEST + DATA, *entry) for entry in entries])
    driver.descriptor(0, address, size, INDIRECT)
    refused(driver, "descriptor 0, element " + message, indirect=True)


def test_chain_with_its_table_is_longer_than_the_ring():
    driver = SplitDriver(4)
    at = GUEST + DATA
    address, size = driver.table((at, 8, NEXT, 1), (at, 8, NEXT, 2), (at, 8, NEXT, 3), (at, 8, 0, 0))
    driver.descriptor(0, flags=NEXT, link=1)
    driver.descriptor(1, address, size, INDIRECT)
    refused(driver, "chain 0: longer than the ring with its indirect table: 5", indirect=True)


def test_more_than_4_gib_in_one_chain():
    driver = SplitDriver(4096)
    for slot in range(4096):
        driver.descriptor(slot, length=0x100000, flags=NEXT if slot < 4095 else 0, link=slot + 1)
    driver.offer(0)
    ring = driver.ring(SplitRing)
    assert ring.take().readable() == 1 << 32
    ring.untake()
    driver.descriptor(4095, length=0x100001)
    with pytest.raises(RingError, match="^split ring, chain 0: more than 2\\^32 bytes: 4294967297"):
        ring.take()


@pytest.mark.parametrize("address, length", [(GUEST - 1, 2), (GUEST + REGION - 63, 64), (USER, 64), (0, 1)])
def test_addresses_outside_memory(address, length):
    driver = SplitDriver(4)
    driver.descriptor(0, address, length)
    refused(driver, "descriptor 0: offset", OutsideMemory)


def test_addresses_outside_memory_for_tables_and_in_them():
    driver = SplitDriver(4)
    driver.descriptor(0, GUEST + REGION, 16, INDIRECT)
    refused(driver, "descriptor 0: offset", OutsideMemory, indirect=True)
    driver = SplitDriver(4)
    driver.descriptor(0, *driver.table((GUEST + REGION, 1, 0, 0)), INDIRECT)
    refused(driver, "descriptor 0, element 0 of its indirect table: offset", OutsideMemory, indirect=True)


def test_heads_and_links_in_flight():
    driver = SplitDriver(4)
    driver.descriptor(0, flags=NEXT, link=1)
    driver.descriptor(1)
    driver.descriptor(2, flags=NEXT, link=1)
    driver.offer(0, 0)
    ring = driver.ring(SplitRing)
    first = ring.take()
    with pytest.raises(RingError, match="^split ring, available index 1: head is already in flight: 0"):
        ring.take()
    driver.memory.put16(DRIVER + 6, 1)
    with pytest.raises(RingError, match="^split ring, descriptor 1: link of chain 1 is already in flight: 1"):
        ring.take()
    driver.memory.put16(DRIVER + 6, 2)
    with pytest.raises(RingError, match="^split ring, descriptor 1: link of chain 2 is already in flight: 1"):
        ring.take()
    ring.complete(first, 0)
    assert ring.take().id == 2


@pytest.mark.parametrize("offset", range(16))
@pytest.mark.parametrize("slot", [0, 1])
def test_descriptors_that_change_in_flight(slot, offset):
    driver = SplitDriver(4)
    driver.descriptor(0, flags=NEXT, link=1)
    driver.descriptor(1)
    driver.offer(0)
    ring = driver.ring(SplitRing)
    chain = ring.take()
    at = DESC + 16 * slot + offset
    kept = driver.memory.get(at, 1)
    driver.memory.put(at, bytes([kept[0] ^ 1]))
    with pytest.raises(RingError, match=f"^split ring, descriptor {slot}: changed in flight, was"):
        ring.complete(chain, 0)
    assert driver.used_index() == 0
    driver.memory.put(at, kept)
    ring.complete(chain, 0)
    assert driver.used_index() == 1


def test_tables_that_change_in_flight():
    driver = SplitDriver(4)
    driver.descriptor(0, *driver.table((GUEST + DATA, 8, NEXT, 1), (GUEST + DATA, 8, 0, 0)), INDIRECT)
    driver.offer(0)
    ring = driver.ring(SplitRing, indirect=True)
    chain = ring.take()
    driver.memory.put(TABLES + 16 + 8, b"\x09")
    with pytest.raises(RingError, match="^split ring, indirect table of chain 0, element 1: changed in flight"):
        ring.complete(chain, 0)


@pytest.mark.parametrize("size", [0, 3, 12, 65536])
def test_sizes_that_are_refused(size):
    with pytest.raises(RingError, match=f"^split ring, queue size: not allowed: {size}"):
        SplitRing(FakeMemory(), size, USER, USER + DRIVER, USER + DEVICE)


@pytest.mark.parametrize("areas, message", [
    ((8, DRIVER, DEVICE), "descriptor area: address is not aligned to 16"),
    ((0, DRIVER + 1, DEVICE), "available ring: address is not aligned to 2"),
    ((0, DRIVER, DEVICE + 2), "used ring: address is not aligned to 4"),
])
def test_areas_that_are_not_aligned(areas, message):
    with pytest.raises(RingError, match="^split ring, " + message):
        SplitRing(FakeMemory(), 4, *[USER + area for area in areas])


@pytest.mark.parametrize("base", [-1, 65536])
def test_a_base_that_is_no_index(base):
    with pytest.raises(RingError, match=f"^split ring, base: not a 16-bit index: {base}"):
        SplitDriver(4).ring(SplitRing, base=base)


def test_areas_outside_memory():
    with pytest.raises(OutsideMemory):
        SplitRing(FakeMemory(), 4, USER, USER + DRIVER, USER + REGION - 36)
    SplitRing(FakeMemory(), 4, USER, USER + DRIVER, USER + REGION - 40)






def test_in_order_heads_and_links():
    driver = SplitDriver(4)
    ring = driver.ring(SplitRing, in_order=True)
    driver.descriptor(0, flags=NEXT, link=1)
    driver.descriptor(1, flags=NEXT, link=2)
    driver.descriptor(2)
    driver.offer(0)
    ring.complete(ring.take(), 0)
    driver.descriptor(3, flags=NEXT, link=0)
    driver.descriptor(0)
    driver.offer(3)
    ring.take()
    driver.offer(2)
    with pytest.raises(RingError, match="^split ring, available index 2: IN_ORDER expects head 1: 2"):
        ring.take()
    ring.untake()
    assert ring.take().id == 3


@pytest.mark.parametrize("slot, link, expected", [(0, 2, 1), (1, 3, 2), (3, 1, 0)])
def test_in_order_links_that_are_refused(slot, link, expected):
    driver = SplitDriver(4)
    for at in range(4):
        driver.descriptor(at, flags=NEXT, link=(at + 1) % 4)
    driver.descriptor(slot, flags=NEXT, link=link)
    refused(driver, f"descriptor {slot}: IN_ORDER expects next {expected}: {link}", in_order=True)


def test_in_order_begins_at_descriptor_0_unless_it_goes_on():
    driver = SplitDriver(4)
    driver.descriptor(2)
    driver.offer(2)
    with pytest.raises(RingError, match="IN_ORDER expects head 0: 2"):
        driver.ring(SplitRing, in_order=True).take()
    driver.offer(2)
    ring = driver.ring(SplitRing, in_order=True, base=1)
    assert ring.take().id == 2


def test_in_order_tables_are_consecutive():
    driver = SplitDriver(4)
    at = GUEST + DATA
    driver.descriptor(0, *driver.table((at, 8, NEXT, 2), (at, 8, 0, 0), (at, 8, NEXT, 1)), INDIRECT)
    refused(driver, "descriptor 0, element 0 of its indirect table: IN_ORDER expects next 1: 2",
            indirect=True, in_order=True)


def test_one_used_element_for_an_in_order_batch():
    driver = SplitDriver.offered()
    ring = driver.ring(SplitRing, in_order=True)
    chains = [ring.take() for _ in range(4)]
    with pytest.raises(ValueError, match="oldest chains"):
        ring.complete_in_order_batch(chains[1:3], 7)
    with pytest.raises(ValueError, match="oldest chains"):
        ring.complete(chains[1], 7)
    ring.complete_in_order_batch(chains[:3], 7)
    assert ([driver.element(slot) for slot in range(4)], driver.used_index()) == ([(2, 7)] + [(0, 0)] * 3, 3)
    ring.complete(chains[3], 8)
    assert (driver.element(3), driver.used_index()) == ((3, 8), 4)
    ring.complete_in_order_batch([], 0)
    assert driver.used_index() == 4
