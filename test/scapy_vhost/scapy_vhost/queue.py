"""One virtqueue of the device: what the front end said about it, its ring and its two eventfds."""

import os
from contextlib import contextmanager

from .errors import VhostError
from .features import Feature
from .message import RING_LOG
from .packed import PackedRing
from .polling import readable
from .split import SplitRing


class Queue:
    """stopped until it has a kick, disabled until SET_VRING_ENABLE where that was agreed."""

    def __init__(self, index, log):
        self.index = index
        self.log = log
        self.enabled = False
        self.kicks_wanted = True
        self.forget()

    def forget(self):
        """Everything but enablement, which GET_VRING_BASE leaves as it is."""
        self.size = 0
        self.base = None
        self.addresses = None
        self.started = False
        self.ring = None
        self.broken = False
        self.kick = self.call = self.error = None

    def set_fd(self, which, fd):
        """`which`: kick, call or error; takes `fd`, None when the front end sends none."""
        old = getattr(self, which)
        if old is not None:
            os.close(old)
        setattr(self, which, fd)

    def start(self, memory, accepted):
        """Makes the ring when all is known that it needs."""
        if self.ring is not None or not (self.started and self.size and self.addresses):
            return
        bits = {"event_idx": bool(accepted >> Feature.EVENT_IDX & 1),
                "indirect": bool(accepted >> Feature.INDIRECT_DESC & 1),
                "in_order": bool(accepted >> Feature.IN_ORDER & 1)}
        packed = accepted >> Feature.RING_PACKED & 1
        if self.base is not None:
            # Front ends that leave out the upper half of a packed base have nothing in flight.
            both = self.base | self.base << 16
            bits["base"] = both if packed and self.base >> 16 == 0 else self.base
        kind = PackedRing if packed else SplitRing
        at = self.addresses
        self.ring = kind(memory, self.size, at.descriptors, at.available, at.used, **bits)
        self.set_log_address()
        self.ring.want_kicks(self.kicks_wanted)
        self.log.add("ring", f"queue {self.index} starts with {self.size} entries", self.index)

    def set_addresses(self, addresses):
        """SET_VRING_ADDR, which comes once more for a ring that runs when its device area is to be logged or not."""
        self.addresses = addresses
        if self.ring is not None:
            self.set_log_address()

    def set_log_address(self):
        self.ring.log_address = self.addresses.log if self.addresses.flags & RING_LOG else None

    def stop(self):
        """GET_VRING_BASE: the base, and the ring is not touched any more."""
        base = self.ring.base if self.ring is not None else self.base or 0
        for which in ("kick", "call", "error"):
            self.set_fd(which, None)
        self.forget()
        self.log.add("ring", f"queue {self.index} stops at {base:#x}", self.index)
        return base

    @property
    def ready(self):
        return self.ring is not None and self.enabled and not self.broken

    @contextmanager
    def watched(self):
        """A ring on which the driver broke the rules is used no more."""
        try:
            yield
        except VhostError as error:
            self.broken = True
            self.log.add("fault", f"queue {self.index}: {error}", self.index)
            raise

    def want_kicks(self, wanted):
        self.kicks_wanted = wanted
        if self.ring is not None:
            self.ring.want_kicks(wanted)

    def take_kick(self):
        """Whether the driver notified since the last call."""
        if self.kick is None or not readable([self.kick], 0):
            return False
        count = int.from_bytes(os.read(self.kick, 8), "little")
        self.log.add("kick", f"queue {self.index}, {count} times", self.index)
        return True

    def notify(self):
        """A used-buffer notification, when the driver wants one."""
        if self.ring.wants_call() and self.call is not None:
            os.write(self.call, (1).to_bytes(8, "little"))
            self.log.add("call", f"queue {self.index}", self.index)
