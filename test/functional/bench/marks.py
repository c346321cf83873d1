"""pytest plug-in: the ids in a test's name are its marks, so that `-m "NET_48 or trouble_148"` selects.

Requirement ids (NET_48) are those of test/requirements.tsv, and another one in a name is an error. Numbers of troubles
(trouble_148, trouble_103_105) are what the names say.
"""

import re
from pathlib import Path

import pytest

ROWS = Path(__file__).resolve().parents[2] / "requirements.tsv"
TROUBLES = re.compile(r"trouble((?:_\d{3})+)(?![^\W_])")


def requirements():
    """{"NET_48": its text, ...}"""
    rows = (line.split("\t") for line in ROWS.read_text().splitlines() if not line.startswith("#"))
    return {row[0].replace("-", "_"): row[-1] for row in rows}


def ids(name, known):
    """Marks for a test of this name, in its order. ValueError: it names a requirement that is not in `known`."""
    groups = "|".join(sorted({one.partition("_")[0] for one in known}))
    found = re.findall(rf"(?<![^\W_])(?:{groups})_[^\W_]+", name)
    for one in found:
        if one not in known:
            raise ValueError(f"{name} names {one}, which is no row of {ROWS.name}")
    return found + [f"trouble_{number}" for numbers in TROUBLES.findall(name) for number in re.findall(r"\d+", numbers)]


def pytest_configure(config):
    config.known_ids = requirements()
    for one, text in config.known_ids.items():
        config.addinivalue_line("markers", f"{one}: {text}")


def pytest_itemcollected(item):
    try:
        marks = ids(getattr(item, "originalname", item.name), item.config.known_ids)
    except ValueError as unknown:
        raise pytest.UsageError(f"{item.nodeid}: {unknown}") from None
    for mark in marks:
        if mark not in item.config.known_ids:
            item.config.addinivalue_line("markers", f"{mark}: the kind of fault with this number")
        item.add_marker(mark)
