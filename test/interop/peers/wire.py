"""Linux's own TCP/IP stack behind a port of testpmd, in a network namespace of its own:

    kernel - kernel0 - wire0 - net_pcap of testpmd - driver under test
"""

import subprocess
import sys
from pathlib import Path

from peers.child import Child, Peer
from peers.wire_end import KERNEL, WIRE


class Wire(Peer):
    """The namespace, there while entered. `enter` before a command line runs that inside."""

    interface = WIRE

    def __init__(self, folder, address, mtu, longest=1500):
        self.folder, self.mtu, self.args = folder, mtu, (address, mtu, longest)
        self.child = None

    def start(self):
        self.child = Child(self.folder / "wire.log", "unshare", "-n", sys.executable,
                           Path(__file__).with_name("wire_end.py"), *self.args)
        self.child.until(lambda: "ready" in self.child.log(), "the wire is there")

    def kill_all(self):
        if self.child is not None:
            self.child.kill()

    @property
    def enter(self):
        return ("nsenter", "-t", str(self.child.pid), "-n")

    def run(self, *command, seconds=30.0):
        """What a command prints in the namespace, as bytes."""
        done = subprocess.run([*self.enter, *map(str, command)], capture_output=True, timeout=seconds, check=False)
        assert done.returncode == 0, f"{command} ended with {done.returncode}: {done.stderr.decode(errors='replace')}"
        return done.stdout

    def received(self):
        """Frames that the kernel received from testpmd."""
        for line in Path(f"/proc/{self.child.pid}/net/dev").read_text(encoding="ascii").splitlines():
            name, _, numbers = line.strip().partition(":")
            if name == KERNEL:
                return int(numbers.split()[1])
        raise AssertionError(f"no {KERNEL} in the namespace of {self.child.pid}")
