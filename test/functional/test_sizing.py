"""Size classes: stock testpmd gives one receive queue a ladder of mempools, and the queue follows the traffic.

testpmd gives the ladder to all its ports and a pcap port refuses one, so the front end loops the frames back.
"""

import re

import pytest

from bench import counts, frames

pytestmark = pytest.mark.fit("needs several mempools per receive queue and their counters")

RING = 256  # entries, the default of the driver
WITHIN = 256  # packets of new traffic after which the right class is posted
ROOMS = frames.LADDER_ROOMS


def ladder(bench, *inputs, scatter=True, mbufs=frames.LADDER_MBUFS, **devargs):
    """A front end with all five classes that loops back, and a back end with these inputs."""
    back = bench.back_end(*inputs, two_way=True)
    front = bench.front_end(pools=mbufs, ladder=True, loop=True, scatter=scatter, **devargs)
    bench.connected(back)
    return back, front


def loop(back, front, number, sent):
    """Feeds one input, checks that every frame came back unchanged and in order, returns what counters rose by."""
    before = front.xstats()
    back.feed(number)
    back.wait_stats(number + 1, tx_packets=len(sent))
    frames.assert_same(sent, back.output(number), "looped back")
    after = front.xstats()
    rose = counts.rises(before, after)
    assert sum(counts.drops(after).values()) == sum(counts.drops(before).values()) == 0
    return rose


def both_ways(sent, footprints, per_class):
    """All counters that frames move which were received in these segments and sent back."""
    return counts.received(sent, footprints, per_class) | counts.transmitted(sent)


@pytest.mark.quick
def test_1514_bytes_take_one_segment_of_the_1536_class(bench):
    """The segment holds 1536 bytes of frame although the virtio header lies in it too."""
    sent = frames.frames([1514], repeat=1000)
    back, front = ladder(bench, sent)
    rose = loop(back, front, 0, sent)
    assert rose["rx_q0_segments"] == 1000
    assert rose["rx_q0_class_0_segments"] == 1000
    assert rose["rx_q0_payload_bytes"] == 1514 * 1000
    assert rose == both_ways(sent, front.footprints(), [1000])
    state = front.xstats()
    assert state["rx_q0_segment_room"] == 1536
    assert state["rx_q0_avg_packet_len"] == 1514


@pytest.mark.parametrize("rooms", [ROOMS, (256, 512, 1024, 2048)], ids=["1536_to_16384", "256_to_2048"])
def test_all_sizes_through_the_ladder(bench, rooms):
    """Every boundary size while the class changes under way: nothing lost, nothing altered, nothing miscounted. Chains
    have segments of several classes, and go out as they came."""
    sizes = frames.boundary_sizes()
    sent = frames.frames(sizes + sizes[::-1] + [64, 9000] * 100 + [64] * 300 + [8000] * 300)
    back, front = ladder(bench, sent, queue_size=1024, mbufs=tuple(room + 128 for room in rooms), min_segment=1)
    rose = loop(back, front, 0, sent)
    footprints = front.footprints()
    per_class = [rose.pop(f"rx_q0_class_{k}_segments", 0) for k in range(len(rooms))]
    assert rose.pop("rx_q0_segments") == sum(per_class)
    assert rose.pop("rx_q0_footprint_bytes") == sum(n * f for n, f in zip(per_class, footprints))
    rose.pop("rx_q0_class_changes")
    exact = both_ways(sent, footprints, [])
    del exact["rx_q0_segments"], exact["rx_q0_footprint_bytes"]
    assert rose == exact
    # The segments held all the bytes, and no frame took more than it would in the smallest class.
    assert sum(n * (room + counts.HEADER) for n, room in zip(per_class, rooms)) >= sum(map(len, sent))
    assert len(sent) <= sum(per_class) <= sum(counts.segments(len(f), rooms[0]) for f in sent)


