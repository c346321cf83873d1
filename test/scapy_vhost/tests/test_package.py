"""What an installed package has with it."""

import tomllib
from pathlib import Path

import scapy_vhost

FOLDER = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((FOLDER / "pyproject.toml").read_text())


def test_the_licence_that_is_named_lies_beside_it():
    name, = PROJECT["tool"]["setuptools"]["license-files"]
    text = (FOLDER / name).read_text()
    assert PROJECT["project"]["license"] == {"text": "BSD-3-Clause"}
    assert text.startswith("BSD 3-Clause License\n") and "3. Neither the name" in text
    repository = FOLDER.parents[1] / "LICENSE"
    assert not repository.exists() or repository.read_text() == text


def test_all_that_is_exported_is_there():
    assert [name for name in scapy_vhost.__all__ if not hasattr(scapy_vhost, name)] == []
    assert sorted(scapy_vhost.__all__, key=str.lower) == sorted(set(scapy_vhost.__all__), key=str.lower)
