"""passt as a vhost-user back end, in a network namespace that has a loopback only.

Without any other interface it is in its local mode: the guest is 169.254.2.1, and 169.254.2.2 is the loopback of the
namespace. It offers neither indirect descriptors nor EVENT_IDX, STATUS or several queues, and depends on
notifications in both directions.
"""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from peers.child import Child, listens

BINARY_VARIABLE = "FIT_PASST"
PORT = 7200
GUEST, GATEWAY = "169.254.2.1", "169.254.2.2"
GUEST_MAC = "02:00:00:00:00:01"


def missing_reason(binary):
    """Why passt cannot be used here; None when it can."""
    found = shutil.which(binary)
    if found is None:
        return f"{binary} is not installed (Debian package passt, from 13 on)"
    said = subprocess.run([found, "--help"], capture_output=True, text=True, timeout=10, check=False)
    if "--vhost-user" not in said.stdout + said.stderr:
        return f"{found} has no --vhost-user, as before Debian 13; {BINARY_VARIABLE} may name another binary"
    if os.geteuid() != 0:
        return "a network namespace for passt needs root"
    return None


class Host:
    """Context manager: passt and the server of datagrams, started when entered. Leaving ends what is left."""

    def __init__(self, work, binary, core):
        self.work, self.binary, self.core = work, binary, core
        self.socket = work / "vhost.sock"
        self.server = self.passt = None

    def __enter__(self):
        try:
            self._start()
        except BaseException:
            self.kill_all()
            raise
        return self

    def __exit__(self, *_):
        self.kill_all()

    def _start(self):
        self.server = Child(self.work / "udp_server.log", "unshare", "-n", sys.executable,
                            Path(__file__).with_name("udp_server.py"), PORT)
        self.server.until(lambda: "ready" in self.server.log(), "the server is ready")
        # passt binds its socket as root, then becomes another user and opens its capture file.
        self.work.chmod(0o711)
        captures = self.work / "captures"
        captures.mkdir()
        captures.chmod(0o1777)
        # The capture shows what it saw, should a test fail.
        self.passt = Child(self.work / "passt.log", "nsenter", "-t", self.server.pid, "-n", "taskset", "-c", self.core,
                           self.binary, "--foreground", "--vhost-user", "--socket", self.socket, "--pcap",
                           captures / "passt.pcap", "--dns", "none")
        self.passt.until(lambda: listens(self.server.pid, self.socket), "passt listens")

    def crash(self):
        self.passt.kill()

    def stop(self):
        """Ends both in order; fails when passt had ended by itself. One that was killed is no failure here."""
        if self.passt.process.returncode != -signal.SIGKILL:
            assert self.passt.alive(), f"passt ended with {self.passt.process.returncode}; {self.passt.tail()}"
            self.passt.process.terminate()
            self.passt.wait()
        assert self.server.alive(), self.server.tail()

    def kill_all(self):
        for child in (self.passt, self.server):
            if child is not None:
                child.kill()
