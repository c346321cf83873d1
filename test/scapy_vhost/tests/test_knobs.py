"""What the back end does wrong when told to."""

import struct

import pytest
from front_end import FrontEnd
from scapy_vhost import Fault, ProtocolFeature, Request, mask


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
