"""A vhost-user back end that runs in a thread of this process and serves one front end at a time."""

import os
import select
import threading
from collections import deque
from dataclasses import dataclass, field

from .connection import Closed, Connection, close_all, connect, listener
from .control import ControlQueue
from .datapath import DataPath
from .device import Device
from .errors import VhostError
from .features import Feature, ProtocolFeature, mask
from .knobs import Fault, Knobs, wait_until
from .log import EventLog
from .net_header import NetConfig

DEFAULT_FEATURES = mask(Feature.VERSION_1, Feature.MRG_RXBUF)
DEFAULT_PROTOCOL = mask(ProtocolFeature.MQ, ProtocolFeature.REPLY_ACK, ProtocolFeature.STATUS)
BUSY_POLL = 0.002  # seconds between looks at rings whose driver may not notify
IDLE_POLL = 0.05


@dataclass
class Offer:
    """What the device says of itself. `protocol_features` None: it does not even offer to speak of
    them. `config` is the device configuration space."""

    features: int = DEFAULT_FEATURES
    protocol_features: int | None = DEFAULT_PROTOCOL
    queue_pairs: int = 1
    memory_slots: int = 8
    config: bytearray = field(default_factory=lambda: bytearray(bytes(NetConfig())))


class Backend:
    """Context manager. server=True listens on `path`; otherwise it connects to a front end that
    listens, again and again until one is there. After a connection ended it serves the next."""

    def __init__(self, path, offer=None, *, server=True):
        self.path, self.server = str(path), server
        self.offer = offer or Offer()
        self.log = EventLog()
        self.knobs = Knobs()
        self.connections = 0
        self.lock = threading.RLock()
        self.arrived = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_SEMAPHORE)  # one for each frame
        self.frames = deque()  # sent by the driver, over all connections
        self.capture = None  # a Capture, set before the back end starts
        self.error = None
        self._connection = None
        self._stop = threading.Event()
        self._wake, self._wake_end = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._thread = threading.Thread(target=self._run, name="vhost-user back end", daemon=True)
        self._listener = None
        self._new_device()

    def __enter__(self):
        if self.server:
            self._listener = listener(self.path)
            self._listener.settimeout(IDLE_POLL)
        self._thread.start()
        return self

    def __exit__(self, kind, value, trace):
        self.stop()
        if self.error is not None and kind is None:
            raise RuntimeError("the back end's thread ended") from self.error

    def stop(self):
        self._stop.set()
        os.write(self._wake_end, b"x")
        self._thread.join(10)
        if self._thread.is_alive():
            raise RuntimeError("the back end's thread hangs")
        if self._listener is not None:
            self._listener.close()
            os.unlink(self.path)
        for fd in (self._wake, self._wake_end, self.arrived):
            os.close(fd)

    # -- what tests ask --------------------------------------------------------------------------

    def ready(self, pair=0):
        """Whether both queues of a pair may carry frames."""
        with self.lock:
            queues = self.device.queues
            return self.device.driver_ok and queues[2 * pair].ready and queues[2 * pair + 1].ready

    def wait_ready(self, seconds=20.0, pair=0):
        wait_until(lambda: self.ready(pair) or self.error is not None, seconds,
                   f"queue pair {pair} is not ready")

    def send(self, data, header, pair=0, *, splits=None, claims=None, seconds=5.0):
        """Waits for buffers; TimeoutError when there are too few."""
        def delivered():
            with self.lock:
                return self.data.deliver(data, header, pair, splits, claims)
        wait_until(delivered, seconds, f"no receive buffers for {len(data)} bytes on queue pair {pair}")

    def hold(self, way, completion):
        """`way`: rx or tx; see datapath.Completion."""
        with self.lock:
            self.data.completion[way] = completion

    def release(self, way, order=None):
        with self.lock:
            self.data.release(way, order)

    def discard_frames(self):
        """Frames that nobody took yet; how many."""
        with self.lock:
            count = len(self.frames)
            for _ in range(count):
                os.eventfd_read(self.arrived)
            self.frames.clear()
            return count

    def want_kicks(self, index, wanted):
        """Whether the device asks for available-buffer notifications of this queue."""
        with self.lock:
            self.device.queues[index].want_kicks(wanted)

    def corrupt_used(self, index, buffer_id, written):
        with self.lock:
            self.device.queues[index].ring.corrupt_used(buffer_id, written)

    def set_used_index(self, index, used):
        with self.lock:
            self.device.queues[index].ring.set_used_index(used)

    def scribble_descriptors(self, index, seed=1):
        with self.lock:
            self.device.queues[index].ring.scribble(seed)

    def change_config(self, config):
        """New bytes of the configuration space, and a notification of it."""
        with self.lock:
            self.offer.config[:] = bytes(config)
            self.device.announce_config()

    def kill(self):
        """Closes the connection without a word; the next front end may come."""
        with self.lock:
            if self._connection is not None:
                self._connection.sock.shutdown(2)

    # -- the thread ------------------------------------------------------------------------------

    def _new_device(self):
        with self.lock:
            self.device = Device(self.offer, self.knobs, self.log)
            self.data = DataPath(self.device, self.log, frames=self.frames, capture=self.capture)
            self.control = ControlQueue(self.device, self.knobs, self.log)

    def _run(self):
        try:
            while not self._stop.is_set():
                sock = self._accept()
                if sock is None:
                    continue
                self.connections += 1
                self.log.add("connect", f"connection {self.connections}")
                self._new_device()
                with self.lock:
                    self._connection = Connection(sock)
                try:
                    self._serve(self._connection)
                finally:
                    with self.lock:
                        self._connection.close()
                        self._connection = None
                        self.device.close()
                self.log.add("disconnect", f"connection {self.connections}")
        except BaseException as error:  # shown by __exit__: a thread cannot fail a test by itself
            self.error = error

    def _accept(self):
        if not self.server:
            sock = connect(self.path)
            if sock is None:
                self._stop.wait(IDLE_POLL)
            return sock
        try:
            return self._listener.accept()[0]
        except TimeoutError:
            return None

    def _serve(self, connection):
        queues = self.device.queues.values()
        while not self._stop.is_set():
            kicks = [queue.kick for queue in queues if queue.kick is not None]
            wait = BUSY_POLL if any(queue.ready for queue in queues) else IDLE_POLL
            found, _, _ = select.select([connection, self._wake, *kicks], [], [], wait)
            if connection in found and not self._one_message(connection):
                return
            self._look_at_rings()

    def _one_message(self, connection):
        """False: the connection is over."""
        try:
            message = connection.receive()
        except Closed:
            return False
        self.log.add("message", str(message), message)
        fault = self.knobs.before(message.request, self._stop)
        if fault in (Fault.CLOSE, Fault.SILENCE):
            close_all(message.fds)
            return fault is Fault.SILENCE and self._swallow(connection)
        try:
            with self.lock:
                answer = self.device.handle(message)
        except VhostError as error:
            self.log.add("fault", str(error))
            answer, refused = None, True
        else:
            refused = False
        return self._answer(connection, message, answer, refused, fault)

    def _answer(self, connection, message, answer, refused, fault):
        if answer is None:
            if not (message.needs_reply and self.device.protocol_accepted >> ProtocolFeature.REPLY_ACK & 1):
                return True
            value = self.knobs.acknowledgement(message.request) or int(refused)
            answer = value.to_bytes(8, "little")
        self.log.add("reply", f"{message.name} {answer[:40].hex(' ', 4)}", message.request)
        try:
            return self.knobs.send_reply(connection, message.request, answer, fault)
        except OSError:
            return False

    def _swallow(self, connection):
        """Takes whatever comes until the front end gives up."""
        connection.sock.settimeout(IDLE_POLL)
        while not self._stop.is_set():
            try:
                if not connection.sock.recv(4096):
                    return False
            except TimeoutError:
                continue
            except ConnectionError:
                return False
        return False

    def _look_at_rings(self):
        with self.lock:
            for queue in self.device.queues.values():
                queue.take_kick()
            count = self.data.collect()
            self.control.serve()
            if count:
                os.eventfd_write(self.arrived, count)
