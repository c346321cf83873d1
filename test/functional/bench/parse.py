"""Readers of what testpmd prints: `show port stats|xstats|info`, `show rxq info`, `dump_mempool`."""

import re
from dataclasses import dataclass


def pairs(text):
    """Lines `key: value` (indented or not) as a dict of strings; a later line wins."""
    out = {}
    for line in text.splitlines():
        key, colon, value = line.partition(":")
        if colon and key.strip():
            out[key.strip()] = value.strip()
    return out


def port_stats(text):
    """`show port stats N` as a dict of integers: RX-packets, RX-missed, RX-bytes, RX-errors, RX-nombuf, TX-..."""
    names = "RX-packets|RX-missed|RX-bytes|RX-errors|RX-nombuf|TX-packets|TX-errors|TX-bytes"
    found = {k: int(v) for k, v in re.findall(rf"({names}):\s+(\d+)", text)}
    if len(found) != 8:
        raise AssertionError(f"no port statistics in:\n{text}")
    return found


def xstats(text):
    """`show port xstats N` as a dict of integers; a name given twice is an error of the driver."""
    found = re.findall(r"^(\w+): (\d+)\s*$", text, re.MULTILINE)
    if not found:
        raise AssertionError(f"no extended statistics in:\n{text}")
    out = {}
    for name, value in found:
        if name in out:
            raise AssertionError(f"extended statistic {name} is listed twice")
        out[name] = int(value)
    return out


@dataclass(frozen=True)
class Mempool:
    """Counts of one mempool: mbufs that exist, that lie in the common pool, and in the per-lcore caches; bytes of
    memory that each occupies."""

    size: int
    common: int
    cached: int
    object_size: int

    @property
    def in_use(self):
        return self.size - self.common - self.cached


def mempool(text):
    """`dump_mempool NAME`."""

    def number(key):
        hit = re.search(rf"^\s*{key}=(\d+)\s*$", text, re.MULTILINE)
        if hit is None:
            raise AssertionError(f"no {key} in:\n{text}")
        return int(hit.group(1))

    return Mempool(number("populated_size"), number("common_pool_count"), number("total_cache_count"),
                   number("total_obj_size"))
