"""The driver as scapy sees it from the device's side: every header layout, split and order of completion."""

import random

import pytest
from scapy.layers.inet import ICMP, IP
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Raw

from bench import frames
from scapy_vhost import Completion, Feature, Offer, mask

V1, MRG = Feature.VERSION_1, Feature.MRG_RXBUF
LAYOUTS = {"12_mergeable": (V1, MRG), "12_plain": (V1,), "12_legacy_mergeable": (MRG,), "10_legacy": ()}
SIZES = [60, 61, 127, 1513, 1514, 2047, 2048, 2049, 2059, 2060, 2061, 4107, 4108, 4109, 8999, 9000, 9014]


def layout(name):
    """(offer, options of a front end that takes 9014 bytes with it)."""
    bits = LAYOUTS[name]
    offer = Offer(mask(*bits))
    return offer, {} if MRG in bits else {"pools": (9344,), "scatter": False}


@pytest.mark.quick
def test_a_ping_through_the_driver(echo):
    """testpmd answers ARP and ICMP itself; scapy asks as it would ask any host."""
    wired = echo()
    wired.front.cmds("stop", "set fwd icmpecho", "start")
    ether = Ether(src="02:00:00:00:00:01", dst="ff:ff:ff:ff:ff:ff")
    who = wired.port.sr1(ether / ARP(psrc="192.0.2.1", pdst="192.0.2.2", hwsrc=ether.src), timeout=5, verbose=0)
    assert (who[ARP].op, who[ARP].psrc) == (2, "192.0.2.2")
    ping = Ether(src=ether.src, dst=who[ARP].hwsrc) / IP(src="192.0.2.1", dst="192.0.2.2") / ICMP(id=7, seq=3) \
        / Raw(bytes(range(200)))
    pong = wired.port.sr1(ping, timeout=5, verbose=0)
    assert (pong[ICMP].type, pong[ICMP].id, pong[ICMP].seq) == (0, 7, 3)
    assert pong[Raw].load == ping[Raw].load
    wired.assert_sound()


each_layout = pytest.mark.parametrize("name", [pytest.param(n, marks=[] if V1 in bits else pytest.mark.fit(
    "devices without VERSION_1 are asked of net_virtio_fit only")) for n, bits in LAYOUTS.items()])


@each_layout
def test_header_layouts_NET_48_NET_49_trouble_001_trouble_033(echo, driver, name):
    """Every layout of the net header carries every size both ways, and what the driver sends has a header of zeros."""
    offer, options = layout(name)
    wired = echo(offer, **options)
    assert wired.backend.data.header_size == int(name[:2])
    for frame in wired.round_trip(frames.frames(SIZES)):
        if driver.is_fit:  # num_buffers 0 in what is sent is asked of net_virtio_fit only
            assert frame.header_bytes == bytes(int(name[:2]))
    wired.assert_sound()


@each_layout
def test_restart_with_each_header_layout_NET_49(echo, driver, name):
    """Stopped and started, with the link down meanwhile, the port carries the same frames again."""
    offer, options = layout(name)
    wired = echo(offer, **options)
    for _ in range(3):
        assert wired.front.link_up()
        wired.round_trip(frames.frames(SIZES))
        wired.front.cmds("stop", "port stop 0")
        assert not wired.front.link_up()
        if driver.is_fit:  # asked of net_virtio_fit only: buffers come back when the port stops
            assert wired.front.in_use() == [0]
        wired.front.cmds("port start 0", "start")
        wired.port.wait_ready()
    wired.assert_sound()


@pytest.mark.parametrize("seed", range(3))
def test_random_sizes_through_merged_buffers_NET_31(echo, seed):
    wired = echo(pools=(640,))
    sizes = random.Random(seed).choices(range(60, 9015), k=300)
    wired.round_trip(frames.frames(sizes))
    wired.assert_sound()


def test_completions_out_of_order_SPL_16(echo, driver):
    """A device without IN_ORDER may complete in any order, both ways: frames arrive in the order of completion, and
    every mbuf comes back."""
    wired = echo()
    back, order = wired.backend, random.Random(5)
    sent = frames.frames([64, 1514, 4000, 9000] * 5)
    back.hold("rx", Completion.HELD)
    for frame in sent:
        wired.port.send(Raw(frame))
    places = order.sample(range(len(sent)), len(sent))
    back.hold("tx", Completion.HELD)
    back.release("rx", places)
    got = [frame.data for frame in wired.port.frames(len(sent))]
    frames.assert_same([sent[place] for place in places], got, "sent back")
    back.release("tx", order.sample(range(len(sent)), len(sent)))
    back.hold("rx", Completion.AT_ONCE)
    back.hold("tx", Completion.AT_ONCE)
    wired.round_trip(frames.frames(SIZES))
    wired.front.cmds("stop", "port stop 0")
    if driver.is_fit:  # asked of net_virtio_fit only: buffers come back when the port stops
        assert wired.front.in_use() == [0]
    wired.assert_sound()


def test_batched_completions(echo):
    wired = echo()
    wired.backend.hold("tx", Completion.BATCHED)
    wired.round_trip(frames.frames(SIZES * 10))
    wired.assert_sound()


@pytest.mark.parametrize("wanted", [True, False])
def test_notifications_SPL_19_SPL_20_GEN_13(echo, wanted):
    """The driver notifies while it is asked to, never before DRIVER_OK, and not when it is asked not to."""
    wired = echo()
    back = wired.backend
    for index in (0, 1):
        back.want_kicks(index, wanted)
    wired.round_trip(frames.frames([60]))  # what was on its way before
    before = {index: back.log.count("kick", index) for index in (0, 1)}
    wired.round_trip(frames.frames([60] * 200))
    rose = {index: back.log.count("kick", index) - before[index] for index in (0, 1)}
    assert all(rose.values()) if wanted else rose == {0: 0, 1: 0}
    kinds = [event.kind for event in back.log if event.kind == "kick" or "SET_STATUS 0f" in event.text]
    assert kinds[0] == "message", "a kick came before DRIVER_OK"
    wired.assert_sound()


def test_statistics_are_true_to_the_byte_trouble_148(echo):
    wired = echo()
    before = wired.front.port_stats()
    sent = frames.frames(SIZES * 3)
    wired.round_trip(sent)
    after = wired.front.port_stats()
    rose = {name: after[name] - before[name] for name in after}
    count, size = len(sent), sum(map(len, sent))
    assert rose == {"RX-packets": count, "RX-missed": 0, "RX-bytes": size, "RX-errors": 0, "RX-nombuf": 0,
                    "TX-packets": count, "TX-errors": 0, "TX-bytes": size}
