"""The dirty log of a migration: a bit for each page of guest memory that the back end wrote."""

import os

PAGE = 0x1000


class DirtyLog:
    """vhost-user, "Migration". `area` begins with the bit of guest address 0. A bit is set after the write that it
    is about: whoever takes the bit and copies the page has all of it, or finds the bit again.

    The bits of a byte are read and written back, because Python has no atomic operation. A bit that the front end
    clears in between is set once more, which costs a copy and loses nothing; a second writer would lose some."""

    def __init__(self, area, log):
        self.area = area
        self.log = log  # EventLog
        self.incomplete = False

    def mark(self, address, length, event_fd=None):
        """The pages of these bytes; tells `event_fd` when one of them was clean."""
        rose = False
        for page in range(address // PAGE, (address + length - 1) // PAGE + 1):
            at, bit = page // 8, 1 << page % 8
            if at >= len(self.area):
                self._missing(page)
            elif not self.area[at] & bit:
                self.area[at] |= bit
                rose = True
        if rose and event_fd is not None:
            os.eventfd_write(event_fd, 1)

    def _missing(self, page):
        if not self.incomplete:  # once: thousands of them would say the same
            self.incomplete = True
            self.log.add("fault", f"the dirty log has {len(self.area)} bytes and no bit for guest address "
                                  f"{page * PAGE:#x}")
