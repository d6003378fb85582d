"""The run: every method on every cell, one line each, written as it comes; what is there already is not run again.

A line has what was found (average precision, P@n, detection curve), the validation error after correcting the n rows
that the method ranks first and after its own automatic choice, and the time as a multiple of one fit. n is the number
of wrong labels. To correct a row is one rule for all: with two classes its label is flipped, with more it moves to the
likeliest other class by 5 folds of the same learner on the given labels. A method that cannot run has a line with the
reason. Where no label is wrong only the automatic choices are measured.
"""

from __future__ import annotations

import importlib.util
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.lines import append_lines, failure, read_lines
from benchmarks.measures import LOOKED_AT, average_precision, detection_curve, order_of, precision_at_n
from benchmarks.peers.baselines import out_of_fold
from benchmarks.peers.contest import Contest, Finding, Peer, fitted_encoder
from benchmarks.peers.grid import Cell
from benchmarks.peers.roster import PEERS
from psidebug import __version__
from psidebug.datasets import Benchmark
from psidebug.errors import PsiError
from psidebug.task.labels import Codes

LIMIT = 40.0
"""Seconds that a method may be expected to take on one cell."""
KEY = ("data", "learner", "noise", "test", "wrong_test", "seed", "method", "version")
FOUND = tuple(f"found_{share:.0%}" for share in LOOKED_AT)
FIELDS = (
    *KEY, "n", "ap", "p_at_n", *FOUND, "clean", "noisy", "top_n", "auto", "changed", "fits", "seconds", "reason",
)  # fmt: skip
Row = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Ground:
    """What all methods share on one task: its benchmark, how a label is corrected, errors, and the time of one fit."""

    data: Benchmark
    contest: Contest
    X_validation: Any
    moved: Codes
    """The class that each label moves to when it is corrected."""
    one_fit: float
    clean: float
    noisy: float

    @classmethod
    def of(cls, data: Benchmark, contest: Contest) -> Ground:
        """Fit the learner on the right and on the given labels."""
        X = fitted_encoder(data, contest.kind)(data.X_validation)
        times = []
        for _ in range(3):
            start = time.perf_counter()
            fitted = contest.fit()
            times.append(time.perf_counter() - start)
        noisy = float(np.mean(fitted.predict(X) != data.y_validation))
        clean = float(np.mean(contest.fit(data.clean).predict(X) != data.y_validation))
        return cls(data, contest, X, _moved(contest), min(times), clean, noisy)

    def error(self, labels: Codes, rows: Any = slice(None)) -> float:
        """Validation error of the learner trained on these labels, of these rows."""
        fitted = self.contest.fit(labels, rows)
        return float(np.mean(fitted.predict(self.X_validation) != self.data.y_validation))


def run_peers(
    cells: Sequence[Cell],
    out: Path,
    *,
    peers: Sequence[Peer] = PEERS,
    absences: Mapping[str, str] | None = None,
    limit: float = LIMIT,
    tell: Callable[[str], None] = print,
) -> None:
    """Measure what is not yet in the file ``out``; ``absences`` says why modules are not there."""
    done = {tuple(line[name] for name in KEY) for line in read_lines(out)}
    absent = absent_peers(peers, absences)
    same: dict[tuple[Any, ...], Row] = {}
    for number, cell in enumerate(cells, 1):
        missing = [peer for peer in peers if _takes_part(peer, cell) and _key(cell, peer) not in done]
        if not missing:
            continue
        start = time.perf_counter()
        with warnings.catch_warnings(), threadpool_limits(limits=1):
            warnings.simplefilter("ignore")
            lines = list(_lines(cell, missing, absent, same, limit))
        append_lines(out, lines, FIELDS)
        tell(f"{number}/{len(cells)} {_words(cell)}: {len(lines)} methods, {time.perf_counter() - start:.0f} s")


def absent_peers(peers: Sequence[Peer], absences: Mapping[str, str] | None) -> dict[str, str]:
    """The methods whose module is not there, and why; ``absences`` has the reasons by module."""
    return {
        peer.name: (absences or {}).get(peer.package, f"{peer.package} is not installed")
        for peer in peers
        if peer.package and importlib.util.find_spec(peer.package) is None
    }


