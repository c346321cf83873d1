"""A stock dpdk-testpmd as a child process: commands in, parsed answers out, a deadline on every wait."""

import itertools
import os
import re
import signal
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from bench import parse
from bench.prompt import before_prompt
from bench.wait import until

_serial = itertools.count()

# --tx-offloads bit of rte_ethdev.h; testpmd has no option with a name for it.
TX_OFFLOAD_MULTI_SEGS = 0x8000


class Ended(AssertionError):
    """testpmd ended by itself; `code` as in subprocess (negative: killed by that signal)."""

    def __init__(self, message, code):
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class Eal:
    """EAL side of the command line. Both lcores (commands, polling) run on the one physical core `core`."""

    memory: tuple
    vdevs: tuple
    core: int = 0
    polling_lcores: int = 1
    plugin: Path = None
    extra: tuple = ()

    def args(self, prefix):
        lcores = ",".join(f"{n}@{self.core}" for n in range(1 + self.polling_lcores))
        out = [f"--lcores={lcores}", "--no-pci", "--no-telemetry", f"--file-prefix={prefix}", *self.memory]
        if self.plugin is not None:
            out += ["-d", str(self.plugin)]
        return out + [f"--vdev={v}" for v in self.vdevs] + list(self.extra)


@dataclass(frozen=True)
class App:
    """testpmd's own side of the command line."""

    mbuf_sizes: tuple = (2176,)  # data room + headroom of 128; one pool for each
    mbufs: int = 2048  # in each pool
    multi_pool: bool = False  # every receive queue gets all pools
    scatter: bool = False  # for all ports; where only one port can do it, use `port config`
    multi_segs: bool = False
    max_frame: int = 0  # without CRC; 0: testpmd's default
    loop: bool = False  # each port sends back what it received
    forward: str = "io"
    start_ports: bool = True
    extra: tuple = ()

    def args(self, polling_lcores):
        out = ["-i", "--disable-link-check", "--no-flush-rx", f"--nb-cores={polling_lcores}",
               f"--total-num-mbufs={self.mbufs}", f"--forward-mode={self.forward}",
               "--mbuf-size=" + ",".join(map(str, self.mbuf_sizes)),
               "--port-topology=" + ("loop" if self.loop else "paired")]
        if self.multi_pool:
            out.append("--multi-rx-mempool")
        if self.scatter:
            out.append("--enable-scatter")
        if self.multi_segs:
            out.append(f"--tx-offloads={TX_OFFLOAD_MULTI_SEGS:#x}")
        if self.max_frame:
            out.append(f"--max-pkt-len={self.max_frame + 4}")
        if not self.start_ports:
            out.append("--disable-device-start")
        return out + list(self.extra)


