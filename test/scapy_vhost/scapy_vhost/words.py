"""Words of shared memory that another process polls, and the fence between a store and a load.

A driver polls 16-bit words that this process stores: an index, a flags word. struct.pack_into with a byte
order writes one byte after the other, so the driver could see half of an index. An element of a memoryview
that was cast to "H" or "I" is one aligned store or load of the host.

Python has no memory barrier. The order of two stores, and of two loads, is the one that x86 keeps by itself
(total store order); what is stored last is seen last. The host must be little-endian, as the rings are.
"""

import struct
import threading

DESCRIPTOR_BYTES = 16

# 2.7.5 and 2.8.13: address, length, then flags and next (split) or buffer id and flags (packed).
DESCRIPTOR = struct.Struct("<QIHH")

NEXT = 0x1
WRITE = 0x2
INDIRECT = 0x4


def words16(view: memoryview) -> memoryview:
    """The area as 16-bit words, each of them one store or load."""
    return view.cast("B").cast("H")


def words32(view: memoryview) -> memoryview:
    """The area as 32-bit words, each of them one store or load."""
    return view.cast("B").cast("I")


class Fence:
    """Keeps a later load from passing an earlier store.

    This is the one order that x86 does not keep by itself, and the one that both notification rules depend on
    (2.7.13.4.1, 2.8.21.3.1): publish, then read the word with which the other side suppresses notifications.
    An uncontended lock is taken with a compare-and-exchange with the lock prefix, which drains the store buffer.
    Each ring has a lock of its own, so that no thread ever waits here.
    """

    def __init__(self):
        self._lock = threading.Lock()

    def __call__(self) -> None:
        with self._lock:
            pass
