"""What happened between front end and back end, in order."""

import threading
import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Event:
    seconds: float  # since the log began
    kind: str  # connect, message, reply, kick, call, ring, command, fault, overflow, disconnect
    text: str
    subject: object = None  # of a message: the Message; of a kick or call: the queue's index

    def __str__(self):
        return f"{self.seconds:9.4f} {self.kind:10} {self.text}"


class EventLog:
    """Safe to read while the back end runs."""

    def __init__(self):
        self._events = []
        self._begin = time.monotonic()
        self._lock = threading.Lock()

    def add(self, kind, text, subject=None):
        with self._lock:
            self._events.append(Event(time.monotonic() - self._begin, kind, text, subject))

    def __iter__(self):
        with self._lock:
            return iter(list(self._events))

    def messages(self):
        """All messages that came, over all connections."""
        return [event.subject for event in self if event.kind == "message"]

    def requests(self):
        return [message.request for message in self.messages()]

    def count(self, kind, subject=None):
        return sum(1 for e in self if e.kind == kind and (subject is None or e.subject == subject))

    def faults(self):
        """What the driver did that VIRTIO or vhost-user does not allow."""
        return [event.text for event in self if event.kind == "fault"]

    def __str__(self):
        return "\n".join(map(str, self))
