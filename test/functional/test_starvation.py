"""A device that finds no receive buffers, or too few for a frame, played by the Python back end."""

import pytest
from scapy.packet import Raw

from bench import counts, frames

pytestmark = pytest.mark.fit("the counters are those of net_virtio_fit")

RING = 256


def level(front):
    """(polls that found the ring empty, fewest buffers that were left)."""
    xstats = front.xstats()
    return xstats["rx_q0_ring_empty"], xstats["rx_q0_ring_low_watermark"]


def test_a_ring_that_ran_empty_is_seen_trouble_147(echo):
    """An application that does not poll: nothing is lost in the driver, and its counters say where to look."""
    wired = echo()
    wired.round_trip(frames.frames([60] * 8))
    empty, left = level(wired.front)
    assert empty == 0 and RING - 8 <= left < RING
    wired.front.cmd("stop")
    sent = frames.frames([60] * wired.front.xstats()["rx_q0_posted_segments"])
    for frame in sent:
        wired.port.send(Raw(frame))
    with pytest.raises(TimeoutError):
        wired.port.send(Raw(sent[0]), seconds=0.3)
    wired.front.cmd("start")
    frames.assert_same(sent, [frame.data for frame in wired.port.frames(len(sent))], "sent back")
    assert level(wired.front) == (1, 0)
    wired.front.cmd("clear port xstats 0")
    assert level(wired.front) == (0, RING)
    wired.assert_sound()


@pytest.mark.parametrize("queue_size, size", [(16, 40_000), (64, 65_535)])
def test_a_frame_larger_than_all_that_can_be_posted_trouble_121(echo, queue_size, size):
    """The device keeps it; the driver neither drops nor counts anything, and what fits goes on."""
    wired = echo(queue_size=queue_size, mtu=1500, pools=(1024,))
    posted = wired.front.xstats()["rx_q0_posted_segments"]
    assert posted == queue_size
    with pytest.raises(TimeoutError):
        wired.port.send(Raw(bytes(size)), seconds=0.3)
    wired.round_trip(frames.frames([60, 1514, 5000] * 5))
    assert not any(counts.drops(wired.front.xstats()).values())
    wired.assert_sound()
