"""Feature bits: their numbers as in the documents, and the dependencies of VIRTIO 1.3, 5.1.3.1."""

import pytest
from scapy_vhost.features import DEPENDS, Feature, ProtocolFeature, broken_dependencies, mask, names

F = Feature

NUMBERS = {
    "CSUM": 0, "GUEST_CSUM": 1, "CTRL_GUEST_OFFLOADS": 2, "MTU": 3, "MAC": 5, "GSO": 6, "GUEST_TSO4": 7,
    "GUEST_TSO6": 8, "GUEST_ECN": 9, "GUEST_UFO": 10, "HOST_TSO4": 11, "HOST_TSO6": 12, "HOST_ECN": 13,
    "HOST_UFO": 14, "MRG_RXBUF": 15, "STATUS": 16, "CTRL_VQ": 17, "CTRL_RX": 18, "CTRL_VLAN": 19,
    "CTRL_RX_EXTRA": 20, "GUEST_ANNOUNCE": 21, "MQ": 22, "CTRL_MAC_ADDR": 23, "NOTIFY_ON_EMPTY": 24,
    "LOG_ALL": 26, "ANY_LAYOUT": 27, "INDIRECT_DESC": 28, "EVENT_IDX": 29, "PROTOCOL_FEATURES": 30,
    "VERSION_1": 32, "ACCESS_PLATFORM": 33, "RING_PACKED": 34, "IN_ORDER": 35, "ORDER_PLATFORM": 36,
    "SR_IOV": 37, "NOTIFICATION_DATA": 38, "NOTIF_CONFIG_DATA": 39, "RING_RESET": 40, "ADMIN_VQ": 41,
    "HASH_TUNNEL": 51, "VQ_NOTF_COAL": 52, "NOTF_COAL": 53, "GUEST_USO4": 54, "GUEST_USO6": 55, "HOST_USO": 56,
    "HASH_REPORT": 57, "GUEST_HDRLEN": 59, "RSS": 60, "RSC_EXT": 61, "STANDBY": 62, "SPEED_DUPLEX": 63,
}

PROTOCOL = ["MQ", "LOG_SHMFD", "RARP", "REPLY_ACK", "MTU", "BACKEND_REQ", "CROSS_ENDIAN", "CRYPTO_SESSION",
            "PAGEFAULT", "CONFIG", "BACKEND_SEND_FD", "HOST_NOTIFIER", "INFLIGHT_SHMFD", "RESET_DEVICE",
            "INBAND_NOTIFICATIONS", "CONFIGURE_MEM_SLOTS", "STATUS", "XEN_MMAP", "SHARED_OBJECT", "DEVICE_STATE",
            "GET_VRING_BASE_INFLIGHT", "GPA_ADDRESSES", "SHMEM", "GET_VRING_BASE_SKIP_DRAIN"]


def test_numbers_of_the_feature_bits():
    assert {one.name: one.value for one in Feature} == NUMBERS


def test_numbers_of_the_protocol_feature_bits():
    assert [one.name for one in sorted(ProtocolFeature)] == PROTOCOL
    assert [one.value for one in sorted(ProtocolFeature)] == list(range(24))


def test_mask_and_names_are_each_other_s_inverse():
    assert mask() == 0
    assert mask(F.VERSION_1, F.MRG_RXBUF, F.MRG_RXBUF, 0) == 0x1_0000_8001
    assert names(0x1_0000_8001) == ["CSUM", "MRG_RXBUF", "VERSION_1"]
    assert names(0) == []
    assert names(1 << 63 | 1 << 58 | 1 << 4) == ["bit 4", "bit 58", "SPEED_DUPLEX"]
    assert names(1 << 70) == ["bit 70"]
    assert names(0x1000009, ProtocolFeature) == ["MQ", "REPLY_ACK", "bit 24"]


V1 = mask(F.VERSION_1)

