"""From the windows of devtools/bench to its table."""

import statistics
from dataclasses import asdict, dataclass

import table


@dataclass(frozen=True)
class Spread:
    median: float
    least: float
    most: float

    @classmethod
    def of(cls, values):
        return cls(statistics.median(values), min(values), max(values))

    def text(self, digits, scale=1.0):
        return (f"{self.median / scale:.{digits}f} "
                f"[{self.least / scale:.{digits}f}..{self.most / scale:.{digits}f}]")


@dataclass(frozen=True)
class Figures:
    """One contestant under one load. Ratios are those of the first contestant's windows to this
    one's of the same round, because the machine changes meanwhile."""

    rate: Spread  # packets per second
    gbit: float  # per second, of frames without CRC and preamble
    cycles: Spread  # per packet
    first_rate: Spread  # rate of the first contestant over this one
    first_cycles: Spread  # cycles of the first contestant over this one

    @classmethod
    def of(cls, frame, own, first):
        """`own` and `first`: windows of this and of the first contestant, round by round."""
        rate = Spread.of([w.rate for w in own])
        return cls(rate, rate.median * frame * 8 / 1e9, Spread.of([w.cycles for w in own]),
                   Spread.of([f.rate / w.rate for f, w in zip(first, own)]),
                   Spread.of([f.cycles / w.cycles for f, w in zip(first, own)]))


def rows(load, results):
    """`results`: {contestant name: [Window, ...]}; the others are compared with the first."""
    names = list(results)
    out = []
    for name in names:
        f = Figures.of(load.frame, results[name], results[names[0]])
        versus = ["", ""]
        if name != names[0]:
            versus = [f.first_rate.text(2), f.first_cycles.text(2)]
        out.append([load.name, name, f.rate.text(2, 1e6), f"{f.gbit:.1f}", f.cycles.text(0),
                    *versus])
    return out


def text(measured):
    """`measured`: [(load, results)]."""
    head = ["load", "driver", "Mpps", "Gbit/s", "cycles/packet", "fit's rate / its",
            "fit's cycles / its"]
    body = [row for load, results in measured for row in rows(load, results)]
    return table.render([head, *body], left=2)


def as_json(measured):
    return [{"load": load.name, "frame": load.frame, "driver": name,
             "figures": asdict(Figures.of(load.frame, windows, next(iter(results.values())))),
             "windows": [asdict(w) for w in windows]}
            for load, results in measured for name, windows in results.items()]
