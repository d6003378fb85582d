"""Results read back: means over seeds of whatever was measured."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.lines import read_lines
from benchmarks.real.measures import BINS, Bin, won_back
from benchmarks.real.roster import PSI, RIVALS

BEHIND = 0.02
"""Goal: average precision at most this far behind the first."""
THIRD = 1 / 3
"""Goal: a stated rate at most this share of the true rate away from it."""
WORSE = 0.005
"""Goal: an error at most this far above that of the judge, and never above that of the labels as given."""


@dataclass(frozen=True)
class Results:
    """Lines of a file of results; of lines about the same task, seed and method the last counts."""

    lines: Sequence[dict[str, str]]

    @classmethod
    def of(cls, out: Path) -> Results:
        """Those of a file."""
        last = {(line["task"], line["seed"], line["method"]): line for line in read_lines(out)}
        return cls(tuple(last.values()))

    def means(self, measure: str) -> dict[tuple[str, str], float]:
        """Means over seeds by (task, method); lines without the measure do not count."""
        found: dict[tuple[str, str], list[float]] = defaultdict(list)
        for line in self.lines:
            if line[measure]:
                found[line["task"], line["method"]].append(float(line[measure]))
        return {place: float(np.mean(values)) for place, values in found.items()}

    def tasks(self, among: Sequence[str]) -> list[str]:
        """Those of these tasks on which Psi was measured."""
        measured = {line["task"] for line in self.lines if line["method"] == PSI and not line["reason"]}
        return [name for name in among if name in measured]

    @property
    def methods(self) -> list[str]:
        """Methods that were measured, in the order of the roster."""
        measured = {line["method"] for line in self.lines if not line["reason"]}
        return [rival.name for rival in RIVALS if rival.name in measured]

    def won_back(self, measure: str = "after") -> dict[tuple[str, str], float]:
        """(given - after) / (given - clean) of the mean errors, where wrong labels have cost something."""
        clean, given, after = (self.means(name) for name in ("clean", "given", measure))
        shares = {place: won_back(clean[place], given[place], after[place]) for place in after}
        return {place: share for place, share in shares.items() if share is not None}


def curves(path: Path, tasks: Sequence[str]) -> Mapping[str, Mapping[int, Bin]]:
    """The reliability curve of every method, all rows of these tasks and of all seeds together."""
    last: dict[tuple[str, str, str], dict[int, Bin]] = {}
    for line in read_lines(path):
        if line["task"] in tasks:
            bins = last.setdefault((line["task"], line["seed"], line["method"]), {})
            bins[int(line["bin"])] = Bin(int(line["rows"]), float(line["stated"]), float(line["wrong"]))
    found: dict[str, dict[int, Bin]] = {}
    for method in dict.fromkeys(method for _, _, method in last):
        parts = [bins for (_, _, name), bins in last.items() if name == method]
        for number in range(BINS):
            some = [bins[number] for bins in parts if number in bins]
            rows = sum(each.rows for each in some)
            if rows:
                stated, wrong = (
                    sum(each.rows * value for each, value in zip(some, values, strict=True)) / rows
                    for values in ([each.stated for each in some], [each.wrong for each in some])
                )
                found.setdefault(method, {})[number] = Bin(rows, stated, wrong)
    return found
