"""Segmentation offload: the frames on the wire against what scapy builds for each segment, and the
header fields of VIRTIO 1.3, 5.1.6.2."""

import random
import re
from dataclasses import replace

import pytest
from scapy.layers.inet import IP, TCP, UDP, IPOption_Timestamp
from scapy.layers.inet6 import IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrHopByHop
from scapy.layers.l2 import Dot1AD, Dot1Q, Ether
from scapy.packet import Raw
from scapy_vhost import checksum
from scapy_vhost.net_header import NetHeader
from scapy_vhost.segment import segment, tso_request

ETHER = Ether(dst="02:00:00:00:00:02", src="02:00:00:00:00:01")
FOUR = IP(src="192.0.2.1", dst="198.51.100.2", id=0xFFFE)  # goes over 0xffff within three segments
SIX = IPv6(src="2001:db8::1", dst="2001:db8:1::2")
# network headers -> bytes from the start of the frame to the transport header
NETWORKS = {
    "v4": (ETHER / FOUR, 34),
    "v4_options": (ETHER / IP(src="192.0.2.1", dst="198.51.100.2", id=1, options=[IPOption_Timestamp()]), 46),
    "v4_vlan": (ETHER / Dot1Q(vlan=5) / FOUR, 38),
    "v4_qinq": (ETHER / Dot1AD(vlan=5) / Dot1Q(vlan=6) / FOUR, 42),
    "v6": (ETHER / SIX, 54),
    "v6_qinq": (ETHER / Dot1AD(vlan=5) / Dot1Q(vlan=6) / SIX, 62),
    "v6_two": (ETHER / SIX / IPv6ExtHdrHopByHop() / IPv6ExtHdrDestOpt(), 70),
}
networks = pytest.mark.parametrize("network, start", NETWORKS.values(), ids=NETWORKS)
sizes = pytest.mark.parametrize("size, gso_size, lengths", [
    (3000, 1448, [1448, 1448, 104]), (2896, 1448, [1448, 1448]), (2897, 1448, [1448, 1448, 1]), (100, 1448, [100]),
    (7, 1, [1] * 7), (4001, 999, [999, 999, 999, 999, 5]), (0, 500, [0]), (60000, 60000, [60000])])
FIRST = 0xFFFFFC00  # a sequence number that wraps


def tcp(flags="PA", seq=FIRST, **fields):
    return TCP(sport=1025, dport=2049, seq=seq, ack=77, window=5, flags=flags,
               options=[("NOP", None), ("NOP", None), ("Timestamp", (3, 4))], **fields)


def udp():
    return UDP(sport=1025, dport=2049)


def random_payload(size):
    return random.Random(size).randbytes(size)


def pieces(payload, lengths):
    out = []
    for length in lengths:
        out.append(payload[:length])
        payload = payload[length:]
    assert payload == b""
    return out


def numbered(network, number):
    """The network headers of segment `number`."""
    network = network.copy()
    if IP in network:
        network[IP].id = (network[IP].id + number) & 0xFFFF
    return network


@sizes
@networks
def test_tcp_segments_are_those_of_scapy(network, start, size, gso_size, lengths):
    payload = random_payload(size)
    frames = segment(*tso_request(bytes(network / tcp() / Raw(payload)), gso_size))
    last = len(lengths) - 1
    expected = []
    for number, piece in enumerate(pieces(payload, lengths)):
        header = tcp("PA" if number == last else "A", (FIRST + number * gso_size) & 0xFFFFFFFF)
        expected.append(bytes(numbered(network, number) / header / Raw(piece)))
    assert frames == expected
    assert b"".join(one[start + 32:] for one in frames) == payload
    assert all(checksum.verify(one) for one in frames)


@sizes
@networks
def test_udp_segments_are_those_of_scapy(network, start, size, gso_size, lengths):
    payload = random_payload(size)
    frames = segment(*tso_request(bytes(network / udp() / Raw(payload)), gso_size))
    assert frames == [bytes(numbered(network, number) / udp() / Raw(piece))
                      for number, piece in enumerate(pieces(payload, lengths))]
    assert b"".join(one[start + 8:] for one in frames) == payload
    assert all(checksum.verify(one) for one in frames)


def test_a_udp_segment_whose_sum_is_0_has_ffff():
    network = ETHER / IP(src="192.0.2.1", dst="198.51.100.2")
    value = bytes(network / udp() / Raw(bytes(2)))[40:42]
    frames = segment(*tso_request(bytes(network / udp() / Raw(value + b"xy")), 2))
    assert frames[0][40:] == b"\xff\xff" + value


