"""Cost of the logistic gray box beside the fit it profiles: time as a ratio to the fit, memory to the training matrix.

Run ``python -m benchmarks.speed.logistic`` (``--quick`` leaves out the million rows). Each case is fitted once by
``LogisticRegression()`` as scikit-learn ships it; then the gray box is profiled and the effects of all rows on the test
set's log loss are taken, as :func:`psidebug.debug` does. Both get one thread for linear algebra.
"""

from __future__ import annotations

import argparse
import tracemalloc
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
import sklearn
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from benchmarks import RESULTS
from benchmarks.lines import made_with, write
from benchmarks.speed.clock import seconds_of
from psidebug.graybox.logistic import FORMS, LogisticBox
from psidebug.task.task import Task


def one_hot_like(rng: np.random.Generator, *, rows: int, width: int) -> Any:
    """Categories as 0/1 columns and a few standardised numbers, as census data are encoded."""
    numbers = rng.normal(size=(rows, 6))
    sizes = [16, 16, 14, 7, 41, 7]
    categories = [np.eye(size)[rng.integers(size, size=rows)] for size in sizes]
    return np.column_stack([numbers, *categories])[:, :width]


def text_like(rng: np.random.Generator, *, rows: int, width: int) -> Any:
    """Normalised word counts with Zipf's frequencies, about 130 words a row."""
    frequency = 1.0 / np.arange(1, width + 1) ** 0.9
    words = rng.choice(width, size=(rows, 250), p=frequency / frequency.sum())
    owners = np.repeat(np.arange(rows), words.shape[1])
    counts = sp.csr_array((np.ones(words.size), (owners, words.ravel())), shape=(rows, width))
    counts.sum_duplicates()
    lengths = np.sqrt(counts.power(2).sum(axis=1))
    return sp.csr_matrix(sp.diags_array(1.0 / lengths) @ counts)


def gaussian(rng: np.random.Generator, *, rows: int, width: int) -> Any:
    return rng.normal(size=(rows, width))


CASES: list[tuple[str, Callable[..., Any], int, int, int, type]] = [
    ("one-hot dense", one_hot_like, 4_000, 107, 2_000, np.float64),
    ("text sparse", text_like, 1_200, 13_000, 400, np.float64),
    ("gaussian dense", gaussian, 1_000_000, 50, 10_000, np.float64),
    ("gaussian dense float32", gaussian, 1_000_000, 50, 10_000, np.float32),
]


def _labels(rng: np.random.Generator, features: Any) -> Any:
    direction = rng.normal(size=features.shape[1])
    scores = features @ direction
    return (rng.random(features.shape[0]) < expit(2.0 * (scores - scores.mean()) / scores.std())).astype(int)


def measured(
    name: str, make: Callable[..., Any], rows: int, width: int, tests: int, kind: type
) -> list[dict[str, Any]]:
    rng = np.random.default_rng(0)
    features = make(rng, rows=rows + tests, width=width).astype(kind)
    labels = _labels(rng, features)
    train, test = features[:rows], features[rows:]
    del features
    size = train.nbytes if isinstance(train, np.ndarray) else train.data.nbytes + train.indices.nbytes
    # A small fit takes milliseconds: the median of several keeps the ratio from jumping.
    repeats = 1 if rows > 100_000 else 7
    model = LogisticRegression()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fit = float(np.median([seconds_of(lambda: model.fit(train, labels[:rows])) for _ in range(repeats)]))
    task = Task.of(model, train, labels[:rows], test, labels[rows:])
    lines = []
    for form in FORMS:
        times = [seconds_of(partial(_profile, task, form)) for _ in range(repeats)]
        tracemalloc.start()  # in a run of its own: keeping account takes time too
        _profile(task, form)
        extra = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        lines.append(
            {
                "data": name,
                "rows": rows,
                "columns": width,
                "form": form,
                "fit_iterations": int(model.n_iter_[0]),
                "fit_s": round(fit, 4),
                "graybox_s": round(float(np.median(times)), 4),
                "ratio_to_fit": round(float(np.median(times)) / fit, 3),
                "extra_memory_ratio": round(extra / size, 3),
            }
        )
        print("  ".join(f"{key}={value}" for key, value in lines[-1].items()), flush=True)
    return lines


def _profile(task: Task, form: str) -> None:
    box = LogisticBox(task, form=form)
    box.effects(expit(-box.actual))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="leave out the million rows; results are not written")
    quick = parser.parse_args().quick
    lines: list[dict[str, Any]] = []
    with threadpool_limits(limits=1, user_api="blas"):
        for case in CASES:
            if not (quick and case[2] > 100_000):
                lines += measured(*case)
    if not quick:
        write(RESULTS / "logistic.csv", [line | made_with(np, sklearn) for line in lines])


if __name__ == "__main__":
    main()
