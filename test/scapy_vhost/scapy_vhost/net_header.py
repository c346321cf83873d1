"""The header in front of every frame in a ring, and the configuration space of a network device."""

import enum
import struct
from dataclasses import dataclass

from .features import Feature

_FORMATS = {10: "<BBHHHH", 12: "<BBHHHHH", 20: "<BBHHHHHIHxx"}
_FIELDS = ("flags", "gso_type", "hdr_len", "gso_size", "csum_start", "csum_offset", "num_buffers", "hash_value",
           "hash_report")


def _packed(form, what, fields):
    """struct.error does not say which value it could not pack."""
    try:
        return struct.pack(form, *fields.values())
    except struct.error as error:
        said = ", ".join(f"{name} {value}" for name, value in fields.items())
        raise ValueError(f"{what} of {said}: {error}") from None


class HashReport(enum.IntEnum):
    """VIRTIO 1.3, 5.1.6.4.5: over what hash_value was computed. Any other number may be sent as well."""

    NONE = 0
    IPV4 = 1
    TCPV4 = 2
    UDPV4 = 3
    IPV6 = 4
    TCPV6 = 5
    UDPV6 = 6
    IPV6_EX = 7
    TCPV6_EX = 8
    UDPV6_EX = 9


@dataclass
class NetHeader:
    """VIRTIO 1.3, 5.1.6. Little-endian, also for a legacy device: its guest is one of this machine."""

    NEEDS_CSUM = 1
    DATA_VALID = 2
    RSC_INFO = 4

    GSO_NONE = 0
    GSO_TCPV4 = 1
    GSO_UDP = 3
    GSO_TCPV6 = 4
    GSO_UDP_L4 = 5
    GSO_ECN = 0x80

    flags: int = 0
    gso_type: int = GSO_NONE
    hdr_len: int = 0
    gso_size: int = 0
    csum_start: int = 0
    csum_offset: int = 0
    num_buffers: int | None = 0  # None: whoever puts the frame into buffers counts them
    hash_value: int = 0
    hash_report: int = HashReport.NONE

    @staticmethod
    def size_for(accepted):
        """Bytes of the header, the same in both directions, with these features accepted."""
        if not accepted >> Feature.VERSION_1 & 1:
            return 12 if accepted >> Feature.MRG_RXBUF & 1 else 10
        return 20 if accepted >> Feature.HASH_REPORT & 1 else 12

    def pack(self, size):
        form = _form_of(size)
        return _packed(form, f"a net header of {size} bytes", {name: getattr(self, name) for name in _held(size)})

    @classmethod
    def unpack(cls, data, size):
        """The header that `data` begins with; fields that do not fit `size` are 0."""
        form = _form_of(size)
        if len(data) < size:
            raise ValueError(f"a net header of {size} bytes in {len(data)} bytes")
        return cls(**dict(zip(_held(size), struct.unpack_from(form, data))))


def _form_of(size):
    if size not in _FORMATS:
        raise ValueError(f"a net header has 10, 12 or 20 bytes, not {size}")
    return _FORMATS[size]


def _held(size):
    return _FIELDS[:{10: 6, 12: 7, 20: 9}[size]]


@dataclass
class NetConfig:
    """VIRTIO 1.3, 5.1.4: bytes() of it is the whole space; every field keeps its place when it is not offered."""

    LINK_UP = 1
    ANNOUNCE = 2
    SIZE = 28

    mac: bytes = b"\x02\x00\x00\x00\x00\x01"
    status: int = LINK_UP
    max_virtqueue_pairs: int = 1
    mtu: int = 1500
    speed: int = 0xFFFFFFFF  # Mbit/s; this value: unknown
    duplex: int = 0xFF  # 0 half, 1 full, else unknown
    rss_max_key_size: int = 40
    rss_max_indirection_table_length: int = 128
    supported_hash_types: int = 0x1FF
    supported_tunnel_types: int = 0

    def __bytes__(self):
        if len(self.mac) != 6:
            raise ValueError(f"a MAC address of {len(self.mac)} bytes: {self.mac.hex(':')}")
        return _packed("<6sHHHIBBHII", "a configuration space", vars(self))
