"""Ids in the names of tests are marks that select them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench import marks

HERE = Path(__file__).parent
KNOWN = {"NET_48": "", "NET_35a": "", "VHU_12": ""}


def collected(folder, *args):
    """pytest's exit status and output with the plug-in alone, in another process and without running anything."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "bench.marks", "--strict-markers",
               "--collect-only", "-q", *args, str(folder)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False,
                          env={**os.environ, "PYTHONPATH": str(HERE)})
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("name, expected", [
    ("test_frames", []),
    ("test_a_NET_48_VHU_12", ["NET_48", "VHU_12"]),
    ("test_NET_35a_trouble_033", ["NET_35a", "trouble_033"]),
    ("test_trouble_103_105_and_trouble_146", ["trouble_103", "trouble_105", "trouble_146"]),
    ("test_ETHERNET_48_and_trouble_12", []),
])
def test_ids_of_a_name(name, expected):
    assert marks.ids(name, KNOWN) == expected


@pytest.mark.parametrize("name, wrong", [("test_NET_49", "NET_49"), ("test_NET_4_x", "NET_4"),
                                         ("test_NET_48b", "NET_48b")])
def test_an_id_that_is_no_requirement(name, wrong):
    with pytest.raises(ValueError, match=f"names {wrong}, which is no row"):
        marks.ids(name, KNOWN)


def test_marks_select(tmp_path):
    (tmp_path / "test_some.py").write_text("def test_one_NET_48(): pass\ndef test_two_trouble_148_150(): pass\n"
                                           "def test_three_NET_31_VHU_12(): pass\n")
    cases = {"NET_48": ["one"], "trouble_150": ["two"], "trouble_148 or VHU_12": ["two", "three"]}
    for expression, chosen in cases.items():
        code, said = collected(tmp_path, "-m", expression)
        assert code == 0, said
        assert [line.split("::test_")[1].split("_")[0] for line in said.splitlines() if "::" in line] == chosen


def test_an_unknown_id_ends_the_collection(tmp_path):
    (tmp_path / "test_some.py").write_text("def test_one_NET_999(): pass\n")
    code, said = collected(tmp_path)
    assert code == 4
    assert "test_one_NET_999 names NET_999, which is no row of requirements.tsv" in said
