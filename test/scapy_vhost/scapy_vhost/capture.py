"""Frames of both directions as a pcap file, for a look at them after a test."""

import time

from scapy.utils import RawPcapWriter

ETHERNET = 1  # link type


class Capture:
    """Context manager that writes `path`. Hand it to Backend.capture; it is called with its lock held.
    Frames that come after close() are left out."""

    def __init__(self, path):
        self._writer = RawPcapWriter(str(path), linktype=ETHERNET, snaplen=0xFFFF)
        self._writer.write_header(None)
        self._open = True

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self._open = False
        self._writer.close()

    def add(self, data):
        if not self._open:
            return
        now = time.time()
        self._writer.write_packet(data, sec=int(now), usec=int(now % 1 * 1_000_000))
