"""Brings up the loopback of its network namespace and returns each UDP datagram to its sender, repeated as often as
its first byte says: a short question gets a long answer.

    udp_server.py PORT     prints `ready`
"""

import fcntl
import socket
import struct
import sys
from pathlib import Path

SIOCSIFFLAGS, IFF_UP = 0x8914, 1
SO_RCVBUFFORCE = 33
LONGEST = 65507


def answer(question):
    """What comes back for a datagram."""
    return question * question[0]


def main():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        fcntl.ioctl(server, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", IFF_UP))
        # passt needs this to send echo requests; it holds in this namespace only.
        Path("/proc/sys/net/ipv4/ping_group_range").write_text("0 2147483647")
        # All questions may come before the first is read.
        server.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 8 << 20)
        server.bind(("127.0.0.1", int(sys.argv[1])))
        print("ready", flush=True)
        while True:
            question, sender = server.recvfrom(LONGEST)
            server.sendto(answer(question), sender)


if __name__ == "__main__":
    main()
