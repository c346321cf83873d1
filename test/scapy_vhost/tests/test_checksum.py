"""Checksums, against the ones that scapy puts into the same packets."""

import random
import re

import pytest
from scapy.layers.inet import ICMP, IP, TCP, UDP, IPOption_Timestamp
from scapy.layers.inet6 import (IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment, IPv6ExtHdrHopByHop, IPv6ExtHdrRouting,
                                IPv6ExtHdrSegmentRouting, PadN)
from scapy.layers.l2 import ARP, Dot1AD, Dot1Q, Ether
from scapy.packet import Raw
from scapy.utils import checksum as scapy_checksum
from scapy_vhost import checksum
from scapy_vhost.net_header import NetHeader

ETHER = Ether(dst="02:00:00:00:00:02", src="02:00:00:00:00:01")
FOUR = IP(src="192.0.2.1", dst="198.51.100.2", id=7)
SIX = IPv6(src="2001:db8::1", dst="2001:db8:1::2")
VIA, LAST = "2001:db8:2::3", "2001:db8:3::4"

# network headers -> bytes from the start of the frame to the transport header
NETWORKS = {
    "v4": (ETHER / FOUR, 34),
    "v4_options": (ETHER / IP(src="192.0.2.1", dst="198.51.100.2", options=[IPOption_Timestamp()]), 46),
    "v4_vlan": (ETHER / Dot1Q(vlan=5) / FOUR, 38),
    "v4_qinq": (ETHER / Dot1AD(vlan=5) / Dot1Q(vlan=6) / FOUR, 42),
    "v6": (ETHER / SIX, 54),
    "v6_vlan": (ETHER / Dot1Q(vlan=5) / SIX, 58),
    "v6_qinq": (ETHER / Dot1AD(vlan=5) / Dot1Q(vlan=6) / SIX, 62),
    "v6_hop": (ETHER / SIX / IPv6ExtHdrHopByHop(options=[PadN(optdata=bytes(4))]), 62),
    "v6_options": (ETHER / SIX / IPv6ExtHdrDestOpt(options=[PadN(optdata=bytes(12))]), 70),
    "v6_route": (ETHER / SIX / IPv6ExtHdrRouting(addresses=[VIA, LAST], segleft=2), 94),
    "v6_route_done": (ETHER / SIX / IPv6ExtHdrRouting(addresses=[VIA, LAST], segleft=0), 94),
    "v6_segments": (ETHER / SIX / IPv6ExtHdrSegmentRouting(addresses=[LAST, VIA], segleft=1), 94),
    "v6_three": (ETHER / SIX / IPv6ExtHdrHopByHop() / IPv6ExtHdrRouting(addresses=[LAST], segleft=1)
                 / IPv6ExtHdrDestOpt(), 94),
}
TRANSPORTS = {"tcp": (TCP(sport=1025, dport=2049, seq=9, options=[("NOP", None)] * 4), 16),
              "udp": (UDP(sport=1025, dport=2049), 6)}
networks = pytest.mark.parametrize("network, start", NETWORKS.values(), ids=NETWORKS)
transports = pytest.mark.parametrize("transport, offset", TRANSPORTS.values(), ids=TRANSPORTS)


def payloads():
    """Empty, odd and even, all zero, all ones, random lengths."""
    made = random.Random(1071)
    return [b"", b"\x80", bytes(3), bytes(1000), b"\xff" * 64, *(made.randbytes(made.randrange(1, 1460))
                                                                for _ in range(6))]


def without(frame, at):
    return frame[:at] + frame[at + 2:]


