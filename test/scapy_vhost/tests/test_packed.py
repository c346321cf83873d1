"""The device side of packed rings against byte images written by hand."""

import random

import pytest
from ring_images import (AVAIL, DATA, DESC, DEVICE, DRIVER, GUEST, INDIRECT, USED, WRITE,
                         PackedDriver)
from scapy_vhost.chain import Buffer
from scapy_vhost.packed import PackedRing

AT = GUEST + DATA


def offered(size=4, **options):
    """A ring full of chains of 64 writable bytes; the id of each is 10 more than its slot."""
    driver = PackedDriver(size)
    for slot in range(size):
        driver.offer(10 + slot, (AT + 64 * slot, 64, WRITE))
    return driver, driver.ring(PackedRing, **options)


def test_chains_from_bytes_to_used_descriptors():
    driver = PackedDriver(3)
    driver.memory.put(DESC, bytes.fromhex(
        "0000104001000000 0c000000 adde 8100"       # 0x140100000, 12 bytes, AVAIL NEXT; the id is not here
        "0001104001000000 10000000 3412 8200"       # 0x140100100, 16 bytes, id 0x1234, AVAIL WRITE
        "1000104001000000 05000000 ffff 8000"))     # 0x140100010, 5 bytes, id 0xffff, AVAIL
    driver.memory.put(DATA, b"twelve bytes")
    ring = driver.ring(PackedRing)
    assert (ring.base, ring.available()) == (0x80008000, 1)
    first = ring.take()
    assert (first.id, first.descriptors, first.indirect) == (0x1234, 2, False)
    assert first.buffers == (Buffer(0x140100000, 12, False), Buffer(0x140100100, 16, True))
    assert (first.read(), first.readable(), first.writable()) == (b"twelve bytes", 12, 16)
    assert (ring.base, ring.available()) == (0x80008002, 1)
    second = ring.take()
    assert (second.id, second.buffers) == (0xFFFF, (Buffer(0x140100010, 5, False),))
    assert (ring.base, ring.available(), ring.take()) == (0x80000000, 0, None)
    assert first.write(b"answer") == 6
    ring.complete(first, 6)
    assert ring.base == 0x80020000
    ring.complete(second, 0)
    assert ring.base == 0
    assert driver.memory.get(DESC, 48) == bytes.fromhex(
        "0000104001000000 06000000 3412 8280"       # used in the first lap: AVAIL USED, WRITE with a length
        "0001104001000000 10000000 3412 8200"       # passed over
        "1000104001000000 00000000 ffff 8080")
    driver.memory.put(DESC, bytes.fromhex("1000104001000000 05000000 0700 0080"))
    assert ring.available() == 1
    again = ring.take()
    ring.complete(again, 0)
    assert driver.memory.get(DESC, 16) == bytes.fromhex("1000104001000000 00000000 0700 0000")
    assert ring.base == 0x00010001


@pytest.mark.parametrize("flags", [0x0000, 0x8080, 0x8000])
def test_only_avail_without_used_is_available_in_the_first_lap(flags):
    driver = PackedDriver(4)
    driver.descriptor(0, AT, 64, 1, flags)
    ring = driver.ring(PackedRing)
    assert (ring.available(), ring.take(), ring.base) == (0, None, 0x80008000)


@pytest.mark.parametrize("flags", [0x0000, 0x8080, 0x0080])
def test_only_used_without_avail_is_available_in_the_second_lap(flags):
    driver = PackedDriver(4)
    driver.descriptor(0, AT, 64, 1, flags)
    ring = driver.ring(PackedRing, base=0)
    assert (ring.available(), ring.take(), ring.base) == (0, None, 0)


def test_completion_out_of_order_skips_by_chain_length():
    driver = PackedDriver(7)
    driver.offer(1, (AT, 8, 0), (AT, 8, 0), (AT, 8, WRITE))
    driver.offer(2, (AT, 8, 0))
    driver.offer(3, (AT, 8, 0), (AT, 8, WRITE))
    ring = driver.ring(PackedRing)
    one, two, three = (ring.take() for _ in range(3))
    slots_of = {1: 3, 2: 1, 3: 2}
    ring.complete(three, 5)
    assert (driver.used(slots_of), driver.used(slots_of)) == ((3, 5, AVAIL | USED | WRITE), None)
    ring.complete(one, 0)
    assert (driver.used_slot, driver.used(slots_of)) == (2, (1, 0, AVAIL | USED))
    ring.complete(two, 0)
    assert (driver.used_slot, driver.used(slots_of)) == (5, (2, 0, AVAIL | USED))
    assert ring.base == 0x80068006


