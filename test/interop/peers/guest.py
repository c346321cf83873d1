"""A Linux guest in QEMU without KVM, whose virtio-net device is a vhost-user port of someone else.

Commands go to its serial console, and its output is the log of the QEMU process.
"""

import re
import shutil
import subprocess

from bench.driver import REPOSITORY
from bench.scene import BackEnd
from bench.testpmd import App, Eal
from bench.memory import no_huge
from peers import initramfs
from peers.child import Child, Peer

QEMU = "qemu-system-x86_64"
PACKAGES = {QEMU: "qemu-system-x86", "busybox": "busybox-static", "ping": "iputils-ping"}
TREE = REPOSITORY / ".guest"  # devtools/fetch-guest
MODULES = ("virtio_pci", "virtio_net")
MIB = 256
BOOT_SECONDS = 150  # a few on an idle machine; QEMU computes each instruction of it

# One console and no more; a panic ends QEMU (panic and -no-reboot). IPv6 would send by itself. The others save time
# that only an emulated processor takes, or keep its clock from being distrusted when the machine is busy.
KERNEL_ARGUMENTS = ("console=ttyS0 quiet panic=-1 ipv6.disable=1 mitigations=off cryptomgr.notests no_timer_check "
                    "tsc=reliable random.trust_cpu=on")


def missing_reason():
    """Why no guest can be started here; None when it can."""
    for program, package in PACKAGES.items():
        if shutil.which(program) is None:
            return f"{program} is not installed (Debian package {package})"
    if not list(TREE.glob("boot/vmlinuz-*")):
        return f"no kernel for the guest in {TREE.name}: run ./devtools/fetch-guest"
    return None


class Guest(Peer):
    """Booted when entered. `socket` is the back end of its eth0, `device` are further properties of
    that: mrg_rxbuf="off", for one."""

    def __init__(self, folder, socket, core, **device):
        self.folder, self.socket, self.core, self.device = folder, socket, core, device
        self.qemu = None

    def start(self):
        archive = self.folder / "initramfs"
        archive.write_bytes(initramfs.build(TREE, MODULES, shutil.which("busybox"), shutil.which("ping")))
        properties = "".join(f",{name}={value}" for name, value in self.device.items())
        self.qemu = Child(
            self.folder / "guest.log", "taskset", "-c", self.core, QEMU, "-nodefaults", "-no-user-config", "-no-reboot",
            "-display", "none", "-serial", "stdio", "-accel", "tcg",
            # The emulation of cmpxchg16b in QEMU 7.2 spoils registers, and newer kernels then crash.
            "-cpu", "max,cx16=off,la57=off", "-machine", "q35,memory-backend=memory",
            # The back end maps the memory of the guest.
            "-object", f"memory-backend-memfd,id=memory,size={MIB}M,share=on", "-m", MIB,
            "-kernel", *TREE.glob("boot/vmlinuz-*"), "-initrd", archive, "-append", KERNEL_ARGUMENTS,
            "-chardev", f"socket,id=back,path={self.socket}", "-netdev", "vhost-user,id=net,chardev=back",
            # Vectors of a vhost-user device are wired through KVM; without it QEMU 7.2 ends with SIGSEGV.
            "-device", f"virtio-net-pci,netdev=net,romfile=,disable-legacy=on,vectors=0{properties}",
            stdin=subprocess.PIPE)
        self.qemu.until(lambda: initramfs.READY in self.qemu.log(), "the guest has booted", BOOT_SECONDS)

    def run(self, command, seconds=60.0):
        """What a command prints in the guest; fails when its exit code is not 0."""
        mark = len(self.qemu.log())
        self._type(command)
        ended = re.compile(rf"^{initramfs.ANSWER} (\d+)$", re.MULTILINE)
        found = self.qemu.until(lambda: ended.search(self.qemu.log(), mark), f"the guest answers {command!r}", seconds)
        said = self.qemu.log()[mark:found.start()]
        assert found[1] == "0", f"{command!r} in the guest: exit code {found[1]}: {said}"
        return said

    def _type(self, line):
        self.qemu.process.stdin.write(line.encode() + b"\n")
        self.qemu.process.stdin.flush()

    def number(self, path):
        """The number in a file of the guest."""
        return int(self.run(f"cat {path}"))

    def stop(self):
        """Switches it off; fails when it had ended by itself."""
        assert self.qemu.alive(), f"QEMU ended with {self.qemu.process.returncode}; {self.qemu.tail()}"
        self._type("poweroff -f")
        code = self.qemu.wait(30.0)
        assert code == 0, f"QEMU ended with {code}; {self.qemu.tail()}"

    def kill_all(self):
        if self.qemu is not None:
            self.qemu.kill()
            self.qemu.process.stdin.close()


def start_pair(bench, core):
    """A testpmd with two net_vhost ports that forwards between them once it is told to: port 0 listens on the socket
    of the bench, port 1 on the one that is returned as well."""
    other = bench.work / "guest.sock"
    eal = Eal(no_huge(64).args, (f"net_vhost0,iface={bench.socket}", f"net_vhost1,iface={other}"), core=core)
    pair = bench.start(BackEnd("pair", bench.work, eal, App(mbufs=4096)))
    assert "failed to initialize" not in pair.log, f"{pair.name} lacks a device{pair.tail()}"
    return pair, other
