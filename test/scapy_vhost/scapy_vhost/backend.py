"""A vhost-user back end that runs in a thread of this process and serves one front end at a time."""

import contextlib
import os
import socket
import threading
from collections import deque
from dataclasses import dataclass, field

from .connection import check_length
from .control import ControlQueue
from .datapath import Completion, DataPath
from .device import Device
from .event_loop import EventLoop
from .features import Feature, ProtocolFeature, mask
from .knobs import Knobs, wait_until
from .log import EventLog
from .message import name_of
from .net_header import NetConfig

DEFAULT_FEATURES = mask(Feature.VERSION_1, Feature.MRG_RXBUF)
DEFAULT_PROTOCOL = mask(ProtocolFeature.MQ, ProtocolFeature.REPLY_ACK, ProtocolFeature.STATUS)


@dataclass
class Offer:
    """What the device says of itself. `protocol_features` None: it does not even offer to speak of
    them. `config` is the device configuration space."""

    features: int = DEFAULT_FEATURES
    protocol_features: int | None = DEFAULT_PROTOCOL
    queue_pairs: int = 1
    memory_slots: int = 8
    config: bytearray = field(default_factory=lambda: bytearray(bytes(NetConfig())))

    def __post_init__(self):
        for name in ("features", "protocol_features"):
            word = getattr(self, name)
            if isinstance(word, (Feature, ProtocolFeature)):
                raise TypeError(f"{name} is a word of bits and {word!r} the number of one: "
                                f"mask({type(word).__name__}.{word.name})")
            if not isinstance(word, int | None):
                raise TypeError(f"{name} is a word of bits, as mask() makes it, not {word!r}")
        self.config = bytearray(bytes(self.config))  # a NetConfig will do