def test_slots_that_were_passed_are_the_drivers_again():
    """The used element of the second chain lies in the first one's slot; both slots are reused before it is done."""
    driver = PackedDriver(2)
    driver.offer(1, (AT, 8, 0))
    driver.offer(2, (AT, 8, 0))
    ring = driver.ring(PackedRing)
    slow = ring.take()
    for lap in range(6):
        ring.complete(ring.take(), 0)
        assert driver.used({2: 1}) == (2, 0, AVAIL | USED if lap % 4 < 2 else 0)
        driver.offer(2, (AT, 8, 0))
    ring.complete(slow, 0)
    assert driver.used({1: 1}) == (1, 0, 0)


def test_a_batch_shows_its_first_descriptor_last():
    driver = PackedDriver(5)
    driver.offer(1, (AT, 8, WRITE), (AT, 8, WRITE))
    driver.offer(2, (AT, 8, WRITE))
    driver.offer(3, (AT, 8, WRITE))
    ring = driver.ring(PackedRing)
    chains = [ring.take() for _ in range(3)]
    stores = Recorder(ring._words)
    ring._words = stores
    ring.complete_batch([(chains[1], 8), (chains[0], 7), (chains[2], 6)])
    assert [at for at in stores.order if at % 8 == 7] == [8 * 1 + 7, 8 * 3 + 7, 8 * 0 + 7]
    assert stores.order[-1] == 7
    slots_of = {1: 2, 2: 1, 3: 1}
    used = AVAIL | USED | WRITE
    assert [driver.used(slots_of) for _ in range(3)] == [(2, 8, used), (1, 7, used), (3, 6, used)]
    before = len(stores.order)
    ring.complete_batch([])
    assert len(stores.order) == before


class Recorder:
    """Words that keep the places of all stores."""

    def __init__(self, words):
        self.words, self.order = words, []

    def __getitem__(self, at):
        return self.words[at]

    def __setitem__(self, at, value):
        self.order.append(at)
        self.words[at] = value


def test_a_batch_across_the_end_of_the_ring():
    driver, ring = offered(3)
    for _ in range(2):
        ring.complete(ring.take(), 0)
        driver.used({10: 1, 11: 1})
    driver.offer(20, (AT, 8, 0), (AT, 8, WRITE))
    ring.complete_batch([(ring.take(), 1), (ring.take(), 2)])
    assert [driver.flags(slot) for slot in (2, 0)] == [AVAIL | USED | WRITE, WRITE]
    assert [driver.used({12: 1, 20: 2}) for _ in range(2)] == [(12, 1, 0x8082), (20, 2, 0x0002)]
    assert ring.base == 0x00020002


@pytest.mark.parametrize("size", [1, 2, 7, 256, 257])
def test_many_laps_with_chains_across_the_end(size):
    driver = PackedDriver(size)
    ring = driver.ring(PackedRing)
    shuffle = random.Random(size)
    flying, slots_of, free, ids = [], {}, size, list(range(65536 - 2 * size, 65536))
    slots = crossing = 0
    while slots < 40 * size + 4000:
        while free and shuffle.random() < 0.9:
            count = shuffle.randint(1, min(free, 5))
            buffer_id = ids.pop(shuffle.randrange(len(ids)))
            slots_of[buffer_id] = count
            crossing += driver.slot + count > size
            driver.offer(buffer_id, *[(AT + 16 * buffer_id + step, step + 1, WRITE) for step in range(count)])
            free -= count
            slots += count
        while (chain := ring.take()) is not None:
            assert chain.descriptors == slots_of[chain.id]
            assert chain.buffers == tuple(Buffer(AT + 16 * chain.id + step, step + 1, True)
                                          for step in range(slots_of[chain.id]))
            flying.append(chain)
        assert ring.base & 0xFFFF == driver.slot | driver.wrap << 15
        shuffle.shuffle(flying)
        done = [flying.pop() for _ in range(shuffle.randint(0, len(flying)))]
        ring.complete_batch([(chain, chain.id % 3) for chain in done])
        for chain in done:
            wrap = AVAIL | USED if driver.used_wrap else 0
            flags = wrap | (WRITE if chain.id % 3 else 0)
            assert driver.used(slots_of) == (chain.id, chain.id % 3, flags)
            free += slots_of.pop(chain.id)
            ids.append(chain.id)
        assert driver.used(slots_of) is None
        assert ring.base >> 16 == driver.used_slot | driver.used_wrap << 15
    assert crossing > 20 or size == 1


