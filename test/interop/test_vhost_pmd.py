"""DPDK's own back end net_vhost, which listens: merged frames, ports that stop and start, processes that are killed."""

import pytest

from bench import counts, frames
from peers import gone

LONG = [8000, 9000] * 20 + list(range(8987, 9015)) * 2
MIXED = [60, 1514, 9000, 2048, 2049, 9014] * 8
ROOM = 2048


def both_ways(front, received, sent, room):
    """Rises of the counters of net_virtio_fit for frames in both directions."""
    needed = sum(counts.segments(len(f), room) for f in received)
    return {**counts.received(received, front.footprints(), [needed]), **counts.transmitted(sent)}


@pytest.mark.parametrize("room", [256, 512, 1024, pytest.param(ROOM, marks=pytest.mark.quick)])
def test_long_frames_both_ways_at_once_NET_48(bench, room):
    """Frames of 8000 to 9014 bytes in up to 36 buffers, byte for byte, while as many go the other way from chains."""
    down, up = frames.frames(LONG), frames.frames(LONG, first=1000)
    back = bench.back_end(down, two_way=True)
    # Mbufs for two full rings, and for the frames between them.
    front = bench.front_end(pools=(room + 128,), source=up, queue_size=1024, start=False,
                            app=("--total-num-mbufs=4096",))
    bench.connected(back)
    before = front.xstats()
    front.cmd("start")
    back.feed()
    front.wait_stats(1, tx_packets=len(down))
    back.wait_stats(1, tx_packets=len(up))
    frames.assert_same(down, front.output())
    frames.assert_same(up, back.output())
    rose = counts.rises(before, front.xstats())
    if bench.driver.is_fit:
        assert rose == both_ways(front, down, up, room)
    else:
        assert [rose[f"{d}_good_packets"] for d in ("rx", "tx")] == [len(down), len(up)]


def test_back_end_port_stops_and_starts(bench):
    """The connection outlives it: link up throughout, and each time frames pass as before."""
    rounds = [frames.frames(MIXED, first=1000 * n) for n in range(3)]
    back = bench.back_end(*rounds, two_way=True)
    front = bench.front_end(loop=True)
    bench.connected(back)
    files = front.open_fds()
    for n, sent in enumerate(rounds):
        back.feed(n)
        back.wait_stats(n + 1, tx_packets=len(sent))
        frames.assert_same(sent, back.output(n), "looped back")
        back.cmds("stop", "port stop 0")
        assert front.link_up()
        back.cmd("port start 0")
        bench.connected(back)
    assert front.link_up()
    assert front.open_fds() == files
    total = sum(map(len, rounds))
    assert [front.port_stats()[k] for k in ("RX-packets", "TX-packets")] == [total, total]


def test_frames_wait_for_a_stopped_back_end_port(bench_nohuge):
    """What was sent while the back end did not look at its ring is in there when it does."""
    sent = frames.frames(MIXED)
    back = bench_nohuge.back_end()
    front = bench_nohuge.front_end(source=sent, queue_size=1024, start=False)
    bench_nohuge.connected(back)
    back.cmds("stop", "port stop 0")
    front.cmd("start")
    front.wait_stats(0, tx_packets=len(sent))
    assert back.port_stats()["RX-packets"] == 0
    back.cmd("port start 0")
    back.feed()
    back.wait_stats(1, tx_packets=len(sent))
    frames.assert_same(sent, back.output())


def test_front_end_port_stops_and_starts(bench):
    """The back end sees the link go and come, nothing of the first round is left over in the next."""
    rounds = [frames.frames(MIXED, first=1000 * n) for n in range(3)]
    back = bench.back_end(*rounds, two_way=True)
    front = bench.front_end(loop=True)
    bench.connected(back)
    started = front.in_use()
    for n, sent in enumerate(rounds):
        back.feed(n)
        back.wait_stats(n + 1, tx_packets=len(sent))
        frames.assert_same(sent, back.output(n), "looped back")
        back.cmd("stop")
        front.cmds("stop", "port stop 0")
        assert not front.link_up()
        if bench.driver.is_fit:
            assert front.in_use() == [0]
            back.wait_link(False)  # asked of net_virtio_fit only: its rings stop with the port
        front.cmd("port start 0")
        front.wait_link(True)
        bench.connected(back)
        front.cmd("start")
    assert front.in_use() == started


def circulating(bench, **front_end):
    """Back end and front end that send each other the same frames for ever, at full speed."""
    back = bench.back_end(two_way=True)
    front = bench.front_end(loop=True, start=False, **front_end)
    bench.connected(back)
    back.cmds("set portlist 0", "start")
    front.cmd("start tx_first")
    front.wait_stats(0, rx_packets=10000)
    return back, front


LAST_WORDS = [pytest.param(("stop", "port stop 0", "port close 0"), id="stop_close"),
              pytest.param(("stop", "port stop 0"), id="stop"), pytest.param((), id="quit_only")]


@pytest.mark.fit("expects exit status 0 after the back end went; that is asked of net_virtio_fit only")
@pytest.mark.parametrize("commands", LAST_WORDS)
def test_back_end_is_killed_under_traffic_trouble_083(bench_nohuge, commands):
    """The link goes down, the process answers, closes its port and ends with exit status 0."""
    back, front = circulating(bench_nohuge)
    bench_nohuge.kill(back)
    gone.assert_survived(front, (0,), commands)


@pytest.mark.fit("connecting again after a restart by hand is asked of net_virtio_fit only")
def test_next_back_end_is_used_after_a_restart_by_hand_trouble_083(bench):
    """A killed back end, a new one, the port stopped and started: frames pass, mbufs and open files are as before."""
    sent = frames.frames(MIXED)
    back, front = circulating(bench)
    files = front.open_fds()
    bench.kill(back)
    front.wait_link(False)
    front.cmds("stop", "port stop 0")
    assert front.in_use() == [0]
    bench.socket.unlink()
    again = bench.back_end(sent, two_way=True, name="again")
    front.cmd("port start 0")
    front.wait_link(True)
    assert front.in_use() == [256]  # a full ring
    front.cmd("start")
    bench.connected(again)
    assert front.open_fds() == files
    again.feed()
    again.wait_stats(1, tx_packets=len(sent))
    frames.assert_same(sent, again.output(), "looped back")
    front.cmds("stop", "port stop 0")
    assert front.in_use() == [0]


def test_front_end_is_killed_under_traffic(bench):
    """The back end sees the link go, and serves the next front end as if it were the first."""
    sent = frames.frames(MIXED)
    back, front = circulating(bench)
    bench.kill(front)
    back.wait_link(False)
    back.cmd("stop")
    next_one = bench.front_end(source=sent, name="next", start=False)
    bench.connected(back)
    back.feed()
    next_one.cmd("start")
    back.wait_stats(1, tx_packets=len(sent))
    frames.assert_same(sent, back.output())
