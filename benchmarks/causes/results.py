"""Results read back: which runs name the right cause, which change labels that are right."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.causes.harness import KEY
from benchmarks.causes.rivals import RIVALS
from benchmarks.lines import read_lines

MUCH = 0.01
"""Share of the training rows whose right labels are changed that is too much."""


@dataclass(frozen=True)
class Run:
    """A line of the results."""

    line: dict[str, str]

    def __getitem__(self, name: str) -> str:
        return self.line[name]

    @property
    def expected(self) -> list[tuple[str, str]]:
        """Causes that were planted, each with its column, or "a|b" where either will do."""
        causes = self["expected"].split("+")
        columns = self["expected_column"].split("+") if len(causes) > 1 else [self["expected_column"]]
        return list(zip(causes, columns, strict=True))

    @property
    def named(self) -> list[tuple[str, str]]:
        """Causes that were named, first the one with most evidence, each with its column."""
        parts = [each.rsplit(" ", 1)[0].partition(":") for each in self["all"].split("; ")]
        return [(cause, column) for cause, _, column in parts]

    @property
    def first(self) -> bool:
        """Whether the right cause is named first, or one of the two."""
        return self.named[0][0] in [cause for cause, _ in self.expected]

    @property
    def right(self) -> bool:
        """Whether that is so, and its column is right where it has one."""
        return any(_same(self.named[0], each) for each in self.expected)

    @property
    def all_named(self) -> bool:
        """Whether all that was planted is named somewhere, with the right columns."""
        return all(any(_same(one, each) for one in self.named) for each in self.expected)

    @property
    def mentioned(self) -> bool:
        """Whether all that was planted is named somewhere, whatever its column."""
        return {cause for cause, _ in self.expected} <= {cause for cause, _ in self.named}

    @property
    def others(self) -> int:
        """Causes that are named and were not planted."""
        planted = [cause for cause, _ in self.expected]
        return sum(cause not in (*planted, "none") for cause, _ in self.named)

    @property
    def harm(self) -> float:
        """Share of the training rows whose label was right and is changed."""
        return int(self["changed_right"]) / int(self["rows"])

    @property
    def of_labels(self) -> bool:
        """Whether training labels are a cause."""
        return "training_labels" in [cause for cause, _ in self.expected]

    @property
    def worse(self) -> bool:
        """Whether the labels that Psi proposes raise the error on validation rows beyond chance."""
        return self["worse"] == "1"

    def __str__(self) -> str:
        more = ", with validation rows" if self["validation"] == "1" else ""
        return f"{self['plant']}, {self['table']}, seed {self['seed']}, {self['learner']}{more}"


def _same(named: tuple[str, str], planted: tuple[str, str]) -> bool:
    return named[0] == planted[0] and (not planted[1] or named[1] in planted[1].split("|"))


LOOKED_AT = frozenset({"0", "1", "2", "30"})
"""Seeds whose misses were looked at and mended; the first is that of other tools."""


@dataclass(frozen=True)
class Runs:
    """Runs that were measured, and the reasons of those that were not."""

    runs: Sequence[Run]
    failed: Sequence[dict[str, str]] = ()

    @classmethod
    def of(cls, path: Path) -> Runs:
        """Those of a file; of lines about the same run the last counts."""
        lines = {tuple(line[name] for name in KEY[:-1]): line for line in read_lines(path)}.values()
        return cls([Run(line) for line in lines if not line["reason"]], [line for line in lines if line["reason"]])

    def some(self, kept: Callable[[Run], bool]) -> Runs:
        """Those for which this holds."""
        return Runs([each for each in self.runs if kept(each)])

    def where(self, **fields: str) -> Runs:
        """Those whose lines have these values."""
        return self.some(lambda each: all(each[name] == value for name, value in fields.items()))

    def of_plants(self, plants: Iterable[str]) -> Runs:
        """Those of some plants."""
        names = set(plants)
        return self.some(lambda each: each["plant"] in names)

    @property
    def fresh(self) -> Runs:
        """Those of seeds that nobody looked at while Psi was mended, if there are some; else all."""
        own = [each for each in self.runs if each["seed"] not in LOOKED_AT]
        failed = [each for each in self.failed if each["seed"] not in LOOKED_AT]
        return Runs(own, failed) if own else self

    def __len__(self) -> int:
        return len(self.runs)

    def count(self, holds: Callable[[Run], bool]) -> str:
        """For how many it holds, "n of m"; a dash if there are none."""
        return f"{sum(map(holds, self.runs))} of {len(self)}" if self.runs else "–"

    @property
    def extent(self) -> str:
        """How many there are, of which seeds and of which Psi, as sentences."""
        seeds = {kept: sorted({each["seed"] for each in self.runs if each["validation"] == kept}) for kept in "01"}
        commits = sorted({each["commit"] for each in self.runs if each["commit"]})
        told = f"Here: {len(self)} runs, of seeds {' and '.join(seeds['0'])}"
        told += f"; with validation rows, seed {' and '.join(seeds['1'])}." if seeds["1"] else "."
        later = f" They are of Psi as of commit {' and '.join(commits)}; a later one may answer otherwise."
        return told + later if commits else told

    def numbers(self, name: str) -> list[float]:
        """A measure of those runs that have it."""
        return [float(each[name]) for each in self.runs if each[name]]


@dataclass(frozen=True)
class Raised:
    """What a tool raised of a task, and of the same table with nothing planted."""

    line: dict[str, str]
    clean: frozenset[str]

    @property
    def all(self) -> frozenset[str]:
        """Issues."""
        return frozenset(each for each in self.line["raised"].split("; ") if each)

    def _hits(self) -> set[str]:
        mapped = next(each.causes for each in RIVALS if each.name == self.line["tool"])
        return {each for each in self.all if self.line["expected"] in mapped.get(each, ())}

    @property
    def named(self) -> bool:
        """Whether one of them stands for the cause; with nothing planted, whether there is none."""
        return not self.all if self.line["expected"] == "none" else bool(self._hits())

    @property
    def told_apart(self) -> bool:
        """Whether that one is not raised with nothing planted, too."""
        return not self.all if self.line["expected"] == "none" else bool(self._hits() - self.clean)

    @property
    def others(self) -> int:
        """Issues that do not stand for the cause."""
        return len(self.all - self._hits())


def raised_by(tool: str, path: Path) -> list[Raised]:
    """All tasks on which a tool was measured and did not fail."""
    lines = [line for line in read_lines(path) if line["tool"] == tool and not line["reason"]]
    clean = {
        (line["table"], line["seed"], line["learner"]): Raised(line, frozenset()).all
        for line in lines
        if line["plant"] == "nothing"
    }
    return [Raised(line, clean.get((line["table"], line["seed"], line["learner"]), frozenset())) for line in lines]


def failures_of(tool: str, path: Path) -> list[dict[str, str]]:
    """Lines of a tool with a reason."""
    return [line for line in read_lines(path) if line["tool"] == tool and line["reason"]]
