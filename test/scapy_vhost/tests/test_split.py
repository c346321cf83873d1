"""The device side of split rings against byte images written by hand."""

import random
import struct

import pytest
from ring_images import DATA, DESC, DEVICE, DRIVER, GUEST, INDIRECT, NEXT, WRITE, SplitDriver
from scapy_vhost.chain import Buffer
from scapy_vhost.errors import RingError
from scapy_vhost.split import SplitRing


def test_one_chain_from_bytes_to_used_element():
    driver = SplitDriver(4)
    driver.memory.put(DESC, bytes.fromhex(
        "0000104001000000 0c000000 0100 0200"       # 0x140100000, 12 bytes, NEXT, next 2
        "0000000000000000 00000000 0000 0000"
        "1000104001000000 05000000 0100 0300"       # 0x140100010, 5 bytes, NEXT, next 3
        "0001104001000000 10000000 0200 0000"))     # 0x140100100, 16 bytes, WRITE
    driver.memory.put(DATA, b"twelve bytes")
    driver.memory.put(DATA + 0x10, b"fives")
    driver.memory.put(DRIVER, bytes.fromhex("0000 0100 0000"))
    ring = driver.ring(SplitRing)
    assert ring.available() == 1
    chain = ring.take()
    assert (chain.id, chain.descriptors, chain.indirect) == (0, 3, False)
    assert chain.buffers == (Buffer(0x140100000, 12, False), Buffer(0x140100010, 5, False),
                             Buffer(0x140100100, 16, True))
    assert (chain.readable(), chain.writable()) == (17, 16)
    assert chain.read() == b"twelve bytesfives"
    assert chain.write(b"answer", 3) == 6
    assert driver.memory.get(DATA + 0x100, 16) == b"\0\0\0answer\0\0\0\0\0\0\0"
    assert (ring.available(), ring.take(), ring.base) == (0, None, 1)
    ring.complete(chain, 9)
    assert driver.memory.get(DEVICE, 4 + 16) == bytes.fromhex("0000 0100 00000000 09000000 0000000000000000")


def test_writes_cross_buffers_and_must_fit():
    driver = SplitDriver(4)
    driver.descriptor(0, GUEST + DATA, 3, NEXT, 1)
    driver.descriptor(1, GUEST + DATA + 16, 4, NEXT | WRITE, 2)
    driver.descriptor(2, GUEST + DATA + 32, 5, WRITE)
    driver.offer(0)
    chain = driver.ring(SplitRing).take()
    assert chain.write(b"abcdefghi") == 9
    assert chain.write(b"XY", 3) == 2
    assert chain.write(b"", 9) == 0
    assert driver.memory.get(DATA, 40) == bytes(16) + b"abcX" + bytes(12) + b"Yfghi" + bytes(3)
    with pytest.raises(RingError, match="chain 0: 2 bytes at offset 8 do not fit into 9"):
        chain.write(b"no", 8)
    with pytest.raises(RingError, match="chain 0: 1 bytes at offset -1 do not fit into 9"):
        chain.write(b"n", -1)


def test_used_elements_follow_the_order_of_completion():
    driver = SplitDriver.offered()
    ring = driver.ring(SplitRing)
    chains = [ring.take() for _ in range(4)]
    for which, written in ((2, 20), (0, 0), (3, 64), (1, 1)):
        ring.complete(chains[which], written)
    assert [driver.element(slot) for slot in range(4)] == [(2, 20), (0, 0), (3, 64), (1, 1)]
    assert driver.used_index() == 4


def test_a_batch_shows_all_elements_with_one_index():
    driver = SplitDriver.offered()
    ring = driver.ring(SplitRing)
    stores = []
    ring._used = Recorder(ring._used, lambda: stores.append([driver.element(slot) for slot in range(3)]))
    chains = [ring.take() for _ in range(4)]
    ring.complete_batch([(chains[1], 5), (chains[3], 6), (chains[0], 7)])
    assert stores == [[(1, 5), (3, 6), (0, 7)]]
    assert driver.used_index() == 3
    ring.complete_batch([])
    assert (driver.used_index(), len(stores)) == (3, 1)


class Recorder:
    """Words that tell before each store."""

    def __init__(self, words, before):
        self.words, self.before = words, before

    def __getitem__(self, at):
        return self.words[at]

    def __setitem__(self, at, value):
        self.before()
        self.words[at] = value


def test_70000_chains_on_a_small_ring():
    driver = SplitDriver(8)
    ring = driver.ring(SplitRing)
    shuffle = random.Random(1)
    free, done, flying = list(range(8)), 0, []
    while done < 70000:
        for _ in range(shuffle.randint(0, len(free))):
            slot = free.pop(shuffle.randrange(len(free)))
            driver.descriptor(slot, GUEST + DATA + 64 * slot, 64, WRITE)
            driver.offer(slot)
        while (chain := ring.take()) is not None:
            assert chain.buffers == (Buffer(GUEST + DATA + 64 * chain.id, 64, True),)
            flying.append(chain)
        shuffle.shuffle(flying)
        for _ in range(shuffle.randint(0, len(flying))):
            chain = flying.pop()
            ring.complete(chain, done % 65)
            assert driver.element(done % 8) == (chain.id, done % 65)
            free.append(chain.id)
            done += 1
            assert driver.used_index() == done % 65536
        assert ring.base == driver.index


def test_the_largest_ring():
    driver = SplitDriver(32768)
    driver.descriptor(32767, flags=WRITE)
    driver.index = 32767
    driver.memory.put16(DEVICE + 2, 32767)
    driver.offer(32767)
    ring = driver.ring(SplitRing, base=32767)
    ring.complete(ring.take(), 3)
    assert (driver.element(32767), driver.used_index()) == ((32767, 3), 32768)


