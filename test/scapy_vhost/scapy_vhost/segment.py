"""Segmentation offload, both ends: what a device makes of a large frame, and how a sender asks for it."""

import struct

from .checksum import TCP_PROTOCOL, UDP_PROTOCOL, checksum_offset, complete, internet_sum, locate
from .net_header import NetHeader

_FIN, _PSH, _CWR = 0x01, 0x08, 0x80
_WHAT = {NetHeader.GSO_TCPV4: (TCP_PROTOCOL, (4,)), NetHeader.GSO_TCPV6: (TCP_PROTOCOL, (6,)),
         NetHeader.GSO_UDP_L4: (UDP_PROTOCOL, (4, 6))}
_LARGEST = 0xFFFF  # of a length field of IP or UDP


def segment(frame, header):
    """The frames that a device sends for one with a gso_type (5.1.6.2). hdr_len is a hint: not used."""
    where = locate(frame)
    _check(frame, header, where)
    start = where.l4 + _header_size(frame, where)
    payload = frame[start:]
    offsets = range(0, max(len(payload), 1), header.gso_size)
    out = []
    for number, offset in enumerate(offsets):
        one = bytearray(frame[:start])
        one += payload[offset:offset + header.gso_size]
        _set_lengths(one, where)
        if where.version == 4:
            _set_identification(one, where, number)
        if where.protocol == TCP_PROTOCOL:
            _set_sequence(one, where, offset)
            _set_flags(one, where, header, number == 0, number == len(offsets) - 1)
        out.append(_summed(one, where))
    return out


def tso_request(frame, gso_size):
    """(frame, NetHeader) of a sender that leaves the segmentation of TCP or UDP to the other side (5.1.6.2)."""
    if not 1 <= gso_size <= _LARGEST:
        raise ValueError(f"gso_size {gso_size} is not in 1..{_LARGEST}")
    where = locate(frame)
    offset = checksum_offset(where)
    size = _header_size(frame, where)
    out = bytearray(frame)
    _set_lengths(out, where)
    # The length in the sum is that of the whole frame, not that of a segment and not 0.
    struct.pack_into(">H", out, where.l4 + offset, where.pseudo_sum(len(frame) - where.l4))
    if where.protocol == UDP_PROTOCOL:
        kind = NetHeader.GSO_UDP_L4
    else:
        kind = NetHeader.GSO_TCPV4 if where.version == 4 else NetHeader.GSO_TCPV6
        if frame[where.l4 + 13] & _CWR:
            kind |= NetHeader.GSO_ECN
    return bytes(out), NetHeader(flags=NetHeader.NEEDS_CSUM, gso_type=kind, hdr_len=where.l4 + size,
                                 gso_size=gso_size, csum_start=where.l4, csum_offset=offset)


def _check(frame, header, where):
    """What 5.1.6.2.1 demands of the driver; a device that follows a wrong header sends wrong frames."""
    kind = header.gso_type & ~NetHeader.GSO_ECN
    protocol, versions = _WHAT.get(kind, (None, ()))
    ecn_alone = header.gso_type & NetHeader.GSO_ECN and protocol != TCP_PROTOCOL
    if where.protocol != protocol or where.version not in versions or ecn_alone:
        raise ValueError(f"gso_type {header.gso_type:#04x} of a frame of IPv{where.version}, protocol "
                         f"{where.protocol}")
    if header.gso_size < 1:
        raise ValueError(f"gso_size {header.gso_size}")
    if header.flags != NetHeader.NEEDS_CSUM:
        raise ValueError(f"flags {header.flags:#04x} of a frame to segment, not NEEDS_CSUM alone")
    offset = checksum_offset(where)
    if (header.csum_start, header.csum_offset) != (where.l4, offset):
        raise ValueError(f"csum_start {header.csum_start} and csum_offset {header.csum_offset} where the transport "
                         f"header is at {where.l4} and its checksum at {offset} in it")
    _header_size(frame, where)
    found = int.from_bytes(frame[where.l4 + offset:where.l4 + offset + 2], "big")
    pseudo = where.pseudo_sum(len(frame) - where.l4)
    if found % 0xFFFF != pseudo % 0xFFFF:
        raise ValueError(f"checksum field {found:#06x} is not the sum {pseudo:#06x} of the pseudo header")


def _header_size(frame, where):
    left = len(frame) - where.l4
    size = 8
    if where.protocol == TCP_PROTOCOL:
        size = (frame[where.l4 + 12] >> 4) * 4 if left >= 20 else 20
        if size < 20:
            raise ValueError(f"a TCP header of {size} bytes")
    if left < size:
        raise ValueError(f"protocol {where.protocol} has {left} bytes of its header of {size}")
    return size


def _set_lengths(out, where):
    """A length that the field cannot hold is 0, as in a jumbogram (RFC 2675)."""
    total = len(out) - where.l3
    if where.version == 4:
        struct.pack_into(">H", out, where.l3 + 2, total if total <= _LARGEST else 0)
        _sum_ipv4(out, where)
    else:
        struct.pack_into(">H", out, where.l3 + 4, total - 40 if total - 40 <= _LARGEST else 0)
    if where.protocol == UDP_PROTOCOL:
        size = len(out) - where.l4
        struct.pack_into(">H", out, where.l4 + 4, size if size <= _LARGEST else 0)


def _set_identification(out, where, number):
    first, = struct.unpack_from(">H", out, where.l3 + 4)
    struct.pack_into(">H", out, where.l3 + 4, (first + number) & 0xFFFF)
    _sum_ipv4(out, where)


def _set_sequence(out, where, offset):
    first, = struct.unpack_from(">I", out, where.l4 + 4)
    struct.pack_into(">I", out, where.l4 + 4, (first + offset) & 0xFFFFFFFF)


def _set_flags(out, where, header, first, last):
    if not last:
        out[where.l4 + 13] &= ~(_FIN | _PSH)
    # CWR answers one ECE and belongs into one segment (RFC 3168, 6.1.2); a device without the ECN bit
    # knows nothing of it and repeats all flags.
    if header.gso_type & NetHeader.GSO_ECN and not first:
        out[where.l4 + 13] &= ~_CWR


def _sum_ipv4(out, where):
    struct.pack_into(">H", out, where.l3 + 10, 0)
    struct.pack_into(">H", out, where.l3 + 10, ~internet_sum(out[where.l3:where.l4]) & 0xFFFF)


def _summed(out, where):
    offset = checksum_offset(where)
    struct.pack_into(">H", out, where.l4 + offset, where.pseudo_sum(len(out) - where.l4))
    return complete(bytes(out), where.l4, offset)
