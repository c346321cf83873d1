"""Messages as they lie on the wire, and the connection that carries them."""

import os
import socket
import struct
import threading

import pytest
from scapy_vhost.connection import Closed, Connection
from scapy_vhost.errors import ProtocolError
from scapy_vhost.knobs import Knobs
from scapy_vhost.message import Message, Region, Request, RingAddresses, RingState


@pytest.fixture
def pair():
    ours, theirs = socket.socketpair()
    connection = Connection(ours, patience=0.5)
    yield connection, theirs
    connection.close()
    theirs.close()


def head(request, size, flags=1):
    return struct.pack("=III", request, flags, size)


def test_header_and_payload_are_read_at_their_offsets(pair):
    connection, theirs = pair
    theirs.sendall(bytes.fromhex("02000000 09000000 08000000 0080000041000000"))
    message = connection.receive()
    assert (message.request, message.flags, message.u64()) == (2, 9, 0x41_0000_8000)
    assert message.name == "SET_FEATURES" and message.needs_reply


def test_a_message_in_single_bytes_is_one_message(pair):
    connection, theirs = pair
    data = head(10, 8) + struct.pack("=II", 3, 77)
    sender = threading.Thread(target=lambda: [theirs.sendall(data[i:i + 1]) for i in range(len(data))])
    sender.start()
    state = connection.receive().layout(RingState)
    sender.join()
    assert (state.index, state.num) == (3, 77)


def test_two_messages_in_one_write_are_two(pair):
    connection, theirs = pair
    theirs.sendall(head(1, 0) + head(15, 0))
    assert [connection.receive().name for _ in range(2)] == ["GET_FEATURES", "GET_PROTOCOL_FEATURES"]


def test_VHU_ring_addresses_have_used_before_available():
    payload = struct.pack("=IIQQQQ", 1, 0, 0x10, 0x20, 0x30, 0)
    at = Message(Request.SET_VRING_ADDR, 1, payload).layout(RingAddresses)
    assert (at.descriptors, at.used, at.available) == (0x10, 0x20, 0x30)


def test_memory_table_has_a_region_for_each_fd():
    regions = [struct.pack("=QQQQ", 0x1000 * i, 0x2000, 0x7000 + i, 0x40 * i) for i in range(2)]
    message = Message(Request.SET_MEM_TABLE, 1, struct.pack("=II", 2, 0) + b"".join(regions), (7, 8))
    found = message.regions()
    assert [(r.guest_address, r.size, r.user_address, r.mmap_offset) for r in found] == [
        (0, 0x2000, 0x7000, 0), (0x1000, 0x2000, 0x7001, 0x40)]
    with pytest.raises(ProtocolError, match="2 regions in 72 bytes with 1 fds"):
        Message(Request.SET_MEM_TABLE, 1, message.payload, (7,)).regions()


def test_single_region_lies_behind_eight_bytes():
    payload = bytes(8) + struct.pack("=QQQQ", 1, 2, 3, 4)
    region = Message(Request.ADD_MEM_REG, 1, payload).region()
    assert bytes(region) == bytes(Region(1, 2, 3, 4)) == payload[8:]


def test_fds_arrive_and_are_open(pair):
    connection, theirs = pair
    read_end, write_end = os.pipe()
    socket.send_fds(theirs, [head(12, 8) + struct.pack("=Q", 1)], [write_end])
    message = connection.receive()
    assert message.fd_count == 1
    os.write(message.fds[0], b"x")
    assert os.read(read_end, 1) == b"x"
    for fd in (read_end, write_end, *message.fds):
        os.close(fd)


@pytest.mark.parametrize("data, what", [
    (head(1, 0, flags=2), "request 1: flags 0x2 are not of version 1"),
    (head(2, 5000), "request 2: a payload of 5000 bytes"),
    (head(2, 8) + b"abc", r"3 of 8 bytes came in 0.5 s"),
])
def test_bad_messages_are_refused_with_their_value(pair, data, what):
    connection, theirs = pair
    theirs.sendall(data)
    with pytest.raises(ProtocolError, match=what):
        connection.receive()


def test_a_refused_message_leaks_no_fd(pair):
    connection, theirs = pair
    before = len(os.listdir("/proc/self/fd"))
    with open("/dev/null") as null:
        socket.send_fds(theirs, [head(12, 8, flags=3)], [null.fileno()])
    with pytest.raises(ProtocolError):
        connection.receive()
    assert len(os.listdir("/proc/self/fd")) == before


def test_closed_connection(pair):
    connection, theirs = pair
    theirs.close()
    with pytest.raises(Closed):
        connection.receive()


def test_reply_is_version_1_with_the_reply_flag(pair):
    connection, theirs = pair
    assert Knobs().send_reply(connection, Request.GET_FEATURES, struct.pack("=Q", 5), None)
    assert theirs.recv(100) == bytes.fromhex("01000000 05000000 08000000 0500000000000000")


def test_wrong_payload_sizes_are_named():
    with pytest.raises(ProtocolError, match="SET_VRING_NUM: the payload has 4 bytes, not 8"):
        Message(Request.SET_VRING_NUM, 1, b"1234").layout(RingState)
    with pytest.raises(ProtocolError, match="SET_FEATURES: the payload has 4 bytes, not 8"):
        Message(Request.SET_FEATURES, 1, b"1234").u64()