def _lines(
    cell: Cell, peers: Sequence[Peer], absent: Mapping[str, str], same: dict[tuple[Any, ...], Row], limit: float
) -> Iterable[Row]:
    """The lines of one cell; those of methods that use no test points are kept for the cells that differ in these."""
    try:
        data = cell.benchmark()
        ground = Ground.of(data, cell.contest(data))
    except PsiError as error:
        yield from (_line(cell, peer, {"reason": f"no such task: {error}"}) for peer in peers)
        return
    for peer in peers:
        kept = (cell.data, cell.learner, cell.noise, cell.seed, peer.name)
        if not peer.uses_test and kept in same:
            yield _line(cell, peer, same[kept])
            continue
        measured = {"reason": absent[peer.name]} if peer.name in absent else measure(peer, ground, limit=limit)
        if not peer.uses_test:
            same[kept] = measured
        yield _line(cell, peer, measured)


def measure(peer: Peer, ground: Ground, *, limit: float = LIMIT) -> Row:
    """What one method does on one task, or the reason why it does nothing."""
    contest = ground.contest
    if peer.most_classes is not None and contest.size > peer.most_classes:
        return {"reason": f"for {peer.most_classes} classes only"}
    finding, row = tried(peer, contest, one_fit=ground.one_fit, limit=limit)
    return row if finding is None else judged(finding, ground) | row


def tried(
    peer: Peer, contest: Contest, *, one_fit: float, limit: float, expected: float = 0.0
) -> tuple[Finding | None, Row]:
    """A method's finding and its time, or no finding and the reason; ``expected`` are seconds that it will take."""
    if peer.most_rows is not None and len(contest) > peer.most_rows:
        return None, {"reason": f"too slow beyond {peer.most_rows} rows"}
    expected = max(expected, peer.seconds(contest, one_fit))
    if expected > limit:
        return None, {"reason": f"too slow: about {expected:.0f} s expected"}
    start = time.perf_counter()
    try:
        finding = peer.rank(contest)
    except Exception as error:  # a peer's failure is a result
        return None, {"reason": failure(error)}
    seconds = time.perf_counter() - start
    return finding, {"fits": seconds / one_fit, "seconds": seconds}


def judged(finding: Finding, ground: Ground) -> Row:
    """The measures of a finding."""
    wrong, order = ground.data.wrong, order_of(finding.scores)
    n, given = int(wrong.sum()), ground.contest.given
    row: Row = {"n": n, "clean": ground.clean, "noisy": ground.noisy}
    if n:
        row |= {"ap": average_precision(order, wrong), "p_at_n": precision_at_n(order, wrong)}
        row |= dict(zip(FOUND, detection_curve(order, wrong) or [], strict=True))
        labels = given.copy()
        labels[order[:n]] = ground.moved[order[:n]]
        row["top_n"] = ground.error(labels)
    if finding.automatic:
        labels = given if finding.labels is None else finding.labels
        rows = np.ones(len(given), dtype=bool) if finding.kept is None else finding.kept
        row["changed"] = int(((labels != given) | ~rows).sum())
        row["auto"] = ground.error(labels, rows) if row["changed"] else ground.noisy
    return row


def _moved(contest: Contest) -> Codes:
    if contest.size == 2:
        return 1 - contest.given
    others = out_of_fold(contest)
    others[np.arange(len(contest)), contest.given] = -1.0
    return np.asarray(others.argmax(axis=1))


def forget(out: Path, methods: Sequence[str]) -> None:
    """Drop the lines of these methods from a file of results."""
    lines = read_lines(out)
    if methods and lines:
        out.unlink()
        append_lines(out, [line for line in lines if line["method"] not in methods], FIELDS)


def _takes_part(peer: Peer, cell: Cell) -> bool:
    return cell.learner in peer.learners and (cell.noise != "none" or peer.chooses)


def _key(cell: Cell, peer: Peer) -> tuple[str, ...]:
    return tuple(str(value) for value in _line(cell, peer, {}).values())


def _line(cell: Cell, peer: Peer, measured: Row) -> Row:
    return {
        "data": cell.data,
        "learner": cell.learner,
        "noise": cell.noise,
        "test": cell.test,
        "wrong_test": int(cell.wrong_test),
        "seed": cell.seed,
        "method": peer.name,
        "version": __version__,
        **measured,
    }


def _words(cell: Cell) -> str:
    wrong = ", 5% of their labels wrong" if cell.wrong_test else ""
    return f"{cell.data}, {cell.learner}, {cell.noise}, {cell.test} test points{wrong}, seed {cell.seed}"
