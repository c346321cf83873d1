"""What VIRTIO asks of every driver, held against ours by a back end that looks at each message and each descriptor."""

import os
import random
import re

from scapy.packet import Raw

from bench import frames
from bench.wait import until
from scapy_vhost import Feature, NetConfig, NetHeader, Offer, ProtocolFeature, Request, mask

SIZES = [60, 1514, 2060, 2061, 9000]
POISON = b"\xa5" * 500


def test_every_chain_SPL_04_SPL_06_SPL_07_SPL_09_SPL_10_SPL_12(echo):
    """The back end checks each chain as it takes it and once more as it gives it back: order of parts, length, links,
    slots that are in flight already, the available index and its flags word."""
    wired = echo()
    wired.round_trip(frames.frames(random.Random(4).choices(SIZES, k=700)))
    wired.assert_sound()


def test_needlessly_many_descriptors_SPL_05(echo, driver):
    """A frame of n segments takes n descriptors where the header fits in front of the data, else one more."""
    wired = echo()
    for frame in wired.round_trip(frames.frames([60, 1514, 2048, 2049, 4108, 4109, 9000])):
        segments = 1 if len(frame.data) <= 2048 else 1 + -(-(len(frame.data) - 2048) // 2060)
        assert len(frame.buffers) == segments + (0 if driver.is_fit or segments == 1 else 1)


def test_notifications_that_bring_nothing_SPL_13(echo):
    """Used-buffer notifications at random are no packets and no harm."""
    wired = echo()
    for start in range(0, 100, 20):
        for queue in wired.backend.device.queues.values():
            if queue.call is not None:
                os.eventfd_write(queue.call, 1 + start)
        wired.round_trip(frames.frames(SIZES * 4, first=start))
    wired.assert_sound()


def test_bytes_behind_the_used_length_SPL_14_SPL_15(echo):
    """The device wrote more than it says; the application sees only what it says, in one buffer and in merged ones."""
    wired = echo()
    small, large = frames.frames([300, 3000])
    for frame, claims in ((small, [312]), (large, [2060, 952])):
        wired.port.send(Raw(frame + POISON), header=NetHeader(num_buffers=len(claims)),
                        splits=[*claims[:-1], claims[-1] + len(POISON)], claims=claims)
    frames.assert_same([small, large], [f.data for f in wired.port.frames(2)], "sent back")
    wired.assert_sound()


def test_receive_buffers_without_merging_NET_45(echo):
    """One buffer must hold the largest frame of the MTU, and 1526 bytes at least."""
    wired = echo(Offer(mask(Feature.VERSION_1)), pools=(2176,), scatter=False, mtu=1500)
    with wired.backend.lock:
        ring = wired.backend.device.queues[0].ring
        chain = ring.take()
        ring.untake()
    assert chain.writable() >= 1526
    wired.round_trip(frames.frames([60, 1514]))
    wired.assert_sound()


def test_queue_numbers_and_enablement_NET_22_VHU_12(echo):
    """Receive is queue 0 and transmit queue 1; with bit 30 both are enabled by message, no other queue is touched."""
    wired = echo(Offer(queue_pairs=4))
    wired.round_trip(frames.frames(SIZES))
    messages = wired.backend.log.messages()
    enabled = [(m.payload[0], m.payload[4]) for m in messages if m.request == Request.SET_VRING_ENABLE]
    assert set(enabled) >= {(0, 1), (1, 1)}
    touched = {m.payload[0] for m in messages if m.request in (
        Request.SET_VRING_NUM, Request.SET_VRING_ADDR, Request.SET_VRING_KICK, Request.SET_VRING_CALL)}
    assert touched == {0, 1}


def test_configuration_without_the_device_NET_10_NET_13_NET_14_VHU_47_VHU_53(echo, driver):
    """A back end with CONFIG gets no write to it and no RESET_OWNER; the MAC address is a local one, the link that of
    the connection."""
    protocol = mask(ProtocolFeature.MQ, ProtocolFeature.REPLY_ACK, ProtocolFeature.STATUS, ProtocolFeature.CONFIG)
    wired = echo(Offer(mask(Feature.VERSION_1, Feature.MRG_RXBUF), protocol, config=bytearray(bytes(NetConfig()))))
    assert wired.front.link_up()
    requests = wired.backend.log.requests()
    assert Request.SET_CONFIG not in requests and Request.RESET_OWNER not in requests
    mac = re.search(r"MAC address: ([0-9A-F]{2}):", wired.front.cmd("show port info 0"))
    assert int(mac[1], 16) & 3 == 2, "locally administered and unicast"


def test_feature_set_is_frozen_GEN_09(echo):
    """After FEATURES_OK no message changes it until the device was reset."""
    wired = echo()
    wired.front.cmds("stop", "port stop 0", "port start 0", "start")
    until(wired.backend.ready, lambda: f"the queues ready{wired.front.tail()}")
    wired.round_trip(frames.frames(SIZES))
    wired.assert_sound()


def test_checksums_are_not_claimed_NET_36_NET_42_NET_54(echo, driver):
    """The device marks frames as checked without having been asked to: the application is not told that they are, and
    no mark goes out with what it sends back."""
    wired = echo()
    wired.front.cmds("stop", "set fwd rxonly", "set verbose 1", "start")
    mark = wired.front.mark()
    sent = frames.frames([200] * 3)
    for frame in sent:
        wired.port.send(Raw(frame), header=NetHeader(flags=NetHeader.DATA_VALID, num_buffers=1))
    wired.front.wait_log(r"(?s)(ol_flags: .*){3}", since=mark)
    said = wired.front.log_since(mark)
    assert len(re.findall(r"ol_flags: .*RTE_MBUF_F_RX_L4_CKSUM_UNKNOWN", said)) == len(sent)
    assert "CKSUM_GOOD" not in said
    wired.front.cmds("stop", "set verbose 0", "set fwd io", "start")
    for frame in sent:
        wired.port.send(Raw(frame), header=NetHeader(flags=NetHeader.DATA_VALID, num_buffers=1))
    for frame in wired.port.frames(len(sent)):
        assert (frame.header.flags, frame.header.gso_type) == (0, 0) or not driver.is_fit
    wired.assert_sound()
