"""The first hour: devargs with mistakes. One clear line each, the right errno, and the application goes on."""

import errno
import socket

import pytest

from bench import messages
from bench.hotplug import Hotplug
from bench.memory import no_huge
from bench.testpmd import Eal, TestPmd

pytestmark = pytest.mark.fit("the messages are those of net_virtio_fit")

PORT = "net_virtio_fit0"
LONG = "/tmp/" + "x" * 103  # 108 bytes, one more than a socket address takes

# name: devargs, errno, what the line must have (thing, value, next step)
CASES = {
    "unknown": ("path={S},colour=blue", errno.EINVAL, ["colour", "unknown", "queue_size"]),
    "unknown_alone": ("colour", errno.EINVAL, ["colour", "unknown", "queue_size"]),
    "no_value": ("path={S},queue_size", errno.EINVAL, ["queue_size", "empty", "queue_size=<value>"]),
    "empty_value": ("path={S},queue_size=", errno.EINVAL, ["queue_size", "empty", "queue_size=<value>"]),
    "empty_path": ("path=", errno.EINVAL, ["path", "empty", "path=<value>"]),
    "twice": ("path={S},queue_size=256,queue_size=512", errno.EINVAL, ["queue_size=512", "twice", "keep one"]),
    "queue_size_100": ("path={S},queue_size=100", errno.EINVAL, ["queue_size=100", "power of two", "256"]),
    "queue_size_abc": ("path={S},queue_size=abc", errno.EINVAL, ["queue_size=abc", "power of two", "256"]),
    "queue_size_0": ("path={S},queue_size=0", errno.EINVAL, ["queue_size=0", "power of two", "256"]),
    "queue_size_65536": ("path={S},queue_size=65536", errno.EINVAL, ["queue_size=65536", "32768"]),
    "queue_size_2_pow_32_and_256": ("path={S},queue_size=4294967552", errno.EINVAL, ["queue_size=4294967552", "32768"]),
    "queue_size_256x": ("path={S},queue_size=256x", errno.EINVAL, ["queue_size=256x", "power of two"]),
    "ewma_weight_3": ("path={S},ewma_weight=3", errno.EINVAL, ["ewma_weight=3", "power of two", "64"]),
    "ewma_weight_2048": ("path={S},ewma_weight=2048", errno.EINVAL, ["ewma_weight=2048", "1024"]),
    "min_segment_minus_1": ("path={S},min_segment=-1", errno.EINVAL, ["min_segment=-1", "1518"]),
    "min_segment_65536": ("path={S},min_segment=65536", errno.EINVAL, ["min_segment=65536", "65535"]),
    "mac_zz": ("path={S},mac=zz", errno.EINVAL, ["mac=zz", "MAC address", "02:00:00:00:00:01"]),
    "mac_multicast": ("path={S},mac=01:00:5e:00:00:01", errno.EINVAL, ["mac=01:00:5e:00:00:01", "unicast"]),
    "mrg_rxbuf_2": ("path={S},mrg_rxbuf=2", errno.EINVAL, ["mrg_rxbuf=2", "0 nor 1"]),
    "no_path": ("queue_size=256", errno.EINVAL, ["path", "missing", "path=/"]),
    "no_devargs": ("", errno.EINVAL, ["path", "missing", "path=/"]),
    "path_of_108_bytes": (f"path={LONG}", errno.ENAMETOOLONG, ["path=" + LONG, "107", "shorter"]),
    "path_not_there": ("path={S}/nobody", errno.ENOENT, ["{S}/nobody", "no such file", "start the back end"]),
    "path_no_socket": ("path={S}/plain", errno.ENOTSOCK, ["{S}/plain", "no socket", "path="]),
    "path_is_a_folder": ("path={S}", errno.ENOTSOCK, ["{S}", "no socket", "path="]),
    "nobody_listens": ("path={S}/dead", errno.ECONNREFUSED, ["{S}/dead", "nobody listens", "start the back end"]),
}


# Also given on the command line, where EAL probes the devices of all buses before the application runs.
AT_START = ("unknown", "no_path", "path_not_there", "nobody_listens")


@pytest.fixture
def place(work):
    """A folder with a plain file `plain`, and a socket file `dead` that its listener left behind."""
    (work / "plain").write_text("not a socket\n")
    left = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    left.bind(str(work / "dead"))
    left.close()
    return work


@pytest.fixture(scope="module")
def applications(driver, tmp_path_factory):
    """Makes the application that all cases are hot-plugged into; a new one when it died."""
    made = []

    def get():
        if not made or not made[-1].alive():
            eal = Eal(no_huge(64).args, ("net_null0",), plugin=driver.plugin)
            made.append(TestPmd(f"app{len(made)}", tmp_path_factory.mktemp("devargs"), eal).start())
        return made[-1]

    yield get
    assert made[-1].quit() == 0


def fill(text, place):
    return text.replace("{S}", str(place))


def assert_goes_on(app):
    """The other device is there, alone, and answers."""
    assert "Number of available ports: 1" in app.cmd("show port summary all")
    assert app.port_info(0)["Device name"] == "net_null0"


@pytest.mark.parametrize("name", CASES)
def test_bad_devarg_is_one_line_trouble_142(applications, place, name):
    """Attached to a running application."""
    devargs, _, parts = CASES[name]
    app = applications()
    mark, files = app.mark(), app.open_fds()
    assert "Failed to attach port" in app.cmd(f"port attach {PORT},{fill(devargs, place)}".rstrip(","))
    messages.assert_one(app.log_since(mark), PORT, *(fill(p, place) for p in parts))
    assert_goes_on(app)
    assert app.open_fds() == files


@pytest.mark.parametrize("name", AT_START)
def test_bad_devarg_at_start_is_one_line_trouble_142(driver, place, name):
    """Given on the command line of an application that has another device too."""
    devargs, _, parts = CASES[name]
    eal = Eal(no_huge(64).args, (f"{PORT},{fill(devargs, place)}", "net_null0"), plugin=driver.plugin)
    with TestPmd("app", place, eal) as app:
        messages.assert_one(app.log, PORT, *(fill(p, place) for p in parts))
        assert_goes_on(app)


def test_bad_devargs_give_their_errno_and_leak_nothing(driver, place):
    """Hot-plugged three times in one process: open files and heap afterwards are what they were before."""
    with Hotplug(place, driver.plugin, no_huge(64)) as process:
        def one_round():
            return {name: process.add(PORT, fill(devargs, place)) for name, (devargs, _, _) in CASES.items()}

        one_round()  # what EAL itself keeps after a first failure
        before = process.usage()
        expected = {name: -code for name, (_, code, _) in CASES.items()}
        assert [one_round() for _ in range(3)] == [expected] * 3
        assert process.usage() == before