def put(frame, at, data):
    return frame[:at] + bytes.fromhex(data) + frame[at + len(data) // 2:]


def udp_that_sums_to_zero(network):
    """A UDP frame whose payload brings the sum to 0xffff, so that the complement is 0."""
    frame = bytes(network / UDP(sport=1025, dport=2049) / Raw(bytes(2)))
    value = frame[-4:-2]  # with a payload of 0 the checksum is the payload that makes it 0
    return bytes(network / UDP(sport=1025, dport=2049) / Raw(value))


@pytest.mark.parametrize("size", [0, 1, 2, 3, 20, 1461, 9000, 65549])
def test_the_sum_is_the_complement_of_what_scapy_computes(size):
    data = random.Random(size).randbytes(size)
    assert ~checksum.internet_sum(data) & 0xFFFF == scapy_checksum(data)


@pytest.mark.parametrize("data, start, total", [
    (b"", 0, 0), (bytes(7), 0, 0), (b"\xff\xff", 0, 0xFFFF), (b"\xff\xff\x00\x01", 0, 1), (b"\x01", 0, 0x100),
    (b"\x00\x01", 0xFFFF, 1), (b"", 0x1FFFE, 0xFFFF), (b"\xff\xff" * 3, 0, 0xFFFF),
    (bytes.fromhex("0001f203f4f5f6f7"), 0, 0xDDF2)])  # the last: RFC 1071, 3
def test_sums_by_hand(data, start, total):
    assert checksum.internet_sum(data, start) == total


def test_a_sum_continues_where_another_ended():
    data = random.Random(3).randbytes(999)
    assert checksum.internet_sum(data[500:], checksum.internet_sum(data[:500])) == checksum.internet_sum(data)


@transports
@networks
def test_NET_35_request_and_complete_give_the_frame_back(network, start, transport, offset):
    for payload in payloads():
        frame = bytes(network / transport / Raw(payload))
        partial, csum_start, csum_offset = checksum.request(frame)
        assert (csum_start, csum_offset) == (start, offset)
        assert without(partial, start + offset) == without(frame, start + offset)
        assert checksum.complete(partial, csum_start, csum_offset) == frame


@transports
@networks
def test_verify_knows_right_from_wrong(network, start, transport, offset):
    frame = bytes(network / transport / Raw(b"odd"))
    assert checksum.verify(frame)
    assert not checksum.verify(checksum.request(frame)[0])
    assert not checksum.verify(frame[:-1] + bytes([frame[-1] ^ 1]))
    assert not checksum.verify(frame[:start + offset] + bytes(2) + frame[start + offset + 2:])


def test_verify_looks_at_the_ipv4_header_too():
    frame = bytes(ETHER / FOUR / UDP() / Raw(b"data"))
    assert not checksum.verify(frame[:24] + bytes([frame[24] ^ 1]) + frame[25:])


def test_verify_leaves_a_packet_inside_an_icmp_error_as_it_is():
    quoted = bytes(FOUR / UDP(chksum=0x1234) / Raw(bytes(40)))[:28]
    assert checksum.verify(bytes(ETHER / FOUR / ICMP(type=3) / Raw(quoted)))


def test_verify_without_any_checksum_in_the_frame():
    assert checksum.verify(bytes(ETHER / ARP(pdst="192.0.2.1", hwsrc="02:00:00:00:00:01", psrc="192.0.2.2")))


def test_NET_34_the_field_has_the_pseudo_header_alone():
    """192.0.2.1 and .2, protocol 17, 8 + 3 bytes, by hand."""
    frame = bytes(ETHER / IP(src="192.0.2.1", dst="192.0.2.2") / UDP() / Raw(b"abc"))
    total = 0xC000 + 0x0201 + 0xC000 + 0x0202 + 17 + 11
    assert checksum.request(frame)[0][40:42] == (total % 0xFFFF).to_bytes(2, "big")


def test_the_old_tag_of_qinq_is_a_tag():
    frame = bytes(ETHER / Dot1Q(vlan=5) / Dot1Q(vlan=6) / FOUR / UDP() / Raw(b"abc"))
    old = put(frame, 12, "9100")
    assert checksum.request(old)[1:] == (42, 6)
    assert checksum.complete(*checksum.request(old)) == old


def test_a_type_2_routing_header_has_one_address_that_counts():
    """RFC 6275, 6.4; the same bytes of type 0 have the same pseudo header."""
    frame = bytes(ETHER / SIX / IPv6ExtHdrRouting(addresses=[LAST], segleft=1) / UDP() / Raw(b"abc"))
    two = put(frame, 56, "02")
    assert checksum.complete(*checksum.request(two)) == two


def test_with_an_ip_length_of_0_the_frame_tells_the_length():
    large = bytes(ETHER / IP(src="192.0.2.1", dst="192.0.2.2", len=0) / UDP(len=0, chksum=0) / Raw(bytes(65600)))
    total = 0xC000 + 0x0201 + 0xC000 + 0x0202 + 17 + 1 + (65608 - 65536)
    assert checksum.request(large)[0][40:42] == (total % 0xFFFF).to_bytes(2, "big")


@pytest.mark.parametrize("network, start", [NETWORKS[one] for one in ("v4", "v6", "v6_route")])
def test_a_udp_result_of_0_becomes_ffff(network, start):
    frame = udp_that_sums_to_zero(network)
    assert frame[start + 6:start + 8] == b"\xff\xff"  # scapy has the same rule
    assert checksum.complete(*checksum.request(frame)) == frame


@pytest.mark.parametrize("network, start", [NETWORKS["v4"], NETWORKS["v6"]])
def test_a_tcp_result_of_0_stays_0(network, start):
    value = bytes(network / TCP() / Raw(bytes(2)))[start + 16:start + 18]
    frame = bytes(network / TCP() / Raw(value))
    assert frame[start + 16:start + 18] == bytes(2)
    assert checksum.complete(*checksum.request(frame)) == frame


@pytest.mark.parametrize("head, offset, result", [
    (bytes(ETHER / FOUR / UDP()) + bytes(8), 6, b"\xff\xff"),  # after an outer header: told by the place
    (bytes(ETHER / FOUR / UDP()) + bytes(8), 16, b"\x00\x00"),
    (bytes(ETHER / ARP()), 6, b"\xff\xff")])
def test_a_result_of_0_where_the_frame_does_not_tell_the_protocol(head, offset, result):
    body = b"\xff\xff" + bytes(30)
    assert checksum.complete(head + body, len(head), offset) == head + body[:offset] + result + body[offset + 2:]


def test_another_protocol_with_its_checksum_where_udp_has_it_stays_0():
    head = bytes(ETHER / IP(src="192.0.2.1", dst="192.0.2.2", proto=112))
    frame = head + b"\xff\xff" + bytes(10)
    assert checksum.complete(frame, len(head), 6) == frame


@pytest.mark.parametrize("start, offset, fits", [(0, 58, True), (58, 0, True), (58, 1, False), (59, 0, False),
                                                 (60, 0, False), (65535, 65535, False), (-2, 4, False),
                                                 (4, -2, False)])
def test_NET_55_offsets_outside_the_frame_are_refused(start, offset, fits):
    frame = random.Random(5).randbytes(60)
    if fits:
        assert len(checksum.complete(frame, start, offset)) == 60
        return
    with pytest.raises(ValueError, match=f"csum_start {start} and csum_offset {offset} are outside a frame of 60 "):
        checksum.complete(frame, start, offset)


def test_an_odd_start_counts_its_words_from_there():
    assert checksum.complete(b"\xaa\x01\x02\x00\x00\x03", 1, 2) == b"\xaa\x01\x02\xfb\xfd\x03"


def test_finish_looks_at_the_flags():
    frame = bytes(ETHER / FOUR / TCP() / Raw(b"finish"))
    partial, start, offset = checksum.request(frame)
    done = {flags: checksum.finish(partial, NetHeader(flags=flags, csum_start=start, csum_offset=offset))
            for flags in range(8)}
    assert done == {flags: frame if flags in (1, 3) else partial for flags in range(8)}


def test_ethernet_padding_of_zero_changes_nothing():
    frame = bytes(ETHER / FOUR / UDP() / Raw(b"abc"))
    assert checksum.complete(*checksum.request(frame + bytes(15))) == frame + bytes(15)


V4 = bytes(ETHER / FOUR / UDP() / Raw(b"abcd"))
V6 = bytes(ETHER / SIX / UDP() / Raw(b"abcd"))
REFUSED = [
    (bytes(ETHER / ARP()), "EtherType 0x0806 at byte 12"),
    (bytes(ETHER / Dot1Q() / Dot1Q() / Dot1Q() / FOUR / UDP()), "EtherType 0x8100 at byte 20"),
    (bytes(ETHER / FOUR / ICMP()), "protocol 1 is neither TCP nor UDP"),
    (bytes(ETHER / IP(proto=132) / Raw(bytes(12))), "protocol 132 is neither TCP nor UDP"),
    (bytes(ETHER / SIX / IPv6ExtHdrFragment(m=1) / UDP()), "an IPv6 fragment header at byte 54"),
    (bytes(ETHER / IP(flags="MF") / UDP()), "an IPv4 fragment: 0x2000"),
    (bytes(ETHER / IP(frag=3) / UDP()), "an IPv4 fragment: 0x0003"),
    (V4[:13], "field of 2 bytes at byte 12 of a frame of 13 bytes"),
    (V4[:33], "IPv4 header of 20 bytes at byte 14 of a frame of 33 bytes"),
    (put(V4, 14, "65"), "an IPv4 header that begins with 0x65"),
    (put(V4, 14, "44"), "an IPv4 header that begins with 0x44"),
    (put(V4, 14, "4f"), "IPv4 header of 60 bytes at byte 14 of a frame of 46 bytes"),
    (put(V4, 16, "0013"), "IPv4 length 19 with a header of 20 bytes"),
    (put(V4, 16, "0021"), "IP ends at byte 47 of a frame of 46 bytes"),
    (put(V4, 16, "001b"), "protocol 17 has only 7 bytes"),
    (V4 + b"\x00\x01", "padding after byte 46 that is not zero: 0001"),
    (V6[:53], "IPv6 header of 40 bytes at byte 14 of a frame of 53 bytes"),
    (put(V6, 14, "40"), "an IPv6 header that begins with 0x40"),
    (put(V6, 18, "000d"), "IP ends at byte 67 of a frame of 66 bytes"),
    (put(V6, 20, "00"), "extension header 0 of 432 bytes at byte 54 of a frame of 66 bytes"),
    (bytes(ETHER / SIX / IPv6ExtHdrRouting(type=9, addresses=[VIA], segleft=1) / UDP()),
     "a routing header of type 9, 24 bytes, with 1 segments left"),
    (bytes(ETHER / SIX / IPv6ExtHdrRouting(addresses=[], segleft=1) / UDP()),
     "a routing header of type 0, 8 bytes, with 1 segments left"),
    (put(bytes(ETHER / SIX / IPv6ExtHdrDestOpt() / UDP()), 18, "0007"),
     "IPv6 payload length 7 with 8 bytes of extension headers"),
]


@pytest.mark.parametrize("frame, message", REFUSED, ids=[message for _, message in REFUSED])
def test_frames_that_request_refuses(frame, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        checksum.request(frame)


def test_bytearrays_and_views_are_as_good_as_bytes():
    for kind in (bytearray, memoryview):
        partial, start, offset = checksum.request(kind(V4))
        assert checksum.complete(kind(partial), start, offset) == V4
