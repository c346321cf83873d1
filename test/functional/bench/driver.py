"""The driver under test: net_virtio_fit, or DPDK's own net_virtio_user to validate the bench."""

import os
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]
DEFAULT_PLUGIN = REPOSITORY / "build/drivers/net/virtio_fit/librte_net_virtio_fit.so"
PLUGIN_VARIABLE = "FIT_PLUGIN"


@dataclass(frozen=True)
class Driver:
    """`stem` is the vdev name without its number. Only net_virtio_fit has size classes and their counters."""

    stem: str
    plugin: Path = None

    @property
    def is_fit(self):
        return self.stem == "net_virtio_fit"

    def vdev(self, path, number=0, **devargs):
        """A --vdev argument; `path` None leaves the devarg out."""
        parts = [f"{self.stem}{number}"]
        if path is not None:
            parts.append(f"path={path}")
        return ",".join(parts + [f"{k}={v}" for k, v in devargs.items()])


def find(name, plugin=None):
    """The driver called `name` on the command line. Raises FileNotFoundError when its plug-in is missing."""
    if name == "virtio_user":
        return Driver("net_virtio_user")
    path = Path(plugin or os.environ.get(PLUGIN_VARIABLE) or DEFAULT_PLUGIN).resolve()
    if not path.is_file():
        raise FileNotFoundError(f"plug-in {path} does not exist; build it (meson setup build && meson compile "
                                f"-C build), or pass --plugin=PATH or {PLUGIN_VARIABLE}=PATH, or test DPDK's own "
                                f"driver with --driver=virtio_user")
    return Driver("net_virtio_fit", path)
