"""Waiting for file descriptors by poll(): select() takes none from 1024 on, which a process with many ports has."""

import math
import select


def readable(fds, seconds):
    """Those of `fds` (numbers, or objects with a fileno()) that may be read, or that have ended, within this time."""
    poll = select.poll()
    for fd in fds:
        poll.register(fd, select.POLLIN)
    # Rounded up: with 0 for what is left of a millisecond, the caller's loop would spin.
    return {number for number, _ in poll.poll(math.ceil(seconds * 1000))}
