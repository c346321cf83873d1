"""Instructions per packet of a driver's burst functions, counted by callgrind over fit-ring-load.

A vhost port and the driver share one thread there, so a count repeats to the last digit as long as compiler,
DPDK and code stay the same.
"""

import os
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROUNDS = 64
SECONDS = 180  # for one count; a busy machine may need a minute
LADDER = (1536, 2048, 4096, 9216, 16384)


@dataclass(frozen=True)
class Load:
    """`rooms` are the data rooms of the classes; a driver that takes one mempool gets `single`."""

    name: str
    direction: str
    frame: int
    burst: int
    rooms: tuple
    single: int
    text: str

    @property
    def unit(self):
        return "poll" if self.frame == 0 else "packet"


LOADS = (
    Load("empty", "rx", 0, 32, LADDER, 2048, "receive, nothing there"),
    Load("rx64", "rx", 64, 32, LADDER, 2048, "receive 64 B, bursts of 32"),
    Load("rx64x4", "rx", 64, 4, LADDER, 2048, "receive 64 B, bursts of 4"),
    Load("rx1514", "rx", 1514, 32, LADDER, 2048, "receive 1514 B, one segment"),
    Load("rx9000", "rx", 9000, 32, LADDER, 16384, "receive 9000 B, one segment"),
    Load("rx9000m", "rx", 9000, 32, (2048,), 2048, "receive 9000 B in 5 segments of 2048"),
    Load("tx64", "tx", 64, 32, (2048,), 2048, "send 64 B, bursts of 32"),
    Load("tx64x4", "tx", 64, 4, (2048,), 2048, "send 64 B, bursts of 4"),
    Load("tx9000m", "tx", 9000, 16, (2048,), 2048, "send 9000 B in 5 segments of 2048"),
)


@dataclass(frozen=True)
class Driver:
    vdev: str
    several_mempools: bool
    text: str


DRIVERS = {
    "fit": Driver("net_virtio_fit0", True, "net_virtio_fit"),
    "user": Driver("net_virtio_user0", False, "net_virtio_user, default devargs"),
    "user-ooo": Driver("net_virtio_user0,in_order=0", False, "net_virtio_user, in_order=0"),
}


class CountError(RuntimeError):
    """A load could not be counted; the text says why."""


@dataclass(frozen=True)
class Count:
    instructions: int
    packets: int  # 0 for empty polls
    calls: int

    @property
    def each(self):
        """Instructions per packet, or per poll where there are no packets."""
        return self.instructions / (self.packets or self.calls)


def command(program, plugin, load, driver, socket, profile):
    rooms = load.rooms if driver.several_mempools else (load.single,)
    # Threads of DPDK wait for each other in busy loops: without the fair scheduler the one that is waited for may
    # never get its turn.
    return ["valgrind", "--tool=callgrind", "--fair-sched=try", f"--callgrind-out-file={profile}", "--dump-instr=yes",
            "--toggle-collect=measured_rx", "--toggle-collect=measured_tx", str(program),
            "--no-huge", "-m", "256", "--lcores=0@0", "--no-pci", "--no-telemetry", "--no-shconf",
            f"--file-prefix=fitcount{os.getpid()}{load.name}", "--log-level=*:error", "-d", str(plugin), "--",
            str(socket), driver.vdev, load.direction, str(load.frame), str(load.burst), str(ROUNDS),
            ",".join(map(str, rooms))]


def tail(text):
    return "; its last lines:\n" + "\n".join(text.splitlines()[-15:])


def count(program, plugin, load, driver_name, profile=None):
    """Counts one load of one driver. `profile`: where to leave the file for callgrind_annotate."""
    with tempfile.TemporaryDirectory(prefix="fit-count-") as work:
        args = command(program, plugin, load, DRIVERS[driver_name], Path(work) / "s",
                       profile or Path(work) / "profile")
        try:
            done = subprocess.run(args, capture_output=True, text=True, errors="replace", timeout=SECONDS,
                                  check=False, env={**os.environ, "RUNTIME_DIRECTORY": work})
        except subprocess.TimeoutExpired as late:
            said = b"".join(filter(None, (late.stdout, late.stderr))).decode(errors="replace")
            raise CountError(f"{load.name} of {driver_name}: not done within {SECONDS} s{tail(said)}") from None
    measured = re.search(r"^measured packets=(\d+) calls=(\d+)$", done.stdout, re.MULTILINE)
    collected = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or measured is None or collected is None:
        raise CountError(f"{load.name} of {driver_name}: exit code {done.returncode}"
                         f"{tail(done.stdout + done.stderr)}")
    return Count(int(collected[1]), int(measured[1]), int(measured[2]))
