"""The state machine, the queues and the knobs, driven by hand-packed messages."""

import os
import socket
import struct
from collections import deque

import pytest
from front_end import FrontEnd
from scapy_vhost import (Backend, Completion, Fault, Feature, NetConfig, NetHeader, Offer, ProtocolFeature, Request,
                         mask)
from scapy_vhost.knobs import wait_until

RX, TX, CONTROL = 0x10000, 0x20000, 0x30000  # where the rings of queues 0, 1 and 2 lie
BUFFERS = 0x40000
SUBSET = mask(Feature.VERSION_1, Feature.MRG_RXBUF) | 1 << 30


@pytest.fixture
def make(tmp_path):
    """make(offer): a back end and a front end connected to it."""
    open_ones = []

    def connected(offer=None):
        backend = Backend(tmp_path / "s", offer).__enter__()
        open_ones.append(backend)
        front = FrontEnd(tmp_path / "s")
        open_ones.append(front)
        return backend, front

    yield connected
    for one in reversed(open_ones):
        one.__exit__(None, None, None)


def bring_up(front, features=SUBSET):
    front.ask_u64(1)
    front.ask_u64(15)
    front.send(16, struct.pack("=Q", mask(ProtocolFeature.STATUS, ProtocolFeature.REPLY_ACK)))
    front.send(3)
    front.send(2, struct.pack("=Q", features))
    front.share_memory()
    front.set_up_queue(0, 16, RX)
    front.set_up_queue(1, 16, TX)
    front.send(39, struct.pack("=Q", 0xF))


def test_features_are_offered_with_bit_30(make):
    _, front = make(Offer(features=mask(Feature.VERSION_1, Feature.CSUM)))
    assert front.ask_u64(1) == 1 << 32 | 1 << 30 | 1
    assert front.ask_u64(15) == mask(ProtocolFeature.MQ, ProtocolFeature.REPLY_ACK, ProtocolFeature.STATUS)


def test_a_frame_goes_into_the_buffers_that_are_available(make):
    backend, front = make()
    bring_up(front)
    for i in range(3):
        front.post(RX, i, BUFFERS + 0x100 * i, 100, 2)
    front.make_available(RX, 0, 1, 2)
    backend.wait_ready(5)
    frame = bytes(range(150))
    backend.send(frame, NetHeader(num_buffers=None))
    assert front.used(RX, 2) == (2, [(0, 100), (1, 62)])
    first, second = (front.memory[at:at + 100] for at in (BUFFERS, BUFFERS + 0x100))
    assert first[:12] == bytes(10) + b"\x02\x00"  # num_buffers is the last field
    assert first[12:] + second[:62] == frame
    assert second[62:] == bytes(38), "nothing beyond the frame is written"
    assert int.from_bytes(os.read(front.calls[0], 8), "little") == 1


def test_a_frame_that_finds_too_few_buffers_takes_none(make):
    backend, front = make()
    bring_up(front)
    front.post(RX, 0, BUFFERS, 100, 2)
    front.make_available(RX, 0)
    backend.wait_ready(5)
    with pytest.raises(TimeoutError, match="no receive buffers for 150 bytes on queue pair 0"):
        backend.send(bytes(150), NetHeader(num_buffers=None), seconds=0.1)
    assert front.used(RX, 0) == (0, [])
    backend.send(bytes(88), NetHeader(num_buffers=None))
    assert front.used(RX, 1) == (1, [(0, 100)])


def test_frames_that_the_driver_sends_come_with_header_and_buffer_lengths(make):
    backend, front = make()
    bring_up(front)
    front.memory[BUFFERS:BUFFERS + 12] = bytes(range(12))
    front.memory[BUFFERS + 100:BUFFERS + 160] = b"f" * 60
    front.post(TX, 4, BUFFERS, 12, 1, 7)
    front.post(TX, 7, BUFFERS + 100, 60, 0)
    front.make_available(TX, 4)
    backend.wait_ready(5)
    os.eventfd_write(front.kicks[1], 1)
    wait_until(lambda: backend.frames, 5, "a frame")
    frame = backend.frames.popleft()
    assert (frame.data, frame.buffers, frame.pair) == (b"f" * 60, (12, 60), 0)
    assert (frame.header.flags, frame.header.gso_size, frame.header.num_buffers) == (0, 0x0504, 0x0B0A)
    assert front.used(TX, 1) == (1, [(4, 0)])
    wait_until(lambda: backend.log.count("kick", 1) == 1, 5, "the kick")
    assert backend.log.faults() == []


def test_a_driver_that_loops_a_chain_is_reported_and_its_queue_left_alone(make):
    backend, front = make()
    bring_up(front)
    front.post(TX, 0, BUFFERS, 12, 1, 0)
    front.make_available(TX, 0)
    wait_until(backend.log.faults, 5, "a fault")
    assert len(backend.log.faults()) == 1 and backend.log.faults()[0].startswith("queue 1: ")
    assert not backend.ready()
    assert front.used(TX, 0) == (0, [])


