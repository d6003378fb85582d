"""Results read back: means over seeds of whatever was measured."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.lines import read_lines
from benchmarks.peers.roster import PEERS

BEHIND = 0.02
"""Psi is behind where another method has more than this much higher average precision."""
PSI = PEERS[0].name
Place = tuple[str, ...]


@dataclass(frozen=True)
class Results:
    """Lines of a file of results."""

    lines: Sequence[dict[str, str]]

    @classmethod
    def of(cls, out: Path) -> Results:
        """Those of a file; of lines that say the same of one method and task the last counts."""
        last = {tuple(line[name] for name in _TASK): line for line in read_lines(out)}
        return cls(tuple(last.values()))

    @classmethod
    def of_speed(cls, speed: Path) -> Results:
        """Those of a file of speeds."""
        return cls(tuple(read_lines(speed)))

    def where(self, **values: str) -> Results:
        """The lines with these values."""
        return Results([line for line in self.lines if all(line[name] == value for name, value in values.items())])

    def values(self, name: str) -> list[str]:
        """What occurs in a column, in the order of its first lines."""
        return list(dict.fromkeys(line[name] for line in self.lines))

    @property
    def methods(self) -> list[str]:
        """Methods that were measured at least once, in the order of the roster."""
        measured = {line["method"] for line in self.lines if not line["reason"]}
        return [peer.name for peer in PEERS if peer.name in measured]

    def means(self, measure: str, by: Iterable[str]) -> dict[Place, float]:
        """Means of a measure over all lines that agree in these columns; lines without the measure do not count."""
        names = tuple(by)
        found: dict[Place, list[float]] = defaultdict(list)
        for line in self.lines:
            if line[measure]:
                found[tuple(line[name] for name in names)].append(float(line[measure]))
        return {place: float(np.mean(each)) for place, each in found.items()}


_TASK = ("data", "learner", "noise", "test", "wrong_test", "seed", "method")
