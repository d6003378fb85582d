"""How often the search for slices finds what was planted, and at what cost: the figures in ``policy.py``.

Run ``python -m benchmarks.quality.slices``; ``--set BEAM=8`` tries another number of the policy, ``--seeds 100`` more
tasks. In each task a slice of one given label stands out: by scores that are higher inside by ``STRENGTH`` standard
deviations, or by labels that a script set in training but not in the test set. The slice is a category, a band of
numbers, one of many codes, a conjunction of two or three conditions, a word, or a stretch of row ids. It is found if at
least 70% of the rows of the planted and of the found slice are in both.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.dummy import DummyClassifier

from psidebug import policy
from psidebug.slices.conditions import Slice
from psidebug.slices.find import slices_by_label_share, slices_by_score
from psidebug.task.task import Task

ROWS, TEST_ROWS = 1500, 500
STRENGTH = 0.6
LISTED = 8
Mask = npt.NDArray[np.bool_]


def people(rng: np.random.Generator, count: int) -> pd.DataFrame:
    """Categories, whole numbers, numbers with fractions of few and of many values, and short texts."""
    words = np.array([f"word{number}" for number in range(150)])
    return pd.DataFrame(
        {
            "city": rng.choice(["Lima", "Oslo", "Pune", "Riga", "Bonn"], count),
            "job": rng.choice(["cook", "maid", "smith"], count),
            "sex": rng.choice(["F", "M"], count),
            "age": rng.integers(20, 70, count),
            "code": rng.integers(100, 140, count),
            "dose": rng.integers(1, 31, count) / 8,
            "height": rng.normal(170, 10, count).round(1),
            "note": [" ".join(rng.choice(words, 6)) for _ in range(count)],
        }
    )


PLANTED: dict[str, Callable[[pd.DataFrame], Any]] = {
    "category": lambda X: X["city"] == "Pune",
    "band": lambda X: X["height"].between(165, 173),
    "one of many codes": lambda X: X["code"].between(117, 117),
    "one of many fractions": lambda X: X["dose"] == 1.5,
    "two conditions": lambda X: (X["city"] == "Oslo") & (X["job"] == "cook"),
    "category and band": lambda X: (X["sex"] == "F") & (X["age"] <= 35),
    "three conditions": lambda X: (X["sex"] == "F") & (X["job"] == "cook") & (X["age"] > 40),
    "word": lambda X: X["note"].str.contains(r"\bword7\b"),
    "stretch of rows": lambda X: (X.index >= 375) & (X.index < 469),
}
SMALL = {
    "one of many codes": 1.6,
    "one of many fractions": 1.6,
    "two conditions": 1.6,
    "category and band": 1.3,
    "three conditions": 1.7,
    "word": 1.4,
    "stretch of rows": 1.4,
}
"""How much stronger the signal is in slices of few rows, so that none is found always, nor never."""


def by_score(seed: int, planted: Callable[[pd.DataFrame], Any], strength: float) -> tuple[list[Slice], Mask]:
    rng = np.random.default_rng(seed)
    X, labels = people(rng, ROWS), rng.integers(2, size=ROWS)
    inside = np.asarray(planted(X)) & (labels == 1)
    task = Task.of(DummyClassifier(strategy="prior"), X, labels, X[:50], labels[:50])
    return slices_by_score(task, strength * inside + rng.normal(size=ROWS), most=LISTED), inside


def by_label_share(seed: int, planted: Callable[[pd.DataFrame], Any], strength: float) -> tuple[list[Slice], Mask]:
    rng = np.random.default_rng(seed)
    X, X_test = people(rng, ROWS), people(rng, TEST_ROWS)
    labels, right = rng.integers(2, size=ROWS), rng.integers(2, size=TEST_ROWS)
    inside = np.asarray(planted(X))
    labels[inside & (rng.random(ROWS) < strength)] = 1
    task = Task.of(DummyClassifier(strategy="prior"), X, labels, X_test, right)
    return slices_by_label_share(task, most=LISTED), inside & (labels == 1)


def place_of(found: list[Slice], planted: Mask) -> int:
    """The place of the planted slice in the list; ``LISTED`` if it is not there."""
    for place, each in enumerate(found):
        rows = np.zeros(len(planted), dtype=bool)
        rows[each.members] = True
        if each.given == 1 and (rows & planted).sum() >= 0.7 * (rows | planted).sum():
            return place
    return LISTED


def main() -> None:
    """Measure, and print a line for each kind of slice and one for all."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seeds", type=int, default=30)
    options.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", dest="numbers")
    chosen = options.parse_args()
    for name, _, value in (each.partition("=") for each in chosen.numbers):
        setattr(policy, name, type(getattr(policy, name))(eval(value)))
    places: dict[tuple[str, str], list[int]] = defaultdict(list)
    seconds = 0.0
    for search in (by_score, by_label_share):
        for kind, planted in PLANTED.items():
            if search is by_label_share and kind == "stretch of rows":
                continue  # test rows have no ids
            for seed in range(chosen.seeds):
                start = process_time()
                found, inside = search(seed, planted, STRENGTH * SMALL.get(kind, 1.0))
                seconds += process_time() - start
                places[search.__name__, kind].append(place_of(found, inside))
    for name in ("by_score", "by_label_share"):
        own = {kind: np.array(each) for (of, kind), each in places.items() if of == name}
        for kind, each in (own | {"all": np.concatenate(list(own.values()))}).items():
            first, listed = np.mean(each == 0), np.mean(each < LISTED)
            print(f"{name:16} {kind:22} first {first:.3f}  listed {listed:.3f}  of {len(each)}")
    print(f"{seconds:.0f} seconds of one processor")


if __name__ == "__main__":
    main()
