"""Pages that the back end writes, as bits in a log that the front end shares (vhost-user, "Migration")."""

import os
import struct

import pytest
from front_end import (BUFFERS, CONTROL, EVENT_IDX, GUEST, LOG_ALL, MERGEABLE, REPLY_ACK, RING_PACKED, RX, STATUS, TX,
                       USER, FrontEnd, bring_up)
from scapy_vhost import Feature, NetHeader, Offer, ProtocolFeature, mask
from scapy_vhost.knobs import wait_until

LOG_SHMFD = 1 << 1
OFFSET = 0x1010  # of the log in its file
SIZE = (GUEST >> 15) + 0x20  # bytes: bits of all pages of 4 KiB up to the end of the front end's memory
# The device area crosses a page there, and no memory is shared at such a guest address.
RING_LOG_ADDRESS = 0x80000FFC
OFFER = Offer(features=mask(Feature.VERSION_1, Feature.MRG_RXBUF, Feature.CTRL_VQ, Feature.RING_PACKED,
                            Feature.EVENT_IDX, Feature.LOG_ALL),
              protocol_features=mask(ProtocolFeature.LOG_SHMFD, ProtocolFeature.REPLY_ACK, ProtocolFeature.STATUS))
FRAME = bytes(range(60, 160))


class Logging(FrontEnd):
    """A front end that migrates."""

    def __init__(self, path):
        super().__init__(path)
        self.log_fd = os.memfd_create("log")
        os.ftruncate(self.log_fd, OFFSET + SIZE)

    def close(self):
        os.close(self.log_fd)
        super().close()

    def start_log(self, features=MERGEABLE, size=SIZE):
        assert self.ask(6, struct.pack("=QQ", size, OFFSET), [self.log_fd]) == (6, 5, b"")
        self.send(2, struct.pack("=Q", features | LOG_ALL))
        self.ask_u64(1)

    def log_device_area(self, index, start, flags=1):
        desc, driver, device = (USER + start + area for area in (0, 0x4000, 0x8000))
        self.send(9, struct.pack("=IIQQQQ", index, flags, desc, device, driver, RING_LOG_ADDRESS))
        self.ask_u64(1)

    def dirty(self):
        """Numbers of the dirty pages, which are clean afterwards."""
        log = os.pread(self.log_fd, SIZE, OFFSET)
        os.pwrite(self.log_fd, bytes(SIZE), OFFSET)
        return {8 * at + bit for at, byte in enumerate(log) if byte for bit in range(8) if byte >> bit & 1}


@pytest.fixture
def connected(make):
    """(Backend, a front end whose driver is up)"""
    def bring(features=MERGEABLE):
        backend, front = make(OFFER, front_end=Logging)
        bring_up(front, features, LOG_SHMFD | REPLY_ACK | STATUS)
        backend.wait_ready(5)
        return backend, front
    return bring


def pages(*addresses):
    """Of guest addresses in the front end's memory."""
    return {GUEST + address >> 12 for address in addresses}


def receive(backend, front, first=0, before=0):
    """A frame of 112 bytes with its header: 60 before the end of a page, 40 behind it, 12 in a page far away."""
    front.post(RX, first, BUFFERS + 0x1000 - 60, 100, 2)
    front.post(RX, first + 1, BUFFERS + 0x8000, 100, 2)
    front.make_available(RX, first, first + 1, before=before)
    backend.send(FRAME, NetHeader(num_buffers=None))


def test_VHU_65_what_is_written_of_a_frame_and_nothing_else_is_marked(connected):
    backend, front = connected()
    receive(backend, front)
    front.start_log()
    assert front.dirty() == set(), "what came before is not marked"
    receive(backend, front, first=2, before=2)
    assert front.dirty() == pages(BUFFERS, BUFFERS + 0x1000, BUFFERS + 0x8000)
    assert os.pread(front.log_fd, OFFSET, 0) == bytes(OFFSET)
    assert backend.log.faults() == []


def test_no_log_without_log_all_and_none_after_it(connected):
    backend, front = connected()
    assert front.ask(6, struct.pack("=QQ", SIZE, OFFSET), [front.log_fd]) == (6, 5, b"")
    receive(backend, front)
    assert front.dirty() == set()
    front.start_log()
    front.send(2, struct.pack("=Q", MERGEABLE))
    front.ask_u64(1)
    receive(backend, front, first=2, before=2)
    assert front.dirty() == set()
    assert backend.log.faults() == []


def test_the_used_ring_is_marked_at_the_address_that_stands_for_it(connected):
    backend, front = connected()
    front.start_log()
    front.log_device_area(1, TX)
    front.post(TX, 0, BUFFERS, 72, 0)
    front.make_available(TX, 0)
    wait_until(lambda: front.used(TX, 1) == (1, [(0, 0)]), 5, "the used element")
    wait_until(lambda: backend.frames, 5, "the frame")
    with backend.lock:
        pass  # the look at the ring that completed it is over
    # The index at byte 2, the first element at byte 4 and thus in the next page.
    assert front.dirty() == {0x80000, 0x80001}
    backend.want_kicks(1, False)
    assert front.dirty() == {0x80000}, "the flags word"
    backend.set_used_index(1, 1)
    assert front.dirty() == {0x80000}
    front.log_device_area(1, TX, flags=0)
    backend.want_kicks(1, True)
    assert front.dirty() == set()
    assert backend.log.faults() == []


