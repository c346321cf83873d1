"""A device that breaks the rules on a live ring, played by the Python back end against the driver in testpmd."""

import random

import pytest
from scapy.packet import Raw

from bench import counts, frames, messages
from bench.wait import until
from scapy_vhost import Completion, NetHeader

pytestmark = pytest.mark.fit("the messages and counters are those of net_virtio_fit")

PORT = "net_virtio_fit0"
RING = 256


def give_up(how):
    """A ring fault on queue 0 or 1: (text of the fault, what the device does)."""
    return pytest.param(*how[1:], id=how[0])


FAULTS = [
    ("rx_id_outside", 0, "an id outside the ring", lambda back: back.corrupt_used(0, RING, 60)),
    ("rx_id_huge", 0, "an id outside the ring", lambda back: back.corrupt_used(0, 0xFFFF_FFFF, 60)),
    ("rx_index_leap", 0, "further than buffers are outstanding", lambda back: back.set_used_index(0, 0x7FFF)),
    ("tx_id_outside", 1, "an id outside the ring", lambda back: back.corrupt_used(1, RING, 0)),
    ("tx_not_in_flight", 1, "an id that is not in flight", lambda back: back.corrupt_used(1, RING - 1, 0)),
    ("tx_index_leap", 1, "further than buffers are outstanding", lambda back: back.set_used_index(1, 0x7FFF)),
]


@pytest.mark.parametrize("queue, what, misbehave", map(give_up, FAULTS))
def test_ring_faults_stop_the_queue_trouble_103_trouble_105(echo, queue, what, misbehave):
    """One line with queue and fault, link down; after stop and start all works and no mbuf is lost."""
    wired = echo()
    back, front = wired.backend, wired.front
    front.cmds("stop", "set fwd io", "start")  # a broken queue takes nothing however often it is tried
    back.hold("tx", Completion.HELD)  # so that the transmit queue has something in flight
    wired.round_trip(frames.frames([60] * 20))
    mark = front.mark()
    misbehave(back)
    if queue == 1:
        for frame in frames.frames([60] * 80):  # bursts go on beyond tx_free_thresh, so that the driver looks
            wired.port.send(Raw(frame))
    until(lambda: messages.lines(front.log_since(mark), PORT), lambda: f"a line about it{front.tail()}")
    assert not front.link_up()
    messages.assert_one(front.log_since(mark), PORT, f"{'tx' if queue else 'rx'} queue 0", what, "restart the port")
    back.hold("tx", Completion.AT_ONCE)
    front.cmds("stop", "port stop 0")
    assert front.in_use() == [0]
    front.cmds("port start 0", "start")
    until(wired.backend.ready, lambda: f"the queues ready{front.tail()}")
    back.discard_frames()  # what was sent before
    wired.round_trip(frames.frames([60, 1514, 9000] * 5))


LIES = [
    # name, header, bytes in each buffer (of 2060), what the used elements say of that, drop counter
    ("num_buffers_65535", NetHeader(num_buffers=65535), None, None, "num_buffers"),
    ("num_buffers_257", NetHeader(num_buffers=257), None, None, "num_buffers"),
    ("partial_first", NetHeader(num_buffers=2), [1000, 60], None, "partial_segment"),
    ("partial_middle", NetHeader(num_buffers=3), [2060, 1000, 60], None, "partial_segment"),
    ("header_alone", NetHeader(num_buffers=1), [12], None, "short"),
    ("cut_header", NetHeader(num_buffers=1), [11], None, "short"),
    ("cut_ethernet_header", NetHeader(num_buffers=1), [25], None, "short"),
    ("nothing", NetHeader(num_buffers=1), [0], None, "short"),
    ("over_long", NetHeader(num_buffers=1), [2060], [2061], "over_long"),
    ("over_long_4_gib", NetHeader(num_buffers=1), [2060], [0xFFFF_FFFF], "over_long"),
    ("over_long_first", NetHeader(num_buffers=2), [2060, 60], [2061, 60], "over_long"),
    ("over_long_last", NetHeader(num_buffers=2), [2060, 60], [2060, 2061], "over_long"),
]


@pytest.mark.parametrize("header, splits, claims, counter", [pytest.param(*lie[1:], id=lie[0]) for lie in LIES])
def test_bad_packets_are_dropped_by_name_trouble_111_trouble_114(echo, header, splits, claims, counter):
    """The packet is dropped whole under its own counter, and the twenty behind it arrive."""
    wired = echo()
    wired.round_trip(frames.frames([60]))
    before = counts.drops(wired.front.xstats())
    size = sum(splits) - 12 if splits and sum(splits) > 12 else 60
    wired.port.send(Raw(bytes(size)), header=header, splits=splits, claims=claims)
    wired.round_trip(frames.frames([60, 9000] * 10))
    after = counts.drops(wired.front.xstats())
    rose = {name: after[name] - before[name] for name in after if after[name] != before[name]}
    assert rose == {f"rx_q0_drop_{counter}": 1}
    assert wired.front.link_up()
    wired.assert_sound()


