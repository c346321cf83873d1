"""passt: what it answers to ARP, ICMP and UDP, in frames of one buffer and of dozens; TCP; and one that goes away."""

import hashlib
import random
import struct
import sys
from contextlib import closing

import pytest
from scapy.layers.inet import ICMP, IP, UDP
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Raw
from scapy.utils import RawPcapReader

from bench import counts
from bench.wait import until
from peers import gone
from peers.passt import GATEWAY, GUEST, GUEST_MAC, PORT, WEB_PORT
from peers.udp_server import LONGEST, answer

ROOM = 2048
SHORTEST = 60
ECHO_SIZES = (0, 1, 56, 1000, 1472)
# (bytes of the question, its repetitions in the answer)
SHORT = [(size, 1) for size in (1, 2, 17, 18, 19, 100, 1000, 1471, 1472)]
LONG = [(size, times) for size in (18, 1000, 1472) for times in (2, 10)] + [(1472, 44), (1489, 43), (2000, 32)]

DOWNLOAD = "import sys, urllib.request as u; sys.stdout.buffer.write(u.urlopen(sys.argv[1], timeout=20).read())"


def question(number, size, times):
    """Payload of question `number`."""
    return (bytes([times]) + struct.pack("!H", number) + bytes((7 * number + i) & 0xFF for i in range(size)))[:size]


def to_gateway(*layers):
    """A frame from the guest; its address for the other side is any one, which passt does not look at."""
    packet = Ether(dst="02:00:00:00:00:02", src=GUEST_MAC) / IP(src=GUEST, dst=GATEWAY)
    for layer in layers:
        packet /= layer
    return bytes(packet).ljust(SHORTEST, b"\0")


def questions(cases):
    """The frames, each from a UDP port of its own so that no queue of a socket has more than one of them."""
    return [to_gateway(UDP(sport=10000 + n, dport=PORT), Raw(question(n, *case))) for n, case in enumerate(cases)]


def received(front):
    """Frames that the front end wrote, as (bytes, whole length): net_pcap cuts very long ones."""
    with closing(RawPcapReader(str(front.work / "fe.out.pcap"))) as reader:
        return [(data, meta.wirelen) for data, meta in reader]


def by_guest_port(frames):
    """UDP frames by the port that they came to; each port has one."""
    out = {}
    for data, whole in frames:
        packet = Ether(data)
        if UDP in packet and packet[UDP].sport == PORT:
            assert packet[UDP].dport not in out, "the same answer twice"
            out[packet[UDP].dport] = (data, whole)
    return out


def assert_answer(frame, number, case):
    """The right frame for the question: addresses, lengths, checksums, bytes."""
    data, whole = frame
    wanted = answer(question(number, *case))
    packet = Ether(data)
    assert (packet[IP].src, packet[IP].dst, packet.dst) == (GATEWAY, GUEST, GUEST_MAC)
    assert (packet[IP].len, packet[UDP].len, whole) == tuple(n + len(wanted) for n in (28, 8, 42))
    assert data[42:] == wanted[:len(data) - 42]
    again = packet.copy()
    del again[IP].chksum, again[UDP].chksum
    right = Ether(bytes(again))
    assert packet[IP].chksum == right[IP].chksum
    # IPv4 allows passt to leave out that of UDP.
    assert packet[UDP].chksum in (0, right[UDP].chksum) or len(data) < whole


def settled(front, host, wire):
    """Frames from passt and to it, by its capture, once the connection is closed and who counts packets says the same.
    What Linux sent is not asked: libpcap may lose some of it, and TCP sends it again."""
    def look():
        with closing(RawPcapReader(str(host.capture))) as reader:
            captured = [data for data, _ in reader]
        own = [data for data in captured if data[6:12] == mac]
        theirs = [data for data in captured if data[:6] == mac]
        device, other = front.port_stats(0), front.port_stats(1)
        last[:] = ((len(theirs), device["RX-packets"], other["TX-packets"], wire.received()),
                   (len(own), device["TX-packets"], other["RX-packets"]))
        return (theirs, own) if all(len(set(counted)) == 1 for counted in last) else None

    last, mac = [], bytes.fromhex(GUEST_MAC.replace(":", ""))
    return until(look, lambda: f"passt, Linux and both ports count the same, have {last}")


def connected(bench, host, sent):
    """A front end that sends `sent` to passt, each frame from one mbuf, and writes what comes back."""
    assert host.socket == bench.socket
    return bench.front_end(source=sent, pools=(ROOM + 128,), mtu=1500, queue_size=1024, start=False)