def test_a_ring_that_starts_later_is_logged_from_the_start(connected):
    backend, front = connected()
    front.start_log()
    front.ask(11, struct.pack("=II", 1, 0))
    front.log_device_area(1, TX)
    front.send(8, struct.pack("=II", 1, 16))
    front.send(12, struct.pack("=Q", 1), [front.kicks[1]])
    front.ask_u64(1)
    assert front.dirty() == {0x80000}, "the flags word is written when the ring starts"


def test_descriptors_of_a_packed_ring_are_marked_where_they_lie(connected):
    features = MERGEABLE | RING_PACKED
    backend, front = connected(features)
    front.start_log(features)
    front.post_packed(RX, 0, BUFFERS, 200, 2, 5)
    backend.send(FRAME, NetHeader(num_buffers=None))
    assert front.dirty() == pages(RX, BUFFERS)
    front.log_device_area(0, RX)
    backend.want_kicks(0, False)
    assert front.dirty() == {0x80000}, "the device event"
    assert front.used_packed(RX, 0)[:2] == (112, 5)


@pytest.mark.parametrize("ring, page", [(0, 0x80001), (RING_PACKED, 0x80000)], ids=["avail_event", "device event"])
def test_the_words_of_event_idx_are_marked(connected, ring, page):
    """avail_event lies behind the 16 used elements; the device event is the whole device area."""
    features = MERGEABLE | EVENT_IDX | ring
    backend, front = connected(features)
    front.start_log(features)
    front.log_device_area(0, RX)
    backend.want_kicks(0, True)
    assert front.dirty() == {page}


def test_the_answer_to_a_command_is_marked(connected):
    features = MERGEABLE | 1 << 17
    backend, front = connected(features)
    front.start_log(features)
    front.set_up_queue(2, 16, CONTROL)
    front.memory[BUFFERS:BUFFERS + 3] = b"\x01\x00\x01"
    front.post(CONTROL, 0, BUFFERS, 3, 1, 1)
    front.post(CONTROL, 1, BUFFERS + 0x3000, 1, 2)
    front.make_available(CONTROL, 0)
    wait_until(lambda: front.used(CONTROL, 1) == (1, [(0, 1)]), 5, "the answer")
    assert front.dirty() == pages(BUFFERS + 0x3000)


def test_scribbled_descriptors_are_marked_as_any_other_write(connected):
    backend, front = connected()
    front.start_log()
    backend.scribble_descriptors(0)
    assert front.dirty() == pages(RX, RX + 0x4000)


def test_the_log_eventfd_tells_of_new_bits_only(connected):
    backend, front = connected()
    front.start_log()
    event = os.eventfd(0, os.EFD_NONBLOCK)
    try:
        front.send(7, fds=[event])
        front.ask_u64(1)
        receive(backend, front)
        assert os.eventfd_read(event) == 2, "of three pages; the first two of them at once"
        receive(backend, front, first=2, before=2)
        with pytest.raises(BlockingIOError):
            os.eventfd_read(event)
    finally:
        os.close(event)


def test_VHU_65_a_log_that_is_too_short_is_reported_once_and_the_frame_arrives(connected):
    backend, front = connected()
    short = (GUEST + BUFFERS >> 15) + 1  # as far as 0x7fff bytes behind BUFFERS
    front.start_log(size=short)
    receive(backend, front)
    receive(backend, front, first=2, before=2)
    assert front.dirty() == pages(BUFFERS, BUFFERS + 0x1000)
    assert backend.log.faults() == [f"the dirty log has {short} bytes and no bit for guest address 0x100048000"]
    assert front.used(RX, 4)[0] == 4


def test_a_log_is_let_go_when_another_comes_and_at_the_end(connected):
    """This process is both ends: a file counts once for the front end and once for the back end."""
    def count(name):
        return [os.readlink(f"/proc/self/fd/{fd}").startswith(name) for fd in os.listdir("/proc/self/fd")
                if os.path.islink(f"/proc/self/fd/{fd}")].count(True)

    backend, front = connected()
    eventfds = count("anon_inode:[eventfd]")
    event = os.eventfd(0)
    for _ in range(2):
        front.start_log()
        front.send(7, fds=[event])
        front.ask_u64(1)
        assert (count("/memfd:log"), count("anon_inode:[eventfd]")) == (2, eventfds + 2)
    os.close(event)
    front.sock.shutdown(2)
    wait_until(lambda: backend.log.count("disconnect") == 1, 5, "the end")
    assert count("anon_inode:[eventfd]") == eventfds - len(front.kicks) - len(front.calls)
    assert count("/memfd:log") == 1
