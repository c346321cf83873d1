"""A private Open vSwitch with DPDK: own database, own folders, own network namespace, no huge pages.

Bridge br0 has the ports vu0 and vu1 (dpdkvhostuser: the switch listens) and fixed flows from each to the other, so
that nothing depends on learned addresses.
"""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass

from bench import frames
from bench.scene import PATIENT, Bench, FrontEnd
from bench.wait import until
from peers.child import Child, Peer, listens

DAEMON = "/usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk"
SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema"
PORTS = ("vu0", "vu1")
MTU = 9000
MIB = 256  # the packet pool has at least 16384 buffers of a frame each
RING = 1024


def missing_reason():
    """Why the switch cannot be started here; None when it can."""
    if not os.access(DAEMON, os.X_OK) or shutil.which("ovsdb-server") is None:
        return f"no {DAEMON} (Debian package openvswitch-switch-dpdk)"
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        return "no access to /dev/net/tun, which the switch needs for its own port"
    if os.geteuid() != 0:
        return "a network namespace for the switch needs root"
    return None


class Switch(Peer):
    """Started when entered. stop() ends it in order, leaving ends what is left."""

    def __init__(self, folder, core):
        self.folder, self.core = folder, core
        self.run, self.logs = folder / "run", folder / "log"
        self.database = self.daemon = None
        self.env = {**os.environ, "OVS_RUNDIR": str(self.run), "OVS_LOGDIR": str(self.logs),
                    "OVS_DBDIR": str(folder), "OVS_SYSCONFDIR": str(folder), "RUNTIME_DIRECTORY": str(folder / "rt")}

    def start(self):
        for needed in (self.run, self.logs, self.folder / "rt"):
            needed.mkdir(parents=True)
        self._start_database()
        self.start_daemon()

    def _start_database(self):
        file = self.folder / "conf.db"
        self._tool("ovsdb-tool", "create", file, SCHEMA)
        self.database = Child(self.logs / "ovsdb-server.out", "ovsdb-server", file,
                              f"--remote=punix:{self.run}/db.sock", f"--unixctl={self.run}/db.ctl", env=self.env)
        self.database.until(lambda: listens(self.database.pid, self.run / "db.sock"), "the database listens")
        self.vsctl("--no-wait", "init")
        # --legacy-mem is what --no-huge means anyway; said, it keeps the switch from adding --in-memory, which EAL
        # does not take together with --no-huge.
        eal = f"--no-huge --legacy-mem -m {MIB} --no-pci --no-telemetry --file-prefix=fitovs{self.database.pid}"
        self.vsctl("--no-wait", "set", "Open_vSwitch", ".", "other_config:dpdk-init=true",
                   f"other_config:pmd-cpu-mask={1 << self.core:#x}", f'other_config:dpdk-extra="{eal}"')

    def start_daemon(self):
        """Starts the switch itself, with the bridge of before if there was one; returns when its ports listen."""
        # What a killed switch leaves behind would be taken for the new one's, or refused by it.
        for left in (*self.run.glob("vu?"), *self.run.glob("br0.*"), *self.run.glob("vswitchd.ctl")):
            left.unlink()
        self.vsctl("--no-wait", "set", "Open_vSwitch", ".", "dpdk_initialized=false")
        # In a namespace of its own the taps ovs-netdev and br0 do not show up on the machine.
        self.daemon = Child(self.logs / "ovs-vswitchd.out", "unshare", "-n", DAEMON, f"unix:{self.run}/db.sock",
                            f"--unixctl={self.run}/vswitchd.ctl", "-vsyslog:off", env=self.env)
        self.daemon.until(lambda: self.vsctl("get", "Open_vSwitch", ".", "dpdk_initialized").strip() == "true",
                          "DPDK is initialised")
        self.vsctl("--may-exist", "add-br", "br0", "--", "set", "bridge", "br0", "datapath_type=netdev",
                   "fail-mode=secure")
        # The packet pool is made with the first port that needs one, and a front end that connects meanwhile is
        # turned away. So an idle port comes first.
        self._add_port("idle", 9, "dpdk", "options:dpdk-devargs=net_null0,no-rx=1")
        for number, port in enumerate(PORTS, 1):
            self._add_port(port, number, "dpdkvhostuser")
            self.daemon.until(lambda: listens(self.daemon.pid, self.socket(port)), f"{port} listens")
        self.daemon.until(lambda: listens(self.daemon.pid, self.run / "br0.mgmt"), "the bridge listens")
        self._ofctl("del-flows")
        for number in (1, 2):
            self._ofctl("add-flow", f"in_port={number},actions=output:{3 - number}")

    def _add_port(self, port, number, kind, *options):
        self.vsctl("--may-exist", "add-port", "br0", port, "--", "set", "Interface", port, f"type={kind}", *options,
                   f"ofport_request={number}", f"mtu_request={MTU}")
        error = self.vsctl("get", "Interface", port, "error").strip()
        assert error == "[]", f"{port}: {error}"

    def _tool(self, *args):
        done = subprocess.run([*map(str, args)], capture_output=True, text=True, timeout=30, check=False, env=self.env)
        assert done.returncode == 0, f"{args} ended with {done.returncode}: {done.stdout}{done.stderr}"
        return done.stdout

    def vsctl(self, *args):
        return self._tool("ovs-vsctl", f"--db=unix:{self.run}/db.sock", "--timeout=20", *args)

    def _ofctl(self, command, *args):
        return self._tool("ovs-ofctl", "--timeout=20", command, self.run / "br0.mgmt", *args)

    def socket(self, port):
        return self.run / port

    def wait_ports(self, state):
        """Waits until both ports are `up` (the switch may send to them) or `down`."""
        def states():
            return [self.vsctl("get", "Interface", port, "link_state").strip() for port in PORTS]

        until(lambda: states() == [state] * len(PORTS), lambda: f"ports of the switch {state}, are {states()}")

    def received(self):
        """Frames that came in by each port, as the flows count them: up to a second late."""
        flows = re.findall(r"n_packets=(\d+),.*in_port=(\w+)", self._ofctl("dump-flows", "--no-names"))
        found = {int(port): int(count) for count, port in flows}
        return [found[1], found[2]]

    def wait_received(self, counts):
        """Waits until that many frames came in by vu0, and by vu1."""
        until(lambda: self.received() == counts, lambda: f"the switch received {counts}, has {self.received()}")

    def crash(self):
        self.daemon.kill()

    def stop(self):
        """Ends both in order; fails when one ends badly. A switch that was killed is no failure here."""
        if self.daemon.alive():
            self._tool("ovs-appctl", "-t", self.run / "vswitchd.ctl", "exit", "--cleanup")
            assert self.daemon.wait() == 0, self.daemon.tail()
        self._tool("ovs-appctl", "-t", self.run / "db.ctl", "exit")
        assert self.database.wait() == 0, self.database.tail()

    def kill_all(self):
        for child in (self.daemon, self.database):
            if child is not None:
                child.kill()


