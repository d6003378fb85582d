"""The run: every plant in every table, one line each, written as it comes; what is there is not run again.

A line has the cause that was planted and those that are named, the labels that Psi would change, the error on
validation rows of the learner trained on the labels before and after, test labels that are accused, and the cost. Some
lines also have the cost of the same call with ``causes="labels"``.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal
from unittest.mock import patch

import numpy as np
from threadpoolctl import threadpool_limits

import psidebug
from benchmarks.causes.more import MORE, PAIRS
from benchmarks.causes.plants import PLANTS, Planted, learner_of
from benchmarks.causes.tables import DATA, Tables, tables
from benchmarks.lines import append_lines, commit_of_psi, failure, read_lines
from psidebug.diagnosis.diagnosis import Diagnosis
from psidebug.findings.effects import PairedErrors
from psidebug.findings.findings import FoundCause
from psidebug.training.trainer import Trainer

ALL = {**PLANTS, **MORE, **PAIRS}
LEARNERS = ("logistic", "boosting")
COMPARED = ("nothing", "labels_at_random", "labels_of_a_slice")
"""Plants of which the cost of ``causes="labels"`` is measured, too."""
KEY = ("plant", "table", "seed", "learner", "validation", "version")
FIELDS = (
    *KEY, "rows", "expected", "expected_column", "named", "named_column", "all", "wrong", "changed", "changed_right",
    "changed_wrong", "error_before", "error_after", "worse", "wrong_tests", "accused_tests", "f1_tests", "fits",
    "seconds", "fits_labels", "seconds_labels", "reason", "commit",
)  # fmt: skip
Row = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """One run."""

    plant: str
    table: str
    seed: int
    learner: str
    validation: bool = False

    @property
    def key(self) -> Row:
        """What tells its line from others."""
        made = (self.plant, self.table, self.seed, self.learner, int(self.validation), psidebug.__version__)
        return dict(zip(KEY, made, strict=True))


def all_cells(seeds: Sequence[int], names: Sequence[str] = tuple(DATA)) -> list[Cell]:
    """All runs, those that say most first: with validation rows only the first seed."""
    found: list[Cell] = []
    for seed in seeds:
        for kind in (PLANTS, PAIRS, MORE):
            found += cells(tuple(kind), [seed], names)
        if seed == seeds[0]:
            found += cells(tuple(PLANTS), [seed], names, validation=True)
    return found


def cells(
    plants: Sequence[str],
    seeds: Sequence[int],
    names: Sequence[str],
    learners: Sequence[str] = LEARNERS,
    *,
    validation: bool = False,
) -> list[Cell]:
    """Every combination."""
    return [
        Cell(plant, name, seed, learner, validation)
        for seed in seeds
        for plant in plants
        for name in names
        for learner in learners
    ]


def planted_in(cell: Cell) -> Planted:
    """The task of a run; the same for every tool, and with validation rows or without."""
    return ALL[cell.plant](_tables(cell.table, cell.seed), np.random.default_rng([cell.seed, 7]), cell.learner)


@lru_cache(maxsize=len(DATA))
def _tables(name: str, seed: int) -> Tables:
    return tables(name, seed)


def run(
    wanted: Sequence[Cell],
    out: Path,
    *,
    measure: Callable[[Cell], Row] | None = None,
    fields: Sequence[str] = FIELDS,
    tell: Callable[[str], None] = print,
) -> None:
    """Measure what is not yet in the file ``out``; ``measure`` makes a line of other tasks than the planted ones."""
    done = {tuple(line[name] for name in KEY) for line in read_lines(out)}
    missing = [cell for cell in wanted if tuple(map(str, cell.key.values())) not in done]
    with threadpool_limits(limits=1):
        for number, cell in enumerate(missing, 1):
            row = tried(cell, measure or measured) | {"commit": commit_of_psi()}
            append_lines(out, [row], fields)
            tell(f"{number} of {len(missing)}: {cell.plant}, {cell.table}, seed {cell.seed}, {cell.learner}: "
                 f"{row.get('all', '') or row.get('reason', '')}")  # fmt: skip


def tried(cell: Cell, measure: Callable[[Cell], Row]) -> Row:
    """The line of one run; a failure is a line with the reason."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return cell.key | measure(cell)
        except Exception as problem:  # a failure is a result
            return cell.key | {"reason": failure(problem)}


