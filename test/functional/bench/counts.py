"""What the driver's counters must say, computed from the frames alone."""

import math
import re

HEADER = 12  # bytes of the virtio-net header with VERSION_1

# Extended statistics that are states, or that depend on how the two sides were scheduled.
VARYING = re.compile(r"[rt]x_q\d+_(avg_packet_len|segment_room|posted_segments|posted_bytes|notifications|ring_full"
                     r"|ring_empty|ring_low_watermark)")

# Names that a receive queue with `classes` size classes must have besides its drop counters.
RX_NAMES = ("avg_packet_len", "segment_room", "segments", "footprint_bytes", "payload_bytes", "posted_bytes",
            "class_changes", "ring_empty", "ring_low_watermark")


def segments(size, room):
    """Segments of one size that a frame takes. The first holds `room` bytes of it, because the header lies in its
    headroom; each further one is posted from the same place and so holds `room` and the header's bytes."""
    return 1 if size <= room else 1 + math.ceil((size - room) / (room + HEADER))


def rises(before, after):
    """Counters that moved, and by how much, without the varying ones."""
    assert before.keys() == after.keys()
    return {k: after[k] - before[k] for k in after if after[k] != before[k] and not VARYING.fullmatch(k)}


def received(sent, footprints, per_class, queue=0):
    """Rises of the receive side for the frames `sent` that took `per_class` segments of classes 0, 1, ... with
    `footprints` bytes each; what is not in here must not move."""
    count, size, q = len(sent), sum(map(len, sent)), f"rx_q{queue}_"
    out = {"rx_good_packets": count, "rx_good_bytes": size, q + "packets": count, q + "bytes": size,
           q + "payload_bytes": size, q + "segments": sum(per_class),
           q + "footprint_bytes": sum(n * f for n, f in zip(per_class, footprints))}
    out.update({f"{q}class_{k}_segments": n for k, n in enumerate(per_class) if n})
    return out


def transmitted(sent, queue=0):
    """Rises of the transmit side for the frames `sent`."""
    count, size, q = len(sent), sum(map(len, sent)), f"tx_q{queue}_"
    return {"tx_good_packets": count, "tx_good_bytes": size, q + "packets": count, q + "bytes": size}


def drops(xstats):
    """All drop counters of the driver. Fails when there is none: then nothing could be concluded from them."""
    found = {k: v for k, v in xstats.items() if re.fullmatch(r"[rt]x_q\d+_drop_\w+", k)}
    assert any(k.startswith("rx_") for k in found) and any(k.startswith("tx_") for k in found), sorted(xstats)
    return found
