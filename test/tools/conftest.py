"""Fixtures for the tests of the scripts in devtools/."""

import pathlib
import sys

import pytest

DEVTOOLS = pathlib.Path(__file__).resolve().parents[2] / "devtools"
sys.path.insert(0, str(DEVTOOLS))


@pytest.fixture
def devtools():
    """Folder of the scripts."""
    return DEVTOOLS


@pytest.fixture
def tree(tmp_path):
    """A function that writes {path: text} below a temporary folder and returns that folder."""

    def write(files):
        for path, text in files.items():
            target = tmp_path / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
        return tmp_path

    return write
