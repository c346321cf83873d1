"""Open vSwitch with DPDK: two of our ports through a real bridge, and a switch that goes away."""

import pytest

from bench import counts, frames
from peers import gone
from peers.ovs import RING

ROOM = 2048
MIXED = [60, 64, 1514, 1518, 2048, 2049, 4097, 9000, 9014] * 8


def through(front_ends, first, second, **options):
    """Both lists of frames through the switch, at once; returns the front end."""
    front = front_ends.start(first, second, **options)
    before = front_ends.switch.received()
    front.cmd("start")
    arrived(front_ends, front, first, second, before, options.get("name", "fe"))
    return front


def arrived(front_ends, front, first, second, before, name="fe"):
    """Byte for byte and in order; the switch has counted as many."""
    front.wait_stats(3, tx_packets=len(first))
    front.wait_stats(1, tx_packets=len(second))
    to_second, to_first = front_ends.outputs(name)
    frames.assert_same(first, to_second, "received by port 2")
    frames.assert_same(second, to_first, "received by port 0")
    front_ends.switch.wait_received([before[0] + len(first), before[1] + len(second)])


@pytest.mark.parametrize("room", [ROOM, 9216])
def test_all_sizes_through_the_switch_NET_26_NET_48(switched, room):
    """60..9014 with every boundary of the ladder, both ways at once, and no counter that says more or less."""
    sizes = frames.boundary_sizes()
    first, second = frames.frames(sizes, repeat=4), frames.frames(sizes, repeat=4, first=5000)
    # The switch drops what finds no room; so the ring has room for all.
    assert sum(counts.segments(len(f), room) for f in first) <= RING
    front = switched.start(first, second, room=room)
    before, mine = switched.switch.received(), {port: front.xstats(port) for port in (0, 2)}
    front.cmd("start")
    arrived(switched, front, first, second, before)
    for port, received, sent in ((0, second, first), (2, first, second)):
        rose = counts.rises(mine[port], front.xstats(port))
        if switched.bench.driver.is_fit:
            needed = sum(counts.segments(len(f), room) for f in received)
            assert rose == {**counts.received(received, front.footprints(), [needed]), **counts.transmitted(sent)}
        else:
            assert [rose[f"{d}_good_packets"] for d in ("rx", "tx")] == [len(received), len(sent)]


def test_port_stops_and_starts(switched_nohuge):
    """The switch sees the link of both ports go and come, and takes frames again."""
    first, second = frames.frames(MIXED), frames.frames(MIXED, first=1000)
    front = switched_nohuge.start(first, second)
    for _ in range(3):
        front.cmds("port stop 0", "port stop 2")
        assert not front.link_up(0) and not front.link_up(2)
        if switched_nohuge.bench.driver.is_fit:
            switched_nohuge.switch.wait_ports("down")  # asked of net_virtio_fit only: its rings stop with the port
        front.cmds("port start 0", "port start 2")
        switched_nohuge.switch.wait_ports("up")
    before = switched_nohuge.switch.received()
    front.cmd("start")
    arrived(switched_nohuge, front, first, second, before)


@pytest.mark.parametrize("end", ["quit", "kill"])
def test_next_front_end_takes_over(switched_nohuge, end):
    """A front end ends in order or is killed; the next one finds the switch as the first did."""
    first, second = frames.frames(MIXED), frames.frames(MIXED, first=1000)
    front = through(switched_nohuge, first, second)
    if end == "quit":
        assert front.quit() == 0
    switched_nohuge.bench.kill(front)
    switched_nohuge.switch.wait_ports("down")
    through(switched_nohuge, frames.frames(MIXED, first=2000), frames.frames(MIXED, first=3000), name="next")


@pytest.mark.fit("expects exit status 0 after the switch went; that is asked of net_virtio_fit only")
@pytest.mark.parametrize("commands", [pytest.param(("stop", "port stop all", "port close all"), id="close"),
                                      pytest.param((), id="quit_only")])
def test_switch_is_killed_trouble_083(switched, commands):
    """The link of both ports goes down, the process answers and ends with exit status 0."""
    sent = frames.frames(MIXED)
    front = through(switched, sent, sent)
    switched.switch.crash()
    gone.assert_survived(front, (0, 2), commands)


@pytest.mark.fit("connecting again after a restart by hand is asked of net_virtio_fit only")
def test_next_switch_is_used_after_a_restart_by_hand_trouble_083(switched):
    """The switch is killed and started again, the ports are stopped and started: frames pass as before."""
    first, second = frames.frames(MIXED), frames.frames(MIXED, first=1000)
    front = switched.start(first, second)
    files = front.open_fds()
    switched.switch.crash()
    for port in (0, 2):
        front.wait_link(False, port)
        front.cmd(f"port stop {port}")
    switched.switch.start_daemon()
    for port in (0, 2):
        front.cmd(f"port start {port}")
        front.wait_link(True, port)
    switched.switch.wait_ports("up")
    assert front.open_fds() == files
    before = switched.switch.received()
    front.cmd("start")
    arrived(switched, front, first, second, before)