def test_the_smallest_ring_and_a_length_that_is_not_true():
    driver = SplitDriver.offered(1)
    ring = driver.ring(SplitRing)
    for lap in range(3):
        ring.complete(ring.take(), 0xFFFFFFFF - lap)
        assert (driver.element(0), driver.used_index()) == ((0, 0xFFFFFFFF - lap), lap + 1)
        driver.offer(0)


def test_untaken_chains_come_again():
    ring = SplitDriver.offered().ring(SplitRing)
    first, second, third = (ring.take() for _ in range(3))
    ring.untake()
    assert (ring.base, ring.available()) == (2, 2)
    assert ring.take().id == third.id
    ring.untake(2)
    assert (ring.base, ring.available()) == (1, 3)
    again = ring.take()
    assert (again.id, again.buffers) == (second.id, second.buffers)
    ring.untake(0)
    ring.untake(2)
    assert (ring.base, ring.available(), ring.take().id) == (0, 4, first.id)


def test_only_the_last_taken_chains_can_be_given_back():
    ring = SplitDriver.offered().ring(SplitRing)
    ring.take()
    ring.complete(ring.take(), 0)
    with pytest.raises(ValueError, match="the last 1 taken"):
        ring.untake()
    ring.take()
    with pytest.raises(ValueError, match="the last 2 taken"):
        ring.untake(2)
    assert ring.base == 3
    ring.untake()
    assert ring.base == 2


def test_base_continues_at_the_indices_in_memory():
    driver = SplitDriver(4)
    driver.index = 65535
    driver.memory.put16(DEVICE + 2, 65535)
    driver.descriptor(1, flags=WRITE)
    driver.descriptor(2, flags=WRITE)
    driver.offer(2, 1)
    ring = driver.ring(SplitRing, base=65535)
    assert (ring.base, ring.available()) == (65535, 2)
    ring.complete_batch([(ring.take(), 1), (ring.take(), 2)])
    assert ring.base == 1
    assert (driver.element(3), driver.element(0), driver.used_index()) == ((2, 1), (1, 2), 1)


def test_indirect_table_alone_and_after_direct_descriptors():
    driver = SplitDriver(4)
    address, length = driver.table((GUEST + DATA, 8, NEXT, 2), (0, 0, 0xFFFF, 9), (GUEST + DATA + 8, 9, WRITE, 77))
    driver.descriptor(3, address, length, INDIRECT | WRITE)
    driver.descriptor(0, GUEST + DATA + 64, 10, NEXT, 1)
    driver.descriptor(1, address, length, INDIRECT)
    driver.offer(3, 0)
    ring = driver.ring(SplitRing, indirect=True)
    alone, behind = ring.take(), ring.take()
    table = (Buffer(GUEST + DATA, 8, False), Buffer(GUEST + DATA + 8, 9, True))
    assert (alone.id, alone.descriptors, alone.indirect, alone.buffers) == (3, 1, True, table)
    assert (behind.id, behind.descriptors, behind.indirect) == (0, 2, True)
    assert behind.buffers == (Buffer(GUEST + DATA + 64, 10, False), *table)
    ring.complete(behind, 9)
    ring.complete(alone, 0)
    assert (driver.element(0), driver.element(1)) == ((0, 9), (3, 0))






def test_corrupt_elements_leave_the_account_alone():
    driver = SplitDriver.offered()
    ring = driver.ring(SplitRing)
    chain = ring.take()
    ring.corrupt_used(0xFFFFFFFF, 0xFFFFFFFE)
    ring.corrupt_used(9, 1)
    assert (driver.element(0), driver.element(1), driver.used_index()) == ((0xFFFFFFFF, 0xFFFFFFFE), (9, 1), 2)
    assert (ring.base, ring.available(), ring.wants_call()) == (1, 3, False)
    ring.complete(chain, 64)
    assert (driver.element(0), driver.used_index()) == ((0, 64), 1)
    ring.set_used_index(0xABCD)
    assert driver.used_index() == 0xABCD
    ring.complete(ring.take(), 0)
    assert driver.used_index() == 2


def test_scribble_is_repeatable_and_stays_in_the_drivers_areas():
    images = []
    for seed in (1, 1, 2):
        driver = SplitDriver.offered()
        ring = driver.ring(SplitRing)
        ring.scribble(seed)
        images.append((driver.memory.get(DESC, 64), driver.memory.get(DRIVER, 14)))
        assert driver.memory.get(DESC + 64, 64) + driver.memory.get(DRIVER + 14, 64) == bytes(128)
        assert driver.memory.get(DEVICE, 64) == bytes(64)
    assert images[0] == images[1] != images[2]


def test_completions_that_the_caller_must_not_make():
    driver = SplitDriver.offered()
    ring = driver.ring(SplitRing)
    first = ring.take()
    with pytest.raises(ValueError, match="needs IN_ORDER"):
        ring.complete_in_order_batch([first], 0)
    with pytest.raises(ValueError, match="twice"):
        ring.complete_batch([(first, 0), (first, 0)])
    with pytest.raises(ValueError, match="32-bit"):
        ring.complete(first, 1 << 32)
    ring.complete(first, 0)
    with pytest.raises(ValueError, match="chain 0 is not in flight"):
        ring.complete(first, 0)
    assert driver.memory.get(DEVICE + 2, 10) == struct.pack("<HII", 1, 0, 0)
