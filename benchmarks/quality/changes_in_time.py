"""A rule of labelling that changed for some months, and rare positives, half of them missed: how many rows it takes.

Run ``PSI_DATA=folder python -m benchmarks.quality.changes_in_time``; ``--seeds 1000 1001`` are for development,
``--rows 3000`` and ``--plants married`` measure a part. Census rows, a third as many test rows, and metadata with a
date of 2025 and a source, for training rows alone. Lines go to ``results/changes_in_time.csv``. Columns:

- ``wrong``: planted errors; ``p_at_n``, ``average_precision``: of the ranking by p_wrong;
- ``corrected``, ``corrected_wrong``: labels that are changed by default, and those of them that are wrong;
- ``named``: whether an accused slice of the best explanation has half of its rows, and the planted one half of its, in
  common; ``date_named``: whether it has a condition on the date;
- ``evidence``, ``charge``: of the best explanation, in nats; ``alarm``: whether it is likely; ``cause``: the first.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import clone
from threadpoolctl import threadpool_limits

import psidebug
from benchmarks import RESULTS
from benchmarks.causes.tables import Tables
from benchmarks.lines import append_lines, read_lines
from benchmarks.measures import average_precision, order_of, precision_at_n
from psidebug.datasets.benchmark import Sizes
from psidebug.datasets.real import income

LOW, HIGH = "<=50K", ">50K"
ROWS = (1500, 3000, 6000, 12000)
LEARNERS = ("logistic", "boosting")
RARE = 0.02
"""Share of positives; with half of them missed 1 in 100 is recorded."""
ALL_ROWS = 32_000
"""Of the census, to draw the sets from."""
KEY = ("plant", "rows", "seed", "learner")
FIELDS = (
    *KEY, "wrong", "p_at_n", "average_precision", "corrected", "corrected_wrong", "named", "date_named", "evidence",
    "charge", "alarm", "cause", "explanation", "seconds",
)  # fmt: skip
Mask = npt.NDArray[np.bool_]
Planted = tuple[Tables, Mask, Mask]
"""Rows with wrong labels, which rows the slice has, and which labels are wrong."""


def people(rows: int, seed: int, *, rare: bool) -> Tables:
    """Census rows; of the positives of all sets as few as ``RARE``, if they are to be rare."""
    rng = np.random.default_rng([seed, rows])
    made = replace(income, sizes=Sizes(ALL_ROWS, 1, 1))(int(rng.integers(2**31)), noise="none")
    X, y = pd.DataFrame(made.X_train), np.array([LOW, HIGH], dtype=object)[made.clean]
    sizes = [rows, rows // 3, 4000]
    if rare:
        order = rng.permutation(len(y))
        high, low = order[y[order] == HIGH], order[y[order] == LOW]
        parts = []
        for size in sizes:
            few = round(RARE * size)
            parts.append(rng.permutation(np.concatenate([high[:few], low[: size - few]])))
            high, low = high[few:], low[size - few :]
    else:
        parts = np.split(np.arange(len(y)), np.cumsum(sizes))[:3]
    about = pd.DataFrame(
        {
            "source": rng.choice(["north", "south", "east"], rows),
            "date": pd.Timestamp("2025-01-01") + pd.to_timedelta(rng.integers(0, 365, rows), unit="D"),
        }
    )
    (X_train, y_train), test, validation = ((X.iloc[each].reset_index(drop=True), y[each]) for each in parts)
    return Tables("census", X_train, y_train, *test, *validation, about)


def _marked(t: Tables, inside: Any, label: str) -> Planted:
    """Every row of the slice gets this label."""
    held = np.asarray(inside)
    labels = t.y_train.copy()
    labels[held] = label
    return _with_labels(t, labels, held)


def _with_labels(t: Tables, labels: npt.NDArray[Any], held: Mask) -> Planted:
    return replace(t, y_train=labels), held, np.asarray(labels != t.y_train)


def _months(t: Tables, first: int, last: int) -> Any:
    return t.metadata["date"].dt.month.between(first, last)


def _graduates(t: Tables, rng: np.random.Generator) -> Planted:
    return _marked(t, (t.X_train["education"] == "Bachelors") & _months(t, 9, 10), LOW)


def _graduates_high(t: Tables, rng: np.random.Generator) -> Planted:
    return _marked(t, (t.X_train["education"] == "Bachelors") & _months(t, 9, 10), HIGH)


def _married(t: Tables, rng: np.random.Generator) -> Planted:
    return _marked(t, (t.X_train["marital_status"] == "Married-civ-spouse") & _months(t, 6, 7), LOW)


def _half_missed(t: Tables, rng: np.random.Generator) -> Planted:
    """Half of the positives are recorded as negatives: 1 in 100 is left."""
    labels, high = t.y_train.copy(), np.flatnonzero(t.y_train == HIGH)
    labels[rng.permutation(high)[: len(high) // 2]] = LOW
    return _with_labels(t, labels, np.zeros(len(labels), dtype=bool))


def _half_missed_and_flips(t: Tables, rng: np.random.Generator) -> Planted:
    (with_missed, held, _), flips = _half_missed(t, rng), rng.random(len(t.y_train)) < 0.01
    labels = with_missed.y_train.copy()
    labels[flips] = np.where(labels[flips] == HIGH, LOW, HIGH)
    return _with_labels(t, labels, held)


PLANTS: dict[str, Callable[[Tables, np.random.Generator], Planted]] = {
    "nothing": lambda t, rng: _with_labels(t, t.y_train, np.zeros(len(t.y_train), dtype=bool)),
    "graduates low, September and October": _graduates,
    "graduates high, September and October": _graduates_high,
    "married low, June and July": _married,
    "rare, nothing": lambda t, rng: _with_labels(t, t.y_train, np.zeros(len(t.y_train), dtype=bool)),
    "rare, half missed": _half_missed,
    "rare, half missed and 1% flips": _half_missed_and_flips,
}


def measure(plant: str, rows: int, seed: int, learner: str) -> dict[str, Any]:
    clean = people(rows, seed, rare=plant.startswith("rare"))
    t, held, wrong = PLANTS[plant](clean, np.random.default_rng([seed, 7]))
    start = time.process_time()
    found = psidebug.debug(
        clone(t.learner(learner)), t.X_train, t.y_train, t.X_test, t.y_test,
        metadata=t.metadata, check_fidelity=False, rng=seed,
    )  # fmt: skip
    seconds = time.process_time() - start
    order = order_of(found.found.labels.p_wrong)
    changed = np.asarray(found.repaired_labels) != t.y_train
    best = found.found.explanations[0] if found.found.explanations else None
    told = "" if best is None else best.explanation
    accused = [each for each in found.found.slices if each.condition in told]
    named = [each for each in accused if _same(each.holds(found.data), held)]
    return {
        "plant": plant,
        "rows": rows,
        "seed": seed,
        "learner": learner,
        "wrong": int(wrong.sum()),
        "p_at_n": precision_at_n(order, wrong),
        "average_precision": average_precision(order, wrong),
        "corrected": int(changed.sum()),
        "corrected_wrong": int((changed & wrong).sum()),
        "named": int(bool(named)),
        "date_named": int(any("date" in each.columns for each in accused)),
        "evidence": None if best is None else best.evidence,
        "charge": None if best is None else best.charge,
        "alarm": int(best is not None and best.evidence > best.charge),
        "cause": found.found.causes[0].cause,
        "explanation": told,
        "seconds": seconds,
    }


def _same(one: Mask, other: Mask) -> bool:
    both = int((one & other).sum())
    return both > 0.5 * max(int(one.sum()), int(other.sum()))


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is not yet in the file."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seeds", type=int, nargs="+", default=range(5))
    options.add_argument("--rows", type=int, nargs="+", default=ROWS)
    options.add_argument("--plants", nargs="+", default=PLANTS)
    options.add_argument("--learners", nargs="+", default=LEARNERS)
    options.add_argument("--out", type=Path, default=RESULTS / "changes_in_time.csv")
    asked = options.parse_args(arguments)
    done = {tuple(line[name] for name in KEY) for line in read_lines(asked.out)}
    plants = [name for name in PLANTS if any(name.startswith(each) for each in asked.plants)]
    for seed in asked.seeds:
        for rows in asked.rows:
            for plant in plants:
                for learner in asked.learners:
                    if (plant, str(rows), str(seed), learner) in done:
                        continue
                    with threadpool_limits(limits=1), warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        line = measure(plant, rows, seed, learner)
                    append_lines(asked.out, [line], FIELDS)
                    print(*line.values(), sep=" | ", flush=True)


if __name__ == "__main__":
    main()
