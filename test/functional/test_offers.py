"""Whatever a back end offers, the driver takes only what was offered, what it knows, and what goes together."""

import random

import pytest

from bench.memory import no_huge
from bench.testpmd import App, Eal, TestPmd
from scapy_vhost import Backend, Feature, Offer, ProtocolFeature, Request, mask
from scapy_vhost.features import broken_dependencies

pytestmark = pytest.mark.fit("the accepted sets are those of net_virtio_fit")

NAME = "net_virtio_fit7"
BIT_30 = 1 << 30
KNOWN = mask(Feature.VERSION_1, Feature.MRG_RXBUF, Feature.ANY_LAYOUT)
KNOWN_PROTOCOL = mask(ProtocolFeature.MQ, ProtocolFeature.REPLY_ACK, ProtocolFeature.STATUS)
EVERYTHING = (1 << 64) - 1


@pytest.fixture(scope="module")
def app(driver, tmp_path_factory):
    """A front end that ports are attached to; port 0 is there because testpmd wants one."""
    eal = Eal(no_huge(64).args, ("net_null0",), plugin=driver.plugin)
    with TestPmd("app", tmp_path_factory.mktemp("offers"), eal, App()) as process:
        yield process


def bring_up(app, work, offer):
    """Attaches, starts, stops and detaches a port; the back end that saw it, with all of its log."""
    with Backend(work / "s", offer) as back:
        assert "Port 1 is attached" in app.cmd(f"port attach {NAME},path={work}/s")
        started = app.cmd("port start 1")
        assert "Fail" not in started, started + app.tail()
        back.wait_ready(5)
        app.cmds("port stop 1", "port detach 1")
    return back


def values(back, request):
    return [m.u64() for m in back.log.messages() if m.request == request]


def check(back, features, protocol):
    """The accepted set, after everything that holds for every offer."""
    accepted, = values(back, Request.SET_FEATURES)
    assert back.log.faults() == []
    assert accepted & ~features & ~BIT_30 == 0, "GEN-14"
    assert accepted & ~KNOWN & ~BIT_30 == 0, "GEN-17: nothing that the driver does not know"
    assert bool(accepted & BIT_30) == (protocol is not None), "Q10: echoed where it was offered"
    assert broken_dependencies(accepted & ~BIT_30) == [], "GEN-15"
    assert accepted & features & mask(Feature.VERSION_1) == features & mask(Feature.VERSION_1), "GEN-21"
    for spoken in values(back, Request.SET_PROTOCOL_FEATURES):
        assert spoken & ~(protocol or 0) == 0 and spoken & ~KNOWN_PROTOCOL == 0, "VHU-10"
    states = values(back, Request.SET_STATUS)
    if states:
        # FEATURES_OK came with VERSION_1 (3.1.2).
        modern = accepted & mask(Feature.VERSION_1)
        assert states == ([0, 1, 3, 11, 15, 0] if modern else [0, 1, 3, 7, 0]), "GEN-01, GEN-03, GEN-04"
    return accepted & ~BIT_30


@pytest.mark.quick
def test_everything_is_offered_GEN_17_GEN_20_trouble_003_trouble_175(app, work):
    """All 64 bits, many of which nobody has defined. Protocol features that need messages from the back end are left
    out: to offer them means to send those."""
    protocol = EVERYTHING & ~mask(ProtocolFeature.INBAND_NOTIFICATIONS, ProtocolFeature.XEN_MMAP)
    back = bring_up(app, work, Offer(EVERYTHING, protocol))
    assert check(back, EVERYTHING, protocol) == KNOWN
    assert values(back, Request.SET_PROTOCOL_FEATURES) == [KNOWN_PROTOCOL]


@pytest.mark.parametrize("seed", range(12))
def test_random_offers_GEN_14_GEN_15_GEN_21(app, work, seed):
    random_bits = random.Random(seed)
    features = random_bits.getrandbits(64) & ~BIT_30
    protocol = random_bits.choice([None, random_bits.getrandbits(20), random_bits.getrandbits(64)])
    accepted = check(bring_up(app, work, Offer(features, protocol)), features, protocol)
    assert accepted == features & KNOWN


@pytest.mark.parametrize("without", [Feature.VERSION_1, Feature.MRG_RXBUF, Feature.ANY_LAYOUT],
                         ids=lambda bit: bit.name)
def test_one_feature_less_is_no_reason_to_fail_GEN_18(app, work, without):
    features = EVERYTHING & ~mask(without)
    assert check(bring_up(app, work, Offer(features)), features, Offer().protocol_features) == KNOWN & ~mask(without)


def test_queue_layout_SPL_01_SPL_02_VHU_32(app, work):
    """Both rings have a power of two of entries and start at the alignment that 2.7.1 asks for, inside shared
    memory."""
    back = bring_up(app, work, Offer())
    regions = next(m for m in back.log.messages() if m.request == Request.SET_MEM_TABLE)
    assert regions.fd_count == int.from_bytes(regions.payload[:4], "little")
    sizes = {m.payload[0]: int.from_bytes(m.payload[4:], "little")
             for m in back.log.messages() if m.request == Request.SET_VRING_NUM}
    assert sizes == {0: 256, 1: 256}
    for message in back.log.messages():
        if message.request == Request.SET_VRING_ADDR:
            table, used, available = (int.from_bytes(message.payload[at:at + 8], "little") for at in (8, 16, 24))
            assert (table % 16, available % 2, used % 4) == (0, 0, 0)
