"""Two runs compared: their inputs, verdicts, suspects and effects."""

from __future__ import annotations

from dataclasses import dataclass

from psidebug.findings.effects import counted
from psidebug.store.run import Run

DEFAULT_TOP = 100
"""Suspects compared where neither run corrects any."""


@dataclass(frozen=True)
class Effect:
    """Error rates before and after the correction of one run; None where there is no correction, or no such rows."""

    corrected: int
    test_before: float | None = None
    test_after: float | None = None
    validation_before: float | None = None
    validation_after: float | None = None


@dataclass(frozen=True)
class Comparison:
    """What is the same in two runs and what is not, as plain data."""

    same: dict[str, bool]
    """Of each part of the fingerprint: train, test, rows, learner."""
    verdicts: tuple[str, str]
    effects: tuple[Effect, Effect]
    top: int
    """Number of first suspects compared."""
    shared: int
    """How many of them are suspects in both runs."""
    overlap: float
    """Jaccard's index of the two lists: shared / (all rows in either); 1 if both are empty."""
    settings: dict[str, tuple[str | None, str | None]]
    """Settings that differ, with both values."""

    @property
    def same_inputs(self) -> bool:
        """Whether data and learner are the same."""
        return all(self.same.values())

    def __str__(self) -> str:
        other = [name for name, same in self.same.items() if not same]
        inputs = "The inputs are the same" if not other else f"The inputs differ in: {', '.join(other)}"
        verdict = "the verdict is the same" if self.verdicts[0] == self.verdicts[1] else "the verdicts differ"
        are = "is" if self.shared == 1 else "are"
        lines = [
            f"{inputs}; {verdict}.",
            f"Of the first {counted(self.top, 'suspect')} {self.shared} {are} in both (overlap {self.overlap:.2f}).",
        ]
        told = [f"{_told(effect)}. {verdict}" for verdict, effect in zip(self.verdicts, self.effects, strict=True)]
        if told[0] == told[1]:
            return "\n".join([*lines, f"both: {told[0]}"])
        return "\n".join([*lines, f"first: {told[0]}", f"second: {told[1]}"])


def compare(run: Run, other: Run, *, top: int | None = None) -> Comparison:
    """The two runs side by side; ``top`` is how many suspects to compare, by default as many as are corrected."""
    count = max(run.corrected, other.corrected) or DEFAULT_TOP if top is None else top
    first, second = ({*each.findings.labels.rows[each.order[:count]].tolist()} for each in (run, other))
    either = len(first | second)
    settings = {*run.settings, *other.settings}
    pairs = {name: (run.settings.get(name), other.settings.get(name)) for name in sorted(settings)}
    mine, theirs = (each.findings.origin.fingerprint for each in (run, other))
    return Comparison(
        same={name: mine.get(name) == theirs.get(name) for name in sorted({*mine, *theirs})},
        verdicts=(run.verdict, other.verdict),
        effects=(_effect(run), _effect(other)),
        top=count,
        shared=len(first & second),
        overlap=len(first & second) / either if either else 1.0,
        settings={name: pair for name, pair in pairs.items() if pair[0] != pair[1]},
    )


def _effect(run: Run) -> Effect:
    if run.correction is None:
        return Effect(0)
    return Effect(run.corrected, **run.correction.verified.rates)


def _told(effect: Effect) -> str:
    if effect.test_before is None:
        return "no correction"
    told = (
        f"{counted(effect.corrected, 'label')} corrected, test error {effect.test_before:.3f} → {effect.test_after:.3f}"
    )
    if effect.validation_before is None:
        return told
    return f"{told}, validation error {effect.validation_before:.3f} → {effect.validation_after:.3f}"
