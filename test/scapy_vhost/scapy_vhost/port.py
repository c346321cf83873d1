"""VhostPort: a scapy socket whose other end is a virtio-net driver, so that sr1, sniff, sendp and
AnsweringMachine work straight against it."""

import contextlib
import os
import time

from scapy.layers.l2 import Ether
from scapy.supersocket import SuperSocket

from . import checksum, segment
from .backend import Backend
from .net_header import HashReport, NetHeader
from .polling import readable


class VhostPort(SuperSocket):
    """`where`: a Backend, which outlives the port, or the path of a socket for one that this port owns;
    `options` are then those of Backend. Sends on one queue pair and receives from all."""

    desc = "a vhost-user back end, to a virtio-net driver"
    owned = None  # a Backend that ends with the port; close() looks at it also when __init__() failed

    def __init__(self, where, *, pair=0, **options):
        if isinstance(where, Backend) and options:
            raise TypeError(f"{', '.join(options)}: options of a Backend that is there already")
        self.backend = where if isinstance(where, Backend) else Backend(where, **options)
        if pair not in range(self.backend.offer.queue_pairs):
            raise ValueError(f"pair {pair!r} of a device with queue_pairs={self.backend.offer.queue_pairs}")
        self.pair = pair
        if self.backend is not where:
            self.owned = self.backend.__enter__()
        self.closed = False
        self.last = None  # the Frame that recv() returned last, with its net header

    def fileno(self):
        """Readable while frames wait."""
        return self.backend.arrived

    def wait_ready(self, seconds=20.0):
        self.backend.wait_ready(seconds, self.pair)
        return self

    def send(self, packet, *, gso=None, csum=False, hash_value=0, hash_report=HashReport.NONE, header=None,
             splits=None, claims=None, seconds=5.0):
        """One frame into the driver's receive queue; bytes of it.

        gso: bytes of payload a segment, the frame then goes in one piece as a device with TSO or USO
        would send it. csum: its checksum is left to the receiver. hash_value, hash_report: what the header says of
        the frame when HASH_REPORT was accepted. header: a NetHeader to send as it is; num_buffers None is counted.
        splits: bytes written into each buffer, the header's among them; claims: what the used elements say of that.
        TimeoutError without buffers for so long."""
        if isinstance(packet, int):
            raise TypeError(f"a packet or bytes, not {packet!r}")  # bytes() of it are so many zeros
        if header is not None and (csum or gso is not None or hash_value or hash_report):
            raise ValueError("csum, gso and the hash make the header by themselves: give a header, or them")
        data = bytes(packet)
        if header is None:
            data, header = self._offloaded(data, gso, csum)
            header.num_buffers, header.hash_value, header.hash_report = None, hash_value, hash_report
        self.backend.send(data, header, self.pair, splits=splits, claims=claims, seconds=seconds)
        if hasattr(packet, "sent_time"):
            packet.sent_time = time.time()
        return len(data)

    @staticmethod
    def _offloaded(data, gso, csum):
        if gso is not None:
            return segment.tso_request(data, gso)
        if not csum:
            return data, NetHeader()
        data, start, offset = checksum.request(data)
        return data, NetHeader(flags=NetHeader.NEEDS_CSUM, csum_start=start, csum_offset=offset)

    def take(self, seconds=5.0):
        """The next Frame that the driver sent, with header and buffer lengths. TimeoutError."""
        deadline = time.monotonic() + seconds
        while True:
            self.backend.check()
            left = max(deadline - time.monotonic(), 0)
            if not readable([self.backend.arrived], left):
                self.backend.check()
                why = "" if self.backend.ready(self.pair) else f": {self.backend.why(self.pair)}"
                raise TimeoutError(f"the driver sent no frame within {seconds:g} s{why}")
            with contextlib.suppress(BlockingIOError):  # somebody else took it meanwhile
                os.eventfd_read(self.backend.arrived)
                return self.backend.frames.popleft()

    def frames(self, count, seconds=10.0):
        """The next `count` frames. TimeoutError says how many came; they wait for the next call then."""
        deadline = time.monotonic() + seconds
        found = []
        try:
            while len(found) < count:
                found.append(self.take(max(deadline - time.monotonic(), 0)))
            return found
        except TimeoutError:
            raise TimeoutError(f"{len(found)} of {count} frames came within {seconds:g} s") from None
        finally:
            if len(found) < count:
                self.backend.put_back(found)

    def wire_frames(self, count, seconds=10.0):
        """What a network card would put on the wire for the next `count` frames: checksums complete
        and large frames cut into segments."""
        out = []
        for frame in self.frames(count, seconds):
            out.extend(segment.segment(frame.data, frame.header)
                       if frame.header.gso_type else [checksum.finish(frame.data, frame.header)])
        return out

    def recv_raw(self, x=0xFFFF):
        """scapy closes a socket whose recv() raises, so one that somebody else emptied only has nothing."""
        try:
            self.last = self.take(0.5)
        except TimeoutError:
            return None, None, None
        return Ether, self.last.data[:x], time.time()

    def __exit__(self, kind, value, trace):
        self.close()
        if self.owned is not None:
            self.owned.__exit__(kind, value, trace)

    def close(self):
        if self.closed:
            return
        self.closed = True
        if self.owned is not None:
            self.owned.stop()

    def __del__(self):
        self.close()
