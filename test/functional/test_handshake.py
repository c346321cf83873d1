"""A back end that breaks off or breaks the protocol in mid handshake: one line, an error, and the port recovers."""

import errno
import os

import pytest

from bench import messages
from bench.hotplug import Hotplug
from bench.memory import no_huge
from bench.testpmd import App, Eal, TestPmd
from bench.vhost import misbehaving
from scapy_vhost import Backend, Fault, Feature, Offer, ProtocolFeature, Request, mask
from scapy_vhost.message import NEED_REPLY

pytestmark = pytest.mark.fit("the messages are those of net_virtio_fit")

PORT = "net_virtio_fit0"
ANSWERED = "closed the connection"

# At probe: request, what the back end does with it, errno, what the line must have.
FEATURES, PROTOCOL, QUEUES = "GET_FEATURES", "GET_PROTOCOL_FEATURES", "GET_QUEUE_NUM"
AT_PROBE = [
    (Request.SET_OWNER, Fault.CLOSE, errno.ENOTCONN, [("SET_OWNER", FEATURES), ANSWERED]),
    (Request.GET_FEATURES, Fault.CLOSE, errno.ENOTCONN, [FEATURES, ANSWERED]),
    (Request.GET_FEATURES, Fault.SILENCE, errno.ETIMEDOUT, [FEATURES, "does not answer"]),
    (Request.GET_FEATURES, Fault.WRONG_REQUEST, errno.EPROTO, [FEATURES, "another request", "2"]),
    (Request.GET_FEATURES, Fault.WRONG_VERSION, errno.EPROTO, [FEATURES, "version 1", "6"]),
    (Request.GET_FEATURES, Fault.NO_REPLY_FLAG, errno.EPROTO, [FEATURES, "not marked as a reply", "1"]),
    (Request.GET_FEATURES, Fault.SHORT, errno.EPROTO, [FEATURES, "too short", "4"]),
    (Request.GET_FEATURES, Fault.LONG, errno.EPROTO, [FEATURES, "too long", "4294967295"]),
    (Request.GET_FEATURES, Fault.CUT, errno.EPROTO, [FEATURES, "cut inside its header", "5"]),
    (Request.GET_PROTOCOL_FEATURES, Fault.CLOSE, errno.ENOTCONN, [PROTOCOL, ANSWERED]),
    (Request.SET_PROTOCOL_FEATURES, Fault.CLOSE, errno.ENOTCONN, [("SET_PROTOCOL_FEATURES", QUEUES), ANSWERED]),
    (Request.GET_QUEUE_NUM, Fault.CLOSE, errno.ENOTCONN, [QUEUES, ANSWERED]),
    (Request.GET_QUEUE_NUM, Fault.WRONG_REQUEST, errno.EPROTO, [QUEUES, "another request", "18"]),
]

# At port start, in the order of the handshake.
AT_START = [
    (Request.SET_STATUS, Fault.CLOSE, errno.ENOTCONN, ["SET_STATUS", ANSWERED]),
    (Request.SET_FEATURES, Fault.CLOSE, errno.ENOTCONN, ["SET_FEATURES", ANSWERED]),
    (Request.SET_FEATURES, Fault.NACK, errno.EIO, ["SET_FEATURES", "refused"]),
    (Request.GET_STATUS, Fault.CLOSE, errno.ENOTCONN, ["GET_STATUS", ANSWERED]),
    (Request.SET_MEM_TABLE, Fault.CLOSE, errno.ENOTCONN, ["SET_MEM_TABLE", ANSWERED]),
    (Request.SET_MEM_TABLE, Fault.NACK, errno.EIO, ["SET_MEM_TABLE", "refused"]),
    (Request.SET_MEM_TABLE, Fault.SILENCE, errno.ETIMEDOUT, ["SET_MEM_TABLE", "does not answer"]),
    (Request.SET_MEM_TABLE, Fault.WRONG_REQUEST, errno.EPROTO, ["SET_MEM_TABLE", "another request"]),
    (Request.SET_VRING_NUM, Fault.CLOSE, errno.ENOTCONN, ["SET_VRING_NUM", ANSWERED]),
    (Request.SET_VRING_ADDR, Fault.NACK, errno.EIO, ["SET_VRING_ADDR", "refused"]),
    (Request.SET_VRING_KICK, Fault.CLOSE, errno.ENOTCONN, ["SET_VRING_KICK", ANSWERED]),
    (Request.SET_VRING_ENABLE, Fault.CLOSE, errno.ENOTCONN, ["SET_VRING_ENABLE", ANSWERED]),
]


