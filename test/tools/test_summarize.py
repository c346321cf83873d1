"""summarize on reports written here: counts, names, exit status and the last line."""

import subprocess

import pytest

GTEST = """<testsuites tests="4" failures="1" disabled="1" errors="0">
<testsuite name="Ring">
<testcase name="pops" classname="Ring" status="run" result="completed"/>
<testcase name="wraps" classname="Ring" status="run" result="completed">
<failure message="no"/></testcase>
<testcase name="packed" classname="Ring" status="run" result="skipped">
<skipped message="later"/></testcase>
<testcase name="DISABLED_x" classname="Ring" status="notrun" result="suppressed"/>
</testsuite></testsuites>"""
GTEST_GOOD = '<testsuites><testcase name="pops" classname="Ring" status="run"/></testsuites>'
PYTEST = """<testsuites><testsuite>
<testcase classname="test_a" name="one"/><testcase classname="test_a" name="two"/>
<testcase classname="test_a" name="three"><error message="set-up"/></testcase>
<testcase classname="test_a" name="four"><skipped/></testcase>
</testsuite></testsuites>"""
HEAD = "suite  passed  failed  skipped  seconds"


def summarize(devtools, root, runs, *args):
    (root / "runs.tsv").write_text("".join("\t".join(map(str, run)) + "\n" for run in runs))
    command = [devtools / "summarize", root, *args]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.stderr == ""
    return done.returncode, done.stdout.splitlines()


def test_table_and_sum_over_suites(devtools, tree):
    root = tree({"a.xml": GTEST, "b.xml": PYTEST})
    assert summarize(devtools, root, [
        ("deps", "check-deps", 0, 120, "-", "-"),
        ("unit", "fit-unit-a", 1, 1500, root / "a.xml", "-"),
        ("unit", "fit-unit-b", 1, 2000, root / "b.xml", "-"),
    ]) == (1, [
        "failed: unit: Ring.wraps",
        "failed: unit: test_a.three",
        "",
        HEAD,
        "deps        1       0        0      0.1",
        "unit        3       2        3      3.5",
        "4 passed, 2 failed, 3 skipped",
    ])


def test_all_passed(devtools, tree):
    root = tree({"a.xml": GTEST_GOOD})
    status, lines = summarize(devtools, root, [("unit", "fit-unit-a", 0, 0, root / "a.xml", "-")])
    assert (status, lines[-1]) == (0, "1 passed, 0 failed, 0 skipped")


def test_death_by_signal_names_program_signal_and_test(devtools, tree):
    root = tree({"a.log": "[ RUN      ] Ring.pops\n[       OK ] Ring.pops (0 ms)\n"
                          "[ RUN      ] Ring.wraps/1\n"})
    runs = [("unit", "fit-unit-a", 139, 0, root / "a.xml", root / "a.log")]
    status, lines = summarize(devtools, root, runs)
    assert status == 1
    assert lines[0] == "failed: unit: fit-unit-a (killed by SIGSEGV in Ring.wraps/1)"
    assert lines[-1] == "1 passed, 1 failed, 0 skipped"


@pytest.mark.parametrize("code, words", [
    (1, "exit status 1"), (124, "timed out"), (134, "killed by SIGABRT"),
])
def test_bad_end_after_good_tests_is_a_failure(devtools, tree, code, words):
    root = tree({"a.xml": GTEST_GOOD})
    runs = [("unit", "fit-unit-a", code, 0, root / "a.xml", "-")]
    status, lines = summarize(devtools, root, runs)
    assert status == 1
    assert lines[0] == f"failed: unit: fit-unit-a ({words})"
    assert lines[-1] == "1 passed, 1 failed, 0 skipped"


def test_truncated_xml_is_a_failure(devtools, tree):
    root = tree({"a.xml": GTEST[:100]})
    status, lines = summarize(devtools, root, [("unit", "fit-unit-a", 0, 0, root / "a.xml", "-")])
    assert (status, lines[-1]) == (1, "0 passed, 1 failed, 0 skipped")


def test_a_program_without_tests_is_a_failure(devtools, tree):
    root = tree({"a.xml": "<testsuites/>"})
    runs = [
        ("unit", "fit-unit-a", 0, 0, root / "a.xml", "-"),
        ("deps", "check-deps", 0, 0, "-", "-"),
    ]
    status, lines = summarize(devtools, root, runs)
    assert status == 1
    assert lines[0] == "failed: unit: fit-unit-a (ran no test)"
    assert lines[-1] == "1 passed, 1 failed, 0 skipped"


def test_a_filter_may_leave_a_program_without_tests(devtools, tree):
    root = tree({"a.xml": "<testsuites/>"})
    runs = [
        ("functional", "pytest", 5, 0, root / "a.xml", "-"),
        ("deps", "check-deps", 0, 0, "-", "-"),
    ]
    status, lines = summarize(devtools, root, runs, "--allow-empty")
    assert (status, lines[-1]) == (0, "1 passed, 0 failed, 0 skipped")


def test_nothing_at_all_fails_even_with_a_filter(devtools, tree):
    root = tree({"a.xml": "<testsuites/>"})
    runs = [("functional", "pytest", 5, 0, root / "a.xml", "-")]
    status, lines = summarize(devtools, root, runs, "--allow-empty")
    assert status == 1
    assert lines[-2:] == ["no test ran", "0 passed, 0 failed, 0 skipped"]
