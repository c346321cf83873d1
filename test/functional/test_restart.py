"""Stopping and starting the port leaves nothing behind."""

from bench import frames

CYCLES = 100


def test_100_stop_start_cycles_trouble_092(bench):
    """Mbufs in use and open files, on both sides, are after 100 cycles what they were; then traffic passes."""
    first, last = frames.frames([60, 1514, 9000], 20), frames.frames([60, 1514, 9000], 20, first=1000)
    back = bench.back_end(first, last, two_way=True)
    ladder = bench.driver.is_fit
    front = bench.front_end(pools=frames.LADDER_MBUFS if ladder else (2176,), ladder=ladder, loop=True)

    bench.connected(back)
    back.feed(0)
    back.wait_stats(1, tx_packets=len(first))
    front.cmds("stop", "port stop 0")
    stopped = front.in_use()
    if bench.driver.is_fit:
        assert stopped == [0] * len(stopped)  # asked of net_virtio_fit only: buffers come back when the port stops
    front.cmd("port start 0")
    bench.connected(back)
    started, files = front.in_use(), (front.open_fds(), back.open_fds())

    for _ in range(CYCLES):
        front.cmd("port stop 0")
        assert not front.link_up()
        assert "Fail" not in front.cmd("port start 0")
        assert front.link_up()
    bench.connected(back)
    assert front.in_use() == started
    assert (front.open_fds(), back.open_fds()) == files
    front.cmd("port stop 0")
    assert front.in_use() == stopped
    front.cmd("port start 0")
    bench.connected(back)

    front.cmd("start")
    back.feed(1)
    back.wait_stats(2, tx_packets=len(last))
    frames.assert_same(first, back.output(0), "looped back before")
    frames.assert_same(last, back.output(1), "looped back after")
