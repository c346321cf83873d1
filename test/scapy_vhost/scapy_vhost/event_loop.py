"""The thread of a back end: takes connections, answers their messages and looks at the rings in between."""

import contextlib
import os
import threading

from .connection import Closed, Connection, NotYet, close_all, connect, listener
from .errors import ProtocolError, VhostError
from .features import ProtocolFeature
from .knobs import Fault
from .message import Request, u64
from .polling import readable

BUSY_POLL = 0.002  # seconds between looks at rings whose driver may not notify
IDLE_POLL = 0.05


class EventLoop:
    """Serves one connection after the other. The device, its data path and its control queue are those of
    `backend` and are touched with its lock held."""

    def __init__(self, backend):
        self.backend = backend
        self.connection = None  # the one that is served
        self.connections = 0  # so far
        self.error = None  # what ended the thread
        self.missing = f"no driver has connected to {backend.path}"  # for the first connection
        self._stop = threading.Event()
        self._wake = self._wake_end = -1
        self._listener = None
        self._thread = threading.Thread(target=self._run, name="vhost-user back end", daemon=True)

    @property
    def began(self):
        return self._thread.ident is not None

    def listen(self):
        """Apart from start(), because it may fail and the caller has to have nothing open then."""
        if self.backend.server:
            self._listener = listener(self.backend.path)
            self._listener.settimeout(IDLE_POLL)

    def start(self):
        self._wake, self._wake_end = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._thread.start()

    def stop(self):
        self._stop.set()
        os.write(self._wake_end, b"x")
        self._thread.join(10)
        if self._thread.is_alive():
            raise RuntimeError("the back end's thread hangs")
        if self._listener is not None:
            self._listener.close()
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.backend.path)
        os.close(self._wake)
        os.close(self._wake_end)

    # -- connections -----------------------------------------------------------------------------

    def _run(self):
        try:
            while not self._stop.is_set():
                sock = self._accept()
                if sock is not None:
                    self._serve_all(Connection(sock))
        except BaseException as error:  # Backend raises it: a thread cannot fail a test by itself
            self.error = error

    def _accept(self):
        try:
            return self._listener.accept()[0] if self.backend.server else connect(self.backend.path)
        except TimeoutError:
            return None
        except NotYet as why:
            self.missing = str(why)
            self._stop.wait(IDLE_POLL)
            return None

    def _serve_all(self, connection):
        """From the first message to the end of the connection."""
        backend = self.backend
        self.connections += 1
        backend.log.add("connect", f"connection {self.connections}")
        with backend.lock:
            backend.new_device()
            self.connection = connection
        try:
            self._serve(connection)
        finally:
            with backend.lock:
                connection.close()
                self.connection = None
                backend.device.close()
        backend.log.add("disconnect", f"connection {self.connections}")

    def _serve(self, connection):
        queues = self.backend.device.queues.values()
        while not self._stop.is_set():
            kicks = [queue.kick for queue in queues if queue.kick is not None]
            wait = BUSY_POLL if any(queue.ready for queue in queues) else IDLE_POLL
            found = readable([connection, self._wake, *kicks], wait)
            if connection.fileno() in found and not self._one_message(connection):
                return
            self._look_at_rings()

    # -- messages --------------------------------------------------------------------------------

    def _one_message(self, connection):
        """False: the connection is over."""
        backend = self.backend
        try:
            message = connection.receive()
        except Closed:
            return False
        except ProtocolError as error:
            # Where the next message begins is not known any more.
            backend.log.add("fault", str(error))
            return False
        backend.log.add("message", str(message), message)
        fault = backend.knobs.before(message.request, self._stop)
        if fault in (Fault.CLOSE, Fault.SILENCE):
            close_all(message.fds)
            return fault is Fault.SILENCE and self._swallow(connection)
        try:
            with backend.lock:
                payload = backend.device.handle(message)
        except VhostError as error:
            backend.log.add("fault", str(error))
            if message.request == Request.GET_CONFIG:
                payload = b""  # how this one says that it failed
            elif backend.device.has_own_reply(message):
                return False  # no value of it says that, and without any the front end would wait
            else:
                payload = self._acknowledgement(message, 1)
        else:
            payload = self._acknowledgement(message, 0) if payload is None else payload
        return payload is None or self._reply(connection, message, payload, fault)

    def _acknowledgement(self, message, value):
        """None when none is wanted."""
        if not (message.needs_reply and self.backend.device.protocol_accepted >> ProtocolFeature.REPLY_ACK & 1):
            return None
        return u64(self.backend.knobs.acknowledgement(message.request) or value)

    def _reply(self, connection, message, payload, fault):
        """False: the connection is over."""
        self.backend.log.add("reply", f"{message.name} {payload[:40].hex(' ', 4)}", message.request)
        try:
            return self.backend.knobs.send_reply(connection, message.request, payload, fault)
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

    # -- rings -----------------------------------------------------------------------------------

    def _look_at_rings(self):
        backend = self.backend
        with backend.lock:
            for queue in backend.device.queues.values():
                queue.take_kick()
            count = backend.data.collect()
            backend.control.serve()
            if count:
                os.eventfd_write(backend.arrived, count)