def test_the_largest_ring():
    driver = PackedDriver(32768)
    driver.slot, driver.used_slot = 32767, 32767
    driver.offer(5, (AT, 8, 0), (AT, 8, WRITE))
    ring = driver.ring(PackedRing, base=0xFFFFFFFF)
    chain = ring.take()
    assert (chain.descriptors, ring.base) == (2, 0xFFFF0001)
    ring.complete(chain, 8)
    assert (driver.used({5: 2}), ring.base) == ((5, 8, 0x8082), 0x00010001)


def test_untaken_chains_come_again_also_across_the_end():
    driver = PackedDriver(3)
    driver.slot, driver.used_slot = 2, 2
    driver.offer(1, (AT, 8, 0), (AT, 8, 0))
    driver.offer(2, (AT, 9, 0))
    ring = driver.ring(PackedRing, base=0x80028002)
    first, second = ring.take(), ring.take()
    assert ring.base == 0x80020002
    ring.untake()
    assert (ring.base, ring.available()) == (0x80020001, 1)
    assert ring.take().buffers == second.buffers
    ring.untake(2)
    assert ring.base == 0x80028002
    again = ring.take()
    assert (again.id, again.buffers) == (first.id, first.buffers)
    ring.complete(again, 0)
    assert driver.used({1: 2}) == (1, 0, AVAIL | USED)
    assert ring.take().id == 2


def test_only_the_last_taken_chains_can_be_given_back():
    _, ring = offered()
    ring.take()
    ring.complete(ring.take(), 0)
    with pytest.raises(ValueError, match="the last 1 taken"):
        ring.untake()
    assert ring.base == 0x80018002


def test_indirect_tables_are_read_by_position():
    driver = PackedDriver(4)
    address, length = driver.table((AT, 8, 0xAAAA, 0), (AT + 8, 9, 0xBBBB, WRITE), (AT + 17, 1, 0, WRITE))
    driver.offer(6, (address, length, INDIRECT | WRITE))
    driver.offer(7, (AT, 3, 0))
    ring = driver.ring(PackedRing, indirect=True)
    chain = ring.take()
    assert (chain.id, chain.descriptors, chain.indirect) == (6, 1, True)
    assert chain.buffers == (Buffer(AT, 8, False), Buffer(AT + 8, 9, True), Buffer(AT + 17, 1, True))
    ring.complete(chain, 10)
    assert driver.used({6: 1}) == (6, 10, AVAIL | USED | WRITE)
    assert ring.take().id == 7


def test_one_used_descriptor_for_an_in_order_batch():
    driver = PackedDriver(5)
    driver.offer(1, (AT, 8, 0), (AT, 8, 0))
    driver.offer(2, (AT, 8, 0))
    driver.offer(3, (AT, 8, 0))
    ring = driver.ring(PackedRing, in_order=True)
    chains = [ring.take() for _ in range(3)]
    before = driver.memory.get(DESC + 16, 48)
    with pytest.raises(ValueError, match="oldest chains"):
        ring.complete_in_order_batch(chains[1:], 0)
    with pytest.raises(ValueError, match="oldest chains"):
        ring.complete_batch([(chains[1], 0), (chains[0], 0)])
    ring.complete_in_order_batch(chains[:2], 4)
    assert driver.memory.get(DESC + 8, 8) == bytes.fromhex("04000000 0200 8280")
    assert driver.memory.get(DESC + 16, 48) == before
    assert ring.base == 0x80038004
    ring.complete(chains[2], 0)
    assert driver.flags(3) == AVAIL | USED


def test_corrupt_descriptors_leave_the_account_alone():
    driver, ring = offered()
    ring.complete(ring.take(), 0)
    assert ring.wants_call() is True
    chain = ring.take()
    ring.corrupt_used(0x1BEEF, 0xFFFFFFFF)
    assert driver.memory.get(DESC + 16 + 8, 8) == bytes.fromhex("ffffffff efbe 8280")
    assert (ring.base, ring.wants_call()) == (0x80018002, False)
    ring.complete(chain, 64)
    assert driver.memory.get(DESC + 16 + 8, 8) == bytes.fromhex("40000000 0b00 8280")


def test_scribble_is_repeatable_and_stays_in_the_drivers_areas():
    images = []
    for seed in (1, 1, 2):
        driver, ring = offered()
        ring.scribble(seed)
        images.append((driver.memory.get(DESC, 64), driver.memory.get(DRIVER, 4)))
        assert driver.memory.get(DESC + 64, 64) + driver.memory.get(DRIVER + 4, 64) == bytes(128)
        assert driver.memory.get(DEVICE, 64) == bytes(64)
    assert images[0] == images[1] != images[2]