@dataclass
class TestPmd:
    """Context manager. Entering starts the process and waits for its first prompt; leaving ends it, by pid.

    The output goes to WORK/NAME.log, which is also what is read: the process never blocks on a full pipe.
    `file_limit` is RLIMIT_FSIZE in bytes. `exit_codes` are those that leaving accepts; None: any. `enter` is a command
    that becomes testpmd, for one inside a network namespace.
    """

    __test__ = False  # not a test class, for pytest

    name: str
    work: Path
    eal: Eal
    app: App = App()
    file_limit: int = None
    exit_codes: tuple = (0,)
    start_seconds: float = 30.0
    enter: tuple = ()
    _process: subprocess.Popen = field(default=None, init=False)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, kind, value, trace):
        if kind is None:
            self.quit()
        else:
            self.kill()

    # -- life --------------------------------------------------------------------------------------------

    def start(self):
        """Starts the process and waits for the first prompt. Raises Ended when it ends before."""
        prefix = f"fit{os.getpid()}n{next(_serial)}"
        args = [*self.enter, "stdbuf", "-oL", "dpdk-testpmd", *self.eal.args(prefix), "--",
                *self.app.args(self.eal.polling_lcores)]
        if self.file_limit is not None:
            # With the signal ignored, a file that would grow too long makes the call fail with EFBIG.
            args = ["env", "--ignore-signal=XFSZ", "prlimit", f"--fsize={self.file_limit}", *args]
        (self.work / f"{self.name}.cmd").write_text(" ".join(args) + "\n")
        runtime = self.work / "rt"
        runtime.mkdir(exist_ok=True)
        with open(self.log_path, "wb") as log:
            self._process = subprocess.Popen(
                args, stdin=subprocess.PIPE, stdout=log, stderr=subprocess.STDOUT, cwd=self.work,
                env={**os.environ, "RUNTIME_DIRECTORY": str(runtime)})
        try:
            self._read_to_prompt(0, self.start_seconds, "the first prompt")
        except BaseException:
            self.kill()
            raise
        return self

    @property
    def pid(self):
        return self._process.pid

    def alive(self):
        return self._process.poll() is None

    def quit(self, seconds=20.0):
        """Ends by testpmd's own `quit`; fails when it hangs, or ends with another code than `exit_codes`."""
        if self.alive():
            try:
                self._process.stdin.write(b"stop\nquit\n")
                self._process.stdin.close()
            except BrokenPipeError:
                pass
        try:
            code = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"{self.name} did not quit within {seconds:g} s{self.tail()}") from None
        if self.exit_codes is not None and code not in self.exit_codes:
            raise Ended(f"{self.name} ended with {describe(code)}{self.tail()}", code)
        return code

    def kill(self):
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process.stdin.close()

    # -- output ------------------------------------------------------------------------------------------

    @property
    def log_path(self):
        return self.work / f"{self.name}.log"

    @property
    def log(self):
        return self.log_since(0)

    def mark(self):
        """A place in the output, for log_since() and wait_log()."""
        return self.log_path.stat().st_size

    def log_since(self, mark):
        with open(self.log_path, "rb") as log:
            log.seek(mark)
            return log.read().decode(errors="replace").replace("\r\n", "\n")

    def tail(self, lines=15):
        return f"; end of {self.log_path}:\n" + "\n".join(self.log.splitlines()[-lines:])

    def wait_log(self, pattern, seconds=20.0, since=0):
        """Waits until the regular expression matches in the output after the mark `since`."""
        return until(lambda: re.search(pattern, self.log_since(since), re.MULTILINE),
                     lambda: f"{self.name} prints {pattern!r}{self.tail()}", seconds)

    def _read_to_prompt(self, mark, seconds, what):
        def ready():
            answer = before_prompt(self.log_since(mark))
            if answer is not None:
                return "=" + answer  # never empty, thus true
            if not self.alive():
                code = self._process.returncode
                raise Ended(f"{self.name} ended with {describe(code)} before {what}{self.tail()}", code)
            return None

        return until(ready, lambda: f"{self.name}: {what}{self.tail()}", seconds, poll=0.004)[1:]

    # -- commands ----------------------------------------------------------------------------------------

    def cmd(self, command, seconds=20.0):
        """Sends one command and returns what testpmd prints between its echo and the next prompt."""
        mark = self.mark()
        try:
            self._process.stdin.write(command.encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            code = self._process.wait(seconds)
            raise Ended(f"{self.name} had ended with {describe(code)}{self.tail()}", code) from None
        text = self._read_to_prompt(mark, seconds, f"the answer to {command!r}")
        if re.search(r"^(Command not found|Bad arguments|Ambiguous command)", text, re.MULTILINE):
            raise AssertionError(f"{self.name} does not know {command!r}: {text}")
        # The echo may come after lines of other threads; all of it is kept but the echo itself.
        return re.sub(re.escape(command) + "\n", "", text, count=1)

    def cmds(self, *commands):
        return [self.cmd(c) for c in commands]

    def port_stats(self, port=0):
        return parse.port_stats(self.cmd(f"show port stats {port}"))

    def xstats(self, port=0):
        return parse.xstats(self.cmd(f"show port xstats {port}"))

    def port_info(self, port=0):
        return parse.pairs(self.cmd(f"show port info {port}"))

    def rxq_info(self, port=0, queue=0):
        return parse.pairs(self.cmd(f"show rxq info {port} {queue}").replace("*", ""))

    def mempool(self, name="mb_pool_0"):
        return parse.mempool(self.cmd(f"dump_mempool {name}"))

    def link_up(self, port=0):
        return self.port_info(port)["Link status"] == "up"

    def wait_link(self, up, port=0, seconds=20.0):
        until(lambda: self.link_up(port) == up,
              lambda: f"{self.name}: link of port {port} {'up' if up else 'down'}{self.tail()}", seconds)

    def wait_stats(self, port=0, seconds=30.0, **wanted):
        """Waits until counters of `show port stats` (rx_packets=N, tx_packets=N, ...) reach at least N."""
        def reached():
            stats = self.port_stats(port)
            last.update(stats)
            return all(stats[k.upper().replace("_", "-").replace("PACKETS", "packets").replace("BYTES", "bytes")]
                       >= n for k, n in wanted.items())

        last = {}
        until(reached, lambda: f"{self.name} port {port}: {wanted}, has {last}", seconds)
        return last

    def open_fds(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))


def describe(code):
    """How a process ended, in words."""
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
