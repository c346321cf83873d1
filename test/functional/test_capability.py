"""The port says what is true: promiscuity, link, statistics, queue information, offloads."""

import pytest

from bench import counts, frames

fit = pytest.mark.fit


def test_promiscuous_and_allmulticast_are_refused_trouble_017(bench_nohuge):
    """Without a control queue nothing can be asked of the device, so asking fails and the state stays off."""
    back = bench_nohuge.back_end()
    front = bench_nohuge.front_end()
    bench_nohuge.connected(back)
    for command, key in (("promisc", "Promiscuous mode"), ("allmulti", "Allmulticast mode")):
        said = front.cmd(f"set {command} 0 on")
        assert "Operation not supported" in said
        assert front.port_info()[key] == "disabled"


def test_frames_for_others_arrive_although_not_promiscuous_trouble_162(bench_nohuge):
    """A vhost-user device does not filter, so nothing may be lost for its address."""
    sent = [b"\x02\0\0\0\0\x99" + f[6:] for f in frames.frames([64], 10)]
    back = bench_nohuge.back_end(sent)
    front = bench_nohuge.front_end(mac="02:00:00:00:00:01")
    bench_nohuge.connected(back)
    back.feed()
    front.wait_stats(1, tx_packets=len(sent))
    frames.assert_same(sent, front.output())


def test_link_follows_the_back_end_trouble_083(bench_nohuge):
    """Up once started, down when the port stops, down when the back end is killed; testpmd lives on."""
    # A clean end after the back end went is asked of net_virtio_fit only.
    back = bench_nohuge.back_end()
    front = bench_nohuge.front_end(exit_codes=(0,) if bench_nohuge.driver.is_fit else None)
    bench_nohuge.connected(back)
    assert front.link_up()
    front.cmds("stop", "port stop 0")
    assert not front.link_up()
    if bench_nohuge.driver.is_fit:
        back.wait_link(False)  # asked of net_virtio_fit only: its rings stop with the port
    front.cmd("port start 0")
    front.wait_link(True)
    bench_nohuge.connected(back)
    front.cmd("start")
    bench_nohuge.kill(back)
    front.wait_link(False)
    assert front.port_stats()["RX-packets"] == 0


@pytest.mark.quick
def test_statistics_equal_those_of_the_back_end_trouble_148(bench_nohuge):
    """Packets and bytes of both directions, then the same after a reset."""
    first, second = frames.frames([60, 61, 1514, 9000], 25), frames.frames([1000], 7, first=500)
    back = bench_nohuge.back_end(first, second, two_way=True)
    front = bench_nohuge.front_end(loop=True, queue_size=1024)
    bench_nohuge.connected(back)
    for number, sent in enumerate((first, second)):
        back.feed(number)
        back.wait_stats(number + 1, tx_packets=len(sent))
        mine, theirs = front.port_stats(), back.port_stats()
        expected = {"RX-packets": len(sent), "RX-bytes": sum(map(len, sent)), "TX-packets": len(sent),
                    "TX-bytes": sum(map(len, sent)), "RX-missed": 0, "RX-errors": 0, "RX-nombuf": 0, "TX-errors": 0}
        assert mine == expected
        assert theirs == expected
        front.cmd("clear port stats 0")
        back.cmd("clear port stats 0")
        assert set(front.port_stats().values()) == {0}


@fit("needs the counters of net_virtio_fit")
def test_clear_xstats_clears_counts_and_keeps_states_trouble_148(bench_nohuge):
    """What counts becomes 0; what describes the queue now (room, average, posted) stays as it is."""
    sent = frames.frames([9000], 300)
    back = bench_nohuge.back_end(sent, two_way=True)
    front = bench_nohuge.front_end(pools=frames.LADDER_MBUFS, ladder=True, loop=True)
    bench_nohuge.connected(back)
    back.feed()
    back.wait_stats(1, tx_packets=len(sent))
    states = ("avg_packet_len", "segment_room", "posted_segments", "posted_bytes")
    keep = {f"rx_q0_{n}": front.xstats()[f"rx_q0_{n}"] for n in states}
    assert keep["rx_q0_segment_room"] == 9216
    assert keep["rx_q0_avg_packet_len"] == 9000
    front.cmd("clear port xstats 0")
    after = front.xstats()
    keep["rx_q0_ring_low_watermark"] = 256
    assert {k: v for k, v in after.items() if v != 0} == {k: v for k, v in keep.items() if v != 0}
    assert counts.drops(after)


@fit("queue information is asked of net_virtio_fit only")
@pytest.mark.parametrize("wanted, given", [(0, 256), (100, 100), (512, 256)])
def test_queue_information_trouble_009(bench_nohuge, wanted, given):
    """Descriptors as asked for, clamped to the ring; scatter and burst mode as agreed."""
    back = bench_nohuge.back_end()
    front = bench_nohuge.front_end_stopped(app=(f"--rxd={wanted}", f"--txd={wanted}") if wanted else ())
    front.cmds("port config 0 rx_offload scatter on", "port start 0")
    front.wait_link(True)
    bench_nohuge.connected(back)
    info = front.rxq_info()
    assert info["Number of RXDs"] == str(given)
    assert info["Mempool"] == "mb_pool_0"
    assert info["RX scattered packets"] == "on"
    assert front.xstats()["rx_q0_posted_segments"] == given
    assert "split" in info["Burst mode"]


@fit("the exact list of offloads is that of net_virtio_fit")
@pytest.mark.parametrize("merging, expected", [(1, ["SCATTER"]), (0, [])])
def test_receive_offloads_trouble_007(bench_nohuge, merging, expected):
    """SCATTER only where packets can be merged; nothing that the driver does not do."""
    bench_nohuge.back_end()
    front = bench_nohuge.front_end_stopped(mrg_rxbuf=merging)
    said = front.cmd("show port 0 rx_offload capabilities")
    offered = [w for line in said.splitlines() if line.strip().startswith("Per") for w in line.split(":")[1].split()]
    assert offered == expected


def test_mac_of_devarg(bench_nohuge):
    bench_nohuge.back_end()
    front = bench_nohuge.front_end_stopped(mac="02:00:00:00:00:77")
    assert front.port_info()["MAC address"] == "02:00:00:00:00:77"