@pytest.mark.parametrize("flags, ecn, each", [
    ("A", False, ["A", "A", "A"]), ("FPA", False, ["A", "A", "FPA"]), ("PAC", True, ["AC", "A", "PA"]),
    ("PAC", False, ["AC", "AC", "PAC"]), ("PAEC", True, ["AEC", "AE", "PAE"]), ("PAE", False, ["AE", "AE", "PAE"]),
    ("PAU", False, ["AU", "AU", "PAU"]), ("PA", True, ["A", "A", "PA"])])
@pytest.mark.parametrize("network", [ETHER / FOUR, ETHER / SIX], ids=["v4", "v6"])
def test_NET_32_flags_of_each_segment(network, flags, ecn, each):
    frame, header = tso_request(bytes(network / tcp(flags) / Raw(bytes(2500))), 1000)
    kind = header.gso_type & ~NetHeader.GSO_ECN | (NetHeader.GSO_ECN if ecn else 0)
    frames = segment(frame, replace(header, gso_type=kind))
    assert [str(Ether(one)[TCP].flags) for one in frames] == each
    assert all(checksum.verify(one) for one in frames)


@pytest.mark.parametrize("flags, bit", [("PA", 0), ("PAE", 0), ("PAC", 0x80), ("PAEC", 0x80)])
def test_a_request_says_ecn_when_the_frame_has_cwr(flags, bit):
    assert tso_request(bytes(ETHER / FOUR / tcp(flags) / Raw(bytes(9))), 4)[1].gso_type == NetHeader.GSO_TCPV4 | bit
    assert tso_request(bytes(ETHER / SIX / tcp(flags) / Raw(bytes(9))), 4)[1].gso_type == NetHeader.GSO_TCPV6 | bit


@networks
def test_NET_37_to_40_header_fields_of_a_request(network, start):
    kind = NetHeader.GSO_TCPV4 if IP in network else NetHeader.GSO_TCPV6
    assert tso_request(bytes(network / tcp() / Raw(bytes(3000))), 1448)[1] == NetHeader(
        flags=NetHeader.NEEDS_CSUM, gso_type=kind, hdr_len=start + 32, gso_size=1448, csum_start=start, csum_offset=16)
    assert tso_request(bytes(network / udp() / Raw(bytes(3000))), 1200)[1] == NetHeader(
        flags=NetHeader.NEEDS_CSUM, gso_type=NetHeader.GSO_UDP_L4, hdr_len=start + 8, gso_size=1200, csum_start=start,
        csum_offset=6)


@networks
def test_NET_34_a_request_differs_from_the_frame_in_the_checksum_alone(network, start):
    for transport, offset in ((tcp(), 16), (udp(), 6)):
        frame = bytes(network / transport / Raw(random_payload(3001)))
        asked, header = tso_request(frame, 1000)
        assert asked == checksum.request(frame)[0]
        assert checksum.complete(asked, header.csum_start, header.csum_offset) == frame


@pytest.mark.parametrize("network, at, most", [(ETHER / FOUR, 16, 65535 - 40), (ETHER / SIX, 18, 65535 - 20)],
                         ids=["v4", "v6"])
def test_a_length_that_does_not_fit_is_0_and_the_sum_has_it_in_full(network, at, most):
    """NET-34: a pseudo header with the 16-bit length of IP would be wrong here."""
    transport = TCP(sport=1025, dport=2049, flags="A")
    head = len(network) + 20
    for extra, field in ((0, b"\xff\xff"), (1, b"\0\0"), (3000, b"\0\0")):
        payload = random_payload(most + extra)
        stated = network.copy()
        setattr(stated.payload, "len" if IP in network else "plen", 0)
        frame, header = tso_request(bytes(stated / transport) + payload, 1448)
        assert frame[at:at + 2] == field
        length = 20 + most + extra
        addresses = frame[26:34] if IP in network else frame[22:54]
        total = sum(int.from_bytes(addresses[i:i + 2], "big") for i in range(0, len(addresses), 2)) + 6 + length
        assert frame[head - 4:head - 2] == (total % 0xFFFF).to_bytes(2, "big")
        frames = segment(frame, header)
        assert b"".join(one[head:] for one in frames) == payload
        assert checksum.verify(frames[0]) and checksum.verify(frames[-1])


def test_a_request_of_udp_that_does_not_fit_has_udp_length_0():
    frame, header = tso_request(bytes(ETHER / IP(len=0) / UDP(len=0, chksum=0)) + bytes(65600), 60000)
    assert frame[16:18] + frame[38:40] == bytes(4)
    assert [one[38:40].hex() for one in segment(frame, header)] == ["ea68", "15e8"]


@pytest.mark.parametrize("hdr_len", [0, 1, 54, 65535])
def test_NET_40_hdr_len_is_a_hint(hdr_len):
    frame, header = tso_request(bytes(ETHER / FOUR / tcp() / Raw(bytes(3000))), 1448)
    assert segment(frame, replace(header, hdr_len=hdr_len)) == segment(frame, header)


