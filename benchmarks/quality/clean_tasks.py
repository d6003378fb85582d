"""Tasks without a wrong label: how often Psi accuses one, and what it makes of test rows that come from elsewhere.

Run ``python -m benchmarks.quality.clean_tasks``: 100 tasks (``--tasks``) of 600 training and 300 test rows, all labels
right, half with logistic regression and half with LightGBM, from seed ``--first`` on. Of these at most 2 in 100 may
have a proved correction, and no label may change in 98 of 100. Then ``--shifted`` tasks for each learner and each way
in which test rows differ from the training rows: other shares of the classes, other covariates, one feature half a
standard deviation off, and another concept in a region. Their labels are right, too; whoever corrects training labels
there mends what is not broken. Results go to ``results/clean_tasks.csv``.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from typing import Any

import lightgbm
import numpy as np
import numpy.typing as npt
import sklearn
from sklearn.linear_model import LogisticRegression

import psidebug
from benchmarks import RESULTS
from benchmarks.lines import made_with, write

Rows = tuple[npt.NDArray[np.float64], npt.NDArray[np.intp]]
TRAIN, TEST = 600, 300
CLAIMS_OF_100, CHANGED_OF_100 = 2, 2
"""The budget: tasks with a proved correction of labels, and tasks in which any label changes."""


def drawn(rng: np.random.Generator, rows: int, weights: Any) -> Rows:
    """Labels by chance from the logistic model with these weights: right, and none of them certain."""
    X = rng.normal(size=(rows, len(weights)))
    return X, (rng.random(rows) < 1.0 / (1.0 + np.exp(-X @ weights))).astype(np.intp)


def same(rng: np.random.Generator, weights: Any, rows: int) -> Rows:
    """Test rows as the training rows are."""
    return drawn(rng, rows, weights)


def class_ratio(rng: np.random.Generator, weights: Any, rows: int) -> Rows:
    """Three times as many of one class."""
    X, y = drawn(rng, 6 * rows, weights)
    kept = np.flatnonzero((y == 1) | (rng.random(len(y)) < 1 / 3))[:rows]
    return X[kept], y[kept]


def covariates(rng: np.random.Generator, weights: Any, rows: int) -> Rows:
    """Rows on one side of a feature, three times as many as on the other."""
    X, y = drawn(rng, 6 * rows, weights)
    kept = np.flatnonzero((X[:, 0] > 0) | (rng.random(len(y)) < 1 / 3))[:rows]
    return X[kept], y[kept]


def offset(rng: np.random.Generator, weights: Any, rows: int) -> Rows:
    """One feature is measured half a standard deviation too high."""
    X, y = drawn(rng, rows, weights)
    X[:, 1] += 0.5
    return X, y


def concept(rng: np.random.Generator, weights: Any, rows: int) -> Rows:
    """Where a feature is above 0.8, the classes have changed places."""
    X, y = drawn(rng, rows, weights)
    return X, np.where(X[:, 2] > 0.8, 1 - y, y)


WORLDS: dict[str, Callable[[np.random.Generator, Any, int], Rows]] = {
    "clean": same,
    "class ratio": class_ratio,
    "covariates": covariates,
    "feature offset": offset,
    "concept in a region": concept,
}
LEARNERS: dict[str, Callable[[], Any]] = {
    "logistic": lambda: LogisticRegression(),
    "LightGBM": lambda: lightgbm.LGBMClassifier(n_estimators=60, num_leaves=15, verbose=-1, n_jobs=1, random_state=0),
}


def measured(world: str, learner: str, seed: int, *, train: int = TRAIN, test: int = TEST) -> dict[str, Any]:
    """What is said of one task: whether wrong labels are claimed, how many change, and the first cause."""
    rng = np.random.default_rng([seed, list(WORLDS).index(world)])
    weights = rng.normal(size=8)
    X, y = drawn(rng, train, weights)
    tests = WORLDS[world](rng, weights, test)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = psidebug.debug(LEARNERS[learner](), X, y, *tests, check_fidelity=False, rng=seed)
    changed = int((np.asarray(found.repaired_labels) != y).sum())
    claimed = found.findings.correction is not None and changed > 0
    return {
        "world": world, "learner": learner, "seed": seed, "claimed": int(claimed), "labels_changed": changed,
        "cause": found.cause,
    }  # fmt: skip


def summary(lines: list[dict[str, Any]]) -> str:
    """A line for each world and learner."""
    told = [f"{'world':20} {'learner':10} {'tasks':>5} {'claims':>6} {'changed in':>10} {'labels':>6}  other causes"]
    for world in WORLDS:
        for learner in LEARNERS:
            own = [each for each in lines if (each["world"], each["learner"]) == (world, learner)]
            if own:
                claims, labels = (sum(each[name] for each in own) for name in ("claimed", "labels_changed"))
                tasks = sum(each["labels_changed"] > 0 for each in own)
                causes = sorted({each["cause"] for each in own if not each["claimed"]})
                told.append(
                    f"{world:20} {learner:10} {len(own):5} {claims:6} {tasks:10} {labels:6}  {', '.join(causes)}"
                )
    return "\n".join(told)


def main() -> None:
    """Measure, and print the table with the budget; the file is written anew after each task."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--tasks", type=int, default=100, help="without a wrong label, and from where training rows are"
    )
    parser.add_argument("--shifted", type=int, default=10, help="of each learner and each sort of other test rows")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    given = parser.parse_args()
    each = {world: given.tasks // len(LEARNERS) if world == "clean" else given.shifted for world in WORLDS}
    lines: list[dict[str, Any]] = []
    for world, count in each.items():
        for learner in LEARNERS:
            for seed in range(given.first, given.first + count):
                lines.append(measured(world, learner, seed) | made_with(sklearn, lightgbm))
                write(RESULTS / "clean_tasks.csv", lines)
    print(summary(lines))
    print(f"Budget, of 100 clean tasks: {CLAIMS_OF_100} claims, and labels changed in {CHANGED_OF_100}.")


if __name__ == "__main__":
    main()
