"""The net header of 20 bytes (VIRTIO 1.3, 5.1.6) in the rings of a driver that accepted HASH_REPORT, byte by byte."""

import pytest
from front_end import (AVAIL, BUFFERS, MERGEABLE, RING_PACKED, RX, TX, USED, VERSION_1, WITH_PROTOCOL_FEATURES,
                       FrontEnd, bring_up)
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy_vhost import Feature, HashReport, NetHeader, Offer, VhostPort, mask

HASH_REPORT = 1 << 57
FRAME = bytes(range(64, 124))
FEATURES = mask(Feature.VERSION_1, Feature.MRG_RXBUF, Feature.CTRL_VQ, Feature.HASH_REPORT, Feature.RING_PACKED)


@pytest.fixture
def connected(tmp_path):
    """(VhostPort, FrontEnd) of a device that offers HASH_REPORT; nothing is accepted yet."""
    with VhostPort(tmp_path / "s", offer=Offer(features=FEATURES)) as port, FrontEnd(tmp_path / "s") as front:
        yield port, front


def test_NET_58_a_split_ring_gets_hash_and_report_behind_num_buffers(connected):
    port, front = connected
    bring_up(front, MERGEABLE | HASH_REPORT)
    for place in range(2):
        front.post(RX, place, BUFFERS + 0x100 * place, 50, 2)
    front.make_available(RX, 0, 1)
    port.wait_ready(5).send(FRAME, hash_value=0x0A0B0C0D, hash_report=HashReport.UDPV6_EX)
    assert front.used(RX, 2) == (2, [(0, 50), (1, 30)])
    image = bytes(10) + bytes.fromhex("0200 0d0c0b0a 0900 0000") + FRAME
    assert front.memory[BUFFERS:BUFFERS + 50] + front.memory[BUFFERS + 0x100:BUFFERS + 0x11e] == image


def test_NET_58_a_packed_ring_gets_them_as_well(connected):
    port, front = connected
    bring_up(front, MERGEABLE | HASH_REPORT | RING_PACKED)
    front.post_packed(RX, 0, BUFFERS, 200, 2, 7)
    port.wait_ready(5).send(FRAME, hash_value=0xFFFFFFFF, hash_report=0xABCD)  # a report that no document knows
    assert front.used_packed(RX, 0) == (80, 7, AVAIL | USED | 2)
    assert front.memory[BUFFERS:BUFFERS + 80] == bytes(10) + bytes.fromhex("0100 ffffffff cdab 0000") + FRAME


@pytest.mark.parametrize("packed", [False, True], ids=["split", "packed"])
def test_NET_43_what_the_driver_sends_begins_behind_20_bytes(connected, packed):
    port, front = connected
    bring_up(front, MERGEABLE | HASH_REPORT | (RING_PACKED if packed else 0))
    header = bytes(12) + bytes.fromhex("04030201 0600 0000")
    front.memory[BUFFERS:BUFFERS + 80] = header + FRAME
    if packed:
        front.post_packed(TX, 0, BUFFERS, 80, 0, 3)
    else:
        front.post(TX, 3, BUFFERS, 80, 0)
        front.make_available(TX, 3)
    frame = port.wait_ready(5).take()
    assert (frame.data, frame.header_bytes) == (FRAME, header)
    assert (frame.header.hash_value, frame.header.hash_report) == (0x01020304, HashReport.UDPV6)


def test_a_packet_of_19_bytes_is_shorter_than_the_header(connected):
    port, front = connected
    bring_up(front, MERGEABLE | HASH_REPORT)
    front.post(TX, 0, BUFFERS, 19, 0)
    front.post(TX, 1, BUFFERS, 80, 0)
    front.make_available(TX, 0, 1)
    assert len(port.wait_ready(5).take().data) == 60
    assert port.backend.log.faults() == [
        "queue 1: a packet of 19 readable and 0 writable bytes, the header has 20"]


def test_hash_and_checksum_go_together(connected):
    port, front = connected
    bring_up(front, VERSION_1 | WITH_PROTOCOL_FEATURES | HASH_REPORT)
    front.post(RX, 0, BUFFERS, 200, 2)
    front.make_available(RX, 0)
    packet = Ether(dst="02:00:00:00:00:02") / IP(src="192.0.2.1", dst="192.0.2.2") / UDP(sport=1, dport=2) / b"abc"
    port.wait_ready(5).send(packet, csum=True, hash_value=5, hash_report=HashReport.UDPV4)
    # Without MRG_RXBUF the field is there and 1 (5.1.6.4.1).
    assert front.memory[BUFFERS:BUFFERS + 20] == bytes.fromhex("01 00 0000 0000 2200 0600 0100 05000000 0300 0000")


def test_a_hash_without_room_for_it_is_refused_and_takes_no_buffer(connected):
    port, front = connected
    bring_up(front, MERGEABLE)
    front.post(RX, 0, BUFFERS, 200, 2)
    front.make_available(RX, 0)
    port.wait_ready(5)
    for options in ({"hash_value": 7}, {"hash_report": HashReport.IPV4}, {"header": NetHeader(hash_report=1)}):
        with pytest.raises(ValueError, match="in a header of 12 bytes: .* HASH_REPORT"):
            port.send(FRAME, **options)
    with pytest.raises(ValueError, match="give a header, or them"):
        port.send(FRAME, header=NetHeader(), hash_value=7)
    assert front.used(RX, 0) == (0, [])
    port.send(FRAME)
    assert front.used(RX, 1) == (1, [(0, 72)])


def test_reports_have_the_numbers_of_the_document():
    assert {one.name: one.value for one in HashReport} == {
        "NONE": 0, "IPV4": 1, "TCPV4": 2, "UDPV4": 3, "IPV6": 4, "TCPV6": 5, "UDPV6": 6, "IPV6_EX": 7, "TCPV6_EX": 8,
        "UDPV6_EX": 9}
