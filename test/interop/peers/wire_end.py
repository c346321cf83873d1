"""Makes a pair of interfaces in its network namespace, one for Linux's TCP/IP stack and one for testpmd, and stays:

    wire_end.py ADDRESS/PREFIX MTU LONGEST     prints `ready`

The kernel accepts packets of MTU bytes and asks TCP's other side for them; it sends LONGEST bytes at most.
"""

import fcntl
import ipaddress
import signal
import socket
import struct
import subprocess
import sys
from array import array
from pathlib import Path

KERNEL, WIRE = "kernel0", "wire0"
KERNEL_MAC = "02:00:00:00:00:01"
IP_AND_TCP = 40
SIOCETHTOOL = 0x8946
# linux/ethtool.h: ETHTOOL_STXCSUM, _SSG, _STSO, _SGSO, _SGRO. Without these a frame is as on a real wire: not longer
# than the MTU, and with its checksums.
OFFLOADS = (0x17, 0x19, 0x1F, 0x24, 0x2C)


def ip(*words):
    subprocess.run(["ip", *map(str, words)], check=True, timeout=30)


def switch_off(command, interface):
    """One ETHTOOL_S... command with the value 0."""
    value = array("I", (command, 0))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCETHTOOL, struct.pack("16sP16x", interface.encode(), value.buffer_info()[0]))


def main():
    address, mtu, longest = ipaddress.ip_interface(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    ip("link", "set", "lo", "up")
    ip("link", "add", "name", KERNEL, "type", "veth", "peer", "name", WIRE)
    for interface in (KERNEL, WIRE):
        # IPv6 would send frames by itself.
        Path(f"/proc/sys/net/ipv6/conf/{interface}/disable_ipv6").write_text("1")
        for command in OFFLOADS:
            switch_off(command, interface)
        ip("link", "set", interface, "mtu", mtu, "up")
    ip("link", "set", KERNEL, "address", KERNEL_MAC)
    ip("addr", "add", address, "dev", KERNEL)
    ip("route", "replace", address.network, "dev", KERNEL, "mtu", "lock", longest, "advmss", mtu - IP_AND_TCP)
    print("ready", flush=True)
    signal.pause()


if __name__ == "__main__":
    main()