def names(cases):
    return [f"{request_id.name}-{fault.name}".lower() for request_id, fault, *_ in cases]


@pytest.fixture(scope="module")
def process(driver, tmp_path_factory):
    """An EAL that devices are hot-plugged into."""
    with Hotplug(tmp_path_factory.mktemp("handshake"), driver.plugin, no_huge(64)) as child:
        assert child.add(PORT, "path=/nonexistent") == -errno.ENOENT  # what EAL itself keeps after a first failure
        yield child


@pytest.mark.parametrize("request_id, fault, code, parts", AT_PROBE, ids=names(AT_PROBE))
def test_fault_at_probe_VHU_04_VHU_05_trouble_117(process, work, request_id, fault, code, parts):
    """The probe fails with the errno and one line; no file stays open, no memory allocated."""
    path = work / "peer.sock"
    before = process.usage()
    mark = process.log_path.stat().st_size
    with misbehaving(path, request_id, fault) as peer:
        assert process.add(PORT, f"path={path}") == -code
        assert (request_id, fault) in peer.knobs.met
        assert peer.connections == 1
    messages.assert_one(process.log_path.read_bytes()[mark:].decode(), PORT, *parts)
    assert process.usage() == before


@pytest.fixture
def app(driver, work):
    """A front end that is not configured yet; its peer listens on work/peer.sock and is made by the test."""
    processes = []

    def make():
        eal = Eal(no_huge(64).args, (driver.vdev(work / "peer.sock"), "net_null0"), plugin=driver.plugin)
        processes.append(TestPmd("app", work, eal, App(start_ports=False)).start())
        return processes[-1]

    yield make
    for one in processes:
        assert one.quit() == 0


@pytest.mark.parametrize("request_id, fault, code, parts", AT_START, ids=names(AT_START))
def test_fault_at_start_VHU_04_VHU_41_trouble_091(app, work, request_id, fault, code, parts):
    """The start fails with the errno and one line, the other port starts; with a sane back end it starts later, and
    neither mbufs nor open files were lost."""
    with misbehaving(work / "peer.sock", request_id, fault) as peer:
        front = app()
        files, mark = front.open_fds(), front.mark()
        said = front.cmd("port start 0")
        assert f"Fail to start port 0: {os.strerror(code)}" in said
        assert (request_id, fault) in peer.knobs.met
        messages.assert_one(front.log_since(mark), PORT, *parts)
        assert front.mempool().in_use == 0
        front.cmd("port start 1")
        assert front.link_up(1)

        peer.knobs.behave()
        front.cmds("port start 0", "port stop 0")
        assert len(messages.lines(front.log_since(mark), PORT)) == 1
        assert front.mempool().in_use == 0
        # One socket to the back end, as after the probe.
        assert front.open_fds() == files


