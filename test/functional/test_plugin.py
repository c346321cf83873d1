"""Loading the plug-in with -d: what EAL accepts and what it says otherwise."""

import re
import shutil

import pytest

from bench.memory import no_huge
from bench.testpmd import Eal, Ended, TestPmd

pytestmark = pytest.mark.fit("is not a plug-in of its own")

PORT = "net_virtio_fit0"
MISSING = f"{PORT}: devarg path: missing"  # the driver is there and speaks


def load(work, plugin):
    return TestPmd("app", work, Eal(no_huge(64).args, (PORT, "net_null0"), plugin=plugin))


@pytest.fixture
def folder(driver, request):
    """A folder next to the plug-in, which EAL trusts if it trusts the plug-in's own."""
    path = driver.plugin.parent / f"functional-{request.node.name}"
    path.mkdir()
    yield path
    shutil.rmtree(path)


def test_world_writable_folder_is_refused_by_eal(driver, work):
    """The trap of the guide: a copy under a folder that all may write, such as /tmp."""
    work.chmod(0o777)
    copy = work / driver.plugin.name
    shutil.copy(driver.plugin, copy)
    with pytest.raises(Ended) as ended:
        load(work, copy).start()
    assert ended.value.code == 1
    log = (work / "app.log").read_text()
    assert re.search(rf"directory path ({work}|{work.parent}) is world-writable and insecure", log)
    assert MISSING not in log


def test_missing_plugin_is_refused_by_eal(work):
    with pytest.raises(Ended) as ended:
        load(work, work / "librte_net_virtio_fit.so").start()
    assert ended.value.code == 1
    assert "librte_net_virtio_fit.so" in (work / "app.log").read_text()


def test_plugin_by_link_trouble_149(driver, folder, work):
    link = folder / "fit.so"
    link.symlink_to(driver.plugin)
    with load(work, link) as app:
        assert app.log.count(MISSING) == 1


def test_plugin_by_folder_trouble_149(driver, folder, work):
    shutil.copy(driver.plugin, folder)
    with load(work, folder) as app:
        assert app.log.count(MISSING) == 1


def test_plugin_twice_is_one_driver_trouble_149(driver, work):
    """Named twice, it registers once and the device is probed once."""
    eal = Eal(no_huge(64).args, (PORT, "net_null0"), plugin=driver.plugin, extra=("-d", str(driver.plugin)))
    with TestPmd("app", work, eal) as app:
        assert app.log.count(MISSING) == 1