def test_arp_icmp_and_udp_are_answered(bench_passt):
    """The first frames of any guest: who has the gateway, is it there, does a datagram come back unchanged."""
    bench, host = bench_passt
    arp = bytes(Ether(dst="ff:ff:ff:ff:ff:ff", src=GUEST_MAC) / ARP(hwsrc=GUEST_MAC, psrc=GUEST, pdst=GATEWAY))
    echoes = [to_gateway(ICMP(id=100 + n, seq=1), Raw(bytes(i & 0xFF for i in range(size))))
              for n, size in enumerate(ECHO_SIZES)]
    sent = [arp.ljust(SHORTEST, b"\0"), *echoes, *questions(SHORT)]
    front = connected(bench, host, sent)
    front.cmd("start")
    front.wait_stats(1, tx_packets=len(sent))
    frames = received(front)
    packets = [Ether(data) for data, _ in frames]
    assert [(p[ARP].op, p[ARP].psrc, p[ARP].pdst) for p in packets if ARP in p] == [(2, GATEWAY, GUEST)]
    replies = {p[ICMP].id: bytes(p[ICMP].payload) for p in packets if ICMP in p and p[ICMP].type == 0}
    for n, size in enumerate(ECHO_SIZES):
        assert replies[100 + n][:size] == bytes(i & 0xFF for i in range(size))
    answers = by_guest_port(frames)
    for n, case in enumerate(SHORT):
        assert_answer(answers[10000 + n], n, case)
    assert len(frames) == len(sent)


def test_long_datagrams_are_merged_NET_48(bench_passt):
    """Frames of up to 64810 bytes, which take up to 32 buffers; the counters agree with the frames."""
    bench, host = bench_passt
    assert all(size * times <= LONGEST for size, times in LONG)
    sent = questions(LONG)
    front = connected(bench, host, sent)
    before = front.xstats()
    front.cmd("start")
    front.wait_stats(1, tx_packets=len(sent))
    frames = received(front)
    answers = by_guest_port(frames)
    assert len(frames) == len(answers) == len(sent)
    for n, case in enumerate(LONG):
        assert_answer(answers[10000 + n], n, case)
    rose = counts.rises(before, front.xstats())
    lengths = [whole for _, whole in frames]
    if bench.driver.is_fit:
        got = [bytes(n) for n in lengths]
        needed = sum(counts.segments(n, ROOM) for n in lengths)
        assert rose == {**counts.received(got, front.footprints(), [needed]), **counts.transmitted(sent)}
    else:
        assert (rose["rx_good_packets"], rose["rx_good_bytes"]) == (len(sent), sum(lengths))


@pytest.mark.parametrize("wire, room", [(1500, ROOM), (1500, 640), (16000, ROOM)], indirect=["wire"],
                         ids=["1500_in_one", "1500_in_3", "16000_in_8"])
def test_tcp_download_NET_48(bench_passt, wire, room):
    """A file of 10 MB over TCP, with Linux's own stack behind us: the same bytes, in frames that take up to 8 buffers.
    The counters agree with the frames that passt says it sent and got, and with those that reached Linux."""
    bench, host = bench_passt
    data = random.Random(1).randbytes(10_000_000)
    (host.files / "data").write_bytes(data)
    front = bench.front_end(wire=wire, pools=(room + 128,), mtu=1500, queue_size=1024)
    before = front.xstats()
    got = wire.run(sys.executable, "-c", DOWNLOAD, f"http://{GATEWAY}:{WEB_PORT}/data", seconds=40)
    assert hashlib.sha256(got).digest() == hashlib.sha256(data).digest()
    frames, own = settled(front, host, wire)
    assert max(map(len, frames)) == wire.mtu + 14
    rose = counts.rises(before, front.xstats())
    if bench.driver.is_fit:
        needed = sum(counts.segments(len(f), room) for f in frames)
        assert rose == {**counts.received(frames, front.footprints(), [needed]), **counts.transmitted(own)}
    else:
        assert (rose["rx_good_packets"], rose["tx_good_packets"]) == (len(frames), len(own))


def test_next_front_end_is_served(bench_passt):
    """passt stays when a front end ends, and answers the next one."""
    bench, host = bench_passt
    for _ in range(2):
        sent = questions(SHORT)
        front = connected(bench, host, sent)
        front.cmd("start")
        front.wait_stats(1, tx_packets=len(sent))
        assert len(by_guest_port(received(front))) == len(sent)
        assert front.quit() == 0
        bench.kill(front)


@pytest.mark.fit("expects exit status 0 after the back end went; that is asked of net_virtio_fit only")
@pytest.mark.parametrize("commands", [pytest.param(("stop", "port stop 0", "port close 0"), id="close"),
                                      pytest.param((), id="quit_only")])
def test_passt_is_killed_trouble_083(bench_passt, commands):
    """The link goes down, the process answers and ends with exit status 0."""
    bench, host = bench_passt
    sent = questions(SHORT)
    front = connected(bench, host, sent)
    front.cmd("start")
    front.wait_stats(1, tx_packets=len(sent))
    host.crash()
    gone.assert_survived(front, (0,), commands)
