"""Ways of giving testpmd memory that a back end can map, and the huge pages for them."""

import os
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PAGE_MIB = 2
_NR = Path("/proc/sys/vm/nr_hugepages")


@dataclass(frozen=True)
class Memory:
    """`args` are EAL options; `mib` of memory, of which a huge-page mode takes all at start."""

    name: str
    mib: int
    args: tuple

    @property
    def pages(self):
        return self.mib // PAGE_MIB if self.name == "huge" else 0


def huge(mib):
    """2 MiB pages, all in one file: one region for the back end."""
    return Memory("huge", mib, ("--in-memory", "--single-file-segments", "-m", str(mib)))


def huge_many_files(mib):
    """2 MiB pages with a file each: as many regions as pages."""
    return Memory("huge", mib, ("--in-memory", "-m", str(mib)))


def no_huge(mib):
    """4 KiB pages out of one memfd."""
    return Memory("nohuge", mib, ("--no-huge", "-m", str(mib)))


MODES = {"huge": huge, "nohuge": no_huge}


def meminfo(key):
    """A number of /proc/meminfo (pages for HugePages_*, else KiB)."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        name, _, value = line.partition(":")
        if name == key:
            return int(value.split()[0])
    return 0


def missing_reason(pages):
    """Why `pages` huge pages cannot be had now; None when they can."""
    if meminfo("Hugepagesize") != PAGE_MIB * 1024:
        return f"default huge page size is not {PAGE_MIB} MiB"
    free = meminfo("HugePages_Free") - meminfo("HugePages_Rsvd")
    if free < pages:
        return f"needs {pages} free huge pages of {PAGE_MIB} MiB, {free} are free; raise {_NR}"
    return None


@contextmanager
def reserved(pages):
    """Tries to have `pages` free huge pages meanwhile; puts the former number back afterwards."""
    before = int(_NR.read_text()) if _NR.exists() else 0
    free = meminfo("HugePages_Free") - meminfo("HugePages_Rsvd")
    wanted = before + max(0, pages - free)
    grow = wanted > before and os.access(_NR, os.W_OK)
    if grow:
        _NR.write_text(str(wanted))
    try:
        yield
    finally:
        if grow:
            _NR.write_text(str(before))