def test_class_follows_64_to_9000_and_back_trouble_041(bench):
    """After 256 packets of new traffic all that is posted is of the right class, and what was posted before is used
    up by at most as many packets as the ring has entries. Nothing is lost meanwhile."""
    small, jumbo = 64, 9000
    phases = [frames.frames([small], 300), frames.frames([jumbo], WITHIN + RING), frames.frames([jumbo], 300),
              frames.frames([small], WITHIN + RING), frames.frames([small], 300)]
    back, front = ladder(bench, *phases)
    footprints = front.footprints()

    assert loop(back, front, 0, phases[0]) == both_ways(phases[0], footprints, [300])
    assert front.xstats()["rx_q0_segment_room"] == 1536

    rose = loop(back, front, 1, phases[1])
    state = front.xstats()
    assert state["rx_q0_segment_room"] == 9216
    # At worst: six segments for each of the 256 packets, then a ring full of them, then one for each packet.
    worst = counts.segments(jumbo, ROOMS[0])
    assert worst == 6
    assert rose["rx_q0_segments"] <= worst * WITHIN + RING + (RING - RING // worst)

    assert loop(back, front, 2, phases[2]) == both_ways(phases[2], footprints, [0, 0, 0, 300])
    assert front.xstats()["rx_q0_avg_packet_len"] == jumbo

    loop(back, front, 3, phases[3])
    assert front.xstats()["rx_q0_segment_room"] == 1536
    assert loop(back, front, 4, phases[4]) == both_ways(phases[4], footprints, [300])


def test_posted_memory_is_bounded_trouble_042(bench_nohuge):
    """One 9000-byte frame for 63 of 60 bytes: memory posted never passes the ring full of the largest class."""
    sent = frames.frames(([60] * 63 + [9000]) * 12)
    back, front = ladder(bench_nohuge, sent)
    most = RING * max(front.footprints())
    assert front.xstats()["rx_q0_posted_bytes"] == RING * front.footprints()[0]
    loop(back, front, 0, sent)
    state = front.xstats()
    assert state["rx_q0_posted_bytes"] <= most
    assert state["rx_q0_posted_segments"] <= RING


def test_without_scatter_every_frame_takes_one_segment_trouble_158(bench):
    """No chain may be delivered, so the queue posts nothing that cannot hold a frame of the MTU."""
    sent = frames.frames(frames.boundary_sizes())
    back, front = ladder(bench, sent, scatter=False)
    assert front.xstats()["rx_q0_segment_room"] == 9216
    assert loop(back, front, 0, sent) == both_ways(sent, front.footprints(), [0, 0, 0, len(sent)])


@pytest.mark.parametrize("least, room", [(1, 1536), (1536, 1536), (1537, 2048), (4096, 4096), (65535, 16384)])
def test_min_segment_is_a_floor(bench_nohuge, least, room):
    """Small frames are received into the smallest class that has min_segment bytes, or into the largest one."""
    sent = frames.frames([60], 300)
    back, front = ladder(bench_nohuge, sent, min_segment=least)
    assert front.xstats()["rx_q0_segment_room"] == room
    per_class = [0] * len(ROOMS)
    per_class[ROOMS.index(room)] = 300
    assert loop(back, front, 0, sent) == both_ways(sent, front.footprints(), per_class)


def test_ewma_weight_1_follows_each_burst(bench_nohuge):
    """With weight 1 the estimate is the mean of the last burst."""
    phases = [frames.frames([9000], 40), frames.frames([64], 40)]
    back, front = ladder(bench_nohuge, *phases, ewma_weight=1)
    loop(back, front, 0, phases[0])
    assert front.xstats()["rx_q0_avg_packet_len"] == 9000
    loop(back, front, 1, phases[1])
    assert front.xstats()["rx_q0_avg_packet_len"] == 64


def test_names_of_extended_statistics(bench_nohuge):
    """Exactly one set for the queue, with one counter for each class."""
    _, front = ladder(bench_nohuge, [])
    names = set(front.xstats())
    assert {f"rx_q0_{n}" for n in counts.RX_NAMES} <= names
    classes = {n for n in names if re.fullmatch(r"rx_q0_class_\d+_segments", n)}
    assert classes == {f"rx_q0_class_{k}_segments" for k in range(len(ROOMS))}
