"""What a user reads when something is wrong: the lines of the driver in testpmd's output."""

import re


def lines(log, port):
    """Text after `PORT: ` of the lines that the driver wrote about this port."""
    return re.findall(rf"^{re.escape(port)}: (.*)$", log, re.MULTILINE)


def assert_one(log, port, *parts):
    """Exactly one line of the driver, and `parts` in it: the thing, the value, the next step. Returns it.

    A part may be a tuple: then one of its members has to be there.
    """
    found = lines(log, port)
    assert len(found) == 1, f"{len(found)} lines of {port} instead of one: {found}"
    for part in parts:
        choices = part if isinstance(part, tuple) else (part,)
        assert any(c in found[0] for c in choices), f"no {' or '.join(map(repr, choices))} in: {found[0]}"
    return found[0]
