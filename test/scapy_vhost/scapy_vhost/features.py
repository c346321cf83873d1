"""Names of the feature bits of VIRTIO 1.3 and of vhost-user, and what each bit needs to be of use."""

import enum
import itertools


class Feature(enum.IntEnum):
    """VIRTIO 1.3, 5.1.3 and 6; the value is the number of the bit."""

    CSUM = 0
    GUEST_CSUM = 1
    CTRL_GUEST_OFFLOADS = 2
    MTU = 3
    MAC = 5
    GSO = 6  # legacy
    GUEST_TSO4 = 7
    GUEST_TSO6 = 8
    GUEST_ECN = 9
    GUEST_UFO = 10
    HOST_TSO4 = 11
    HOST_TSO6 = 12
    HOST_ECN = 13
    HOST_UFO = 14
    MRG_RXBUF = 15
    STATUS = 16
    CTRL_VQ = 17
    CTRL_RX = 18
    CTRL_VLAN = 19
    CTRL_RX_EXTRA = 20
    GUEST_ANNOUNCE = 21
    MQ = 22
    CTRL_MAC_ADDR = 23
    NOTIFY_ON_EMPTY = 24  # legacy
    LOG_ALL = 26  # vhost only
    ANY_LAYOUT = 27  # legacy
    INDIRECT_DESC = 28
    EVENT_IDX = 29
    PROTOCOL_FEATURES = 30  # vhost-user only; VIRTIO has no use for it
    VERSION_1 = 32
    ACCESS_PLATFORM = 33
    RING_PACKED = 34
    IN_ORDER = 35
    ORDER_PLATFORM = 36
    SR_IOV = 37
    NOTIFICATION_DATA = 38
    NOTIF_CONFIG_DATA = 39
    RING_RESET = 40
    ADMIN_VQ = 41
    HASH_TUNNEL = 51
    VQ_NOTF_COAL = 52
    NOTF_COAL = 53
    GUEST_USO4 = 54
    GUEST_USO6 = 55
    HOST_USO = 56
    HASH_REPORT = 57
    GUEST_HDRLEN = 59
    RSS = 60
    RSC_EXT = 61
    STANDBY = 62
    SPEED_DUPLEX = 63


class ProtocolFeature(enum.IntEnum):
    """vhost-user, "Protocol features"; the value is the number of the bit."""

    MQ = 0
    LOG_SHMFD = 1
    RARP = 2
    REPLY_ACK = 3
    MTU = 4
    BACKEND_REQ = 5
    CROSS_ENDIAN = 6
    CRYPTO_SESSION = 7
    PAGEFAULT = 8
    CONFIG = 9
    BACKEND_SEND_FD = 10
    HOST_NOTIFIER = 11
    INFLIGHT_SHMFD = 12
    RESET_DEVICE = 13
    INBAND_NOTIFICATIONS = 14
    CONFIGURE_MEM_SLOTS = 15
    STATUS = 16
    XEN_MMAP = 17
    SHARED_OBJECT = 18
    DEVICE_STATE = 19
    GET_VRING_BASE_INFLIGHT = 20
    GPA_ADDRESSES = 21
    SHMEM = 22
    GET_VRING_BASE_SKIP_DRAIN = 23


_F = Feature
_GUEST_TSO = (_F.GUEST_TSO4, _F.GUEST_TSO6)
_HOST_TSO = (_F.HOST_TSO4, _F.HOST_TSO6)

# A feature -> alternatives, each of them a tuple of features that are needed together (5.1.3.1).
DEPENDS = {
    **dict.fromkeys((*_GUEST_TSO, _F.GUEST_UFO, _F.GUEST_USO4, _F.GUEST_USO6), ((_F.GUEST_CSUM,),)),
    _F.GUEST_ECN: tuple((one,) for one in _GUEST_TSO),
    **dict.fromkeys((*_HOST_TSO, _F.HOST_UFO, _F.HOST_USO), ((_F.CSUM,),)),
    _F.HOST_ECN: tuple((one,) for one in _HOST_TSO),
    **dict.fromkeys((_F.CTRL_RX, _F.CTRL_VLAN, _F.GUEST_ANNOUNCE, _F.MQ, _F.CTRL_MAC_ADDR, _F.RSS, _F.NOTF_COAL,
                     _F.VQ_NOTF_COAL), ((_F.CTRL_VQ,),)),
    # 5.1.4.2 has these two as SHOULD NOT.
    **dict.fromkeys((_F.CTRL_RX_EXTRA, _F.HASH_REPORT), ((_F.CTRL_VQ,),)),
    # 5.1.3.1 does not list it, but what it offers is a command of the control queue.
    _F.CTRL_GUEST_OFFLOADS: ((_F.CTRL_VQ,),),
    # 5.1.3.1 lists HOST_TSO, the text on receiving speaks of GUEST_TSO: only both are safe.
    _F.RSC_EXT: tuple(itertools.product(_HOST_TSO, _GUEST_TSO)),
    _F.HASH_TUNNEL: ((_F.CTRL_VQ, _F.RSS), (_F.CTRL_VQ, _F.HASH_REPORT)),
}


def mask(*bits):
    """The word with these bits set."""
    word = 0
    for bit in bits:
        word |= 1 << bit
    return word


def names(word, kind=Feature):
    """The names of the set bits, lowest first; "bit 58" for one that `kind` does not know."""
    known = {one.value: one.name for one in kind}
    return [known.get(bit, f"bit {bit}") for bit in range(word.bit_length()) if word >> bit & 1]


def broken_dependencies(accepted):
    """One sentence for each feature that was accepted without what it needs (2.2.1)."""
    said = []
    for feature, alternatives in sorted(DEPENDS.items()):
        if accepted >> feature & 1 and not any(_holds(accepted, one) for one in alternatives):
            needs = " or ".join(" and ".join(need.name for need in one) for one in alternatives)
            said.append(f"{feature.name} is accepted without {needs}.")
    # A legacy interface has no room for these bits (6.3).
    beyond = accepted >> 32 << 32 & ~mask(Feature.VERSION_1)
    if not accepted >> Feature.VERSION_1 & 1:
        said.extend(f"{name} is accepted without VERSION_1." for name in names(beyond))
    return said


def _holds(accepted, needs):
    return all(accepted >> need & 1 for need in needs)