# (accepted, what is missing as the sentence has it); VERSION_1 is accepted in all of them.
ALONE = [
    *[(one, "GUEST_CSUM") for one in (F.GUEST_TSO4, F.GUEST_TSO6, F.GUEST_UFO, F.GUEST_USO4, F.GUEST_USO6)],
    (F.GUEST_ECN, "GUEST_TSO4 or GUEST_TSO6"),
    *[(one, "CSUM") for one in (F.HOST_TSO4, F.HOST_TSO6, F.HOST_UFO, F.HOST_USO)],
    (F.HOST_ECN, "HOST_TSO4 or HOST_TSO6"),
    *[(one, "CTRL_VQ") for one in (F.CTRL_RX, F.CTRL_VLAN, F.GUEST_ANNOUNCE, F.MQ, F.CTRL_MAC_ADDR, F.RSS,
                                   F.NOTF_COAL, F.VQ_NOTF_COAL, F.CTRL_RX_EXTRA, F.HASH_REPORT,
                                   F.CTRL_GUEST_OFFLOADS)],
    (F.RSC_EXT, "HOST_TSO4 and GUEST_TSO4 or HOST_TSO4 and GUEST_TSO6 or HOST_TSO6 and GUEST_TSO4 or "
                "HOST_TSO6 and GUEST_TSO6"),
    (F.HASH_TUNNEL, "CTRL_VQ and RSS or CTRL_VQ and HASH_REPORT"),
]


def test_the_cases_are_all_that_depend():
    assert {feature for feature, _ in ALONE} == set(DEPENDS)


@pytest.mark.parametrize("feature, missing", ALONE, ids=[one.name for one, _ in ALONE])
def test_GEN_15_alone_it_is_one_sentence(feature, missing):
    assert broken_dependencies(V1 | mask(feature)) == [f"{feature.name} is accepted without {missing}."]


@pytest.mark.parametrize("accepted", [
    (F.GUEST_CSUM, F.GUEST_TSO4, F.GUEST_TSO6, F.GUEST_UFO, F.GUEST_USO4, F.GUEST_USO6, F.GUEST_ECN),
    (F.CSUM, F.HOST_TSO4, F.HOST_ECN, F.HOST_USO), (F.CSUM, F.HOST_TSO6, F.HOST_ECN, F.HOST_UFO),
    (F.CTRL_VQ, F.MQ, F.RSS, F.HASH_TUNNEL), (F.CTRL_VQ, F.HASH_REPORT, F.HASH_TUNNEL),
    (F.CSUM, F.GUEST_CSUM, F.HOST_TSO4, F.GUEST_TSO6, F.RSC_EXT), tuple(Feature)])
def test_with_one_of_the_alternatives_nothing_is_said(accepted):
    assert broken_dependencies(V1 | mask(*accepted)) == []


@pytest.mark.parametrize("accepted, said", [
    ((F.HASH_TUNNEL, F.CTRL_VQ), ["HASH_TUNNEL"]), ((F.HASH_TUNNEL, F.RSS), ["HASH_TUNNEL", "RSS"]),
    ((F.RSC_EXT, F.CSUM, F.HOST_TSO4, F.HOST_TSO6), ["RSC_EXT"]),
    ((F.GUEST_ECN, F.GUEST_TSO6), ["GUEST_TSO6"]),  # the parent is there, but its own is not
    ((F.HOST_ECN, F.HOST_TSO4, F.GUEST_CSUM), ["HOST_TSO4"])])
def test_one_of_two_needs_is_not_enough(accepted, said):
    assert [one.split()[0] for one in broken_dependencies(V1 | mask(*accepted))] == said


def test_sentences_come_in_the_order_of_the_bits():
    accepted = V1 | mask(F.HOST_USO, F.MQ, F.CTRL_GUEST_OFFLOADS, F.GUEST_TSO4)
    assert [one.split()[0] for one in broken_dependencies(accepted)] == ["CTRL_GUEST_OFFLOADS", "GUEST_TSO4", "MQ",
                                                                         "HOST_USO"]


def test_every_bit_from_32_on_needs_version_1_whether_known_or_not():
    accepted = mask(F.MAC, F.RING_PACKED, 50, F.SPEED_DUPLEX, 64)
    assert broken_dependencies(accepted) == [
        "RING_PACKED is accepted without VERSION_1.", "bit 50 is accepted without VERSION_1.",
        "SPEED_DUPLEX is accepted without VERSION_1.", "bit 64 is accepted without VERSION_1."]
    assert broken_dependencies(accepted | V1) == []
    assert broken_dependencies(mask(*range(32)) & ~mask(F.CTRL_VQ, *range(18, 24), F.CTRL_GUEST_OFFLOADS)) == []
