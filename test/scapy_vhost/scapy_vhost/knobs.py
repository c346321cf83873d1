"""Misbehaviour by name: what a back end does wrong, and when."""

import enum
import threading
import time

from .message import REPLY, VERSION, Header, Request


class Fault(enum.Enum):
    """What happens instead of handling a message, or to its reply."""

    CLOSE = "closes the connection"
    NACK = "answers with 1 where an acknowledgement is asked for"
    SILENCE = "keeps the connection and never answers again"
    WRONG_REQUEST = "replies with another request number"
    WRONG_VERSION = "replies with version 2"
    NO_REPLY_FLAG = "replies without the reply flag"
    SHORT = "replies with half of the payload, and says so"
    LONG = "replies with a payload of 4 GiB - 1, it says"
    CUT = "closes after 5 bytes of the reply"


class Knobs:
    """Read by the back end's thread; set at any time."""

    def __init__(self):
        self._faults = {}
        self._nacks = {}
        self._delays = {}
        self.met = []  # (request, fault) that happened
        self._happened = threading.Event()
        self.refuses_features_ok = False
        self.fragment = (0, 0.0)
        self.control_ack = 0  # what the control queue answers: 0 OK, 1 error

    def fault_at(self, request, fault):
        """From the next message of this kind on."""
        if fault is Fault.NACK:
            self.nack(request)
        else:
            self._faults[Request(request)] = Fault(fault)

    def nack(self, request, value=1):
        """Answers `value` where the front end asked for an acknowledgement."""
        self._nacks[Request(request)] = value

    def delay(self, request, seconds):
        """Before the message is handled."""
        self._delays[Request(request)] = float(seconds)

    def fragment_replies(self, size=1, pause=0.0):
        """Replies go out in pieces of `size` bytes with a pause after each."""
        self.fragment = (size, pause)

    def refuse_features_ok(self):
        """GET_STATUS never shows FEATURES_OK."""
        self.refuses_features_ok = True

    def behave(self):
        """Nothing is wrong any more; what happened stays in `met`, and wait_met waits for the next."""
        self._faults.clear()
        self._nacks.clear()
        self._delays.clear()
        self.refuses_features_ok = False
        self.fragment = (0, 0.0)
        self.control_ack = 0
        self._happened.clear()

    def wait_met(self, seconds):
        """Whether a fault happened within this time."""
        return self._happened.wait(seconds)

    # -- for the back end ------------------------------------------------------------------------

    def before(self, request, stop):
        """Waits as long as the message is to be delayed, or until `stop`; the fault to commit."""
        stop.wait(self._delays.get(request, 0.0))
        fault = self._faults.get(request)
        if fault is not None:
            self.met.append((request, fault))
            self._happened.set()
        return fault

    def acknowledgement(self, request):
        value = self._nacks.get(request)
        if value is None:
            return 0
        self.met.append((request, Fault.NACK))
        self._happened.set()
        return value

    def send_reply(self, connection, request, payload, fault, fds=()):
        """False: the connection is to be closed after it."""
        connection.fragment, connection.fragment_pause = self.fragment
        flags, size = VERSION | REPLY, len(payload)
        if fault is Fault.WRONG_REQUEST:
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
        data = bytes(Header(request, flags, size)) + payload
        connection.send(data[:5] if fault is Fault.CUT else data, fds)
        return fault is not Fault.CUT


def wait_until(condition, seconds, what, why=None):
    """Polls; TimeoutError with `what`, and what `why` returns then, when it does not come."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what} within {seconds:g} s" + (f": {why()}" if why else ""))
        time.sleep(0.002)
