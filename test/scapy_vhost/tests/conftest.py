"""Makes the package importable from its source tree, and back ends with a front end."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from front_end import FrontEnd  # noqa: E402
from scapy_vhost import Backend  # noqa: E402


@pytest.fixture
def make(tmp_path):
    """make(offer): a back end and a front end, of a class that the test may choose, connected to it."""
    open_ones = []

    def connected(offer=None, front_end=FrontEnd):
        backend = Backend(tmp_path / "s", offer).__enter__()
        open_ones.append(backend)
        front = front_end(tmp_path / "s")
        open_ones.append(front)
        return backend, front

    yield connected
    for one in reversed(open_ones):
        one.__exit__(None, None, None)
