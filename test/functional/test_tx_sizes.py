"""Transmit: frames of every size reach the back end unchanged, from one mbuf or from a chain."""

import pytest

from bench import counts, frames


def transmit(bench, **front_end):
    """Frames come from a pcap file into the mbufs of the front end; the back end writes what it gets to another."""
    sent = frames.frames(frames.boundary_sizes() + frames.filling(2048, 2048), repeat=2)
    back = bench.back_end()
    # Mbufs for two full rings, and for the frames between them.
    front = bench.front_end(source=sent, queue_size=1024, start=False, app=("--total-num-mbufs=4096",), **front_end)
    bench.connected(back)
    back.feed()
    before = front.xstats()
    front.cmd("start")
    back.wait_stats(1, tx_packets=len(sent))
    frames.assert_same(sent, back.output())
    rose = counts.rises(before, front.xstats())
    if bench.driver.is_fit:
        assert rose == counts.transmitted(sent)
    else:
        assert (rose["tx_good_packets"], rose["tx_good_bytes"]) == (len(sent), sum(map(len, sent)))


@pytest.mark.parametrize("mbuf", [pytest.param(9344, id="linear"), pytest.param(2176, id="chained"),
                                  pytest.param(384, id="chained_small")])
def test_tx_all_sizes_NET_26_NET_43(bench, mbuf):
    """60..9014 from one mbuf each, and from chains of up to 5 and up to 36."""
    transmit(bench, pools=(mbuf,))


def test_tx_chained_without_mrg_rxbuf_NET_43_trouble_020(bench_nohuge):
    """The header for transmit keeps its size when merging was not agreed."""
    transmit(bench_nohuge, mtu=1500, scatter=False, mrg_rxbuf=0)
