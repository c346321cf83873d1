"""Frames and commands through the rings of a back end, looked at as bytes in the memory of a front end."""

import os
from collections import deque

import pytest
from front_end import BUFFERS, CONTROL, RX, TX, FrontEnd, bring_up
from scapy_vhost import Backend, Feature, NetHeader, Offer, RingError, datapath, mask
from scapy_vhost.knobs import wait_until


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


@pytest.mark.parametrize("lengths, what", [((60, 100), "60 readable and 100"), ((100,), "100 readable and 0")])
def test_a_receive_buffer_that_the_device_may_not_write_is_reported(make, lengths, what):
    """Readable, then writable if there is another descriptor: the ring allows it, a receive queue has no use for it."""
    backend, front = make()
    bring_up(front)
    for place, length in enumerate(lengths):
        last = place == len(lengths) - 1
        front.post(RX, place, BUFFERS + 0x100 * place, length, (2 if place else 0) | (0 if last else 1), place + 1)
    front.make_available(RX, 0)
    backend.wait_ready(5)
    fault = f"a receive buffer of {what} writable bytes"
    with pytest.raises(RingError, match=fault):
        backend.send(bytes(60), NetHeader(num_buffers=None))
    assert backend.log.faults() == [f"queue 0: {fault}"]
    with pytest.raises(TimeoutError, match=f"the driver broke a rule: queue 0: {fault}"):
        backend.send(bytes(60), NetHeader(num_buffers=None), seconds=0.1)
    assert front.used(RX, 0) == (0, [])


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


def test_frames_that_find_no_room_are_counted_over_all_connections(make, monkeypatch, tmp_path):
    monkeypatch.setattr(datapath, "MOST_FRAMES", 2)
    backend, front = make()
    bring_up(front)
    for place in range(5):
        front.post(TX, place, BUFFERS + 100 * place, 60 + place, 0)
    front.make_available(TX, 0, 1)
    wait_until(lambda: front.used(TX, 0)[0] == 2, 5, "two frames")
    assert backend.overflow == 0
    front.make_available(TX, 2, 3, 4, before=2)
    wait_until(lambda: front.used(TX, 0)[0] == 5, 5, "five frames")
    assert ([len(frame.data) for frame in backend.frames], backend.overflow) == ([48, 49], 3)
    front.sock.shutdown(2)
    with FrontEnd(tmp_path / "s") as second:
        bring_up(second)
        second.post(TX, 0, BUFFERS, 70, 0)
        second.make_available(TX, 0)
        wait_until(lambda: second.used(TX, 0)[0] == 1, 5, "one more")
    assert backend.overflow == 4
    assert [event.text for event in backend.log if event.kind == "overflow"] == [
        "2 frames wait to be taken: this one and what follows is lost"]
    assert backend.log.faults() == []


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