def test_handshake_order_GEN_01_VHU_16(app, work):
    """What a back end sees from the probe to the first stop, message for message."""
    with Backend(work / "peer.sock") as peer:
        front = app()
        front.cmds("port start 0", "port stop 0")
        R = Request
        ring = [R.SET_VRING_NUM, R.SET_VRING_BASE, R.SET_VRING_ADDR, R.SET_VRING_CALL, R.SET_VRING_KICK]
        probe = [R.SET_OWNER, R.GET_FEATURES, R.GET_PROTOCOL_FEATURES, R.SET_PROTOCOL_FEATURES, R.GET_QUEUE_NUM]
        got = peer.log.requests()
        assert got[:5] == probe
        assert R.SET_OWNER not in got[5:]
        quiet = [r for r in got[5:] if r not in (R.SET_STATUS, R.GET_STATUS)]
        assert quiet == [R.SET_FEATURES, R.SET_MEM_TABLE, *ring, *ring, R.SET_VRING_ENABLE, R.SET_VRING_ENABLE,
                         R.SET_VRING_ENABLE, R.GET_VRING_BASE, R.SET_VRING_ENABLE, R.GET_VRING_BASE]
        states = [m.payload[0] for m in peer.log.messages() if m.request == R.SET_STATUS]
        assert states == [0, 1, 3, 11, 15, 0]


def test_messages_carry_fds_and_flags_VHU_03_VHU_30_VHU_40_VHU_42(app, work):
    """One fd with each KICK and CALL, one for each memory region; need_reply on all messages that have no reply of
    their own once REPLY_ACK is agreed, and on no other."""
    replied = {Request.GET_FEATURES, Request.GET_PROTOCOL_FEATURES, Request.GET_QUEUE_NUM, Request.GET_STATUS,
               Request.GET_VRING_BASE}
    with Backend(work / "peer.sock") as peer:
        app().cmds("port start 0", "port stop 0")
        agreed = False
        for m in peer.log.messages():
            regions = int.from_bytes(m.payload[:4], "little") if m.request == Request.SET_MEM_TABLE else None
            wanted = {Request.SET_VRING_KICK: 1, Request.SET_VRING_CALL: 1, Request.SET_MEM_TABLE: regions}
            assert m.fd_count == wanted.get(m.request, 0), m
            assert bool(m.flags & NEED_REPLY) == (agreed and m.request not in replied), m
            agreed = agreed or m.request == Request.SET_PROTOCOL_FEATURES


VERSION_1, MRG_RXBUF = mask(Feature.VERSION_1), mask(Feature.MRG_RXBUF)
MQ, REPLY_ACK, STATUS = (mask(p) for p in (ProtocolFeature.MQ, ProtocolFeature.REPLY_ACK, ProtocolFeature.STATUS))
BIT_30 = 1 << 30


@pytest.mark.parametrize("features, protocol", [
    pytest.param(VERSION_1, None, id="no_protocol_features"),
    pytest.param(VERSION_1, 0, id="no_protocol_feature_at_all"),
    pytest.param(VERSION_1 | MRG_RXBUF, MQ | STATUS, id="no_reply_ack"),
    pytest.param(MRG_RXBUF, REPLY_ACK, id="no_version_1"),
])
def test_poor_back_ends_VHU_08_VHU_10_VHU_11(app, work, features, protocol):
    """Nothing is used that was not offered, and the port starts and stops."""
    with Backend(work / "peer.sock", Offer(features, protocol)) as peer:
        front = app()
        mark = front.mark()
        front.cmds("port start 0", "port stop 0")
        assert messages.lines(front.log_since(mark), PORT) == []
        got = set(peer.log.requests())
        spoken = protocol is not None
        assert (Request.SET_VRING_ENABLE in got) == spoken
        assert (Request.SET_PROTOCOL_FEATURES in got) == spoken
        assert (Request.SET_STATUS in got) == bool(spoken and protocol & STATUS)
        assert (Request.GET_QUEUE_NUM in got) == bool(spoken and protocol & MQ)
        acked = [m.u64() for m in peer.log.messages() if m.request == Request.SET_FEATURES]
        assert acked == [features | (BIT_30 if spoken else 0)]
        assert any(m.needs_reply for m in peer.log.messages()) == bool(spoken and protocol & REPLY_ACK)
        assert peer.log.faults() == []
