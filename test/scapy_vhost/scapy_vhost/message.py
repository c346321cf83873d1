"""Messages of the vhost-user protocol as they lie on the wire, in host byte order."""

import ctypes
import enum
import struct
from dataclasses import dataclass, field

from .errors import ProtocolError

VERSION = 1
VERSION_MASK = 3
REPLY = 1 << 2
NEED_REPLY = 1 << 3
# SET_VRING_KICK, CALL and ERR: the queue's index, and a bit that says that no fd comes with it.
RING_INDEX_MASK = 0xFF
RING_NO_FD = 1 << 8
RING_LOG = 1 << 0  # VHOST_VRING_F_LOG of SET_VRING_ADDR: `log` is valid
LARGEST_PAYLOAD = 4096
MOST_FDS = 8


class Request(enum.IntEnum):
    """What a front end asks."""

    GET_FEATURES = 1
    SET_FEATURES = 2
    SET_OWNER = 3
    RESET_OWNER = 4
    SET_MEM_TABLE = 5
    SET_LOG_BASE = 6
    SET_LOG_FD = 7
    SET_VRING_NUM = 8
    SET_VRING_ADDR = 9
    SET_VRING_BASE = 10
    GET_VRING_BASE = 11
    SET_VRING_KICK = 12
    SET_VRING_CALL = 13
    SET_VRING_ERR = 14
    GET_PROTOCOL_FEATURES = 15
    SET_PROTOCOL_FEATURES = 16
    GET_QUEUE_NUM = 17
    SET_VRING_ENABLE = 18
    SEND_RARP = 19
    NET_SET_MTU = 20
    SET_BACKEND_REQ_FD = 21
    GET_CONFIG = 24
    SET_CONFIG = 25
    GET_INFLIGHT_FD = 31
    SET_INFLIGHT_FD = 32
    RESET_DEVICE = 34
    GET_MAX_MEM_SLOTS = 36
    ADD_MEM_REG = 37
    REM_MEM_REG = 38
    SET_STATUS = 39
    GET_STATUS = 40


class BackendRequest(enum.IntEnum):
    """What a back end asks, on a socket of its own."""

    CONFIG_CHANGE = 2
    VRING_CALL = 4
    VRING_ERR = 5


# The front end waits for the reply of these whether it set NEED_REPLY or not. Those by number, which no back end of
# this package knows: IOTLB_MSG, POSTCOPY_ADVISE and _END, GET_SHARED_OBJECT, SET_DEVICE_STATE_FD, CHECK_DEVICE_STATE,
# GET_SHMEM_CONFIG, GET_VRING_BASE_SKIP_DRAIN.
OWN_REPLY = frozenset({Request.GET_FEATURES, Request.GET_VRING_BASE, Request.GET_PROTOCOL_FEATURES,
                       Request.GET_QUEUE_NUM, Request.GET_CONFIG, Request.GET_INFLIGHT_FD,
                       Request.GET_MAX_MEM_SLOTS, Request.GET_STATUS, 22, 28, 30, 41, 42, 43, 44, 45})


class Header(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("request", ctypes.c_uint32), ("flags", ctypes.c_uint32), ("size", ctypes.c_uint32)]


class RingState(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("index", ctypes.c_uint32), ("num", ctypes.c_uint32)]


class RingAddresses(ctypes.Structure):
    # `used` comes before `available`. Packed rings: descriptor ring, device event, driver event.
    _pack_ = 1
    _fields_ = [("index", ctypes.c_uint32), ("flags", ctypes.c_uint32), ("descriptors", ctypes.c_uint64),
                ("used", ctypes.c_uint64), ("available", ctypes.c_uint64), ("log", ctypes.c_uint64)]


class Region(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("guest_address", ctypes.c_uint64), ("size", ctypes.c_uint64),
                ("user_address", ctypes.c_uint64), ("mmap_offset", ctypes.c_uint64)]


class LogArea(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("size", ctypes.c_uint64), ("mmap_offset", ctypes.c_uint64)]


class ConfigHead(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("offset", ctypes.c_uint32), ("size", ctypes.c_uint32), ("flags", ctypes.c_uint32)]


def name_of(request):
    try:
        return Request(request).name
    except ValueError:
        return f"request {request}"


@dataclass(frozen=True)
class Message:
    """One message and the file descriptors that came with it, which are the owner's to close."""

    request: int
    flags: int
    payload: bytes = b""
    fds: tuple = field(default=(), compare=False)
    fd_count: int = 0

    @property
    def name(self):
        return name_of(self.request)

    @property
    def needs_reply(self):
        return bool(self.flags & NEED_REPLY)

    def layout(self, kind):
        """The payload as a ctypes structure; exactly its size."""
        if len(self.payload) != ctypes.sizeof(kind):
            raise ProtocolError(f"{self.name}: the payload has {len(self.payload)} bytes, "
                                f"not {ctypes.sizeof(kind)}")
        return kind.from_buffer_copy(self.payload)

    def u64(self):
        if len(self.payload) != 8:
            raise ProtocolError(f"{self.name}: the payload has {len(self.payload)} bytes, not 8")
        return struct.unpack("=Q", self.payload)[0]

    def regions(self):
        """SET_MEM_TABLE: count and padding, then a region for each fd."""
        if len(self.payload) < 8:
            raise ProtocolError(f"{self.name}: the payload has {len(self.payload)} bytes, at least 8 are needed")
        count, = struct.unpack_from("=I", self.payload)
        wanted = 8 + count * ctypes.sizeof(Region)
        if len(self.payload) != wanted or count != len(self.fds) or count > MOST_FDS:
            raise ProtocolError(f"{self.name}: {count} regions in {len(self.payload)} bytes with {len(self.fds)} fds")
        return [Region.from_buffer_copy(self.payload, 8 + i * ctypes.sizeof(Region)) for i in range(count)]

    def region(self):
        """ADD_MEM_REG and REM_MEM_REG: padding, then one region."""
        if len(self.payload) != 8 + ctypes.sizeof(Region):
            raise ProtocolError(f"{self.name}: the payload has {len(self.payload)} bytes, "
                                f"not {8 + ctypes.sizeof(Region)}")
        return Region.from_buffer_copy(self.payload, 8)

    def __str__(self):
        parts = [self.name]
        if self.payload:
            parts.append(self.payload[:40].hex(" ", 4) + (" ..." if len(self.payload) > 40 else ""))
        if self.fd_count:
            parts.append(f"{self.fd_count} fd")
        if self.needs_reply:
            parts.append("need_reply")
        return " ".join(parts)


def u64(value):
    return struct.pack("=Q", value)