def test_get_vring_base_tells_the_next_entry_and_stops_the_queue(make):
    backend, front = make()
    bring_up(front)
    front.post(TX, 0, BUFFERS, 60, 0)
    front.make_available(TX, 0, 0, 0)
    wait_until(lambda: len(backend.frames) >= 1, 5, "a frame")
    request, flags, payload = front.ask(11, struct.pack("=II", 1, 0))
    assert (request, flags) == (11, 5)
    index, base = struct.unpack("=II", payload)
    assert index == 1 and base in (1, 2, 3)
    assert not backend.ready()


def test_bits_that_were_not_offered_are_a_fault(make):
    backend, front = make()
    front.ask_u64(1)
    front.send(2, struct.pack("=Q", SUBSET | 1 << 35))
    front.ask_u64(1)
    assert backend.log.faults() == ["SET_FEATURES has bits that were not offered: 0x800000000"]


@pytest.mark.parametrize("request_id, payload, what", [
    (8, struct.pack("=II", 3, 16), "SET_VRING_NUM: queue 3 of 3"),
    (26, b"", "request 26 is not known"),
    (12, struct.pack("=Q", 0), "SET_VRING_KICK: 0 file descriptors with 0x0"),
    (5, struct.pack("=II", 3, 0), "SET_MEM_TABLE: 3 regions in 8 bytes with 0 fds"),
])
def test_messages_that_make_no_sense_are_refused_and_named(make, request_id, payload, what):
    backend, front = make()
    front.ask_u64(1)
    front.send(16, struct.pack("=Q", mask(ProtocolFeature.REPLY_ACK)))
    assert front.ask(request_id, payload, flags=9) == (request_id, 5, struct.pack("=Q", 1))
    assert backend.log.faults() == [what]


def test_configuration_space_is_read_in_parts_and_written(make):
    _, front = make(Offer(config=bytearray(bytes(NetConfig(mac=b"\x02\x00\x00\x00\x00\x07", mtu=9000)))))
    head = struct.pack("=III", 10, 2, 0)
    assert front.ask(24, head + bytes(2)) == (24, 5, head + struct.pack("<H", 9000))
    front.send(25, struct.pack("=III", 10, 2, 0) + b"\x34\x12")
    assert front.ask(24, head + bytes(2))[2][12:] == b"\x34\x12"
    assert front.ask(24, struct.pack("=III", 4000, 8, 0) + bytes(8)) == (24, 5, b"")


def test_the_next_front_end_finds_a_fresh_device(make, tmp_path):
    backend, front = make()
    bring_up(front)
    backend.wait_ready(5)
    front.sock.shutdown(2)
    wait_until(lambda: not backend.ready(), 5, "the end of the first connection")
    with FrontEnd(tmp_path / "s") as second:
        assert second.ask_u64(40) == 0
        assert backend.connections == 2


@pytest.mark.parametrize("fault, reply", [
    (Fault.WRONG_REQUEST, (2, 5, 8)), (Fault.WRONG_VERSION, (1, 6, 8)),
    (Fault.NO_REPLY_FLAG, (1, 1, 8)), (Fault.SHORT, (1, 5, 4)), (Fault.LONG, (1, 5, 0xFFFFFFFF))])
def test_faults_of_a_reply(make, fault, reply):
    backend, front = make()
    backend.knobs.fault_at(Request.GET_FEATURES, fault)
    front.send(1)
    assert struct.unpack("=III", front.read(12)) == reply
    assert backend.knobs.met == [(1, fault)]


def test_cut_close_and_silence(make, tmp_path):
    backend, front = make()
    backend.knobs.fault_at(Request.GET_FEATURES, Fault.CUT)
    front.send(1)
    assert front.read(5) == bytes.fromhex("0100000005")
    with pytest.raises(ConnectionError):
        front.read(1)
    backend.knobs.fault_at(Request.GET_FEATURES, Fault.CLOSE)
    with FrontEnd(tmp_path / "s") as second, pytest.raises(ConnectionError):
        second.ask_u64(1)
    backend.knobs.fault_at(Request.GET_FEATURES, Fault.SILENCE)
    with FrontEnd(tmp_path / "s") as third:
        third.sock.settimeout(0.3)
        with pytest.raises(TimeoutError):
            third.ask_u64(1)


