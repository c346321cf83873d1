"""Frames in and out of the rings, with the net header and the buffer splits that the test chooses."""

import enum
from collections import deque
from dataclasses import dataclass, field, replace

from .errors import RingError, VhostError
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
    ring: object  # of the queue when the chains were taken: a stopped queue has another one afterwards
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
        each buffer, header included; the default fills every buffer but the last, and what they leave
        out of the frame is not sent. `claims`: what the used elements say instead. ValueError for what
        cannot be done; no buffer is used then."""
        queue = self.device.queues[2 * pair]
        if not queue.ready or not self.device.driver_ok:
            return False
        with queue.watched():
            chains = self.take_for(queue, self.header_size + len(data), splits)
            if chains is None:
                return False
            try:
                pieces = self.cut(chains, data, header, splits, claims)
            except ValueError:
                queue.ring.untake(len(chains))
                raise
            for chain, piece, _ in pieces:
                chain.write(piece)
            self.complete(queue, [(chain, claim) for chain, _, claim in pieces], "rx")
        if self.capture is not None:
            self.capture.add(data)
        return True

    def cut(self, chains, data, header, splits, claims):
        """(chain, what goes into it, what its used element says) for each chain."""
        if header.num_buffers is None:
            header = replace(header, num_buffers=len(chains))  # a copy: the caller may send it again
        if (header.hash_value or header.hash_report) and self.header_size < 20:
            raise ValueError(f"hash_value {header.hash_value:#x} and hash_report {int(header.hash_report)} in a header "
                             f"of {self.header_size} bytes: only that of HASH_REPORT has room, which was not accepted")
        rest = header.pack(self.header_size) + data
        if splits and (min(splits) < 0 or sum(splits) > len(rest)):
            raise ValueError(f"splits {list(splits)} of {self.header_size} bytes of header and {len(data)} of frame")
        if claims and (len(claims) != len(chains) or not all(0 <= one <= 0xFFFFFFFF for one in claims)):
            raise ValueError(f"claims {list(claims)} for {len(chains)} buffers: one 32-bit number for each")
        pieces = []
        for number, chain in enumerate(chains):
            length = splits[number] if splits else min(len(rest), chain.writable())
            if length > chain.writable():
                raise ValueError(f"splits {list(splits)}: buffer {number} has only {chain.writable()} bytes")
            pieces.append((chain, rest[:length], claims[number] if claims else length))
            rest = rest[length:]
        return pieces

    def take_for(self, queue, size, splits):
        """Chains that hold `size` bytes, or None and none is taken."""
        chains = []
        room = 0
        wanted = len(splits) if splits else None
        mergeable = self.device.has(Feature.MRG_RXBUF)
        while room < size if wanted is None else len(chains) < wanted:
            chain = queue.ring.take()
            if chain is None:
                queue.ring.untake(len(chains))
                return None
            if chain.readable():
                raise RingError(f"a receive buffer of {chain.readable()} readable and {chain.writable()} writable "
                                f"bytes")
            chains.append(chain)
            room += chain.writable()
            if room < size and wanted is None and not mergeable:
                queue.ring.untake(len(chains))
                raise ValueError(f"header and frame have {size} bytes, the receive buffer {room}, and without "
                                 f"MRG_RXBUF, which was not accepted, a frame has one buffer")
        return chains

    # -- from the driver -------------------------------------------------------------------------

    def collect(self):
        """Takes what the driver made available on all transmit queues; how many frames."""
        before = self.kept
        if self.device.driver_ok:
            for index in range(1, 2 * self.device.offer.queue_pairs, 2):
                queue = self.device.queues[index]
                if queue.ready:
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
        if len(self.frames) >= MOST_FRAMES:
            if self.overflow == 0:
                self.log.add("overflow", f"{MOST_FRAMES} frames wait to be taken: this one and what follows is lost")
            self.overflow += 1
            return
        self.frames.append(Frame(data[size:], NetHeader.unpack(data[:size], size), data[:size], pair,
                                 tuple(b.length for b in chain.buffers)))
        self.kept += 1

    def complete_sent(self, queue, taken):
        if self.completion["tx"] is Completion.AT_ONCE:
            for one in taken:
                self.complete(queue, [one], "tx")
        elif self.completion["tx"] is Completion.BATCHED:
            self.complete(queue, taken, "tx")
        else:
            self.held["tx"].extend(Held(queue, queue.ring, [one]) for one in taken)

    # -- used ------------------------------------------------------------------------------------

    def complete(self, queue, pairs, way):
        if way == "rx" and self.completion["rx"] is Completion.HELD:
            self.held["rx"].append(Held(queue, queue.ring, pairs))
            return
        queue.ring.complete_batch(pairs)
        queue.notify()

    def release(self, way, order=None):
        """Completes held packets in this order of their places; by default all, as they came. What a
        queue had before the driver stopped it is the driver's again and is only dropped."""
        held = self.held[way]
        order = list(range(len(held)) if order is None else order)
        places = set(order)
        if len(places) < len(order) or not places <= set(range(len(held))):
            raise ValueError(f"release of {order} in {way}: {len(held)} are held, each may go once")
        picked = [held[place] for place in order]
        self.held[way] = [one for place, one in enumerate(held) if place not in places]
        for one in picked:
            if one.queue.ring is not one.ring:
                continue
            with one.queue.watched():
                one.queue.ring.complete_batch(one.pairs)
                one.queue.notify()
