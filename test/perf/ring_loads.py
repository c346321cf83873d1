"""Instructions and cycles per packet of a driver's burst functions, measured over fit-ring-load.

A vhost port and the driver share one thread there. So a count of instructions (by callgrind)
repeats to the last digit as long as compiler, DPDK and code stay the same; and the cycles are those
of a driver whose data is in the cache of its own core.
"""

import os
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

COUNT_ROUNDS = 64
CYCLE_ROUNDS = 20000
SECONDS = 180  # for one load; a busy machine may need a minute
LADDER = (1536, 2048, 4096, 9216, 16384)


@dataclass(frozen=True)
class Load:
    """`rooms`: data rooms of the classes; a driver that takes one mempool gets `single`."""

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
    """A load could not be measured; the text says why."""


@dataclass(frozen=True)
class Measured:
    packets: int  # in all rounds; 0 for empty polls
    calls: int
    cycles: int  # TSC cycles of the median round; only of a run without callgrind
    instructions: int = None  # only of a run with callgrind

    def _per_packet(self, rounds, of_all):
        return of_all / (self.packets or rounds)

    @property
    def instructions_each(self):
        """Per packet, or per poll where there are no packets."""
        return self._per_packet(COUNT_ROUNDS, self.instructions)

    @property
    def cycles_each(self):
        return self._per_packet(CYCLE_ROUNDS, self.cycles * CYCLE_ROUNDS)


def program_arguments(program, plugin, load, driver, socket, rounds):
    rooms = load.rooms if driver.several_mempools else (load.single,)
    return [str(program), "--no-huge", "-m", "256", "--lcores=0", "--no-pci", "--no-telemetry",
            "--no-shconf", f"--file-prefix=fitload{os.getpid()}", "--log-level=*:error",
            "-d", str(plugin), "--", str(socket), driver.vdev, load.direction, str(load.frame),
            str(load.burst), str(rounds), ",".join(map(str, rooms))]


def callgrind(profile):
    # Threads of DPDK wait for each other in busy loops: without the fair scheduler the one that is
    # waited for may never get its turn.
    return ["valgrind", "--tool=callgrind", "--fair-sched=try", "--dump-instr=yes",
            f"--callgrind-out-file={profile}", "--toggle-collect=measured_rx",
            "--toggle-collect=measured_tx"]


def tail(text):
    return "; its last lines:\n" + "\n".join(text.splitlines()[-15:])


def run(args, what, work):
    """(standard output, standard error) of a program that must end well."""
    try:
        done = subprocess.run(args, capture_output=True, text=True, errors="replace",
                              timeout=SECONDS, check=False,
                              env={**os.environ, "RUNTIME_DIRECTORY": work})
    except subprocess.TimeoutExpired as late:
        said = b"".join(filter(None, (late.stdout, late.stderr))).decode(errors="replace")
        raise CountError(f"{what}: not done within {SECONDS} s{tail(said)}") from None
    if done.returncode != 0:
        raise CountError(f"{what}: exit code {done.returncode}{tail(done.stdout + done.stderr)}")
    return done.stdout, done.stderr


def measure(program, plugin, load, driver_name, *, count, profile=None):
    """`count`: instructions by callgrind, else cycles of the bare program. `profile`: where to
    leave the file for callgrind_annotate."""
    what = f"{load.name} of {driver_name}"
    with tempfile.TemporaryDirectory(prefix="fit-load-") as work:
        args = program_arguments(program, plugin, load, DRIVERS[driver_name], Path(work) / "s",
                                 COUNT_ROUNDS if count else CYCLE_ROUNDS)
        if count:
            args = callgrind(profile or Path(work) / "profile") + args
        out, err = run(args, what, work)
    line = re.search(r"^measured packets=(\d+) calls=(\d+) cycles=(\d+)$", out, re.MULTILINE)
    collected = re.search(r"Collected : (\d+)", err)
    if line is None or (count and collected is None):
        raise CountError(f"{what}: no result{tail(out + err)}")
    return Measured(*map(int, line.groups()), int(collected[1]) if count else None)
