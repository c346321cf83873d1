"""An EAL in a Python process of its own: what hot-plugging a device returns, and what it leaves behind.

testpmd does not print the error number of a failed probe. The child is this file itself; the parent talks to it
by lines on its pipes.
"""

import ctypes
import os
import subprocess
import sys
from pathlib import Path

EAL_LIBRARY = "librte_eal.so.23"
SECONDS = 30


class Hotplug:
    """Context manager around the child."""

    def __init__(self, work, plugin, memory):
        self.log_path = work / "hotplug.log"
        args = ["--no-pci", "--no-telemetry", f"--file-prefix=fithp{os.getpid()}", "--lcores=0@0",
                *memory.args, "-d", str(plugin)]
        runtime = work / "rt"
        runtime.mkdir(exist_ok=True)
        with open(self.log_path, "wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, str(Path(__file__).resolve()), *args], stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=log, text=True, env={**os.environ, "RUNTIME_DIRECTORY": str(runtime)})

    def __enter__(self):
        assert self._answer() == "ready"
        return self

    def __exit__(self, *exc):
        if exc[0] is not None:
            self._process.kill()
        try:
            self._process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()
            raise
        assert exc[0] is not None or self._process.returncode == 0

    def _answer(self):
        line = self._process.stdout.readline().strip()
        assert line, f"the child ended; see {self.log_path}:\n{self.log_path.read_text(errors='replace')}"
        return line

    def _ask(self, *words):
        self._process.stdin.write("\t".join(words) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def add(self, name, devargs):
        """0, or the negative errno of rte_eal_hotplug_add()."""
        return int(self._ask("add", name, devargs))

    def remove(self, name):
        return int(self._ask("remove", name))

    def usage(self):
        """(open files, bytes allocated from the DPDK heap)."""
        return tuple(map(int, self._ask("usage").split()))


class _SocketStats(ctypes.Structure):
    """struct rte_malloc_socket_stats."""

    _fields_ = [("heap_totalsz_bytes", ctypes.c_size_t), ("heap_freesz_bytes", ctypes.c_size_t),
                ("greatest_free_size", ctypes.c_size_t), ("free_count", ctypes.c_uint),
                ("alloc_count", ctypes.c_uint), ("heap_allocsz_bytes", ctypes.c_size_t)]


def _child(args):
    # EAL logs to stdout; the answers need a pipe of their own.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    eal = ctypes.CDLL(EAL_LIBRARY)
    argv = [b"hotplug", *(a.encode() for a in args)]
    if eal.rte_eal_init(len(argv), (ctypes.c_char_p * len(argv))(*argv)) < 0:
        return 1
    answers.write("ready\n")
    for line in sys.stdin:
        what, *rest = line.rstrip("\n").split("\t")
        if what == "add":
            answer = eal.rte_eal_hotplug_add(b"vdev", *(r.encode() for r in rest))
        elif what == "remove":
            answer = eal.rte_eal_hotplug_remove(b"vdev", rest[0].encode())
        else:
            stats = _SocketStats()
            eal.rte_malloc_get_socket_stats(0, ctypes.byref(stats))
            answer = f"{len(os.listdir('/proc/self/fd'))} {stats.heap_allocsz_bytes}"
        answers.write(f"{answer}\n")
    return 0 if eal.rte_eal_cleanup() == 0 else 1


if __name__ == "__main__":
    sys.exit(_child(sys.argv[1:]))
