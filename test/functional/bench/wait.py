"""Waiting with a deadline; nothing in the bench waits without one."""

import time


class Timeout(AssertionError):
    """A condition did not come true in time."""


def until(condition, what, seconds=20.0, poll=0.01):
    """Calls `condition` until it returns something true, and returns that; raises Timeout after `seconds`.

    `what` is a string, or a function that makes one at the time of failure.
    """
    deadline = time.monotonic() + seconds
    while True:
        got = condition()
        if got:
            return got
        if time.monotonic() > deadline:
            raise Timeout(f"not within {seconds:g} s: {what() if callable(what) else what}")
        time.sleep(poll)
