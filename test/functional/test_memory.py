"""Memory that the back end cannot map, too many pieces of it, or buffers too small: the start fails and says why."""

import pytest

from bench import messages
from bench.memory import huge_many_files, missing_reason

PORT = "net_virtio_fit0"
SMALL_FILES = 32 << 20  # bytes; less than the memory file of --no-huge

fit = pytest.mark.fit("the messages are those of net_virtio_fit")


def assert_refused(front, said, *parts, mark=0):
    """The port does not start, with one line; testpmd and its other port go on."""
    assert "Fail to" in said
    messages.assert_one(front.log_since(mark), PORT, *parts)
    assert front.in_use() == [0] * len(front.app.mbuf_sizes)
    assert not front.link_up(0)
    front.cmd("port start 1")
    assert front.link_up(1)


@fit
def test_memory_that_cannot_be_shared_trouble_151(bench_nohuge):
    """EAL falls back to anonymous memory when the memfd of --no-huge cannot grow."""
    bench_nohuge.back_end()
    front = bench_nohuge.front_end_stopped(file_limit=SMALL_FILES)
    files, mark = front.open_fds(), front.mark()
    said = front.cmd("port start 0")
    assert "Operation not supported" in said
    assert_refused(front, said, "cannot be shared", ("hugepages", "--in-memory"), mark=mark)
    assert front.open_fds() <= files + 3  # the pcap port of assert_refused; nothing of the failed start


@fit
@pytest.mark.parametrize("kind", ["anon", "xmem"])
def test_mempool_outside_of_shared_memory_trouble_151(bench_nohuge, kind):
    """testpmd puts its mbufs into memory that EAL does not share: --mp-alloc."""
    bench_nohuge.back_end()
    front = bench_nohuge.front_end_stopped(app=(f"--mp-alloc={kind}",))
    mark = front.mark()
    said = front.cmd("port start 0")
    assert_refused(front, said, "mb_pool_0", ("shared", "share"), mark=mark)


@fit
def test_more_than_8_regions_trouble_089(bench_huge):
    """A file for each huge page: the line names the number of regions, the limit and the EAL option."""
    memory = huge_many_files(64)
    assert missing_reason(memory.pages) is None
    bench_huge.back_end()
    front = bench_huge.front_end_stopped(memory=memory)
    mark = front.mark()
    said = front.cmd("port start 0")
    assert "Operation not supported" in said
    line = messages.assert_one(front.log_since(mark), PORT, "--single-file-segments", "8")
    assert str(regions(front)) in line
    assert_refused(front, said, "regions", mark=mark)


def regions(front):
    """Shared files of this process that huge pages come from, as the kernel lists them."""
    with open(f"/proc/{front.pid}/maps", encoding="ascii") as maps:
        return len({line.split()[4] for line in maps if "memfd:seg" in line or "hugepage" in line.lower()})


@fit
@pytest.mark.parametrize("pools, room", [((2176,), "2048"), ((1664, 4224), "4096")])
def test_no_class_can_hold_a_frame_trouble_008(bench_nohuge, pools, room):
    """MTU 9000 without SCATTER: the start fails, and the line names the bytes needed and the largest segment."""
    bench_nohuge.back_end()
    ladder = len(pools) > 1
    front = bench_nohuge.front_end_stopped(pools=pools, ladder=ladder, loop=ladder, more=("net_null0",) if not ladder
                                           else ())
    front.cmd("port config mtu 0 9000")
    mark = front.mark()
    said = front.cmd("port start 0")
    assert "Fail to" in said
    messages.assert_one(front.log_since(mark), PORT, "MTU 9000", room, "SCATTER")
    front.cmd("port config 0 rx_offload scatter on")
    front.cmd("port start 0")
    front.wait_link(True)


@fit
def test_no_class_can_hold_a_frame_without_mrg_rxbuf_trouble_008(bench_nohuge):
    """SCATTER is of no use without MRG_RXBUF; the port starts with a smaller MTU."""
    bench_nohuge.back_end()
    front = bench_nohuge.front_end_stopped(mrg_rxbuf=0)
    assert "SCATTER" not in front.cmd("show port 0 rx_offload capabilities")
    front.cmd("port config mtu 0 9000")
    mark = front.mark()
    assert "Fail to" in front.cmd("port start 0")
    messages.assert_one(front.log_since(mark), PORT, "MTU 9000", "2048", "MRG_RXBUF")
    front.cmds("port config mtu 0 1500", "port start 0")
    front.wait_link(True)


@fit
def test_small_ring_cannot_hold_a_frame_trouble_040(bench_nohuge):
    """Of 8 segments one may be waiting for refill: 7 of 1200 bytes hold no frame of 9018, 7 of 1536 do."""
    bench_nohuge.back_end()
    front = bench_nohuge.front_end_stopped(pools=(1328,), queue_size=8)
    front.cmds("port config mtu 0 9000", "port config 0 rx_offload scatter on")
    mark = front.mark()
    assert "Fail to" in front.cmd("port start 0")
    messages.assert_one(front.log_since(mark), PORT, "MTU 9000", "9018", "1200", "7 are always posted")
