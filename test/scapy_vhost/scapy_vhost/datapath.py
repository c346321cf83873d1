"""Frames in and out of the rings, with the net header and the buffer splits that the test chooses."""

import enum
from collections import deque
from dataclasses import dataclass, field

from .errors import VhostError
from .features import Feature
from .net_header import NetHeader

MOST_FRAMES = 65536  # that wait for the test


class Completion(enum.Enum):
    """When buffers go back to the driver."""

    AT_ONCE = "at once, in the order of the available ring"
    BATCHED = "all that came in one look at the ring with one store of the index"
    HELD = "when release() is called, in the order that it names"


@dataclass(frozen=True)
class Frame:
    """A frame that the driver sent."""

    data: bytes
    header: NetHeader
    header_bytes: bytes
    pair: int
    buffers: tuple  # lengths, as the driver cut them


@dataclass
class Held:
    """Buffers of one packet that wait for release()."""

    queue: object
    pairs: list  # (chain, bytes written)


@dataclass
class DataPath:
    """Called with the back end's lock held."""

    device: object
    log: object
    completion: dict = field(default_factory=lambda: {"rx": Completion.AT_ONCE, "tx": Completion.AT_ONCE})
    frames: deque = field(default_factory=deque)
    held: dict = field(default_factory=lambda: {"rx": [], "tx": []})
    kept: int = 0  # frames that were put into `frames`, from where the test takes them at any time
    overflow: int = 0  # frames that nobody took in time
    capture: object = None  # a Capture that gets every frame, as it was before it went into buffers

    @property
    def header_size(self):
        return NetHeader.size_for(self.device.accepted)

    # -- to the driver ---------------------------------------------------------------------------

    def deliver(self, data, header, pair=0, splits=None, claims=None):
        """False while the queue is not ready or has too few buffers. `splits`: bytes written into
        each buffer, header included; the default fills every buffer but the last. `claims`: what
        the used elements say instead."""
        queue = self.device.queues[2 * pair]
        if not queue.ready or not self.device.driver_ok:
            return False
        with queue.watched():
            chains = self.take_for(queue, self.header_size + len(data), splits)
            if chains is None:
                return False
            self.write(queue, chains, data, header, splits, claims)
        if self.capture is not None:
            self.capture.add(data)
        return True

    def write(self, queue, chains, data, header, splits, claims):
        header.num_buffers = len(chains) if header.num_buffers is None else header.num_buffers
        rest = header.pack(self.header_size) + data
        pairs = []
        for number, chain in enumerate(chains):
            length = splits[number] if splits else min(len(rest), chain.writable())
            chain.write(rest[:length])
            rest = rest[length:]
            pairs.append((chain, claims[number] if claims else length))
        self.complete(queue, pairs, "rx")

    def take_for(self, queue, size, splits):
        """Chains that hold `size` bytes, or None and none is taken."""
        chains = []
        room = 0
        wanted = len(splits) if splits else None
        mergeable = self.device.has(Feature.MRG_RXBUF)
        while room < size if wanted is None else len(chains) < wanted:
            chain = queue.ring.take()
            if chain is None or (chains and wanted is None and not mergeable):
                queue.ring.untake(len(chains) + (chain is not None))
                return None
            chains.append(chain)
            room += chain.writable()
        return chains

    # -- from the driver -------------------------------------------------------------------------

    def collect(self):
        """Takes what the driver made available on all transmit queues; how many frames."""
        before = self.kept
        if self.device.driver_ok:
            for index in range(1, 2 * self.device.offer.queue_pairs, 2):
                queue = self.device.queues[index]
                if queue.ready and index != self.device.control_index:
                    self.take_sent(queue)
        return self.kept - before

    def take_sent(self, queue):
        taken = []
        try:
            with queue.watched():
                while (chain := queue.ring.take()) is not None:
                    self.keep(chain, queue.index // 2)
                    taken.append((chain, 0))
                if taken:
                    self.complete_sent(queue, taken)
        except VhostError:
            return  # in the log; the queue is not looked at again

    def keep(self, chain, pair):
        data = chain.read()
        size = self.header_size
        if chain.writable() or len(data) < size:
            self.log.add("fault", f"queue {2 * pair + 1}: a packet of {len(data)} readable and "
                                  f"{chain.writable()} writable bytes, the header has {size}")
            return
        if self.capture is not None:
            self.capture.add(data[size:])
        if len(self.frames) == MOST_FRAMES:
            self.overflow += 1
            return
        self.kept += 1
        self.frames.append(Frame(data[size:], NetHeader.unpack(data[:size], size), data[:size], pair,
                                 tuple(b.length for b in chain.buffers)))

    def complete_sent(self, queue, taken):
        if self.completion["tx"] is Completion.AT_ONCE:
            for one in taken:
                self.complete(queue, [one], "tx")
        elif self.completion["tx"] is Completion.BATCHED:
            self.complete(queue, taken, "tx")
        else:
            self.held["tx"].extend(Held(queue, [one]) for one in taken)

    # -- used ------------------------------------------------------------------------------------

    def complete(self, queue, pairs, way):
        if way == "rx" and self.completion["rx"] is Completion.HELD:
            self.held["rx"].append(Held(queue, pairs))
            return
        queue.ring.complete_batch(pairs)
        queue.notify()

    def release(self, way, order=None):
        """Completes held packets in this order of their places; by default all, as they came."""
        held = self.held[way]
        order = range(len(held)) if order is None else order
        picked = [held[place] for place in order]
        self.held[way] = [one for place, one in enumerate(held) if place not in set(order)]
        for one in picked:
            with one.queue.watched():
                one.queue.ring.complete_batch(one.pairs)
                one.queue.notify()