@pytest.mark.parametrize("header", [NetHeader(num_buffers=0), NetHeader(flags=0xFF, gso_type=0xFF, hdr_len=0xFFFF,
                                                                        gso_size=0xFFFF, csum_start=0xFFFF,
                                                                        csum_offset=0xFFFF, num_buffers=1)],
                         ids=["num_buffers_0", "every_field_all_ones"])
def test_odd_headers_harm_nothing_trouble_110(echo, header):
    """num_buffers 0 means one buffer; fields of offloads that were not accepted are not looked at."""
    wired = echo()
    sent = frames.frames([60, 500])
    for frame in sent:
        wired.port.send(Raw(frame), header=NetHeader(**vars(header)))
    got = wired.port.frames(len(sent))
    frames.assert_same(sent, [frame.data for frame in got], "sent back")
    assert all(frame.header_bytes == bytes(12) for frame in got)
    wired.assert_sound()


@pytest.mark.parametrize("seed", range(3))
def test_random_lies_trouble_116_trouble_155_trouble_171(echo, seed):
    """300 packets with random headers, splits and claims: nothing is logged for each, nothing ends, every one is either
    delivered or dropped by name, and good packets arrive afterwards."""
    wired = echo()
    wired.round_trip(frames.frames([60]))
    lie, mark = random.Random(seed), wired.front.mark()
    wired.backend.want_kicks(0, False)
    for _ in range(300):
        splits = [lie.choice([0, 11, 12, 25, 26, 60, 1000, 2060]) for _ in range(lie.randint(1, 4))]
        claims = [lie.choice([size, size, size, 0, 2061, 0xFFFF_FFFF]) for size in splits]
        header = NetHeader(*(lie.getrandbits(8) for _ in range(2)), *(lie.getrandbits(16) for _ in range(4)),
                           num_buffers=lie.choice([len(splits), len(splits), 0, 1, 2, 300, 65535]))
        wired.port.send(Raw(bytes(sum(splits))), header=header, splits=splits, claims=claims)
    # What is still missing of the last merged packet is given up after a second.
    until(lambda: good(wired), lambda: f"a good frame{wired.front.tail()}")
    wired.round_trip(frames.frames([60, 9000] * 20))
    assert messages.lines(wired.front.log_since(mark), PORT) == []
    wired.front.cmds("stop", "port stop 0")
    assert wired.front.in_use() == [0]


def good(wired):
    """Whether a frame that is sent now comes back; what comes before it is of no interest."""
    probe = frames.frame(77, 4242)
    wired.port.send(Raw(probe))
    try:
        while wired.port.take(0.5).data != probe:
            pass
    except TimeoutError:
        return False
    return True


def test_scribbled_descriptors_change_nothing_trouble_107(echo):
    """The device writes over descriptor table and available ring while packets are in flight: what the driver hands
    out and takes back is decided by its own memory, so all mbufs come back and a restart works."""
    wired = echo()
    wired.round_trip(frames.frames(SIZES := [60, 1514, 9000]))
    for index in (0, 1):
        wired.backend.scribble_descriptors(index, seed=index)
    wired.front.cmds("stop", "port stop 0")
    assert wired.front.in_use() == [0]
    wired.front.cmds("port start 0", "start")
    until(wired.backend.ready, lambda: f"the queues ready{wired.front.tail()}")
    wired.round_trip(frames.frames(SIZES * 10))


def test_killed_connection_leaves_the_application_alive_trouble_091(echo):
    wired = echo()
    wired.round_trip(frames.frames([60] * 10))
    mark = wired.front.mark()
    wired.backend.kill()
    until(lambda: messages.lines(wired.front.log_since(mark), PORT), lambda: f"a line about it{wired.front.tail()}")
    assert not wired.front.link_up()
    messages.assert_one(wired.front.log_since(mark), PORT, "the back end closed the connection")
    wired.front.cmds("stop", "port stop 0")
    assert wired.front.in_use() == [0]
    wired.front.cmds("port start 0", "start")
    wired.port.wait_ready()
    wired.round_trip(frames.frames([60, 9000] * 10))
    assert wired.backend.connections == 2
