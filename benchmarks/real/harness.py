"""The run: every method on every task and seed, one line each, written as it comes; what is there is not run again.

A line has what was found (average precision, P@n), how well it is stated (rate, F1, calibration error), and errors on
the final test rows: of the learner trained on right labels (``clean``), on those given, on given and trusted rows
(``given_trusted``), and after the method's repair:

    relabelled   trained on its labels, or on the rows that it keeps
    weighted     trained on its labels with its weights
    trusted      the same (weights where it has them), and the trusted rows
    model        its own model

``after`` is the one that the method offers: its model, else its labels.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.lines import append_lines, read_lines
from benchmarks.measures import average_precision, order_of, precision_at_n
from benchmarks.real.loaders import Codes, Floats, Rows
from benchmarks.real.measures import calibration_error, f1, reliability
from benchmarks.real.rivals import Finding, Rival, fitted
from benchmarks.real.roster import RIVALS
from benchmarks.real.tasks import RealTask, load
from psidebug import __version__
from psidebug.errors import PsiError
from psidebug.task.learner import Classifier

KEY = ("task", "seed", "method", "version")
ERRORS = ("clean", "given", "given_trusted", "relabelled", "weighted", "trusted", "model", "after")
FIELDS = (*KEY, "rows", "n", "rate", "ap", "p_at_n", "stated", "f1", "ece", *ERRORS, "changed", "seconds", "reason")
BIN_FIELDS = (*KEY, "bin", "rows", "stated", "wrong")
Row = dict[str, Any]


@dataclass(frozen=True)
class Ground:
    """A task with the errors that need no method."""

    task: RealTask
    clean: float
    given: float
    given_trusted: float

    @classmethod
    def of(cls, task: RealTask) -> Ground:
        """Fit the learner on right labels, on given ones, and on given ones with the trusted rows."""
        X, y = with_trusted(task, task.given)
        return cls(
            task,
            error(task, fitted(task, task.X_train, task.clean)),
            error(task, fitted(task, task.X_train, task.given)),
            error(task, fitted(task, X, y)),
        )


def error(task: RealTask, model: Classifier) -> float:
    """Error of a fitted model on the final test rows."""
    return float(np.mean(np.asarray(model.predict(task.X_test)) != task.y_test))


def with_trusted(task: RealTask, labels: Codes, rows: Any = slice(None)) -> tuple[Rows, Codes]:
    """Training rows with these labels, and behind them the trusted rows."""
    return np.concatenate([task.X_train[rows], task.X_trusted]), np.concatenate([labels[rows], task.y_trusted])


def measured(finding: Finding, ground: Ground) -> Row:
    """The measures of a finding."""
    task, wrong, order = ground.task, ground.task.wrong, order_of(finding.scores)
    row: Row = {"rows": len(wrong), "n": int(wrong.sum()), "rate": float(wrong.mean())}
    row |= {"ap": average_precision(order, wrong), "p_at_n": precision_at_n(order, wrong)}
    row |= {"clean": ground.clean, "given": ground.given, "given_trusted": ground.given_trusted}
    p = finding.p_wrong
    if p is not None:
        row |= {"stated": float(p.mean()), "f1": f1(p, wrong), "ece": calibration_error(p, wrong)}
    return row | _repaired(finding, task)


def _repaired(finding: Finding, task: RealTask) -> Row:
    row: Row = {}
    if finding.labels is not None or finding.kept is not None:
        labels = task.given if finding.labels is None else finding.labels
        kept = np.ones(len(labels), dtype=bool) if finding.kept is None else finding.kept
        row["changed"] = int(((labels != task.given) | ~kept).sum())
        row["relabelled"] = row["after"] = error(task, fitted(task, task.X_train[kept], labels[kept]))
        weights = None if finding.weights is None else finding.weights[kept]
        if weights is not None:
            row["weighted"] = error(task, fitted(task, task.X_train[kept], labels[kept], weights))
            weights = np.concatenate([weights, np.ones(len(task.y_trusted))])
        row["trusted"] = error(task, fitted(task, *with_trusted(task, labels, kept), weights))
    if finding.model is not None:
        row["model"] = row["after"] = error(task, finding.model)
    return row


def tried(rival: Rival, ground: Ground) -> tuple[Row, Finding | None]:
    """The line of one method on one task, and what it found; a failure is a line with the reason."""
    start = time.perf_counter()
    try:
        finding = rival.find(ground.task)
        seconds = time.perf_counter() - start
        return measured(finding, ground) | {"seconds": seconds}, finding
    except Exception as problem:  # a failure is a result
        first = (str(problem).strip().splitlines() or [""])[0]
        return {"reason": f"failed: {type(problem).__name__}: {first[:120]}"}, None


def run_real(
    names: Sequence[str],
    seeds: Sequence[int],
    out: Path,
    *,
    rivals: Sequence[Rival] = RIVALS,
    tell: Callable[[str], None] = print,
) -> None:
    """Measure what is not yet in the file ``out``; reliability curves go to a file beside it."""
    done = {tuple(line[name] for name in KEY) for line in read_lines(out)}
    for seed in seeds:
        for name in names:
            missing = [rival for rival in rivals if (name, str(seed), rival.name, __version__) not in done]
            if not missing:
                continue
            start = time.perf_counter()
            with warnings.catch_warnings(), threadpool_limits(limits=1):
                warnings.simplefilter("ignore")
                for row, curve in lines_of(name, seed, missing):
                    append_lines(out, [row], FIELDS)
                    append_lines(curve_of(out), curve, BIN_FIELDS)
            tell(f"{name}, seed {seed}: {len(missing)} methods, {time.perf_counter() - start:.0f} s")


def lines_of(name: str, seed: int, rivals: Sequence[Rival]) -> Iterator[tuple[Row, list[Row]]]:
    """The line of every method on one task, each with its reliability curve."""
    keys = [{"task": name, "seed": seed, "method": rival.name, "version": __version__} for rival in rivals]
    try:
        ground = Ground.of(load(name, seed))
    except PsiError as problem:
        yield from (({**key, "reason": f"no such task: {problem}"}, []) for key in keys)
        return
    for key, rival in zip(keys, rivals, strict=True):
        row, finding = tried(rival, ground)
        stated: Floats | None = None if finding is None else finding.p_wrong
        bins = {} if stated is None else reliability(stated, ground.task.wrong)
        yield key | row, [key | {"bin": b} | each._asdict() for b, each in bins.items()]


def curve_of(out: Path) -> Path:
    """The file of reliability curves beside a file of results."""
    return out.with_name(f"{out.stem}_reliability.csv")


def forget(out: Path, methods: Sequence[str]) -> None:
    """Drop the lines of these methods from both files, to measure them anew."""
    for path, fields in ((out, FIELDS), (curve_of(out), BIN_FIELDS)):
        lines = read_lines(path)
        if methods and lines:
            path.unlink()
            append_lines(path, [line for line in lines if line["method"] not in methods], fields)
