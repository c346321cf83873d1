"""A Linux kernel at the other end: its virtio-net driver in a QEMU guest, and ours, through net_vhost."""

import re

import pytest

from bench import counts
from peers.guest import BOOT_SECONDS

OURS, GUEST = "192.0.2.1", "192.0.2.2"
ARP = 42  # bytes; a virtio device has no shortest frame
AROUND = 14 + 20 + 8  # bytes of a frame around what ping counts
PAYLOADS = (56, 1472, 8900)
TIMES = 20
MRG_RXBUF = 15
MERGED, CHAINED = {"mrg_rxbuf": "on"}, {"mrg_rxbuf": "off"}  # the latter takes chains that hold the longest frame


def statistics(guest):
    """Packets and bytes that the guest's kernel counts for eth0."""
    return {f"{d}_{what}": guest.number(f"/sys/class/net/eth0/statistics/{d}_{what}")
            for d in ("rx", "tx") for what in ("packets", "bytes")}


def configure(guest):
    """eth0 up with an address and MTU 9000. It asks once for an address and keeps it, so that frames can be counted."""
    guest.run(f"ip link set eth0 mtu 9000 up && ip addr add {GUEST}/24 dev eth0")
    for name, milliseconds in (("base_reachable_time_ms", 3_600_000), ("retrans_time_ms", 30_000)):
        guest.run(f"echo {milliseconds} >/proc/sys/net/ipv4/neigh/eth0/{name}")


def ping(guest, payload):
    """Pings of this size, which come back as they were: ping compares each byte."""
    said = guest.run(f"iputils-ping -n -c {TIMES} -i 0.02 -W 20 -M do -s {payload} -p a55a0ff0c3 {OURS}")
    assert f"{TIMES} packets transmitted, {TIMES} received, 0% packet loss" in said
    assert len(re.findall(rf"^{payload + 8} bytes from {OURS}: icmp_seq=\d+ ttl=\d+ time=\S+ ms$", said,
                          re.MULTILINE)) == TIMES, said
    assert not re.search("wrong|BAD|DUP", said), said


@pytest.mark.deadline(BOOT_SECONDS + 90)
@pytest.mark.parametrize("linux, room", [(MERGED, 2048), (MERGED, 640), (CHAINED, 2048)], indirect=["linux"],
                         ids=["merging_guest", "merging_guest_many_segments", "guest_without_mrg_rxbuf"])
def test_a_guest_pings_us_NET_48(linux, room):
    """56 to 8900 bytes there and back, each byte right; guest, back end and driver count the same, to the byte."""
    bench, pair, guest = linux
    front = bench.front_end(loop=True, start=False, pools=(room + 128,), queue_size=1024)
    configure(guest)
    agreed = guest.run("cat /sys/class/net/eth0/device/features")
    assert agreed[MRG_RXBUF] == ("1" if guest.device["mrg_rxbuf"] == "on" else "0")
    for port in (0, 1):
        pair.wait_link(True, port)
    front.cmds("set fwd icmpecho", "start")
    pair.cmd("start")
    before, theirs = front.xstats(), statistics(guest)
    for payload in PAYLOADS:
        ping(guest, payload)
    frames = [bytes(ARP)] + [bytes(payload + AROUND) for payload in PAYLOADS for _ in range(TIMES)]
    count, size = len(frames), sum(map(len, frames))
    assert counts.rises(theirs, statistics(guest)) == {"rx_packets": count, "rx_bytes": size, "tx_packets": count,
                                                       "tx_bytes": size}
    for port in (0, 1):
        stats = pair.port_stats(port)
        assert [stats[f"{d}-{what}"] for d in ("RX", "TX") for what in ("packets", "bytes")] == [count, size] * 2
    rose = counts.rises(before, front.xstats())
    if bench.driver.is_fit:
        needed = sum(counts.segments(len(f), room) for f in frames)
        assert rose == {**counts.received(frames, front.footprints(), [needed]), **counts.transmitted(frames)}
    else:
        assert [rose[f"{d}_good_{what}"] for d in ("rx", "tx") for what in ("packets", "bytes")] == [count, size] * 2
