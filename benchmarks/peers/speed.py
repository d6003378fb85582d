"""Rows per second at 10,000 and 50,000 rows of 20 columns with 100 test points, a tenth of the labels wrong."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import get_args

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.lines import append_lines, read_lines
from benchmarks.peers.contest import Contest, Peer
from benchmarks.peers.harness import Row, absent_peers, tried
from benchmarks.peers.roster import PEERS
from benchmarks.speed.clock import seconds_of
from psidebug import __version__
from psidebug.datasets import Benchmark, Learner, Planted
from psidebug.datasets.noise import scattered

SIZES = (10_000, 50_000)
POINTS = 100
COLUMNS = 20
LIMIT = 200.0
"""Seconds; a method that is expected to take longer is not run."""
FIELDS = ("rows", "learner", "method", "version", "seconds", "rows_per_second", "fits", "reason")


def generated(rows: int, seed: int) -> Benchmark:
    """Logistic data as in the benchmark ``linear``, of any size."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows + POINTS, COLUMNS))
    probability = 1.0 / (1.0 + np.exp(-X @ rng.normal(size=COLUMNS)))
    labels = (rng.random(len(X)) < probability).astype(np.intp)
    given, planted = scattered(labels[:rows], ("below", "above"), rng)
    points = slice(rows, rows + POINTS)
    return Benchmark(
        name="linear",
        X_train=X[:rows],
        clean=labels[:rows],
        given=given,
        X_test=X[points],
        y_test=labels[points],
        X_validation=X[points],
        y_validation=labels[points],
        classes=("below", "above"),
        planted=Planted("random", str(planted)),
        encoders={},
    )


def run_speed(
    out: Path,
    *,
    sizes: Sequence[int] = SIZES,
    peers: Sequence[Peer] = PEERS,
    absences: Mapping[str, str] | None = None,
    seed: int = 0,
    tell: Callable[[str], None] = print,
) -> None:
    """Time every method that is not yet in the file ``out``."""
    lines = read_lines(out)
    done = {(line["rows"], line["learner"], line["method"]) for line in lines if line["version"] == __version__}
    took = {(line["learner"], line["method"]): float(line["seconds"] or LIMIT) for line in lines}
    absent = absent_peers(peers, absences)
    for rows in sizes:
        for learner in get_args(Learner):
            contest = Contest.of(generated(rows, seed), learner, seed=seed)
            for peer in (peer for peer in peers if learner in peer.learners):
                if (str(rows), learner, peer.name) in done:
                    continue
                line: Row = {"rows": rows, "learner": learner, "method": peer.name, "version": __version__}
                if peer.name in absent:
                    line["reason"] = absent[peer.name]
                else:
                    line |= timed(peer, contest, took.get((learner, peer.name), 0.0) * rows / min(sizes))
                took[learner, peer.name] = float(line.get("seconds", LIMIT))
                append_lines(out, [line], FIELDS)
                tell(f"{rows:,} rows, {learner}, {peer.name}: {line.get('reason') or format(line['seconds'], '.1f')}")


def timed(peer: Peer, contest: Contest, expected: float = 0.0) -> Row:
    """Seconds of one ranking, or the reason why there is none."""
    with warnings.catch_warnings(), threadpool_limits(limits=1):
        warnings.simplefilter("ignore")
        one_fit = seconds_of(contest.fit)
        finding, row = tried(peer, contest, one_fit=one_fit, limit=LIMIT, expected=expected)
    return row if finding is None else row | {"rows_per_second": len(contest) / row["seconds"]}
