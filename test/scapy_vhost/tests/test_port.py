"""The scapy socket over a driver of a few lines: its frames come out of one ring and go into another."""

import os
import threading

import pytest
from front_end import BUFFERS, RX, TX, FrontEnd, bring_up
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.l2 import ARP, ARP_am, Ether
from scapy.packet import Raw
from scapy.utils import rdpcap
from scapy_vhost import Backend, Capture, VhostPort
from scapy_vhost.device import Device

SLOT = 2048


class Looping(FrontEnd):
    """Sends back every frame that arrives in one buffer, after `change`, behind what `header` makes of its header."""

    def __init__(self, path, change=bytes, header=lambda _: bytes(12)):
        super().__init__(path)
        self.change, self.header = change, header
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        for i in range(16):
            self.post(RX, i, BUFFERS + SLOT * i, SLOT, 2)
        self.make_available(RX, *range(16))
        bring_up(self)
        self.thread.start()

    def run(self):
        done = 0
        while not self.stop.wait(0.001):
            index, elements = self.used(RX, 16)
            while done != index:
                head, length = elements[done % 16]
                at = BUFFERS + SLOT * head
                frame = self.change(self.memory[at + 12:at + length])
                self.memory[at:at + 12 + len(frame)] = self.header(self.memory[at:at + 12]) + frame
                self.post(TX, head, at, 12 + len(frame), 0)
                self.make_available(TX, head, before=done)
                self.wait_sent(done + 1)
                done += 1
                self.make_available(RX, head, before=done + 15)
                os.eventfd_write(self.kicks[1], 1)

    def wait_sent(self, count):
        while self.used(TX, 0)[0] != count & 0xFFFF and not self.stop.wait(0.001):
            pass

    def close(self):
        self.stop.set()
        self.thread.join(5)
        super().close()


@pytest.fixture
def port(tmp_path):
    with VhostPort(tmp_path / "s") as port, Looping(tmp_path / "s"):
        yield port.wait_ready(5)


def ping(number):
    return Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / IP(src="192.0.2.1", dst="192.0.2.2") \
        / ICMP(id=number, seq=1) / Raw(b"x" * 100)


def test_send_and_take(port):
    frame = bytes(ping(1))
    assert port.send(Raw(frame)) == len(frame)
    back = port.take()
    assert (back.data, back.header_bytes, back.buffers) == (frame, bytes(12), (12 + len(frame),))
    with pytest.raises(TimeoutError, match="0 of 1 frames came within 0.1 s"):
        port.frames(1, seconds=0.1)


def test_frames_that_came_before_a_timeout_are_not_lost(port):
    for number in range(3):
        port.send(ping(number))
    with pytest.raises(TimeoutError, match="3 of 4 frames came within 0.3 s"):
        port.frames(4, seconds=0.3)
    port.send(ping(3))
    assert [frame.data for frame in port.frames(4)] == [bytes(ping(number)) for number in range(4)]
    with pytest.raises(BlockingIOError):
        os.eventfd_read(port.fileno())


def test_scapy_reads_it_like_any_socket(port):
    packets = [ping(i) for i in range(5)]
    threading.Timer(0.2, lambda: [port.send(p) for p in packets]).start()
    seen = port.sniff(count=5, timeout=5)
    assert [bytes(p) for p in seen] == [bytes(p) for p in packets]


def test_a_burst_larger_than_the_ring_is_not_lost(port):
    packets = [Raw(bytes(ping(i))) for i in range(200)]
    for packet in packets:
        port.send(packet)
    assert [frame.data for frame in port.frames(200)] == [bytes(p) for p in packets]


def test_two_that_take_do_not_disturb_each_other(port):
    first, second = VhostPort(port.backend), VhostPort(port.backend)
    taken, failed = [], []

    def take(one):
        try:
            while True:
                taken.append(one.take(1))
        except TimeoutError:
            pass
        except BaseException as error:
            failed.append(error)

    takers = [threading.Thread(target=take, args=(one,), daemon=True) for one in (first, second)]
    for taker in takers:
        taker.start()
    for number in range(100):
        port.send(ping(number))
    for taker in takers:
        taker.join(10)
    assert (len(taken), failed) == (100, [])


def test_reading_without_a_frame_leaves_the_port_open(port):
    assert port.recv() is None
    port.send(ping(1))
    assert bytes(port.recv()) == bytes(ping(1))


