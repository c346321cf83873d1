"""The driver's side of a ring as bytes at offsets of VIRTIO 1.3, 2.7 and 2.8; nothing here uses the package's rings."""

import struct

from scapy_vhost.errors import OutsideMemory

GUEST = 0x1_4000_0000
USER = 0x7F55_0000_0000
HOST = 0x30     # where the region begins in the buffer below

DESC = 0x0
DRIVER = 0x80000
DEVICE = 0xA0000
TABLES = 0xF0000
DATA = 0x100000
REGION = 0x300000

NEXT, WRITE, INDIRECT = 1, 2, 4
AVAIL, USED = 0x80, 0x8000


class FakeMemory:
    """One region whose guest address, user address and place in this process all differ."""

    def __init__(self):
        self.host = bytearray(HOST + REGION)

    def view(self, address, length):
        return self._view(address - GUEST, length)

    def view_user(self, address, length):
        return self._view(address - USER, length)

    def _view(self, offset, length):
        if offset < 0 or offset + length > REGION:
            raise OutsideMemory(f"offset {offset:#x}, {length} bytes")
        return memoryview(self.host)[HOST + offset:HOST + offset + length]

    def mark(self, address, length):
        """Nothing is logged here."""

    mark_user = mark

    def put(self, offset, data):
        self.host[HOST + offset:HOST + offset + len(data)] = data

    def get(self, offset, length):
        return bytes(self.host[HOST + offset:HOST + offset + length])

    def put16(self, offset, value):
        self.put(offset, struct.pack("<H", value))

    def get16(self, offset):
        return struct.unpack("<H", self.get(offset, 2))[0]


class Driver:
    """What both kinds of rings have."""

    def __init__(self, size):
        self.memory = FakeMemory()
        self.size = size

    def ring(self, cls, **options):
        return cls(self.memory, self.size, USER + DESC, USER + DRIVER, USER + DEVICE, **options)

    def table(self, *entries):
        """An indirect table; entries are (address, length, flags, next) or, packed, (address, length, id, flags)."""
        self.memory.put(TABLES, b"".join(struct.pack("<QIHH", *entry) for entry in entries))
        return GUEST + TABLES, 16 * len(entries)


class SplitDriver(Driver):
    """Descriptor table at DESC, available ring at DRIVER, used ring at DEVICE."""

    def __init__(self, size):
        super().__init__(size)
        self.index = 0

    @classmethod
    def offered(cls, size=4, count=None):
        """One chain of one descriptor with 64 writable bytes per slot, count of them or all available."""
        driver = cls(size)
        heads = range(size if count is None else count)
        for slot in heads:
            driver.descriptor(slot, flags=WRITE)
        driver.offer(*heads)
        return driver

    def descriptor(self, slot, address=GUEST + DATA, length=64, flags=0, link=0):
        self.memory.put(DESC + 16 * slot, struct.pack("<QIHH", address, length, flags, link))

    def offer(self, *heads):
        for head in heads:
            self.memory.put16(DRIVER + 4 + 2 * (self.index % self.size), head)
            self.index = (self.index + 1) % 65536
        self.set_index(self.index)

    def set_index(self, index):
        self.memory.put16(DRIVER + 2, index)

    def set_flags(self, flags):
        self.memory.put16(DRIVER, flags)

    def set_used_event(self, event):
        self.memory.put16(DRIVER + 4 + 2 * self.size, event)

    def used_flags(self):
        return self.memory.get16(DEVICE)

    def used_index(self):
        return self.memory.get16(DEVICE + 2)

    def element(self, slot):
        return struct.unpack("<II", self.memory.get(DEVICE + 4 + 8 * slot, 8))

    def avail_event(self):
        return self.memory.get16(DEVICE + 4 + 8 * self.size)


class PackedDriver(Driver):
    """Descriptor ring at DESC, driver event at DRIVER, device event at DEVICE."""

    def __init__(self, size):
        super().__init__(size)
        self.slot, self.wrap = 0, 1
        self.used_slot, self.used_wrap = 0, 1

    def descriptor(self, slot, address, length, buffer_id, flags):
        self.memory.put(DESC + 16 * slot, struct.pack("<QIHH", address, length, buffer_id, flags))

    def flags(self, slot):
        return self.memory.get16(DESC + 16 * slot + 14)

    def offer(self, buffer_id, *elements):
        """A chain of (address, length, flags); NEXT, AVAIL and USED are added. The id is only in the last one."""
        for number, (address, length, flags) in enumerate(elements, 1):
            last = number == len(elements)
            flags |= (AVAIL if self.wrap else USED) | (0 if last else NEXT)
            self.descriptor(self.slot, address, length, buffer_id if last else 0xDEAD, flags)
            self.slot += 1
            if self.slot == self.size:
                self.slot, self.wrap = 0, 1 - self.wrap

    def used(self, slots_of):
        """The next used descriptor as (id, length, flags), or None; slots_of: slots that each id took."""
        flags = self.flags(self.used_slot)
        if flags & (AVAIL | USED) != (AVAIL | USED if self.used_wrap else 0):
            return None
        length, buffer_id = struct.unpack("<IH", self.memory.get(DESC + 16 * self.used_slot + 8, 6))
        self.used_slot += slots_of[buffer_id]
        if self.used_slot >= self.size:
            self.used_slot, self.used_wrap = self.used_slot - self.size, 1 - self.used_wrap
        return buffer_id, length, flags

    def set_event(self, flags, offset=0, wrap=0):
        self.memory.put(DRIVER, struct.pack("<HH", offset | wrap << 15, flags))

    def device_event(self):
        """(offset, wrap, flags) of the device event structure."""
        off_wrap, flags = struct.unpack("<HH", self.memory.get(DEVICE, 4))
        return off_wrap & 0x7FFF, off_wrap >> 15, flags
