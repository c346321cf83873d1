"""Internet checksums as VIRTIO divides the work on them: the sender leaves the sum of the pseudo header
in the field (NEEDS_CSUM), the receiver or the network card adds up the rest."""

import struct
from dataclasses import dataclass

from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6  # noqa: F401 - without this import Ether leaves IPv6 unparsed
from scapy.layers.l2 import Ether

from .net_header import NetHeader

TCP_PROTOCOL, UDP_PROTOCOL = 6, 17
CHECKSUM_AT = {TCP_PROTOCOL: 16, UDP_PROTOCOL: 6}  # offset of the field in the header

_VLAN = (0x8100, 0x88A8, 0x9100)
_HOP_BY_HOP, _ROUTING, _FRAGMENT, _OPTIONS = 0, 43, 44, 60
_TYPE_2, _SEGMENT_ROUTING = 2, 4


@dataclass(frozen=True)
class Layout:
    """Where the headers of a frame are, and what its pseudo header is made of."""

    version: int
    l3: int
    l4: int
    protocol: int
    stated_end: int | None  # by the length field of IP; None where that is 0 because it could not hold it
    source: bytes
    destination: bytes

    def pseudo_sum(self, length):
        """`length` bytes of transport header and payload. 32 bits of it count: RFC 8200, 8.1, and a
        large segment over IPv4 may also have more than 16 bits hold."""
        return internet_sum(self.source + self.destination + struct.pack(">II", length, self.protocol))


def internet_sum(data, start=0):
    """The one's complement sum of 16-bit words added to `start`; an odd last byte is the upper half of a word."""
    # 2**16 leaves 1 over 0xffff, so one division adds all words up. A sum is 0 only if all of them are.
    total = start + (int.from_bytes(data, "big") << 8 * (len(data) & 1))
    return total and (total % 0xFFFF or 0xFFFF)


def locate(frame):
    """The Layout of an IPv4 or IPv6 frame with up to two VLAN tags; ValueError for other frames and fragments."""
    at = 12
    tags = 0
    while (ethertype := _word(frame, at)) in _VLAN and tags < 2:
        at += 4
        tags += 1
    if ethertype == 0x0800:
        return _ipv4(frame, at + 2)
    if ethertype == 0x86DD:
        return _ipv6(frame, at + 2)
    raise ValueError(f"EtherType {ethertype:#06x} at byte {at} is neither IPv4 nor IPv6")


def complete(frame, csum_start, csum_offset):
    """What a receiver does with NEEDS_CSUM (5.1.6.4): the sum from `csum_start` to the end takes in what
    the sender left in the field, and its complement takes the field's place."""
    at = csum_start + csum_offset
    if csum_start < 0 or csum_offset < 0 or at + 2 > len(frame):
        raise ValueError(f"csum_start {csum_start} and csum_offset {csum_offset} are outside a frame of "
                         f"{len(frame)} bytes")
    value = ~internet_sum(frame[csum_start:]) & 0xFFFF
    if value == 0 and _is_udp(frame, csum_start, csum_offset):
        value = 0xFFFF  # RFC 768: 0 says that there is no checksum
    return _patched(frame, at, value)


def finish(frame, header):
    """The frame as it goes out to the wire; RSC_INFO gives csum_start another meaning (5.1.6.4.2)."""
    if header.flags & (NetHeader.NEEDS_CSUM | NetHeader.RSC_INFO) != NetHeader.NEEDS_CSUM:
        return frame
    return complete(frame, header.csum_start, header.csum_offset)


def request(frame):
    """(frame, csum_start, csum_offset): a TCP or UDP frame that leaves its checksum to the receiver."""
    where = locate(frame)
    end = len(frame) if where.stated_end is None else where.stated_end
    if end > len(frame):
        raise ValueError(f"IP ends at byte {end} of a frame of {len(frame)} bytes")
    offset = checksum_offset(where)
    if where.l4 + offset + 2 > end:
        raise ValueError(f"protocol {where.protocol} has only {end - where.l4} bytes")
    if any(frame[end:]):
        # The receiver sums to the end of the frame: padding must not count.
        raise ValueError(f"padding after byte {end} that is not zero: {bytes(frame[end:]).hex()}")
    return _patched(frame, where.l4 + offset, where.pseudo_sum(end - where.l4)), where.l4, offset


