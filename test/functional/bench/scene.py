"""What a traffic test is made of: a net_vhost back end fed from pcap files, and a front end with the driver.

Port 0 is the device on both sides. The back end has a pcap port for each input, numbered from 1. What the front
end does with frames: it loops them back, or it has a pcap port 1 that they come from and go to, files or an interface.
"""

import os
from dataclasses import dataclass, field
from pathlib import Path

from bench import frames
from bench.driver import Driver
from bench.memory import MODES, Memory, no_huge
from bench.testpmd import App, Eal, TestPmd
from bench.wait import until

BACK_END_MIB = 64
FRONT_END_MIB = 128

# Nothing may be lost because one side was not scheduled for a while: a full ring is retried for seconds.
PATIENT = ("set burst tx delay 20 retry 500000",)


def cores():
    """Physical cores for back end and front end; one and the same where the machine has only one."""
    usable = sorted(os.sched_getaffinity(0))
    return usable[0], usable[1 % len(usable)]


def pool_name(number):
    """Name that testpmd gives to the pool of mbuf size `number`."""
    return "mb_pool_0" if number == 0 else f"mb_pool_0_{number}"


class BackEnd(TestPmd):
    """testpmd with net_vhost as port 0 and one pcap port for each list of frames."""

    __test__ = False

    def feed(self, number=0):
        """Sends input `number` to the front end, and writes what comes back to output `number`."""
        self.cmds("stop", f"set portlist 0,{number + 1}", "start")

    def output(self, number=0):
        return frames.read(self.work / f"{self.name}.out{number}.pcap")


class FrontEnd(TestPmd):
    """testpmd with the driver under test as port 0."""

    __test__ = False

    def output(self):
        return frames.read(self.work / f"{self.name}.out.pcap")

    def footprints(self):
        """Bytes of memory that one segment of each size class occupies: the whole object of its mempool."""
        return [self.mempool(pool_name(n)).object_size for n in range(len(self.app.mbuf_sizes))]

    def in_use(self):
        """Mbufs that are out of each mempool."""
        return [self.mempool(pool_name(n)).in_use for n in range(len(self.app.mbuf_sizes))]


@dataclass
class Bench:
    """Makes the processes of one test and ends them, the front end first."""

    driver: Driver
    mode: str
    work: Path
    processes: list = field(default_factory=list)

    @property
    def socket(self):
        return self.work / "vhost.sock"

    def memory(self, mib=FRONT_END_MIB) -> Memory:
        return MODES[self.mode](mib)

    def start(self, process):
        process.start()
        self.processes.append(process)
        return process

    def kill(self, process):
        """Kills one of them, as a crash would."""
        self.processes.remove(process)
        process.kill()

    def finish(self, failed):
        """Ends what is still running; fails when one ended badly, unless the test failed anyway."""
        while self.processes:
            process = self.processes.pop()
            try:
                if not failed:
                    process.quit()
            except BaseException:
                failed = True
                raise
            finally:
                process.kill()
                if failed:
                    self.finish(True)

    def back_end(self, *inputs, two_way=False, name="be", exit_codes=(0,)):
        """Started and listening. `inputs` are lists of frames. With `two_way` both directions get an lcore each,
        so that waiting for room in one never stops the other."""
        vdevs = [f"net_vhost0,iface={self.socket}"]
        for n, wanted in enumerate(inputs or ([],)):
            source = frames.write(self.work / f"{name}.in{n}.pcap", wanted)
            vdevs.append(f"net_pcap{n},rx_pcap={source},tx_pcap={self.work}/{name}.out{n}.pcap")
        eal = Eal(no_huge(BACK_END_MIB).args, tuple(vdevs), core=cores()[0], polling_lcores=2 if two_way else 1)
        back = self.start(BackEnd(name, self.work, eal, App(mbufs=4096), exit_codes=exit_codes))
        assert "failed to initialize" not in back.log, f"{name} lacks a device{back.tail()}"
        back.cmds("set fwd io retry", *PATIENT)
        return back

    def front_end(self, *, mtu=9000, scatter=True, start=True, before=(), **stopped):
        """Ports configured and started, link up; forwarding, unless `start` is False.

        `before` are commands for the time before the ports start; the others are those of front_end_stopped().
        """
        plain = self.front_end_stopped(**stopped)
        if scatter:
            plain.cmd("port config 0 rx_offload scatter on")
        plain.cmds("port config 0 tx_offload multi_segs on", f"port config mtu 0 {mtu}")
        plain.cmds(*before, "port start all", "set fwd io retry", *PATIENT)
        plain.wait_link(True)
        if start:
            plain.cmd("start")
        return plain

    def front_end_stopped(self, *, pools=(2176,), ladder=False, loop=False, source=None, wire=None, name="fe",
                          mib=FRONT_END_MIB, exit_codes=(0,), memory=None, file_limit=None, more=(), app=(),
                          **devargs):
        """At its first prompt, ports not configured yet.

        Without `loop`, `source` and `wire` frames go to a pcap file only; `wire` is an interface in a network
        namespace. `ladder`: the queue gets all `pools` as classes. `more` are further vdevs, `app` further options,
        `devargs` go to the driver.
        """
        vdevs = [self.driver.vdev(self.socket, **devargs)]
        if wire is not None:
            vdevs.append(f"net_pcap0,rx_iface_in={wire.interface},tx_iface={wire.interface}")
        elif not loop:
            given = frames.write(self.work / f"{name}.in.pcap", source or [])
            vdevs.append(f"net_pcap0,rx_pcap={given},tx_pcap={self.work}/{name}.out.pcap")
        eal = Eal((memory or self.memory(mib)).args, (*vdevs, *more), core=cores()[1], plugin=self.driver.plugin)
        options = App(mbuf_sizes=pools, multi_pool=ladder, loop=loop, start_ports=False, extra=tuple(app))
        return self.start(FrontEnd(name, self.work, eal, options, file_limit, exit_codes,
                                   enter=() if wire is None else wire.enter))

    def connected(self, back):
        """Waits until the back end may send: it knows the link before every queue of it."""
        until(lambda: back.link_up(), lambda: f"link of the back end up{back.tail()}")
