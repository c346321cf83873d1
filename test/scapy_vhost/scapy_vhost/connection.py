"""One vhost-user connection: whole messages and their file descriptors over a stream socket."""

import array
import ctypes
import errno
import os
import socket
import time

from .errors import ProtocolError
from .message import LARGEST_PAYLOAD, MOST_FDS, VERSION, VERSION_MASK, Header, Message


LONGEST_PATH = 107  # of a socket, with a zero behind it (unix(7))


class NotYet(Exception):
    """Nobody takes a connection there at the moment; says why."""


class Closed(Exception):
    """The other side closed the connection."""


class Connection:
    """Owns `sock`. A message that began must be complete within `patience` seconds."""

    def __init__(self, sock, patience=5.0):
        self.sock = sock
        self.patience = patience
        self.fragment = 0  # bytes a piece of a reply; 0: whole
        self.fragment_pause = 0.0
        sock.settimeout(patience)

    def fileno(self):
        return self.sock.fileno()

    def close(self):
        self.sock.close()

    def receive(self):
        """The next message. Closed when there is none."""
        fds = []
        try:
            header = Header.from_buffer_copy(self._read(ctypes.sizeof(Header), fds))
            if header.flags & VERSION_MASK != VERSION:
                raise ProtocolError(f"request {header.request}: flags {header.flags:#x} are not of version 1")
            if header.size > LARGEST_PAYLOAD:
                raise ProtocolError(f"request {header.request}: a payload of {header.size} bytes")
            payload = self._read(header.size, fds) if header.size else b""
        except BaseException:
            close_all(fds)
            raise
        return Message(header.request, header.flags, payload, tuple(fds), len(fds))

    def send(self, data, fds=()):
        if fds:
            socket.send_fds(self.sock, [data], list(fds))
        elif self.fragment:
            for start in range(0, len(data), self.fragment):
                self.sock.sendall(data[start:start + self.fragment])
                time.sleep(self.fragment_pause)
        else:
            self.sock.sendall(data)

    def _read(self, size, fds):
        data = b""
        while len(data) < size:
            try:
                part, control, flags, _ = self.sock.recvmsg(size - len(data), socket.CMSG_SPACE(4 * MOST_FDS))
            except TimeoutError:
                raise ProtocolError(f"{len(data)} of {size} bytes came in {self.patience:g} s") from None
            except ConnectionError:
                raise Closed() from None
            for level, kind, content in control:
                if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                    found = array.array("i")
                    found.frombytes(content[:len(content) // found.itemsize * found.itemsize])
                    fds.extend(found)
            if flags & socket.MSG_CTRUNC:
                raise ProtocolError(f"more than {MOST_FDS} file descriptors in one message")
            if not part:
                raise Closed()
            data += part
        return data


def close_all(fds):
    for fd in fds:
        os.close(fd)


def check_length(path):
    """bind() and connect() say neither which path is too long nor what is possible."""
    size = len(os.fsencode(path))
    if size > LONGEST_PATH:
        raise OSError(errno.ENAMETOOLONG, f"the socket path {path} has {size} bytes, {LONGEST_PATH} are possible: take "
                                          f"a directory with a shorter name")


def listener(path):
    """A listening socket on `path`, which must not exist."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.bind(str(path))
        sock.listen(1)
    except OSError as error:
        sock.close()
        hint = " (remove it, unless its owner still runs)" if error.errno == errno.EADDRINUSE else ""
        raise OSError(error.errno, f"cannot listen on {path}: {error.strerror}{hint}") from None
    return sock


def connect(path):
    """A connected socket; NotYet while that is not possible. It never waits."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.setblocking(False)  # connect() waits without a limit while the listener's backlog is full
    try:
        sock.connect(str(path))
    except OSError as error:
        sock.close()
        if isinstance(error, FileNotFoundError | ConnectionRefusedError):
            raise NotYet(f"nobody listens on {path}") from None
        if isinstance(error, BlockingIOError):
            raise NotYet(f"who listens on {path} accepts no connection") from None
        raise OSError(error.errno, f"cannot connect to {path}: {error.strerror}") from None
    return sock
