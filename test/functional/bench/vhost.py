"""scapy at the device's side: a Python back end, and a front end that sends back what it receives."""

from dataclasses import dataclass

from bench import frames
from bench.scene import FrontEnd
from scapy_vhost import Backend, VhostPort

IN_FLIGHT = 32  # frames: fits a ring of 256 however small its segments are


def misbehaving(path, request, fault):
    """A back end that does this at that request."""
    back = Backend(path)
    back.knobs.fault_at(request, fault)
    return back


@dataclass
class Echo:
    """`port` is the device; `front` loops back."""

    port: VhostPort
    front: FrontEnd

    @property
    def backend(self):
        return self.port.backend

    def round_trip(self, sent, **how):
        """Sends frames and checks that each comes back as it was, in order; the Frames that came."""
        got = []
        for start in range(0, len(sent), IN_FLIGHT):
            some = sent[start:start + IN_FLIGHT]
            for frame in some:
                self.port.send(frame, **how)
            got += self.port.frames(len(some))
        frames.assert_same(sent, [frame.data for frame in got], "sent back")
        return got

    def assert_sound(self):
        """The driver broke no rule, and nothing came that nobody waits for."""
        assert self.backend.log.faults() == []
        assert not self.backend.frames