@dataclass
class Front:
    """One testpmd that is the front end of both ports: pcap 1 - port 0 - switch - port 2 - pcap 3."""

    bench: Bench
    switch: Switch

    def __post_init__(self):
        # The bench connects its port 0 to a fixed name.
        self.bench.socket.symlink_to(self.switch.socket(PORTS[0]))

    def start(self, first, second, *, name="fe", room=2048) -> FrontEnd:
        """Ports started and known to the switch; not forwarding yet. `first` goes from port 0 to port 2, `second` the
        other way; see outputs()."""
        work = self.bench.work
        source = frames.write(work / f"{name}.in2.pcap", second)
        more = (self.bench.driver.vdev(self.switch.socket(PORTS[1]), 1, queue_size=RING),
                f"net_pcap1,rx_pcap={source},tx_pcap={work}/{name}.out2.pcap")
        # Mbufs for all four rings, and some in caches.
        app = (f"--rxd={RING}", f"--txd={RING}", f"--total-num-mbufs={6 * RING}")
        front = self.bench.front_end_stopped(source=first, more=more, name=name, pools=(room + 128,), app=app,
                                             queue_size=RING)
        for port in (0, 2):
            front.cmds(f"port config {port} rx_offload scatter on", f"port config {port} tx_offload multi_segs on",
                       f"port config mtu {port} {MTU}")
        front.cmds("port start all", "set fwd io retry", *PATIENT)
        for port in (0, 2):
            front.wait_link(True, port)
        self.switch.wait_ports("up")
        return front

    def outputs(self, name="fe"):
        """What came out of the switch: to port 2, to port 0."""
        work = self.bench.work
        return frames.read(work / f"{name}.out2.pcap"), frames.read(work / f"{name}.out.pcap")
