"""Cost of the search for slices, all in: making the conditions, counting them, conjunctions, choosing.

Run ``python -m benchmarks.speed.slices`` (``--quick`` leaves out the million rows). The yardstick is one fit of
``LogisticRegression()`` on 4,000 rows of 107 columns, as census data are encoded; both in seconds of one processor.
Goal: 20,000 conditions over 4,000 rows in about a second. Results go to ``results/slices.csv``.
"""

from __future__ import annotations

import argparse
import resource
from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
import scipy
import scipy.sparse as sp
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from benchmarks import RESULTS
from benchmarks.lines import made_with, write
from benchmarks.speed.clock import best_of
from benchmarks.speed.logistic import one_hot_like
from psidebug.slices.binned import Binned
from psidebug.slices.find import slices_by_score
from psidebug.task.task import Task

MILLION = 1_000_000


def numbers(rng: np.random.Generator, rows: int, width: int) -> Any:
    return rng.normal(size=(rows, width))


def frame(rng: np.random.Generator, rows: int, width: int) -> Any:
    """Half numbers, half categories, and a text of ten words: what a table of records has."""
    half = width // 2
    columns: dict[str, Any] = {f"n{i}": rng.normal(size=rows).round(3) for i in range(half)}
    columns |= {f"c{i}": rng.choice([f"value {v}" for v in range(20)], size=rows) for i in range(width - half - 1)}
    return pd.DataFrame(columns | {"note": texts(rng, rows, 10)})


def texts(rng: np.random.Generator, rows: int, width: int) -> Any:
    """So many words a text, by Zipf's frequencies."""
    words = np.array([f"w{i}" for i in range(40_000)])
    frequency = 1.0 / np.arange(1, len(words) + 1) ** 0.9
    drawn = rng.choice(words, size=(rows, width), p=frequency / frequency.sum())
    return np.array([" ".join(row) for row in drawn], dtype=object)


def sparse(rng: np.random.Generator, rows: int, width: int) -> Any:
    return sp.random_array((rows, width), density=0.01, rng=rng, format="csr")


CASES: list[tuple[str, Callable[[np.random.Generator, int, int], Any], int, int]] = [
    ("numbers", numbers, 4_000, 100),
    ("table", frame, 4_000, 14),
    ("sparse", sparse, 4_000, 20_000),
    ("texts", texts, 4_000, 100),
    ("pixels", numbers, 60_000, 784),
    ("table", frame, MILLION, 20),
]


def yardstick() -> float:
    rng = np.random.default_rng(0)
    features = one_hot_like(rng, rows=4_000, width=107)
    labels = (features[:, :6].sum(axis=1) + rng.normal(size=4_000) > 0).astype(int)
    return best_of(5, lambda: LogisticRegression(max_iter=1000).fit(features, labels), process_time)


def measured(name: str, make: Callable[..., Any], rows: int, width: int, fit: float) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    features = make(rng, rows, width)
    labels = rng.integers(2, size=rows)
    model = DummyClassifier(strategy="most_frequent").fit(features[:10], [0, 1] * 5)
    task = Task.of(model, features, labels, features[:10], labels[:10])
    scores = rng.normal(size=rows)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds = best_of(3 if rows < MILLION else 1, lambda: slices_by_score(task, scores, most=20), process_time)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    few = Task.of(model, features[:5_000], labels[:5_000], features[:10], labels[:10])
    conditions = len(Binned.of(few, least=3).atoms.conditions)
    return {
        "data": name,
        "rows": rows,
        "columns": width,
        "conditions": conditions,
        "seconds": round(seconds, 2),
        "ratio_to_fit": round(seconds / fit, 1),
        "peak_rise_mb": round(peak / 1024),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="leave out the million rows")
    quick = parser.parse_args().quick
    with threadpool_limits(limits=1):
        fit = yardstick()
        print(f"one fit of 4,000 × 107: {fit:.3f} s")
        results = []
        for name, make, rows, width in CASES:
            if not (quick and rows == MILLION):
                line = measured(name, make, rows, width, fit) | {"fit_seconds": round(fit, 4)}
                results.append(line | made_with(np, scipy))
                print(results[-1], flush=True)
    write(RESULTS / "slices.csv", results)


if __name__ == "__main__":
    main()
