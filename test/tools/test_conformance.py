"""doc/conformance.md is what devtools/conformance writes, and the script finds what it should find."""

import importlib.machinery
import importlib.util
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def load():
    loader = importlib.machinery.SourceFileLoader("conformance", str(ROOT / "devtools/conformance"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("conformance", loader))
    loader.exec_module(module)
    return module


def test_the_page_is_up_to_date():
    done = subprocess.run([ROOT / "devtools/conformance", "--check"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_rows_and_names():
    conformance = load()
    rows = {row[0]: row for row in conformance.rows()}
    assert all(len(row) == 6 for row in rows.values())
    assert {row_id[:3] for row_id in rows} == set(conformance.GROUPS)
    unknown = set(conformance.tests_by_id()) - set(rows)
    assert not unknown, f"tests name rows that do not exist in tiers 1 and 2: {sorted(unknown)}"


def test_what_is_never_accepted():
    conformance = load()
    missing = conformance.missing_feature
    features, protocol = {"VERSION_1", "MRG_RXBUF"}, {"MQ", "STATUS"}
    assert missing("PKD-01", "", features, protocol) == "RING_PACKED"
    assert missing("NET-30", "no MRG_RXBUF", features, protocol) is None
    assert missing("NET-30", "MRG_RXBUF", features, protocol) is None
    assert missing("NET-14", "STATUS", features, protocol) == "STATUS"
    assert missing("VHU-14", "STATUS", features, protocol) is None
    assert missing("CVQ-03", "MQ + RSS", features | {"CTRL_VQ", "MQ"}, protocol) == "RSS"
    assert missing("NET-18", "PF_MQ", features, protocol) is None
