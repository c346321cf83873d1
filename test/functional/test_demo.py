"""The demo as a newcomer sees it: fit-testpmd against a real back end, with every frame accounted for.

Steps: run devtools/demo-run with short phases. Verify: exit code 0, no frame unaccounted for, the class follows the
traffic, the link is up while traffic flows.
"""

import re
import subprocess
from pathlib import Path

import pytest

DEMO = Path(__file__).resolve().parents[2] / "devtools/demo-run"


@pytest.fixture(scope="module")
def demo():
    return subprocess.run(["/usr/bin/python3", DEMO, "--seconds=2", "--no-huge"], capture_output=True, text=True,
                          timeout=120, check=False)


def row(demo, phase):
    """Columns of one line of the summary: segment, seg/pkt, mem/B, Gbit/s, twice."""
    return re.search(rf"^{phase}\s+(\d+.*)$", demo.stdout, re.MULTILINE).group(1).split()


@pytest.mark.fit("the demo shows net_virtio_fit")
def test_every_frame_is_accounted_for(demo):
    assert demo.returncode == 0, demo.stdout + demo.stderr
    assert re.findall(r"dropped by name ([\d,]+), unaccounted ([\d,-]+)", demo.stdout) == [("0", "0")] * 2


@pytest.mark.fit("the demo shows net_virtio_fit")
@pytest.mark.parametrize("phase, room, fixed_segments", [("64 B", "1536", "1.00"), ("1514 B", "1536", "1.00"),
                                                         ("9000 B", "9216", "5.00")])
def test_the_class_follows_the_traffic_trouble_041(demo, phase, room, fixed_segments):
    fit_room, fit_segments, _, _, fixed_room, segments, _, _ = row(demo, phase)
    assert (fit_room, fit_segments) == (room, "1.00")
    assert (fixed_room, segments) == ("2048", fixed_segments)


@pytest.mark.fit("the demo shows net_virtio_fit")
def test_the_first_link_event_says_up(demo):
    start = demo.stdout[:demo.stdout.index("---- 64 B")]
    assert "link up" in start
    assert "link is now down" not in start
