"""The first and only file system of a guest: busybox, ping, kernel modules and an init that takes commands from the
serial console. Written as a cpio archive in the "newc" format (Documentation/driver-api/early-userspace in Linux).
"""

import lzma
import re
import stat
import subprocess
from pathlib import Path

READY = "the guest is ready"
ANSWER = "exit code"  # starts the line that ends the output of a command

# Each line of the console is a command. A shell for each, so that nothing in it ends process 1, which is a panic.
INIT = f"""#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin
mount -t devtmpfs none /dev
mount -t proc none /proc
mount -t sysfs none /sys
exec </dev/ttyS0 >/dev/ttyS0 2>&1
stty -echo -onlcr
while read -r module; do insmod "$module"; done </modules
echo {READY}
while read -r line; do
    sh -c "$line" </dev/null
    echo {ANSWER} $?
done
"""


def _with_needed(modules, names):
    """The files of these modules, each after those that it needs."""
    files = {path.name.split(".")[0]: path for path in modules.rglob("*.ko*")}
    ordered = {}

    def add(name):
        if name in ordered:
            return
        data = files[name].read_bytes()
        if files[name].suffix == ".xz":
            data = lzma.decompress(data)
        # .modinfo is made of strings that end in a null byte, so no table of the package is needed.
        for needed in re.search(rb"\0depends=([^\0]*)\0", data)[1].decode().split(","):
            if needed:
                add(needed.replace("-", "_"))
        ordered[name] = data

    for name in names:
        add(name)
    return ordered


def _libraries(program):
    """The shared libraries of a program, and what loads them."""
    said = subprocess.run(["ldd", program], capture_output=True, text=True, timeout=10, check=True).stdout
    return re.findall(r"(/\S+) \(0x", said)


def _entry(number, name, mode, data=b"", device=(0, 0)):
    name = name.encode() + b"\0"
    fields = (number, mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(name), 0)
    head = b"070701" + b"".join(b"%08x" % field for field in fields) + name
    return head + bytes(-len(head) % 4) + data + bytes(-len(data) % 4)


def _archive(files):
    """`files` are contents by absolute path."""
    folders = {folder for path in files for folder in Path(path).parents} | {Path(f"/{n}") for n in (
        "bin", "dev", "proc", "sys", "tmp")}
    entries = [(str(folder)[1:], stat.S_IFDIR | 0o755) for folder in sorted(folders - {Path("/")})]
    # What init prints before it has mounted /dev goes here.
    entries.append(("dev/console", stat.S_IFCHR | 0o600, b"", (5, 1)))
    entries += [(path[1:], stat.S_IFREG | 0o755, data) for path, data in files.items()]
    entries.append(("TRAILER!!!", 0))
    return b"".join(_entry(number, *entry) for number, entry in enumerate(entries, 1))


def build(modules, names, busybox, ping):
    """The archive; `names` are modules that init loads, out of the folder `modules`."""
    loaded = _with_needed(modules, names)
    files = {"/init": INIT.encode(), "/bin/busybox": Path(busybox).read_bytes(),
             "/bin/iputils-ping": Path(ping).read_bytes(),
             "/modules": "".join(f"/lib/modules/{name}.ko\n" for name in loaded).encode()}
    files.update({f"/lib/modules/{name}.ko": data for name, data in loaded.items()})
    files.update({path: Path(path).read_bytes() for path in _libraries(ping)})
    return _archive(files)
