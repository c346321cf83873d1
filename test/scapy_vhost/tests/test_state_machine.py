"""What the device makes of messages that were packed by hand."""

import os
import socket
import struct

import pytest
from front_end import BUFFERS, MERGEABLE, TX, bring_up
from scapy_vhost import Feature, NetConfig, Offer, ProtocolFeature, VhostError, mask
from scapy_vhost.knobs import wait_until


def test_features_are_offered_with_bit_30(make):
    _, front = make(Offer(features=mask(Feature.VERSION_1, Feature.CSUM)))
    assert front.ask_u64(1) == 1 << 32 | 1 << 30 | 1
    assert front.ask_u64(15) == mask(ProtocolFeature.MQ, ProtocolFeature.REPLY_ACK, ProtocolFeature.STATUS)


def test_bits_that_were_not_offered_are_a_fault(make):
    backend, front = make()
    front.ask_u64(1)
    front.send(2, struct.pack("=Q", MERGEABLE | 1 << 35))
    front.ask_u64(1)
    assert backend.log.faults() == ["SET_FEATURES has bits that were not offered: 0x800000000"]


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


@pytest.mark.parametrize("request_id, payload, what", [
    (11, struct.pack("=II", 3, 0), "GET_VRING_BASE: queue 3 of 3"),
    (11, b"", "GET_VRING_BASE: the payload has 0 bytes, not 8"),
    (31, bytes(24), "GET_INFLIGHT_FD is not known"),
    (41, bytes(16), "request 41 is not known"),
    (6, bytes(16), "SET_LOG_BASE came with 0 file descriptors, not one")])
@pytest.mark.parametrize("flags", [1, 9], ids=["", "need_reply"])
def test_VHU_42_a_refused_message_with_a_reply_of_its_own_ends_the_connection(make, request_id, payload, what, flags):
    """The front end waits for that reply, it has no value that says no, and an acknowledgement would not be it."""
    backend, front = make(Offer(protocol_features=mask(ProtocolFeature.REPLY_ACK, ProtocolFeature.LOG_SHMFD)))
    front.send(16, struct.pack("=Q", mask(ProtocolFeature.REPLY_ACK, ProtocolFeature.LOG_SHMFD)))
    front.send(request_id, payload, flags=flags)
    with pytest.raises(ConnectionError):
        front.read(1)
    assert backend.log.faults() == [what]


def test_VHU_44_a_refused_get_config_is_answered_without_payload(make):
    backend, front = make()
    assert front.ask(24, bytes(8)) == (24, 5, b"")
    assert backend.log.faults() == ["GET_CONFIG: the payload has 8 bytes"]
    front.ask_u64(1)


def test_set_log_base_has_a_reply_only_with_log_shmfd(make):
    """Without it the message carries an address of the front end's process, and nobody waits."""
    backend, front = make()
    front.send(6, bytes(8))
    front.ask_u64(1)
    assert backend.log.faults() == ["SET_LOG_BASE came with 0 file descriptors, not one"]


def test_configuration_space_is_read_in_parts_and_written(make):
    _, front = make(Offer(config=bytearray(bytes(NetConfig(mac=b"\x02\x00\x00\x00\x00\x07", mtu=9000)))))
    head = struct.pack("=III", 10, 2, 0)
    assert front.ask(24, head + bytes(2)) == (24, 5, head + struct.pack("<H", 9000))
    front.send(25, struct.pack("=III", 10, 2, 0) + b"\x34\x12")
    assert front.ask(24, head + bytes(2))[2][12:] == b"\x34\x12"
    assert front.ask(24, struct.pack("=III", 4000, 8, 0) + bytes(8)) == (24, 5, b"")


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


@pytest.mark.parametrize("offered, accepted, why", [
    ((), (), "put it into Offer.protocol_features"),
    ((ProtocolFeature.BACKEND_REQ,), (), "the front end did not accept it"),
    ((ProtocolFeature.BACKEND_REQ,), (ProtocolFeature.BACKEND_REQ,), "sent no SET_BACKEND_REQ_FD yet")])
def test_configuration_that_nobody_would_hear_of_is_not_changed(make, offered, accepted, why):
    backend, front = make(Offer(protocol_features=mask(ProtocolFeature.CONFIG, *offered), config=NetConfig(mtu=1500)))
    front.send(16, struct.pack("=Q", mask(*accepted)))
    front.ask_u64(1)
    with pytest.raises(VhostError, match=f"needs BACKEND_REQ: .*{why}"):
        backend.change_config(NetConfig(mtu=9000))
    head = struct.pack("=III", 10, 2, 0)
    assert front.ask(24, head + bytes(2)) == (24, 5, head + struct.pack("<H", 1500))


def test_a_notice_of_changed_configuration(make):
    backend, front = make(Offer(protocol_features=mask(ProtocolFeature.CONFIG, ProtocolFeature.BACKEND_REQ),
                                config=NetConfig(mtu=1500)))
    front.ask_u64(1)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        front.send(21, fds=[theirs.fileno()])
        front.ask_u64(1)
        backend.change_config(NetConfig(mtu=9000))
        assert ours.recv(100) == bytes.fromhex("02000000 01000000 00000000")
    head = struct.pack("=III", 10, 2, 0)
    assert front.ask(24, head + bytes(2)) == (24, 5, head + struct.pack("<H", 9000))
