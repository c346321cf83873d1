"""Shared memory: two address spaces over the same bytes."""

import os

import pytest
from scapy_vhost.errors import OutsideMemory, ProtocolError
from scapy_vhost.memory import SharedMemory
from scapy_vhost.message import Region


def file_of(size):
    fd = os.memfd_create("region")
    os.ftruncate(fd, size)
    return fd


def test_guest_and_user_addresses_reach_the_same_bytes():
    memory = SharedMemory()
    fd = file_of(0x4000)
    kept = os.dup(fd)
    memory.replace([Region(0x10000, 0x2000, 0x7F0000, 0x1800)], [fd])
    memory.view(0x10010, 4)[:] = b"abcd"
    assert bytes(memory.view_user(0x7F0010, 4)) == b"abcd"
    assert os.pread(kept, 4, 0x1810) == b"abcd"  # mmap_offset need not be a multiple of the page size
    os.close(kept)


@pytest.mark.parametrize("address, length", [(0xFFFF, 1), (0x12000, 1), (0x11FFF, 2), (0x10000, 0x2001), (0, 8)])
def test_ranges_that_are_not_wholly_inside_are_refused(address, length):
    memory = SharedMemory()
    memory.replace([Region(0x10000, 0x2000, 0x7F0000, 0)], [file_of(0x2000)])
    with pytest.raises(OutsideMemory, match=f"{length} bytes at guest address {address:#x}"):
        memory.view(address, length)


def test_regions_come_and_go_and_views_stay_valid():
    memory = SharedMemory()
    memory.add(Region(0, 0x1000, 0x50000, 0), file_of(0x1000))
    memory.add(Region(0x8000, 0x1000, 0x90000, 0), file_of(0x1000))
    view = memory.view(0x8000, 8)
    memory.remove(Region(0x8000, 0x1000, 0x90000, 0))
    with pytest.raises(OutsideMemory):
        memory.view(0x8000, 8)
    view[:] = bytes(8)
    with pytest.raises(ProtocolError, match="no region at guest address 0x8000"):
        memory.remove(Region(0x8000, 0x1000, 0x90000, 0))


def test_no_fd_stays_open_once_memory_and_views_are_gone():
    before = len(os.listdir("/proc/self/fd"))
    memory = SharedMemory()
    memory.replace([Region(0, 0x1000, 0, 0)], [file_of(0x1000)])
    del memory
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_region_that_cannot_be_mapped_is_named():
    with pytest.raises(ProtocolError, match="cannot map 0x10000 bytes of the region at guest address 0x77"):
        SharedMemory().replace([Region(0x77, 0x10000, 0, 0)], [file_of(0x1000)])
