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

from peers.child import Child, Peer, listens

BINARY_VARIABLE = "FIT_PASST"
PORT, WEB_PORT = 7200, 7080
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


class Host(Peer):
    """passt, a server of datagrams and one of the files in `files`, started when entered."""

    def __init__(self, work, binary, core):
        self.work, self.binary, self.core = work, binary, core
        self.socket = work / "vhost.sock"
        self.files, self.capture = work / "files", work / "captures/passt.pcap"
        self.server = self.web = self.passt = None

    def start(self):
        self.server = Child(self.work / "udp_server.log", "unshare", "-n", sys.executable,
                            Path(__file__).with_name("udp_server.py"), PORT)
        self.server.until(lambda: "ready" in self.server.log(), "the server is ready")
        inside = ("nsenter", "-t", self.server.pid, "-n")
        self.files.mkdir()
        self.web = Child(self.work / "web.log", *inside, sys.executable, "-u", "-m", "http.server",
                         "--bind", "127.0.0.1", "--directory", self.files, WEB_PORT)
        self.web.until(lambda: "Serving" in self.web.log(), "the server of files is ready")
        # passt binds its socket as root, then becomes another user and opens its capture file.
        self.work.chmod(0o711)
        self.capture.parent.mkdir()
        self.capture.parent.chmod(0o1777)
        # The capture shows what it saw, should a test fail; and with one, passt fills in the checksums of TCP.
        self.passt = Child(self.work / "passt.log", *inside, "taskset", "-c", self.core, self.binary, "--foreground",
                           "--vhost-user", "--socket", self.socket, "--pcap", self.capture, "--dns", "none")
        self.passt.until(lambda: listens(self.server.pid, self.socket), "passt listens")

    def crash(self):
        self.passt.kill()

    def stop(self):
        """Ends both in order; fails when passt had ended by itself. One that was killed is no failure here."""
        if self.passt.process.returncode != -signal.SIGKILL:
            assert self.passt.alive(), f"passt ended with {self.passt.process.returncode}; {self.passt.tail()}"
            self.passt.process.terminate()
            self.passt.wait()
        for server in (self.server, self.web):
            assert server.alive(), server.tail()

    def kill_all(self):
        for child in (self.passt, self.web, self.server):
            if child is not None:
                child.kill()
