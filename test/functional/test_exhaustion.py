"""A mempool that runs dry while packets come: what is posted is used, nothing is lost, and the mbufs bring all back."""

import pytest

from bench import counts, frames
from bench.vhost import IN_FLIGHT
from bench.wait import until
from scapy_vhost import Completion

RING, MBUFS = 1024, 1600  # up to 250 of them stay in the mempool cache of the lcore that started the port
HELD = 30 * IN_FLIGHT

pytestmark = pytest.mark.fit("needs the counters of net_virtio_fit")


@pytest.fixture
def dry(echo):
    """A driver whose mbufs are all posted or sent: the device has completed nothing of what it was sent."""
    wired = echo(queue_size=RING, app=(f"--total-num-mbufs={MBUFS}",))
    wired.backend.hold("tx", Completion.HELD)
    wired.round_trip(frames.frames([60] * HELD))
    return wired


def give_back(dry):
    """The device completes all; the driver sees that with the next packets that it sends."""
    dry.backend.release("tx")
    dry.backend.hold("tx", Completion.AT_ONCE)
    dry.round_trip(frames.frames([60] * 2 * IN_FLIGHT))


def refills_ended_short(front):
    return front.port_stats()["RX-nombuf"]


def test_pool_runs_dry_and_recovers_trouble_048(dry):
    """As many segments fewer are posted as the device keeps, and no packet is dropped. When it gives them back, refills
    succeed again and all mbufs are there at the end."""
    front = dry.front
    pool = front.mempool()
    assert pool.common == 0
    assert front.xstats()["rx_q0_posted_segments"] == pool.in_use - HELD
    before = refills_ended_short(front)
    until(lambda: refills_ended_short(front) > before, "refills go on failing as long as there is nothing")
    give_back(dry)
    before = refills_ended_short(front)
    dry.round_trip(frames.frames([60, 1514, 9000] * 20))
    assert refills_ended_short(front) == before
    assert set(counts.drops(front.xstats()).values()) == {0}
    dry.assert_sound()
    front.cmds("stop", "port stop 0")
    assert front.in_use() == [0]


def test_rx_nombuf_is_that_of_now_trouble_148(dry):
    """Once refills succeed again, two readings are the same."""
    give_back(dry)
    first, second = (dry.front.port_stats()["RX-nombuf"] for _ in range(2))
    assert first == second
