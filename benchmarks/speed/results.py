"""Lines of speed read back: seconds, ratios, growth with the number of rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.lines import read
from benchmarks.peers.roster import named
from benchmarks.speed.cases import Case
from benchmarks.speed.methods import METHODS, RIVALS
from benchmarks.speed.run import TASK

GROWTH_FROM = 10_000
"""Rows from which growth is measured: below, fixed costs hide it."""
Line = Mapping[str, Any]


@dataclass(frozen=True)
class Results:
    """What was measured, by case and method; of two lines about the same the last counts."""

    lines: Mapping[tuple[Case, str], Line]

    @classmethod
    def of(cls, out: Path) -> Results:
        """The lines of a file."""
        found = {}
        for line in read(out):
            learner, rows, columns, classes, method = (line[name] for name in TASK)
            found[Case(learner, rows, str(columns), classes), method] = line  # type: ignore[arg-type]
        return cls(found)

    @property
    def cases(self) -> list[Case]:
        """In the order of their first lines."""
        return list(dict.fromkeys(case for case, _ in self.lines))

    @property
    def methods(self) -> list[str]:
        """Those with a line, in the order of the run."""
        return [method.name for method in METHODS if any(name == method.name for _, name in self.lines)]

    def value(self, case: Case, method: str, measure: str = "processor_seconds") -> float | None:
        """A measure; None where it was not measured."""
        value = self.lines.get((case, method), {}).get(measure)
        return None if value is None else float(value)

    def ratio(self, case: Case, method: str, other: str) -> float | None:
        """Processor time of a method as a multiple of another's."""
        return divided(self.value(case, method), self.value(case, other))

    def rows_per_second(self, case: Case, method: str) -> float | None:
        """Training rows by processor second."""
        return divided(float(case.rows), self.value(case, method))

    def memory_ratio(self, case: Case, method: str) -> float | None:
        """Peak memory above the loaded data, as a multiple of the training data."""
        return divided(self.value(case, method, "memory_mb"), self.value(case, method, "data_mb"))

    def growth(self, learner: str, method: str) -> float | None:
        """Slope of log time on log rows from 10,000 rows on, 20 columns and two classes; None for one size."""
        usual = [case for case in self.cases if case.usual and case.learner == learner and case.rows >= GROWTH_FROM]
        found = [(case.rows, spent) for case in usual if (spent := self.value(case, method))]
        if len(found) < 2:
            return None
        x, y = np.log(np.array(found)).T
        return float(np.polyfit(x, y, 1)[0])

    def fastest_rival(self, case: Case) -> tuple[str, float] | None:
        """The rival that uses test points and takes the fewest seconds, and its rows per second."""
        found = {
            name: rate
            for name in RIVALS
            if named(name).uses_test and (rate := self.rows_per_second(case, name)) is not None
        }
        best = max(found, key=found.__getitem__, default=None)
        return None if best is None else (best, found[best])


def divided(value: float | None, by: float | None) -> float | None:
    """A ratio; None where there is nothing to divide."""
    return None if value is None or not by or math.isnan(by) else value / by