def verify(frame):
    """Whether scapy computes the same IPv4, TCP and UDP checksums. A UDP checksum of 0 is none: False."""
    packet = Ether(frame)
    for layer in packet.iterpayloads():
        # Not isinstance: a packet that an ICMP error quotes is cut and keeps the checksum that it had.
        if type(layer) in (IP, TCP, UDP):
            del layer.chksum
    return bytes(packet) == bytes(frame)


def checksum_offset(where):
    if where.protocol not in CHECKSUM_AT:
        raise ValueError(f"protocol {where.protocol} is neither TCP nor UDP")
    return CHECKSUM_AT[where.protocol]


def _is_udp(frame, csum_start, csum_offset):
    """In a tunnel the headers outside do not tell; then it is the place of the field."""
    try:
        where = locate(frame)
    except ValueError:
        where = None
    if where is not None and where.l4 == csum_start:
        return where.protocol == UDP_PROTOCOL
    return csum_offset == CHECKSUM_AT[UDP_PROTOCOL]


def _ipv4(frame, l3):
    _need(frame, l3, 20, "IPv4 header")
    size = (frame[l3] & 0xF) * 4
    if frame[l3] >> 4 != 4 or size < 20:
        raise ValueError(f"an IPv4 header that begins with {frame[l3]:#04x}")
    _need(frame, l3, size, "IPv4 header")
    length = _word(frame, l3 + 2)
    if length and length < size:
        raise ValueError(f"IPv4 length {length} with a header of {size} bytes")
    fragment = _word(frame, l3 + 6)
    if fragment & 0x3FFF:
        raise ValueError(f"an IPv4 fragment: {fragment:#06x}")
    return Layout(4, l3, l3 + size, frame[l3 + 9], l3 + length if length else None,
                  bytes(frame[l3 + 12:l3 + 16]), bytes(frame[l3 + 16:l3 + 20]))


def _ipv6(frame, l3):
    _need(frame, l3, 40, "IPv6 header")
    if frame[l3] >> 4 != 6:
        raise ValueError(f"an IPv6 header that begins with {frame[l3]:#04x}")
    length, following, at = _word(frame, l3 + 4), frame[l3 + 6], l3 + 40
    destination = bytes(frame[l3 + 24:l3 + 40])
    while following in (_HOP_BY_HOP, _ROUTING, _OPTIONS):
        _need(frame, at, 8, f"extension header {following}")
        size = 8 * (frame[at + 1] + 1)
        _need(frame, at, size, f"extension header {following}")
        if following == _ROUTING and frame[at + 3]:
            destination = _final_destination(frame, at, size)
        following, at = frame[at], at + size
    if following == _FRAGMENT:
        raise ValueError(f"an IPv6 fragment header at byte {at}")
    end = l3 + 40 + length if length else None
    if end is not None and end < at:
        raise ValueError(f"IPv6 payload length {length} with {at - l3 - 40} bytes of extension headers")
    return Layout(6, l3, at, following, end, bytes(frame[l3 + 8:l3 + 24]), destination)


def _final_destination(frame, at, size):
    """Of a routing header with segments left: the pseudo header has the last address of the route (RFC 8200, 8.1)."""
    kind = frame[at + 2]
    if kind not in (0, _TYPE_2, _SEGMENT_ROUTING) or size < 24:
        raise ValueError(f"a routing header of type {kind}, {size} bytes, with {frame[at + 3]} segments left")
    # Segment routing lists the route backwards (RFC 8754, 2).
    first = at + 8 if kind == _SEGMENT_ROUTING else at + 8 + (size - 8) // 16 * 16 - 16
    return bytes(frame[first:first + 16])


def _need(frame, at, size, what):
    if at + size > len(frame):
        raise ValueError(f"{what} of {size} bytes at byte {at} of a frame of {len(frame)} bytes")


def _word(frame, at):
    _need(frame, at, 2, "field")
    return frame[at] << 8 | frame[at + 1]


def _patched(frame, at, value):
    return b"".join((frame[:at], value.to_bytes(2, "big"), frame[at + 2:]))
