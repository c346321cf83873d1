"""Options and fixtures of the functional tests; README.md says how to run them."""

import contextlib
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scapy_vhost"))

from bench import driver as drivers  # noqa: E402
from bench import marks  # noqa: E402
from bench import memory as memories  # noqa: E402
from bench.scene import FRONT_END_MIB, Bench  # noqa: E402
from bench.vhost import Echo  # noqa: E402
from scapy_vhost import Backend, Capture, VhostPort  # noqa: E402


def pytest_addoption(parser):
    group = parser.getgroup("virtio-fit")
    group.addoption("--driver", choices=("virtio_fit", "virtio_user"), default="virtio_fit",
                    help="driver under test: ours, or DPDK's own to validate the bench")
    group.addoption("--plugin", metavar="PATH", help=f"plug-in to load; default ${drivers.PLUGIN_VARIABLE}, else "
                                                     f"{drivers.DEFAULT_PLUGIN}")
    group.addoption("--keep", action="store_true", help="keep the folder of every test, not only of failed ones")


def pytest_configure(config):
    config.pluginmanager.register(marks)
    config.addinivalue_line("markers", "quick: the few tests that show first whether anything works at all")
    config.addinivalue_line("markers", "fit(why): only for net_virtio_fit; skipped for another driver, with `why`")
    try:
        config.fit_driver = drivers.find(config.getoption("--driver"), config.getoption("--plugin"))
    except FileNotFoundError as missing:
        raise pytest.UsageError(str(missing)) from None
    if shutil.which("dpdk-testpmd") is None:
        raise pytest.UsageError("dpdk-testpmd is not installed (Debian package dpdk-dev)")


def pytest_collection_modifyitems(config, items):
    for item in items:
        mark = item.get_closest_marker("fit")
        if mark is not None and not config.fit_driver.is_fit:
            item.add_marker(pytest.mark.skip(reason=f"{config.fit_driver.stem}: {mark.args[0]}"))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    setattr(item, f"report_{report.when}", report)
    folder = getattr(item, "work_folder", None)
    if report.failed and folder is not None:
        report.sections.append(("artefacts", f"logs and pcap files of this test: {folder}"))


def failed(item):
    """Whether the test failed so far, or one of its processes ended badly."""
    reports = (getattr(item, "report_setup", None), getattr(item, "report_call", None))
    return any(r is not None and r.failed for r in reports) or getattr(item, "ended_badly", False)


@pytest.fixture(scope="session")
def driver(request):
    return request.config.fit_driver


@pytest.fixture(scope="session")
def huge_pages():
    """Huge pages for one front end at a time, reserved meanwhile if this process may do that."""
    with memories.reserved(memories.huge(FRONT_END_MIB).pages):
        yield


@pytest.fixture
def work(request):
    """A folder with a short name, for socket paths; removed when the test passed."""
    folder = Path(tempfile.mkdtemp(prefix="fit."))
    request.node.work_folder = folder
    yield folder
    if not failed(request.node) and not request.config.getoption("--keep"):
        shutil.rmtree(folder)


@pytest.fixture
def huge(huge_pages):
    """Skips the test when there are not enough free huge pages."""
    reason = memories.missing_reason(memories.huge(FRONT_END_MIB).pages)
    if reason is not None:
        pytest.skip(reason)


@pytest.fixture(params=sorted(memories.MODES))
def memory_mode(request):
    """Runs the test with huge pages and without."""
    if request.param == "huge":
        request.getfixturevalue("huge")
    return request.param


def make_bench(request, driver, mode, work):
    bench = Bench(driver, mode, work)
    yield bench
    try:
        bench.finish(failed(request.node))
    except AssertionError:
        request.node.ended_badly = True
        raise


@pytest.fixture
def bench(request, driver, memory_mode, work):
    """Front end with either kind of memory."""
    yield from make_bench(request, driver, memory_mode, work)


@pytest.fixture
def bench_nohuge(request, driver, work):
    """For behaviour that cannot depend on the kind of memory."""
    yield from make_bench(request, driver, "nohuge", work)


@pytest.fixture
def bench_huge(request, driver, work, huge):
    """For behaviour of huge pages only."""
    yield from make_bench(request, driver, "huge", work)


@pytest.fixture
def echo(request, bench_nohuge):
    """echo(offer, **front_end options): scapy at the device's side of a driver that loops back. Its log and a
    pcap of all frames are kept with the other artefacts when the test fails."""
    with contextlib.ExitStack() as stack:
        def make(offer=None, **options):
            backend = Backend(bench_nohuge.socket, offer)
            backend.capture = stack.enter_context(Capture(bench_nohuge.work / "vhost.pcap"))
            stack.enter_context(backend)
            stack.callback(keep_log, backend)
            front = bench_nohuge.front_end(loop=True, **options)
            return Echo(VhostPort(backend).wait_ready(), front)

        def keep_log(backend):
            if failed(request.node):
                (bench_nohuge.work / "vhost.log").write_text(f"{backend.log}\n")

        yield make
        # The front end goes first: it would report a device that vanished.
        bench_nohuge.finish(failed(request.node))
