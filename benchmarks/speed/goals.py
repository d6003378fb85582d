"""The goals of speed, each beside what was measured."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.speed.cases import MIDDLE, Case
from benchmarks.speed.methods import FIT, FOLDS, LEARNER_WORDS, psi_name
from benchmarks.speed.results import Results, divided

RANK, DECIDE = psi_name("rank"), psi_name("decide")
BOOSTED_IN_FOLDS, LOGISTIC_IN_FOLDS = 1.5, 4.0
SHORT_FOLDS, SHORT_DECISION = 0.5, 2.0
"""Where five folds of logistic regression take less than the one (seconds), a decision may take the other."""
LARGEST = Case("logistic", 1_000_000)
LARGEST_IN_FITS, LARGEST_MEMORY = 15.0, 3.0
RANK_IN_FITS = 1.5
GROWTH = 1.0
BOOSTED_FITS = 8


@dataclass(frozen=True)
class Goal:
    """One goal: what, where, the most that is allowed, and what was measured."""

    what: str
    where: str
    most: float
    measured: float | None
    note: str = ""

    @property
    def met(self) -> bool | None:
        """None where it was not measured."""
        return None if self.measured is None else self.measured <= self.most

    @property
    def words(self) -> str:
        """Met, missed or not measured."""
        return {True: "met", False: "**missed**", None: "not measured"}[self.met]


def goals(results: Results) -> list[Goal]:
    """All of them, in the order of the page."""
    return [
        *_decisions(results),
        *_largest(results),
        *_ranks(results),
        *_beside_rivals(results),
        *_growth(results),
        *_fits(results),
    ]


def _decisions(results: Results) -> Iterator[Goal]:
    for form in ("20", "curved"):
        for case in (Case("boosting", rows, form) for rows in MIDDLE):
            yield Goal(
                "decision ÷ five folds", case_words(case), BOOSTED_IN_FOLDS, results.ratio(case, DECIDE, FOLDS),
            )  # fmt: skip
    for rows in (*MIDDLE, 200_000):
        case = Case("logistic", rows)
        folds = results.value(case, FOLDS)
        if folds is not None and folds < SHORT_FOLDS:
            note = f"five folds take {folds:.2f} s"
            yield Goal("decision, seconds", case_words(case), SHORT_DECISION, results.value(case, DECIDE), note)
        else:
            yield Goal("decision ÷ five folds", case_words(case), LOGISTIC_IN_FOLDS, results.ratio(case, DECIDE, FOLDS))


def _largest(results: Results) -> Iterator[Goal]:
    yield Goal("decision ÷ one fit", case_words(LARGEST), LARGEST_IN_FITS, results.ratio(LARGEST, DECIDE, FIT))
    memory = results.memory_ratio(LARGEST, DECIDE)
    yield Goal("extra memory of a decision ÷ data", case_words(LARGEST), LARGEST_MEMORY, memory)


def _ranks(results: Results) -> Iterator[Goal]:
    """In the worst of all cases."""
    for other, most in ((FIT, RANK_IN_FITS), (FOLDS, 1.0)):
        found = {case: ratio for case in results.cases if (ratio := results.ratio(case, RANK, other)) is not None}
        worst = max(found, key=found.__getitem__, default=None)
        note = "" if worst is None else f"the worst of {len(found)}: {case_words(worst)}"
        yield Goal(f"ranking ÷ {other}", "all cases", most, None if worst is None else found[worst], note)


def _beside_rivals(results: Results) -> Iterator[Goal]:
    """Rivals rank, and decide nothing: a ranking is what compares with them."""
    for method, what in ((RANK, "a ranking"), (DECIDE, "a decision")):
        for rows in MIDDLE:
            for learner in LEARNER_WORDS:
                case = Case(learner, rows)  # type: ignore[arg-type]
                rate, rival = results.rows_per_second(case, method), results.fastest_rival(case)
                note = f"{rate:,.0f} rows per second; {rival[0]}: {rival[1]:,.0f}" if rate and rival else ""
                behind = divided(rival[1] if rival else None, rate)
                name = f"time of {what} ÷ the fastest rival with test points"
                yield Goal(name, case_words(case), 1.0, behind, note)


def _growth(results: Results) -> Iterator[Goal]:
    for method in (RANK, DECIDE):
        for learner, words in LEARNER_WORDS.items():
            yield Goal(
                f"growth exponent, {method.split(', ')[1]}", words, GROWTH, results.growth(learner, method),
            )  # fmt: skip


def _fits(results: Results) -> Iterator[Goal]:
    found = [
        fits
        for case in results.cases
        if case.learner == "boosting" and (fits := results.value(case, DECIDE, "fits")) is not None
    ]
    note = "other data: up to 11, three of them of the test rows alone (decision 41)"
    where = f"{LEARNER_WORDS['boosting']}, all cases"
    yield Goal("fits of a decision", where, BOOSTED_FITS, max(found, default=None), note)


def case_words(case: Case) -> str:
    """A case in words; 20 columns and two classes go without saying."""
    form = {"20": "", "200": ", 200 columns", "text": ", texts", "curved": ", no linear rule"}[case.form]
    classes = "" if case.classes == 2 else f", {case.classes} classes"
    return f"{LEARNER_WORDS[case.learner]}, {case.rows:,} rows{form}{classes}"
