"""Options and fixtures: those of the functional tests, and the real back ends that this suite starts."""

import os
import signal
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "functional"))  # for `bench`
sys.path.append(str(TESTS))

pytest_plugins = ["functional.conftest"]

DEADLINE_SECONDS = 60

from bench.scene import cores  # noqa: E402
from functional.conftest import failed, make_bench  # noqa: E402
from peers import guest, ovs, passt  # noqa: E402
from peers.wire import Wire  # noqa: E402


def pytest_configure(config):
    config.addinivalue_line("markers", f"deadline(seconds): the test may take longer than {DEADLINE_SECONDS} s")


@pytest.fixture(autouse=True)
def deadline(request):
    """Ends a test that hangs although each of its waits has a deadline; its processes are then ended as usual."""
    mark = request.node.get_closest_marker("deadline")
    seconds = mark.args[0] if mark else DEADLINE_SECONDS

    def expired(*_):
        raise TimeoutError(f"the test took more than {seconds} s")

    before = signal.signal(signal.SIGALRM, expired)
    signal.alarm(seconds)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def running(request, process):
    """The body of a fixture: a back end that must also end well, else its logs are kept."""
    with process:
        yield process
        try:
            process.stop()
        except AssertionError:
            request.node.ended_badly = True
            raise


@pytest.fixture
def switch(request, work):
    """A private Open vSwitch with two vhost-user ports that it listens on."""
    reason = ovs.missing_reason()
    if reason is not None:
        pytest.skip(reason)
    yield from running(request, ovs.Switch(work / "ovs", core=cores()[0]))


@pytest.fixture
def switched(request, driver, memory_mode, switch, work):
    """Front ends of the switch, with either kind of memory."""
    for bench in make_bench(request, driver, memory_mode, work):
        yield ovs.Front(bench, switch)


@pytest.fixture
def switched_nohuge(request, driver, switch, work):
    """For behaviour that cannot depend on the kind of memory."""
    for bench in make_bench(request, driver, "nohuge", work):
        yield ovs.Front(bench, switch)


@pytest.fixture
def passt_host(request, work):
    """passt that listens for a front end, in a network namespace with a server that returns datagrams."""
    binary = os.environ.get(passt.BINARY_VARIABLE) or "passt"
    reason = passt.missing_reason(binary)
    if reason is not None:
        pytest.skip(reason)
    yield from running(request, passt.Host(work, binary, core=cores()[0]))


@pytest.fixture
def bench_passt(request, driver, memory_mode, passt_host, work):
    """A bench whose socket is that of passt, and passt."""
    for bench in make_bench(request, driver, memory_mode, work):
        yield bench, passt_host


@pytest.fixture
def wire(request, work):
    """Linux's TCP/IP stack behind an interface for the front end. The parameter is the MTU."""
    with Wire(work, passt.GUEST + "/16", request.param) as made:
        yield made


@pytest.fixture
def linux(request, bench_nohuge):
    """A bench whose socket is that of a testpmd between it and a Linux guest; that testpmd; the guest. The parameter
    are properties of the guest's device."""
    reason = guest.missing_reason()
    if reason is not None:
        pytest.skip(reason)
    pair, socket = guest.start_pair(bench_nohuge, core=cores()[0])
    for booted in running(request, guest.Guest(bench_nohuge.work, socket, cores()[1], **request.param)):
        yield bench_nohuge, pair, booted
