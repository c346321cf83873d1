"""check-deps on small trees: every allowed edge passes, every other one is named."""

import subprocess

import pytest

LAYERS = ["base", "sizing", "virtq", "virtio", "transport", "net"]
# The edges of doc/design.md section 2, written out once more so that the script's table is checked.
EDGES = {
    ("sizing", "base"), ("virtq", "base"),
    ("virtio", "virtq"), ("virtio", "base"),
    ("transport", "virtio"), ("transport", "base"),
    ("net", "virtq"), ("net", "virtio"), ("net", "sizing"), ("net", "base"),
}


def check(devtools, root):
    command = [devtools / "check-deps", root]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.stderr == ""
    return done.returncode, done.stdout.splitlines()


def one_include(devtools, tree, path, include, others=()):
    files = {other: "#pragma once\n" for other in others}
    files[path] = f"#pragma once\n#include {include}\n"
    return check(devtools, tree(files))


@pytest.mark.parametrize("user", LAYERS)
def test_edges_between_library_layers(devtools, tree, user):
    others = [layer for layer in LAYERS if layer != user]
    files = {f"lib/{used}/b.hpp": "\n" for used in others}
    files[f"lib/{user}/a.hpp"] = "".join(f'#include "{used}/b.hpp"\n' for used in others)
    may = ", ".join(sorted(f"lib/{to}" for frm, to in EDGES if frm == user)) or "no other layer"
    expected = [
        f"lib/{user}/a.hpp:{line}: lib/{user} may not include {used}/b.hpp of lib/{used}; "
        f"it may include {may}"
        for line, used in enumerate(others, 1) if (user, used) not in EDGES
    ]
    assert check(devtools, tree(files)) == (
        1 if expected else 0, expected + [f"6 files checked, {len(expected)} errors"])


def test_a_layer_includes_itself_by_short_and_by_full_name(devtools, tree):
    root = tree({
        "lib/virtq/a.hpp": '#include "b.hpp"\n#include "virtq/b.hpp"\n',
        "lib/virtq/b.hpp": "\n",
    })
    assert check(devtools, root) == (0, ["2 files checked, 0 errors"])


def test_drivers_include_every_library_layer(devtools, tree):
    files = {f"lib/{used}/b.hpp": "\n" for used in LAYERS}
    files["drivers/net/virtio_fit/a.cpp"] = "".join(f'#include "{used}/b.hpp"\n' for used in LAYERS)
    assert check(devtools, tree(files)) == (0, ["7 files checked, 0 errors"])


@pytest.mark.parametrize("path, target", [
    ("app/fit-testpmd/a.cpp", "lib/base/b.hpp"),
    ("app/fit-testpmd/a.cpp", "drivers/net/virtio_fit/port.hpp"),
    ("test/fake/a.cpp", "lib/virtq/b.hpp"),
    ("lib/net/a.cpp", "drivers/net/virtio_fit/port.hpp"),
    ("lib/base/a.cpp", "test/fake/b.hpp"),
])
def test_other_forbidden_edges(devtools, tree, path, target):
    name = target.removeprefix("lib/").removeprefix("drivers/net/virtio_fit/").removeprefix("test/")
    status, lines = one_include(devtools, tree, path, f'"{name}"', [target])
    assert status == 1
    assert lines[0].startswith(f"{path}:2: ")
    assert f"may not include {name} of " in lines[0]


def test_fake_includes_base(devtools, tree):
    status, _ = one_include(devtools, tree, "test/fake/a.cpp", '"base/b.hpp"', ["lib/base/b.hpp"])
    assert status == 0


@pytest.mark.parametrize("path, allowed", [
    ("lib/base/a.hpp", False), ("lib/sizing/a.hpp", False), ("lib/virtq/a.hpp", False),
    ("lib/virtio/a.hpp", False), ("lib/transport/a.hpp", False), ("test/fake/a.hpp", False),
    ("lib/net/a.hpp", True), ("drivers/net/virtio_fit/a.hpp", True),
    ("app/fit-testpmd/a.hpp", True),
])
def test_rte_headers_stay_out_of_the_layers_below_net(devtools, tree, path, allowed):
    status, lines = one_include(devtools, tree, path, "<rte_mbuf.h>")
    assert status == (0 if allowed else 1)
    if not allowed:
        layer = path.rsplit("/", 1)[0]
        assert lines[0] == (f"{path}:2: {layer} may not include DPDK's rte_mbuf.h; "
                            "lib/net, drivers/ and app/ may")


@pytest.mark.parametrize("path, allowed", [
    ("drivers/net/virtio_fit/a.cpp", True), ("lib/net/a.cpp", False),
    ("app/fit-testpmd/a.cpp", False), ("test/unit/a.cpp", False),
])
def test_driver_sdk_headers_only_in_drivers(devtools, tree, path, allowed):
    headers = ["ethdev_driver.h", "ethdev_vdev.h", "ethdev_pci.h", "bus_vdev_driver.h",
               "bus_pci_driver.h", "dev_driver.h", "bus_driver.h", "vdpa_driver.h",
               "rte_flow_driver.h"]
    root = tree({path: "".join(f"#include <{header}>\n" for header in headers)})
    expected = [] if allowed else [
        f"{path}:{line}: {header} is for drivers/ only" for line, header in enumerate(headers, 1)
    ]
    assert check(devtools, root) == (
        0 if allowed else 1, expected + [f"1 files checked, {len(expected)} errors"])


def test_system_headers_are_nobodys_layer(devtools, tree):
    status, _ = one_include(devtools, tree, "lib/base/a.cpp", "<net/if.h>", ["lib/net/other.hpp"])
    assert status == 0


def test_unknown_library_folder(devtools, tree):
    root = tree({"lib/extra/a.hpp": "\n"})
    assert check(devtools, root) == (1, [
        "lib/extra/a.hpp:1: lib/extra is no layer of doc/design.md section 2",
        "1 files checked, 1 errors",
    ])


@pytest.mark.parametrize("count, status, finding", [
    (300, 0, []),
    (301, 0, ["lib/base/a.hpp:301: warning: 301 lines; the budget is 300"]),
    (450, 0, ["lib/base/a.hpp:450: warning: 450 lines; the budget is 300"]),
    (451, 1, ["lib/base/a.hpp:451: 451 lines; a file has at most 450"]),
])
def test_length_budget(devtools, tree, count, status, finding):
    root = tree({"lib/base/a.hpp": "// line\n" * count})
    assert check(devtools, root) == (status, finding + [f"1 files checked, {status} errors"])


def test_an_empty_tree_is_an_error(devtools, tree):
    status, lines = check(devtools, tree({}))
    assert status == 1
    assert lines[0] == "0 files checked, 0 errors"
