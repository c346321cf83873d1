"""Test frames made by scapy, and pcap files of them compared byte for byte."""

import functools
import logging
import struct
from contextlib import closing

logging.getLogger("scapy.runtime").setLevel(logging.ERROR)  # complaints about the routes of the machine

from scapy.layers.inet import IP, UDP  # noqa: E402
from scapy.layers.l2 import Ether  # noqa: E402
from scapy.packet import Raw  # noqa: E402
from scapy.utils import RawPcapReader, RawPcapWriter  # noqa: E402

HEADERS = 14 + 20 + 8
CHECKSUM = HEADERS - 2  # offset of the UDP checksum
MIN_SIZE, MAX_SIZE = 60, 9014  # without CRC; an MTU of 9000 takes 9014

# What the driver's default class ladder is made of in these tests: testpmd's --mbuf-size, and the data room
# that each leaves after RTE_PKTMBUF_HEADROOM.
LADDER_MBUFS = (1664, 2176, 4224, 9344, 16512)
LADDER_ROOMS = tuple(m - 128 for m in LADDER_MBUFS)


def around(room):
    """Every frame size from room - 13 to room + 13 that an MTU of 9000 carries."""
    return [s for s in range(room - 13, room + 14) if MIN_SIZE <= s <= MAX_SIZE]


def boundary_sizes():
    """Sizes 60..9014 with every boundary of the ladder in them, ascending."""
    sizes = {*range(60, 65), *range(127, 130), *range(1514, 1519), 9000, *range(9001, 9015)}
    for room in LADDER_ROOMS:
        sizes.update(around(room))
    return sorted(sizes)


def filling(first, further):
    """Frame sizes from one byte less to five more than what each number of segments holds, where the first segment
    holds `first` bytes and each other one `further`."""
    ends = range(first, MAX_SIZE + 2, further)
    return [s for end in ends for s in (end - 1, end, end + 1, end + 4, end + 5) if MIN_SIZE <= s <= MAX_SIZE]


PATTERNS = 13  # different payload patterns


def frame(size, number):
    """A UDP frame of `size` bytes without CRC; the payload starts with `number` and a pattern follows that depends
    on it. Right checksums."""
    out = bytearray(_template(size, number % PATTERNS))
    out[HEADERS:HEADERS + 4] = struct.pack("!I", number)
    # The template has number 0 there, so its checksum grows by the two halves alone (RFC 1624).
    total = (~int.from_bytes(out[CHECKSUM:HEADERS], "big") & 0xFFFF) + (number >> 16) + (number & 0xFFFF)
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    out[CHECKSUM:HEADERS] = struct.pack("!H", ~total & 0xFFFF or 0xFFFF)
    return bytes(out)


@functools.lru_cache(maxsize=None)
def _template(size, seed):
    """The frame with number 0, by scapy."""
    room = size - HEADERS - 4
    body = bytes(4) + bytes((19 * seed + 13 * i + 5 * (i >> 8)) & 0xFF for i in range(room))
    return bytes(Ether(dst="02:00:00:00:00:02", src="02:00:00:00:00:01")
                 / IP(src="192.0.2.1", dst="192.0.2.2") / UDP(sport=1000 + seed, dport=2000) / Raw(body))


def frames(sizes, repeat=1, first=0):
    """One frame for each size, the whole list `repeat` times, numbered from `first`."""
    return [frame(size, first + n) for n, size in enumerate(list(sizes) * repeat)]


def write(path, wanted):
    """Writes frames as a pcap file."""
    with RawPcapWriter(str(path), linktype=1, snaplen=65535) as out:
        out.write_header(None)  # libpcap refuses an empty file
        for n, data in enumerate(wanted):
            out.write_packet(data, sec=n // 1000, usec=n % 1000)
    return path


def read(path):
    """Frames of a pcap file; one that the file holds only in part is an error."""
    out = []
    with closing(RawPcapReader(str(path))) as reader:
        for data, meta in reader:
            if meta.wirelen != len(data):
                raise AssertionError(f"{path} has {len(data)} of {meta.wirelen} bytes of frame {len(out)}")
            out.append(data)
    return out


def assert_same(sent, got, what="received"):
    """Same frames, same order, same bytes."""
    for n, (want, have) in enumerate(zip(sent, got)):
        if want != have:
            at = next((i for i, (a, b) in enumerate(zip(want, have)) if a != b), min(len(want), len(have)))
            low = max(0, at - 8)
            raise AssertionError(f"{what} frame {n} of {len(sent)}: {len(want)} bytes sent, {len(have)} {what}, "
                                 f"first difference at byte {at}; from byte {low} on\n"
                                 f"sent     {want[low:low + 32].hex(' ')}\n{what:8} {have[low:low + 32].hex(' ')}")
    assert len(got) == len(sent), f"{len(sent)} frames sent, {len(got)} {what}"