class Backend:
    """Context manager, which can be entered once. server=True listens on `path`; otherwise it connects
    to a front end that listens, again and again until one is there. After a connection ended it serves
    the next; knobs, completion and wanted kicks stay as they are."""

    def __init__(self, path, offer=None, *, server=True):
        check_length(path)
        self.path, self.server = str(path), server
        self.offer = offer or Offer()
        self.log = EventLog()
        self.knobs = Knobs()
        self.lock = threading.RLock()
        self.arrived = -1  # while it runs: an eventfd that counts the frames that wait
        self.frames = deque()  # sent by the driver, over all connections
        self._capture = None
        self._completion = {"rx": Completion.AT_ONCE, "tx": Completion.AT_ONCE}
        self._kicks_wanted = {}  # by queue index; the others: wanted
        self.data = None
        self._loop = EventLoop(self)
        self.new_device()

    def __enter__(self):
        if self._loop.began:
            raise RuntimeError(f"the back end on {self.path} ran already: make another one")
        self._loop.listen()
        self.arrived = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_SEMAPHORE)
        self._loop.start()
        return self

    def __exit__(self, kind, value, trace):
        self.stop()
        if self._loop.error is not None and kind is None:
            raise self._ended() from self._loop.error

    def stop(self):
        """Nothing happens when it is stopped already."""
        if self.arrived < 0:
            return
        self._loop.stop()
        os.close(self.arrived)
        self.arrived = -1

    def check(self):
        """Raises when it does not run: waiting has no sense then."""
        if self._loop.error is not None:
            raise self._ended() from self._loop.error
        if self.arrived < 0:
            raise RuntimeError(f"the back end on {self.path} does not run: it is stopped or was never started")

    def _ended(self):
        return RuntimeError(f"the back end's thread ended: {self._loop.error!r}")

    def new_device(self):
        """For the connection that begins: what one front end set holds for no other."""
        with self.lock:
            self.device = Device(self.offer, self.knobs, self.log)
            lost = 0 if self.data is None else self.data.overflow
            self.data = DataPath(self.device, self.log, self._completion, self.frames, overflow=lost,
                                 capture=self._capture)
            self.control = ControlQueue(self.device, self.knobs, self.log)
            for index, wanted in self._kicks_wanted.items():
                self.device.queues[index].want_kicks(wanted)

    @property
    def connections(self):
        """How many there were, with the one that is served."""
        return self._loop.connections

    # -- what tests ask --------------------------------------------------------------------------

    def ready(self, pair=0):
        """Whether both queues of a pair may carry frames."""
        with self.lock:
            rx, tx = self._queue(2 * pair), self._queue(2 * pair + 1)
            return self._loop.connection is not None and self.device.driver_ok and rx.ready and tx.ready

    def wait_ready(self, seconds=20.0, pair=0):
        """The driver may set DRIVER_OK long before the application makes buffers available or forwards."""
        def is_ready():
            self.check()
            return self.ready(pair)
        wait_until(is_ready, seconds, f"queue pair {pair} is not ready", lambda: self.why(pair))

    def send(self, data, header, pair=0, *, splits=None, claims=None, seconds=5.0):
        """Waits for buffers; TimeoutError when there are too few."""
        def delivered():
            self.check()
            with self.lock:
                return self._loop.connection is not None and self.data.deliver(data, header, pair, splits, claims)
        wait_until(delivered, seconds, f"no receive buffers for {len(data)} bytes on queue pair {pair}",
                   lambda: self.why(pair))

    def why(self, pair=0):
        """What is missing for frames on this pair, in words."""
        with self.lock:
            if self._loop.connection is None and self.connections:
                return f"the last connection on {self.path} has ended"
            if self._loop.connection is None:
                return self._loop.missing
            queues = [self._queue(2 * pair), self._queue(2 * pair + 1)]
            if any(queue.broken for queue in queues):
                return f"the driver broke a rule: {self.log.faults()[-1]}"
            if not self.device.driver_ok:
                last = self.log.requests()[-1:]
                return "the driver has not set DRIVER_OK, its last message is " + (name_of(*last) if last else "none")
            if not all(queue.ready for queue in queues):
                return "the driver has not started and enabled both queues"
            return "the driver has made too few available"

    @property
    def capture(self):
        """A Capture that gets every frame from now on, or None."""
        return self._capture

    @capture.setter
    def capture(self, capture):
        with self.lock:
            self._capture = self.data.capture = capture

    def hold(self, way, completion):
        """`way`: rx or tx; see datapath.Completion. Of rx, where every frame is completed by itself,
        only HELD is different from AT_ONCE."""
        if way not in self._completion:
            raise ValueError(f"hold of {way!r}: it is rx or tx")
        with self.lock:
            self._completion[way] = Completion(completion)

    def release(self, way, order=None):
        with self.lock:
            self.data.release(way, order)

    def discard_frames(self):
        """Frames that nobody took yet; how many."""
        self.check()
        with self.lock:
            count = 0
            with contextlib.suppress(BlockingIOError):  # whoever counted a frame down takes it
                while True:
                    os.eventfd_read(self.arrived)
                    self.frames.popleft()
                    count += 1
            return count

    def put_back(self, frames):
        """Frames that were taken, to be the next ones again."""
        with self.lock:
            self.frames.extendleft(reversed(frames))
            if frames and self.arrived >= 0:
                os.eventfd_write(self.arrived, len(frames))

    @property
    def overflow(self):
        """Frames that the driver sent and that are lost, because MOST_FRAMES waited already; over all connections."""
        return self.data.overflow

    def want_kicks(self, index, wanted):
        """Whether the device asks for available-buffer notifications of this queue."""
        with self.lock:
            self._queue(index).want_kicks(wanted)
            self._kicks_wanted[index] = wanted

    def corrupt_used(self, index, buffer_id, written):
        """A used element with any id and length."""
        with self.lock:
            self._ring(index).corrupt_used(buffer_id, written)

    def set_used_index(self, index, used):
        """Any used index; split rings only."""
        with self.lock:
            self._ring(index).set_used_index(used)

    def scribble_descriptors(self, index, seed=1):
        """Random bytes over the descriptors and over what else the driver writes of the ring."""
        with self.lock:
            self._ring(index).scribble(seed)

    def change_config(self, config):
        """New bytes of the configuration space, and a notification of it. VhostError where the front end cannot be
        told: the old bytes stay then. Offer needs CONFIG and BACKEND_REQ among its protocol features."""
        with self.lock:
            self.device.check_channel()
            self.offer.config[:] = bytes(config)
            self.device.announce_config()

    def kill(self):
        """Closes the connection without a word; the next front end may come, and ready() is about that."""
        with self.lock:
            connection, self._loop.connection = self._loop.connection, None
            if connection is not None:
                connection.sock.shutdown(socket.SHUT_RDWR)

    def _queue(self, index):
        if index not in self.device.queues:
            raise ValueError(f"queue {index} of {len(self.device.queues)}: Offer has "
                             f"queue_pairs={self.offer.queue_pairs}")
        return self.device.queues[index]

    def _ring(self, index):
        ring = self._queue(index).ring
        if ring is None:
            raise ValueError(f"queue {index} has no ring: {self.why(index // 2)}")
        return ring