def test_an_end_of_the_thread_is_shown(tmp_path, monkeypatch):
    def broken(*_):
        raise MemoryError("no more")

    monkeypatch.setattr(Device, "handle", broken)
    with pytest.raises(RuntimeError, match="thread ended: MemoryError"):
        with VhostPort(tmp_path / "s") as port, FrontEnd(tmp_path / "s") as front:
            front.send(1)
            with pytest.raises(RuntimeError, match="thread ended: MemoryError"):
                port.wait_ready(5)


def test_sr1_finds_the_answer(tmp_path):
    def answer(frame):
        packet = Ether(frame)
        packet[ICMP].type = 0
        packet.src, packet.dst = packet.dst, packet.src
        packet[IP].src, packet[IP].dst = packet[IP].dst, packet[IP].src
        del packet[ICMP].chksum
        return bytes(packet)

    with VhostPort(tmp_path / "s") as port, Looping(tmp_path / "s", answer):
        pong = port.wait_ready(5).sr1(ping(9), timeout=5, verbose=0)
        assert (pong[ICMP].type, pong[ICMP].id) == (0, 9)


def test_an_answering_machine_answers(tmp_path):
    """The driver's side asks who has an address; the machine behind the port says so."""
    asks = bytes(Ether(src="02:00:00:00:00:07", dst="ff:ff:ff:ff:ff:ff")
                 / ARP(psrc="192.0.2.7", pdst="192.0.2.1", hwsrc="02:00:00:00:00:07"))
    heard = []

    def once(frame):
        heard.append(frame)
        return asks if len(heard) == 1 else bytes(ping(2))

    with VhostPort(tmp_path / "s") as port, Looping(tmp_path / "s", once):
        port.wait_ready(5).send(ping(1))
        answer = port.am(ARP_am, IP_addr="192.0.2.1", ARP_addr="02:00:00:00:00:aa")
        answering = threading.Thread(target=answer, kwargs={"count": 2, "verbose": 0}, daemon=True)
        answering.start()
        answering.join(5)
        assert not answering.is_alive()
        reply = Ether(heard[1])
        assert (reply[ARP].op, reply[ARP].psrc, reply[ARP].hwsrc) == (2, "192.0.2.1", "02:00:00:00:00:aa")


@pytest.fixture
def offloading(tmp_path):
    """A driver that sends frames back with the header that they came with."""
    with VhostPort(tmp_path / "s") as port, Looping(tmp_path / "s", header=lambda came: came[:10] + bytes(2)):
        yield port.wait_ready(5)


def test_a_checksum_left_to_the_receiver_is_completed_as_a_card_would(offloading):
    packet = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / IP(src="192.0.2.1", dst="192.0.2.2") \
        / UDP(sport=7, dport=8) / Raw(b"y" * 999)
    whole = bytes(packet)
    offloading.send(packet, csum=True)
    offloading.send(packet, csum=True)
    assert offloading.take().data == whole[:40] + bytes.fromhex("8804") + whole[42:], "the sum of the pseudo header"
    assert offloading.wire_frames(1) == [whole]


def test_a_large_frame_is_cut_as_a_card_would(offloading):
    def packet(number, flags, payload):
        return Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") \
            / IP(src="192.0.2.1", dst="192.0.2.2", id=40 + number) \
            / TCP(sport=7, dport=8, seq=1000 + 500 * number, flags=flags) / Raw(payload)

    payload = bytes(i * 7 & 0xFF for i in range(1200))
    offloading.send(packet(0, "PA", payload), gso=500)
    assert offloading.wire_frames(1) == [bytes(packet(0, "A", payload[:500])), bytes(packet(1, "A", payload[500:1000])),
                                         bytes(packet(2, "PA", payload[1000:]))]


def test_two_ports_share_a_back_end_and_it_outlives_them(tmp_path):
    with Backend(tmp_path / "s") as backend:
        first, second = VhostPort(backend), VhostPort(backend)
        first.close()
        with Looping(tmp_path / "s"):
            second.wait_ready(5).send(ping(1))
            assert second.take().data == bytes(ping(1))


def test_a_capture_has_the_frames_of_both_directions(tmp_path):
    backend = Backend(tmp_path / "s")
    with Capture(tmp_path / "both.pcap") as backend.capture:
        with backend, Looping(tmp_path / "s"):
            port = VhostPort(backend).wait_ready(5)
            for number in range(3):
                port.send(ping(number))
            port.frames(3)
    seen = [bytes(packet) for packet in rdpcap(str(tmp_path / "both.pcap"))]
    assert sorted(seen) == sorted([bytes(ping(number)) for number in range(3)] * 2)
