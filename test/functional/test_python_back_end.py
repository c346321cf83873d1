"""The Python back end with all that ours does not speak yet, against DPDK's net_virtio_user, which does."""

import random

import pytest

from bench import frames
from bench.driver import Driver
from scapy_vhost import Completion, Feature, Offer, ProtocolFeature, mask

V1, MRG, PACKED, IN_ORDER = Feature.VERSION_1, Feature.MRG_RXBUF, Feature.RING_PACKED, Feature.IN_ORDER
INDIRECT = Feature.INDIRECT_DESC
SIZES = [60, 1514, 2060, 2061, 9000]

RINGS = {
    "split": ((V1, MRG), {}),
    "split_in_order": ((V1, MRG, IN_ORDER), {}),
    "split_indirect": ((V1, MRG, INDIRECT), {}),
    "packed": ((V1, MRG, PACKED), {"packed_vq": 1}),
    "packed_in_order": ((V1, MRG, PACKED, IN_ORDER), {"packed_vq": 1}),
}


@pytest.fixture
def peer(bench_nohuge):
    """Makes the front ends of this file drivers that speak it."""
    bench_nohuge.driver = Driver("net_virtio_user")


@pytest.mark.parametrize("name", RINGS)
def test_rings(peer, echo, name):
    """A thousand frames of all sizes, so that a ring of 256 goes round many times; no rule is broken."""
    bits, devargs = RINGS[name]
    wired = echo(Offer(mask(*bits)), **devargs)
    accepted = wired.backend.device.accepted
    assert all(accepted >> bit & 1 for bit in bits if bit is not IN_ORDER or "in_order" in name)
    wired.round_trip(frames.frames(random.Random(1).choices(SIZES, k=1000)))
    wired.assert_sound()


@pytest.mark.parametrize("name", ["split", "packed"])
def test_completions_in_any_order(peer, echo, name):
    bits, devargs = RINGS[name]
    wired = echo(Offer(mask(*bits)), in_order=0, **devargs)
    back, order = wired.backend, random.Random(3)
    for turn in range(20):
        back.hold("tx", Completion.HELD)
        wired.round_trip(frames.frames(SIZES * 3, first=turn * 100))
        back.release("tx", order.sample(range(15), 15))
    wired.assert_sound()


def test_configuration_space_and_status(peer, echo):
    """CONFIG and STATUS are offered and asked for or not as the driver likes; the port works either way."""
    protocol = mask(ProtocolFeature.MQ, ProtocolFeature.REPLY_ACK, ProtocolFeature.STATUS, ProtocolFeature.CONFIG)
    wired = echo(Offer(mask(V1, MRG, Feature.MAC, Feature.STATUS), protocol))
    wired.round_trip(frames.frames(SIZES * 5))
    wired.assert_sound()


def test_two_pairs(peer, echo):
    """Two pairs behind MQ, and both carry frames. How many are wanted comes by SET_VRING_ENABLE."""
    bits = (V1, MRG, Feature.CTRL_VQ, Feature.CTRL_RX, Feature.MQ, Feature.MAC, Feature.STATUS)
    wired = echo(Offer(mask(*bits), queue_pairs=2), app=("--rxq=2", "--txq=2"), queues=2, cq=1)
    wired.round_trip(frames.frames(SIZES * 5))
    wired.port.wait_ready(5)
    wired.backend.wait_ready(5, pair=1)
    wired.port.pair = 1
    assert {frame.pair for frame in wired.round_trip(frames.frames(SIZES * 5))} == {1}
    wired.assert_sound()
