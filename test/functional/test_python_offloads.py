"""Checksums and large frames through the Python back end, tried on DPDK's net_virtio_user, which has these offloads."""

import pytest
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Raw

from bench.driver import Driver
from scapy_vhost import Feature, NetHeader, Offer, ProtocolFeature, checksum, mask

OFFLOADS = mask(Feature.VERSION_1, Feature.MRG_RXBUF, Feature.CSUM, Feature.GUEST_CSUM, Feature.HOST_TSO4,
                Feature.HOST_TSO6, Feature.GUEST_TSO4, Feature.GUEST_TSO6)
RX_OFFLOADS, TX_OFFLOADS = ("udp_cksum", "tcp_cksum", "tcp_lro"), ("udp_cksum", "tcp_cksum", "tcp_tso")
MSS = 1448
NETWORKS = {"ipv4": IP(src="192.0.2.1", dst="192.0.2.2"), "ipv6": IPv6(src="2001:db8::1", dst="2001:db8::2")}


def ether():
    return Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")


@pytest.fixture
def offloading(bench_nohuge, echo):
    """A front end that recomputes checksums and cuts at MSS by the device."""
    bench_nohuge.driver = Driver("net_virtio_user")
    wired = echo(Offer(OFFLOADS, mask(ProtocolFeature.MQ, ProtocolFeature.REPLY_ACK)), before=(
        *(f"port config 0 rx_offload {name} on" for name in RX_OFFLOADS),
        *(f"port config 0 tx_offload {name} on" for name in TX_OFFLOADS),
        "csum set tcp hw 0", "csum set udp hw 0", f"tso set {MSS} 0", "csum mac-swap off 0"))
    wired.front.cmds("stop", "set fwd csum", "start")
    return wired


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("transport", [TCP, UDP])
def test_checksums_left_to_each_other(offloading, network, transport):
    """The device leaves the sum to the driver's side and gets one to complete back: the same bytes after all."""
    packet = ether() / NETWORKS[network] / transport(sport=1000, dport=2000) / Raw(bytes(range(256)) * 4)
    offloading.port.send(packet, csum=True)
    frame = offloading.port.take()
    assert frame.header.flags == NetHeader.NEEDS_CSUM and not checksum.verify(frame.data)
    assert checksum.finish(frame.data, frame.header) == bytes(packet)
    offloading.assert_sound()


@pytest.mark.parametrize("network", NETWORKS)
def test_large_frames(offloading, network):
    """A frame of 20,000 bytes of payload goes in one piece and comes back in one, to be cut as a card would."""
    payload = bytes(i * 7 & 0xFF for i in range(20_000))
    packet = ether() / NETWORKS[network] / TCP(sport=1000, dport=2000, seq=5000, flags="PA") / Raw(payload)
    offloading.port.send(packet, gso=MSS)
    pieces = offloading.port.wire_frames(1)
    assert all(checksum.verify(piece) for piece in pieces)
    found = [Ether(piece)[TCP] for piece in pieces]
    assert b"".join(bytes(tcp.payload) for tcp in found) == payload
    assert [tcp.seq for tcp in found] == [5000 + start for start in range(0, len(payload), MSS)]
    offloading.assert_sound()