def measured(cell: Cell) -> Row:
    """What Psi says of a planted task, and what that is worth."""
    planted = planted_in(cell)
    if planted.skipped:
        return {"reason": f"skipped: {planted.skipped}"}
    diagnosis, fits, seconds = diagnosed(planted, cell)
    found = diagnosis.found.causes
    row: Row = {
        "rows": len(planted.tables.y_train),
        "expected": planted.cause,
        "expected_column": planted.column or "",
        "named": found[0].cause,
        "named_column": found[0].column or "",
        "all": "; ".join(map(told, found)),
        "fits": fits,
        "seconds": seconds,
    }
    row |= changed_labels(planted, cell, diagnosis) | accused_tests(planted, diagnosis)
    if cell.plant in COMPARED and not cell.validation:
        _, fits, seconds = diagnosed(planted, cell, causes="labels")
        row |= {"fits_labels": fits, "seconds_labels": seconds}
    return row


def told(cause: FoundCause) -> str:
    """A cause in a few characters: its name, its column, its evidence in nats, and a star if it is proved."""
    return f"{cause.cause}:{cause.column or ''} {cause.evidence:.1f}{'*' if cause.proved else ''}"


def diagnosed(planted: Planted, cell: Cell, causes: Literal["all", "labels"] = "all") -> tuple[Diagnosis, int, float]:
    """With the fits of the user's learner, also those on exchanged sets, and the seconds of one core."""
    t = planted.tables
    kept = {"X_validation": t.X_validation, "y_validation": t.y_validation} if cell.validation else {}
    fits = 0

    def counted(trainer: Trainer) -> None:
        nonlocal fits
        fits += 1
        trainer.fits += 1

    start = time.process_time()
    with patch.object(Trainer, "_count", counted):
        found = psidebug.debug(
            learner_of(planted, cell.learner),
            t.X_train,
            t.y_train,
            t.X_test,
            t.y_test,
            metadata=None if t.metadata.empty else t.metadata,
            check_fidelity=False,
            causes=causes,
            rng=cell.seed,
            **kept,
        )
    return found, fits, time.process_time() - start


def changed_labels(planted: Planted, cell: Cell, diagnosis: Diagnosis) -> Row:
    """Labels that Psi would change, and errors on validation rows where it changes some."""
    t, repaired = planted.tables, np.asarray(diagnosis.repaired_labels)
    changed = np.asarray(repaired != t.y_train)
    wrong = np.zeros(len(changed), dtype=bool) if planted.wrong_train is None else planted.wrong_train
    row: Row = {
        "wrong": int(wrong.sum()),
        "changed": int(changed.sum()),
        "changed_right": int((changed & ~wrong).sum()),
        "changed_wrong": int((changed & wrong).sum()),
    }
    if not changed.any():
        return row
    before, after = (
        np.asarray(learner_of(planted, cell.learner).fit(t.X_train, labels).predict(t.X_validation)) != t.y_validation
        for labels in (t.y_train, repaired)
    )
    paired = PairedErrors(int((before & ~after).sum()), int((after & ~before).sum()), len(before))
    return row | {
        "error_before": float(before.mean()),
        "error_after": float(after.mean()),
        "worse": int(paired.clearly_worse),
    }


def accused_tests(planted: Planted, diagnosis: Diagnosis) -> Row:
    """Test labels that are accused."""
    accused = np.zeros(len(planted.tables.y_test), dtype=bool)
    if (suspects := diagnosis.found.suspect_tests) is not None:
        accused[suspects.rows[suspects.p_wrong > 0.5]] = True
    wrong = np.zeros(len(accused), dtype=bool) if planted.wrong_test is None else planted.wrong_test
    row: Row = {"wrong_tests": int(wrong.sum()), "accused_tests": int(accused.sum())}
    if wrong.any() or accused.any():
        row["f1_tests"] = float(2 * (accused & wrong).sum() / (accused.sum() + wrong.sum()))
    return row
