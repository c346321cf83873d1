"""A small vhost-user back end on a Python socket: it follows the handshake, and misbehaves where it is told to.

It moves no packets. Messages are read and written at the offsets of the vhost-user document: request u32 at 0,
flags u32 at 4 (bits 0-1 version 1, bit 2 reply, bit 3 need_reply), size u32 at 8, payload at 12, host order.
"""

import array
import enum
import os
import socket
import struct
import threading
from dataclasses import dataclass

HEADER = struct.Struct("=III")
VERSION, REPLY, NEED_REPLY = 1, 4, 8
MAX_FDS = 8


class Request(enum.IntEnum):
    GET_FEATURES = 1
    SET_FEATURES = 2
    SET_OWNER = 3
    SET_MEM_TABLE = 5
    SET_VRING_NUM = 8
    SET_VRING_ADDR = 9
    SET_VRING_BASE = 10
    GET_VRING_BASE = 11
    SET_VRING_KICK = 12
    SET_VRING_CALL = 13
    GET_PROTOCOL_FEATURES = 15
    SET_PROTOCOL_FEATURES = 16
    GET_QUEUE_NUM = 17
    SET_VRING_ENABLE = 18
    SET_STATUS = 39
    GET_STATUS = 40


MRG_RXBUF, PROTOCOL_FEATURES, VERSION_1 = 1 << 15, 1 << 30, 1 << 32
PF_MQ, PF_REPLY_ACK, PF_STATUS = 1 << 0, 1 << 3, 1 << 16


class Fault(enum.Enum):
    """What the peer does instead of handling a message."""

    CLOSE = "closes the connection"
    SILENCE = "keeps the connection and never answers again"
    REFUSE = "answers an acknowledged request with 1"
    WRONG_ID = "replies with another request number"
    WRONG_VERSION = "replies with version 2"
    NO_REPLY_FLAG = "replies without the reply flag"
    SHORT = "replies with half of the payload, and says so"
    LONG = "replies with a payload of 4 GiB - 1, it says"
    CUT = "closes after 5 bytes of the header"


@dataclass(frozen=True)
class Message:
    request: int
    flags: int
    payload: bytes
    fd_count: int


class Peer:
    """Context manager. Listens on `path` at once and serves connections, one after the other, in a thread.

    `at` is the request at which `fault` happens. `messages` has what was received, over all connections.
    """

    def __init__(self, path, at=None, fault=None, features=MRG_RXBUF | PROTOCOL_FEATURES | VERSION_1,
                 protocol_features=PF_MQ | PF_REPLY_ACK | PF_STATUS):
        self.path, self.at, self.fault = path, at, fault
        self.features, self.protocol_features = features, protocol_features
        self.messages = []
        self.connections = 0
        self.error = None
        self._status = 0
        self._stop = threading.Event()
        self._faulty = threading.Event()
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(path))
        self._listener.listen(1)
        self._listener.settimeout(0.05)
        self._thread = threading.Thread(target=self._run, name="vhost-user peer", daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *exc):
        self._stop.set()
        self._thread.join(10)
        self._listener.close()
        os.unlink(self.path)
        assert not self._thread.is_alive(), "the peer's thread hangs"
        if self.error is not None and exc[0] is None:
            raise AssertionError("the peer failed") from self.error

    @property
    def misbehaved(self):
        """Whether the message that it waited for came."""
        return self._faulty.is_set()

    def requests(self):
        return [m.request for m in self.messages]

    # -- connection --------------------------------------------------------------------------------------

    def _run(self):
        try:
            while not self._stop.is_set():
                try:
                    connection, _ = self._listener.accept()
                except socket.timeout:
                    continue
                self.connections += 1
                with connection:
                    connection.settimeout(0.05)
                    self._serve(connection)
        except Exception as error:  # shown by __exit__; a thread cannot fail a test by itself
            self.error = error

    def _serve(self, connection):
        while not self._stop.is_set():
            message = self._receive(connection)
            if message is None:
                return
            self.messages.append(message)
            if message.request == self.at:
                self._faulty.set()
                if self.fault is Fault.CLOSE:
                    return
                if self.fault is Fault.SILENCE:
                    self._drain(connection)
                    return
            answer = self._answer(message)
            if answer is None:
                continue
            faulty = message.request == self.at
            try:
                connection.sendall(self._bytes(message.request, answer, faulty))
            except (BrokenPipeError, ConnectionResetError):
                return
            if faulty and self.fault is Fault.CUT:
                return

    def _drain(self, connection):
        while not self._stop.is_set():
            try:
                if not connection.recv(4096):
                    return
            except socket.timeout:
                pass
            except ConnectionResetError:
                return

    def _receive(self, connection):
        head, fds = self._read(connection, HEADER.size)
        if head is None:
            return None
        request, flags, size = HEADER.unpack(head)
        payload, more = self._read(connection, size) if size else (b"", [])
        for fd in fds + more:
            os.close(fd)
        return None if payload is None else Message(request, flags, payload, len(fds))

    def _read(self, connection, size):
        data, fds = b"", array.array("i")
        while len(data) < size:
            if self._stop.is_set():
                return None, list(fds)
            try:
                part, control, _, _ = connection.recvmsg(size - len(data), socket.CMSG_SPACE(4 * MAX_FDS))
            except socket.timeout:
                continue
            except ConnectionResetError:
                return None, list(fds)
            for level, kind, content in control:
                if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                    fds.frombytes(content[:len(content) // 4 * 4])
            if not part:
                return None, list(fds)
            data += part
        return data, list(fds)

    # -- protocol ----------------------------------------------------------------------------------------

    def _answer(self, message):
        """Payload of the reply; None when the message has none."""
        if message.request == Request.GET_FEATURES:
            return struct.pack("=Q", self.features)
        if message.request == Request.GET_PROTOCOL_FEATURES:
            return struct.pack("=Q", self.protocol_features)
        if message.request == Request.GET_QUEUE_NUM:
            return struct.pack("=Q", 1)
        if message.request == Request.GET_STATUS:
            return struct.pack("=Q", self._status)
        if message.request == Request.GET_VRING_BASE:
            return message.payload[:4] + struct.pack("=I", 0)
        if message.request == Request.SET_STATUS:
            self._status = struct.unpack("=Q", message.payload)[0]
        if message.flags & NEED_REPLY:
            refused = self.fault is Fault.REFUSE and message.request == self.at
            return struct.pack("=Q", 1 if refused else 0)
        return None

    def _bytes(self, request, payload, faulty):
        fault = self.fault if faulty else None
        flags, size = VERSION | REPLY, len(payload)
        if fault is Fault.WRONG_ID:
            request += 1
        elif fault is Fault.WRONG_VERSION:
            flags = 2 | REPLY
        elif fault is Fault.NO_REPLY_FLAG:
            flags = VERSION
        elif fault is Fault.SHORT:
            payload = payload[:len(payload) // 2]
            size = len(payload)
        elif fault is Fault.LONG:
            size = 0xFFFFFFFF
        data = HEADER.pack(request, flags, size) + payload
        return data[:5] if fault is Fault.CUT else data