def test_nack_fragments_and_refused_features_ok(make):
    backend, front = make()
    backend.knobs.nack(Request.SET_OWNER, 7)
    backend.knobs.fragment_replies(3)
    backend.knobs.refuse_features_ok()
    front.ask_u64(1)
    front.send(16, struct.pack("=Q", mask(ProtocolFeature.REPLY_ACK, ProtocolFeature.STATUS)))
    assert front.ask(3, flags=9) == (3, 5, struct.pack("=Q", 7))
    front.send(39, struct.pack("=Q", 0xB))
    assert front.ask_u64(40) == 3


def test_control_commands_are_logged_and_answered(make):
    """MQ_VQ_PAIRS_SET 1 (VIRTIO 1.3, 5.1.6.5.6) in three descriptors on the queue behind the one pair."""
    backend, front = make(Offer(features=mask(Feature.VERSION_1, Feature.CTRL_VQ)))
    backend.knobs.control_ack = 1
    bring_up(front, mask(Feature.VERSION_1, Feature.CTRL_VQ) | 1 << 30)
    front.set_up_queue(2, 16, CONTROL)
    front.memory[BUFFERS:BUFFERS + 4] = b"\x04\x00\x01\x00"
    front.memory[BUFFERS + 8] = 0xFF
    front.post(CONTROL, 0, BUFFERS, 2, 1, 1)
    front.post(CONTROL, 1, BUFFERS + 2, 2, 1, 2)
    front.post(CONTROL, 2, BUFFERS + 8, 1, 2)
    front.make_available(CONTROL, 0)
    wait_until(lambda: backend.control.commands, 5, "a command")
    command, = backend.control.commands
    assert (command.group, command.command, command.data) == (4, 0, b"\x01\x00")
    wait_until(lambda: front.used(CONTROL, 1) == (1, [(0, 1)]), 5, "the answer")
    assert front.memory[BUFFERS + 8] == 1
    assert backend.log.faults() == []


def test_what_the_caller_asks_wrong_uses_no_buffer_and_is_not_the_drivers_fault(make):
    backend, front = make()
    bring_up(front)
    front.post(RX, 0, BUFFERS, 100, 2)
    front.make_available(RX, 0)
    backend.wait_ready(5)
    for what, arguments in (("splits .101.", {"splits": [101]}), ("splits .73.", {"splits": [73]}),
                            ("claims .1, 2.", {"claims": [1, 2]}), ("claims .-1.", {"claims": [-1]})):
        size = 60 if what != "splits .101." else 90
        with pytest.raises(ValueError, match=what):
            backend.send(bytes(size), NetHeader(num_buffers=None), **arguments)
    with pytest.raises(ValueError, match="gso_size 70000"):
        backend.send(bytes(60), NetHeader(gso_size=70000))
    assert front.used(RX, 0) == (0, [])
    assert backend.log.faults() == []
    backend.send(bytes(60), NetHeader(num_buffers=None))
    assert front.used(RX, 1) == (1, [(0, 72)])


def test_a_header_is_not_changed_by_sending_it(make):
    backend, front = make()
    bring_up(front)
    for i in range(3):
        front.post(RX, i, BUFFERS + 0x100 * i, 100, 2)
    front.make_available(RX, 0, 1, 2)
    backend.wait_ready(5)
    header = NetHeader(num_buffers=None)
    backend.send(bytes(60), header)
    backend.send(bytes(150), header)
    assert [front.memory[BUFFERS + at + 10] for at in (0, 0x100)] == [1, 2]


def test_a_frame_that_cannot_fit_without_mrg_rxbuf_is_refused_at_once(make):
    backend, front = make()
    bring_up(front, mask(Feature.VERSION_1) | 1 << 30)
    front.post(RX, 0, BUFFERS, 100, 2)
    front.make_available(RX, 0)
    backend.wait_ready(5)
    with pytest.raises(ValueError, match="162 bytes, the receive buffer 100, and without MRG_RXBUF"):
        backend.send(bytes(150), NetHeader(num_buffers=None))
    backend.send(bytes(88), NetHeader(num_buffers=None))
    assert front.used(RX, 1) == (1, [(0, 100)])


def test_a_killed_connection_is_not_ready_from_then_on(make):
    backend, front = make()
    bring_up(front)
    backend.wait_ready(5)
    backend.kill()
    assert not backend.ready()
    with pytest.raises(TimeoutError, match="within 0.1 s: the last connection on .* has ended"):
        backend.wait_ready(0.1)


def test_a_message_that_cannot_be_read_ends_the_connection_and_not_the_back_end(make, tmp_path):
    backend, front = make()
    front.send(1, flags=2)
    with pytest.raises(ConnectionError):
        front.read(1)
    assert backend.log.faults() == ["request 1: flags 0x2 are not of version 1"]
    with FrontEnd(tmp_path / "s") as second:
        assert second.ask_u64(40) == 0


