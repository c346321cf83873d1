"""The drivers that devtools/bench compares: for each a front end and a back end of its own, both
stock testpmd.

The processes live as long as the run; between its windows a pair waits at its prompts and polls
nothing.
"""

import os
import re
import time
from dataclasses import dataclass, field
from pathlib import Path

from bench.driver import Driver
from bench.memory import huge, missing_reason, no_huge
from bench.testpmd import App, Eal, TestPmd
from bench.wait import until

LARGEST_FRAME = 9014  # without CRC: MTU 9000
BACK_END_MBUF = 16512
MBUFS = 2048
OVERHEAD_MIB = 24  # rings, queues, headers of mbufs, what the EAL takes for itself
BURSTS_IN_FLIGHT = 4  # of 32 packets, for io: fits a ring of 256 on both ways


@dataclass(frozen=True)
class Contestant:
    name: str
    driver: Driver
    mbuf_sizes: tuple
    multi_pool: bool = False
    jumbo: bool = False  # takes part only in loads for which mbufs are picked by hand
    devargs: dict = field(default_factory=dict)

    @property
    def label(self):
        devargs = "".join(f",{k}={v}" for k, v in self.devargs.items())
        return f"{self.driver.stem}{devargs} mbuf {','.join(map(str, self.mbuf_sizes))}"


def contestants(fit, peer_devargs):
    """`fit` is the Driver under test. The peer runs with the mbufs that it usually gets, and with
    mbufs picked by hand for jumbo frames."""
    peer = Driver("net_virtio_user")
    return (Contestant("fit", fit, (1664, 2176, 4224, 9344, 16512), multi_pool=True),
            Contestant("user-2176", peer, (2176,), devargs=peer_devargs),
            Contestant("user-16512", peer, (16512,), jumbo=True, devargs=peer_devargs))


def mib(mbuf_sizes):
    """Even number of MiB for MBUFS of each size."""
    return (sum(mbuf_sizes) * MBUFS // 2**21 + OVERHEAD_MIB // 2 + 1) * 2


def cores():
    """Physical cores for back end and front end."""
    usable = sorted(os.sched_getaffinity(0))
    return usable[0], usable[1 % len(usable)]


def choose_memory(chosen):
    """`huge` when there are pages for all processes, else `no_huge`: the same for all, or nothing
    could be compared."""
    total = sum(mib(c.mbuf_sizes) + mib((BACK_END_MBUF,)) for c in chosen)
    return no_huge if missing_reason(total // 2) else huge


@dataclass(frozen=True)
class Load:
    """`front` and `back` are forwarding engines of testpmd."""

    name: str
    front: str
    back: str
    frame: int
    jumbo: bool  # whether the contestant with hand-picked mbufs takes part


@dataclass(frozen=True)
class Window:
    rate: float  # packets per second
    cycles: float  # per packet, of the polls that moved packets


@dataclass
class Scene:
    """A running front end and its back end."""

    contestant: Contestant
    front: TestPmd
    back: TestPmd

    @classmethod
    def start(cls, contestant, work, memory, started):
        """Adds each process to `started` before it starts: the caller ends it whatever happens."""
        back_core, front_core = cores()
        socket = Path(work) / f"{contestant.name}.sock"
        back_eal = Eal(memory(mib((BACK_END_MBUF,))).args, (f"net_vhost0,iface={socket}",),
                       core=back_core)
        back_app = App(mbuf_sizes=(BACK_END_MBUF,), mbufs=MBUFS, max_frame=LARGEST_FRAME, loop=True)
        back = TestPmd(f"{contestant.name}-be", Path(work), back_eal, back_app)
        started.append(back)
        back.start()

        vdev = contestant.driver.vdev(socket, **contestant.devargs)
        front_eal = Eal(memory(mib(contestant.mbuf_sizes)).args, (vdev,), core=front_core,
                        plugin=contestant.driver.plugin)
        front_app = App(mbuf_sizes=contestant.mbuf_sizes, mbufs=MBUFS,
                        multi_pool=contestant.multi_pool, scatter=True, max_frame=LARGEST_FRAME,
                        loop=True, extra=("--record-core-cycles",))
        front = TestPmd(f"{contestant.name}-fe", Path(work), front_eal, front_app)
        started.append(front)
        front.start()
        until(back.link_up, lambda: f"link of {back.name} up{back.tail()}")
        return cls(contestant, front, back)

    def prepare(self, load):
        self.front.cmd(f"set fwd {load.front}")
        self.back.cmds(f"set fwd {load.back}", f"set txpkts {load.frame}")
        if load.front == "txonly":
            self.front.cmd(f"set txpkts {load.frame}")

    def run(self, load, seconds, settle):
        """One window, after `settle` seconds of the same traffic."""
        sender, receiver = self.back, self.front
        if load.front == "txonly":
            sender, receiver = receiver, sender
        receiver.cmd("start")
        sender.cmd(f"start tx_first {BURSTS_IN_FLIGHT}" if load.front == "io" else "start")
        time.sleep(settle)
        # testpmd's rate is that since the last `show port stats`, by its own clock.
        self.front.cmd("show port stats 0")
        time.sleep(seconds)
        stats = self.front.cmd("show port stats 0")
        answers = {p.name: p.cmd("stop") for p in (sender, receiver)}
        way = "Tx" if load.front == "txonly" else "Rx"
        window = Window(self.number(rf"{way}-pps:\s+(\d+)", stats),
                        self.number(r"CPU cycles/packet=([\d.]+)", answers[self.front.name]))
        if load.front == "io":
            self.drain(load)
        return window

    def drain(self, load):
        """Takes the packets that are under way, or the next window would have its own and these."""
        for process, engine in ((self.front, load.front), (self.back, load.back)):
            process.cmds("set fwd rxonly", "start", "stop", f"set fwd {engine}")

    def number(self, pattern, text):
        hit = re.search(pattern, text)
        if hit is None or float(hit[1]) == 0:
            raise AssertionError(f"{self.front.name} moved no packets:\n{text}")
        return float(hit[1])