def test_the_length_field_of_the_large_frame_is_not_looked_at():
    frame, header = tso_request(bytes(ETHER / FOUR / tcp() / Raw(bytes(3000))), 1448)
    assert segment(frame[:16] + bytes(2) + frame[18:], header) == segment(frame, header)


@pytest.mark.parametrize("change, message", [
    ({"gso_type": 0}, "gso_type 0x00 of a frame of IPv4, protocol 6"),
    ({"gso_type": 3}, "gso_type 0x03 of a frame of IPv4, protocol 6"),
    ({"gso_type": 4}, "gso_type 0x04 of a frame of IPv4, protocol 6"),
    ({"gso_type": 5}, "gso_type 0x05 of a frame of IPv4, protocol 6"),
    ({"gso_type": 0x21}, "gso_type 0x21 of a frame of IPv4, protocol 6"),
    ({"gso_type": 0x80}, "gso_type 0x80 of a frame of IPv4, protocol 6"),
    ({"gso_size": 0}, "gso_size 0"), ({"flags": 0}, "flags 0x00"), ({"flags": 3}, "flags 0x03"),
    ({"csum_start": 33}, "csum_start 33 and csum_offset 16 where the transport header is at 34"),
    ({"csum_offset": 6}, "csum_start 34 and csum_offset 6 where the transport header is at 34"),
])
def test_headers_that_a_driver_must_not_send_are_refused(change, message):
    frame, header = tso_request(bytes(ETHER / FOUR / tcp() / Raw(bytes(3000))), 1448)
    with pytest.raises(ValueError, match=re.escape(message)):
        segment(frame, replace(header, **change))


@pytest.mark.parametrize("network, transport, kind, message", [
    (ETHER / SIX, tcp(), 1, "gso_type 0x01 of a frame of IPv6, protocol 6"),
    (ETHER / SIX, udp(), 4, "gso_type 0x04 of a frame of IPv6, protocol 17"),
    (ETHER / FOUR, udp(), 0x85, "gso_type 0x85 of a frame of IPv4, protocol 17")])
def test_a_gso_type_of_another_protocol_is_refused(network, transport, kind, message):
    frame, header = tso_request(bytes(network / transport / Raw(bytes(3000))), 1448)
    with pytest.raises(ValueError, match=re.escape(message)):
        segment(frame, replace(header, gso_type=kind))


def test_NET_34_a_pseudo_header_sum_without_the_whole_length_is_refused():
    frame, header = tso_request(bytes(ETHER / IP(src="192.0.2.1", dst="192.0.2.2") / tcp() / Raw(bytes(3000))), 1448)
    total = (0xC000 + 0x0201 + 0xC000 + 0x0202 + 6 + 3032) % 0xFFFF
    wrong = total - 3032
    frame = frame[:50] + wrong.to_bytes(2, "big") + frame[52:]
    with pytest.raises(ValueError, match=f"checksum field {wrong:#06x} is not the sum {total:#06x} of the pseudo"):
        segment(frame, header)


def test_a_sum_of_ffff_may_also_be_0():
    """Both are zero in one's complement; 0.0.0.0 to the address that makes the pseudo header ffff."""
    address = 0xFFFF - 6 - 20 - 3
    network = ETHER / IP(src="0.0.0.0", dst=f"{address >> 8}.{address & 0xFF}.0.0")
    frame, header = tso_request(bytes(network / TCP() / Raw(b"abc")), 2)
    assert frame[50:52] == b"\xff\xff"
    assert segment(frame[:50] + bytes(2) + frame[52:], header) == segment(frame, header)


@pytest.mark.parametrize("frame, gso_size, message", [
    (bytes(ETHER / FOUR / tcp()), 0, "gso_size 0 is not in 1..65535"),
    (bytes(ETHER / FOUR / tcp()), 65536, "gso_size 65536 is not in 1..65535"),
    (bytes(ETHER / IP(proto=132) / Raw(bytes(99))), 9, "protocol 132 is neither TCP nor UDP"),
    (bytes(ETHER / IP(flags="MF") / tcp()), 9, "an IPv4 fragment: 0x2000"),
    (bytes(ETHER / FOUR / TCP(dataofs=4)), 9, "a TCP header of 16 bytes"),
    (bytes(ETHER / FOUR / TCP(dataofs=6)), 9, "protocol 6 has 20 bytes of its header of 24"),
    (bytes(ETHER / FOUR / TCP())[:-1], 9, "protocol 6 has 19 bytes of its header of 20"),
    (bytes(ETHER / FOUR / TCP())[:-8], 9, "protocol 6 has 12 bytes of its header of 20"),
    (bytes(ETHER / SIX / UDP())[:-1], 9, "protocol 17 has 7 bytes of its header of 8"),
], ids=range(9))
def test_requests_that_are_refused(frame, gso_size, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        tso_request(frame, gso_size)