@pytest.mark.parametrize("request_id, payload, what", [
    (5, struct.pack("=IIQQQQ", 1, 0, 0, 1 << 63, 0, 1 << 63), "cannot map 0x1"),
    (21, b"", "SET_BACKEND_REQ_FD: Socket operation on non-socket"),
    (37, bytes(8), "ADD_MEM_REG: the payload has 8 bytes, not 40"),
], ids=["SET_MEM_TABLE", "SET_BACKEND_REQ_FD", "ADD_MEM_REG"])
def test_a_refused_file_descriptor_is_closed(make, request_id, payload, what):
    backend, front = make()
    front.ask_u64(1)
    before = len(os.listdir("/proc/self/fd"))
    front.send(request_id, payload, [front.fd])
    front.ask_u64(1)
    assert len(os.listdir("/proc/self/fd")) == before
    fault, = backend.log.faults()
    assert fault.startswith(what)


def test_what_is_set_before_the_driver_comes_holds(make):
    backend, front = make()
    backend.hold("tx", Completion.HELD)
    backend.want_kicks(1, False)
    bring_up(front)
    backend.wait_ready(5)
    front.post(TX, 0, BUFFERS, 72, 0)
    front.make_available(TX, 0)
    wait_until(lambda: backend.frames, 5, "a frame")
    assert front.used(TX, 0) == (0, [])
    assert struct.unpack_from("<H", front.memory, TX + 0x8000) == (1,), "NO_NOTIFY"
    with pytest.raises(ValueError, match=r"release of \[0, 0\] in tx: 1 are held"):
        backend.release("tx", [0, 0])
    front.ask(11, struct.pack("=II", 1, 0))
    backend.release("tx")
    assert front.used(TX, 0) == (0, []), "the driver stopped the queue: its buffers are its own again"


@pytest.mark.parametrize("path, what", [("x" * 120, "has [0-9]+ bytes, 107 are possible"), ("taken", "remove it")])
def test_a_path_that_cannot_be_listened_on_leaves_nothing_behind(tmp_path, path, what):
    (tmp_path / "taken").touch()
    before = os.listdir("/proc/self/fd")
    with pytest.raises(OSError, match=what):
        Backend(tmp_path / path).__enter__()
    assert os.listdir("/proc/self/fd") == before


def test_stopping_again_does_nothing(tmp_path):
    with Backend(tmp_path / "s") as backend:
        (tmp_path / "s").unlink()
        backend.stop()
    with pytest.raises(RuntimeError, match="does not run"):
        backend.wait_ready(1)
    with pytest.raises(RuntimeError, match="ran already"):
        backend.__enter__()


def test_words_of_features_are_told_from_numbers_of_bits():
    with pytest.raises(TypeError, match=r"mask\(Feature.MRG_RXBUF\)"):
        Offer(features=Feature.MRG_RXBUF)
    assert Offer(config=NetConfig(mtu=9000)).config == bytes(NetConfig(mtu=9000))


def test_a_client_back_end_finds_a_front_end_that_listens(tmp_path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        with Backend(tmp_path / "s", server=False) as backend:
            server.bind(str(tmp_path / "s"))
            server.listen(1)
            server.settimeout(5)
            for connection in (1, 2):
                with FrontEnd(sock=server.accept()[0]) as front:
                    bring_up(front)
                    backend.wait_ready(5)
                    assert backend.connections == connection
                wait_until(lambda: not backend.ready(), 5, "the end")


def test_a_notice_of_changed_configuration(make):
    backend, front = make(Offer(config=bytearray(bytes(NetConfig(mtu=1500)))))
    front.ask_u64(1)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        front.send(21, fds=[theirs.fileno()])
        front.ask_u64(1)
        backend.change_config(NetConfig(mtu=9000))
        assert ours.recv(100) == bytes.fromhex("02000000 01000000 00000000")
    head = struct.pack("=III", 10, 2, 0)
    assert front.ask(24, head + bytes(2)) == (24, 5, head + struct.pack("<H", 9000))


def test_frames_that_are_taken_at_once_are_announced_all_the_same(tmp_path):
    """The test takes frames while the back end's thread puts more of them there: each still rings once."""
    class Taken(deque):
        def append(self, frame):
            taken.append(frame.data)

    taken = []
    backend = Backend(tmp_path / "s")
    backend.frames = Taken()
    with backend, FrontEnd(tmp_path / "s") as front:
        bring_up(front)
        for place in range(3):
            front.post(TX, place, BUFFERS + 100 * place, 60 + place, 0)
        front.make_available(TX, 0, 1, 2)
        wait_until(lambda: front.used(TX, 0)[0] == 3, 5, "the frames")
        with backend.lock:
            pass  # the look at the rings that found them is over
        for _ in range(3):
            assert os.eventfd_read(backend.arrived) == 1
        with pytest.raises(BlockingIOError):
            os.eventfd_read(backend.arrived)
        assert [len(data) for data in taken] == [48, 49, 50]
