"""Receive: frames of every size arrive unchanged, in as many segments as they need and no more."""

import pytest

from bench import counts, frames


def receive(bench, sent, **front_end):
    """Sends frames to a front end that writes them to a file; returns it and how its counters rose."""
    back = bench.back_end(sent)
    front = bench.front_end(queue_size=1024, **front_end)
    bench.connected(back)
    before = front.xstats()
    back.feed()
    front.wait_stats(1, tx_packets=len(sent))
    frames.assert_same(sent, front.output())
    return front, counts.rises(before, front.xstats())


def check_counters(bench, front, sent, rose, room):
    """With one size class all counters follow from the frames."""
    if bench.driver.is_fit:
        needed = sum(counts.segments(len(f), room) for f in sent)
        assert rose == counts.received(sent, front.footprints(), [needed])
    else:
        assert rose["rx_good_packets"] == len(sent)
        assert rose["rx_good_bytes"] == sum(map(len, sent))


@pytest.mark.quick
def test_rx_small_frames(bench):
    """60 is the shortest frame without CRC; 127..129 and 1514 are where counters and layouts change."""
    sent = frames.frames([60, 61, 62, 63, 64, 127, 128, 129, 1514], repeat=4)
    front, rose = receive(bench, sent)
    check_counters(bench, front, sent, rose, 2048)


@pytest.mark.parametrize("room", [r for r in frames.LADDER_ROOMS if frames.around(r)] + [9216])
def test_rx_all_sizes_in_one_class_NET_48(bench, room):
    """60..9014 with every boundary of the ladder in segments of one room, thus also room - 13 .. room + 13: a frame
    of exactly the room fits one segment."""
    sent = frames.frames(frames.boundary_sizes())
    front, rose = receive(bench, sent, pools=(room + 128,))
    check_counters(bench, front, sent, rose, room)


@pytest.mark.parametrize("room", [256, 16384])
def test_rx_all_sizes_in_extreme_class(bench_nohuge, room):
    """The smallest room that the driver takes (36 segments for the longest frame), and one that holds all frames."""
    sent = frames.frames(frames.boundary_sizes())
    front, rose = receive(bench_nohuge, sent, pools=(room + 128,))
    check_counters(bench_nohuge, front, sent, rose, room)


@pytest.mark.parametrize("room", [256, 512, 1024, 1536, 2048, 4096])
def test_rx_sizes_that_fill_segments_NET_48(bench_nohuge, room):
    """One byte less, as many, and 1, 4 and 5 more than 1, 2, 3, ... segments hold: the first holds the room, each other
    one the header's bytes as well."""
    sent = frames.frames(frames.filling(room, room + counts.HEADER))
    front, rose = receive(bench_nohuge, sent, pools=(room + 128,))
    check_counters(bench_nohuge, front, sent, rose, room)


@pytest.mark.parametrize("queue_size", [16, 64, 256, 1024])
def test_ring_sizes_trouble_009(bench_nohuge, queue_size):
    """Rings of any size carry the longest frames both ways, and go round several times."""
    sent = frames.frames([60, 1514, 9014, 9000] * queue_size)
    back = bench_nohuge.back_end(sent, two_way=True)
    # Enough to fill both rings and the cache of an lcore: no refill may end short.
    mbufs = 1024 + 2 * queue_size
    front = bench_nohuge.front_end(queue_size=queue_size, loop=True, app=(f"--total-num-mbufs={mbufs}",))
    bench_nohuge.connected(back)
    before = front.xstats()
    back.feed()
    back.wait_stats(1, tx_packets=len(sent))
    frames.assert_same(sent, back.output(), "looped back")
    rose = counts.rises(before, front.xstats())
    if bench_nohuge.driver.is_fit:
        needed = sum(counts.segments(len(f), 2048) for f in sent)
        assert rose == {**counts.received(sent, front.footprints(), [needed]), **counts.transmitted(sent)}


def test_rx_without_mrg_rxbuf_trouble_004_trouble_020(bench):
    """Without merging each frame lies in one buffer, however long it is."""
    sent = frames.frames(frames.boundary_sizes())
    front, rose = receive(bench, sent, pools=(9344,), scatter=False, mrg_rxbuf=0)
    check_counters(bench, front, sent, rose, 9216)
    if bench.driver.is_fit:
        assert rose["rx_q0_segments"] == len(sent)
