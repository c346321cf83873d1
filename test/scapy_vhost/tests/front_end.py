"""A front end of a few lines: messages packed by hand at the offsets of the vhost-user document, and
memory of one memfd. It shares no code with the package."""

import array
import mmap
import os
import socket
import struct

GUEST, USER = 0x1_0000_0000, 0x7F00_0000_0000  # two address spaces that are not each other's
SIZE = 1 << 20

RX, TX, CONTROL = 0x10000, 0x20000, 0x30000  # where the rings of queues 0, 1 and 2 lie
BUFFERS = 0x40000
VERSION_1, MRG_RXBUF, WITH_PROTOCOL_FEATURES = 1 << 32, 1 << 15, 1 << 30
MERGEABLE = VERSION_1 | MRG_RXBUF | WITH_PROTOCOL_FEATURES
RING_PACKED, EVENT_IDX, LOG_ALL = 1 << 34, 1 << 29, 1 << 26
REPLY_ACK, STATUS = 1 << 3, 1 << 16
FRESH_PACKED = 0x80008000  # SET_VRING_BASE: both at slot 0, both wrap counters 1
AVAIL, USED = 0x80, 0x8000


class FrontEnd:
    def __init__(self, path=None, sock=None):
        self.sock = sock or socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        if sock is None:
            self.sock.connect(str(path))
        self.sock.settimeout(5)
        self.fd = os.memfd_create("front-end")
        os.ftruncate(self.fd, SIZE)
        self.memory = mmap.mmap(self.fd, SIZE)
        self.kicks, self.calls = {}, {}

    def close(self):
        self.sock.close()
        for fd in (self.fd, *self.kicks.values(), *self.calls.values()):
            os.close(fd)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def send(self, request, payload=b"", fds=(), flags=1):
        data = struct.pack("=III", request, flags, len(payload)) + payload
        control = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        self.sock.sendmsg([data], control)

    def read(self, count):
        data = b""
        while len(data) < count:
            part = self.sock.recv(count - len(data))
            if not part:
                raise ConnectionError("closed")
            data += part
        return data

    def reply(self):
        """(request, flags, payload)"""
        request, flags, size = struct.unpack("=III", self.read(12))
        return request, flags, self.read(size)

    def ask(self, request, payload=b"", fds=(), flags=1):
        self.send(request, payload, fds, flags)
        return self.reply()

    def ask_u64(self, request, payload=b""):
        answered, flags, data = self.ask(request, payload)
        assert (answered, flags, len(data)) == (request, 5, 8)
        return struct.unpack("=Q", data)[0]

    def share_memory(self):
        region = struct.pack("=QQQQ", GUEST, SIZE, USER, 0)
        self.send(5, struct.pack("=II", 1, 0) + region, [self.fd])

    def set_up_queue(self, index, size, start, base=0):
        """The descriptor area at USER + start, the driver and the device area behind it; enabled."""
        desc, driver, device = (USER + start + area for area in (0, 0x4000, 0x8000))
        self.kicks[index] = os.eventfd(0, os.EFD_NONBLOCK)
        self.calls[index] = os.eventfd(0, os.EFD_NONBLOCK)
        self.send(8, struct.pack("=II", index, size))
        self.send(10, struct.pack("=II", index, base))
        self.send(9, struct.pack("=IIQQQQ", index, 0, desc, device, driver, 0))
        self.send(12, struct.pack("=Q", index), [self.kicks[index]])
        self.send(13, struct.pack("=Q", index), [self.calls[index]])
        self.send(18, struct.pack("=II", index, 1))

    def post(self, start, place, address, length, flags, next_=0):
        """A descriptor at `place` of the table at `start`."""
        struct.pack_into("<QIHH", self.memory, start + 16 * place, GUEST + address, length, flags, next_)

    def make_available(self, start, *heads, before=0, size=16):
        ring = start + 0x4000
        for number, head in enumerate(heads):
            struct.pack_into("<H", self.memory, ring + 4 + 2 * ((before + number) % size), head)
        struct.pack_into("<H", self.memory, ring + 2, before + len(heads))

    def post_packed(self, start, place, address, length, flags, buffer_id):
        """An available descriptor of the first lap of a packed ring."""
        self.post(start, place, address, length, buffer_id, flags | AVAIL)

    def used_packed(self, start, place):
        """(length, buffer id, flags)"""
        return struct.unpack_from("<IHH", self.memory, start + 16 * place + 8)

    def used(self, start, count):
        """(index, [(id, length), ...])"""
        ring = start + 0x8000
        index, = struct.unpack_from("<H", self.memory, ring + 2)
        return index, [struct.unpack_from("<II", self.memory, ring + 4 + 8 * i) for i in range(count)]


def bring_up(front, features=MERGEABLE, protocol=REPLY_ACK | STATUS):
    """As far as DRIVER_OK, with queues 0 and 1."""
    front.ask_u64(1)
    front.ask_u64(15)
    front.send(16, struct.pack("=Q", protocol))
    front.send(3)
    front.send(2, struct.pack("=Q", features))
    front.share_memory()
    base = FRESH_PACKED if features & RING_PACKED else 0
    front.set_up_queue(0, 16, RX, base)
    front.set_up_queue(1, 16, TX, base)
    front.send(39, struct.pack("=Q", 0xF))
