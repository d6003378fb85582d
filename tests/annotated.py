"""A task whose training labels are answers of annotators: several modules of tests diagnose it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from tests.conftest import Planted, planted_rows

ERRORS = {"ann": 0.05, "bob": 0.05, "cid": 0.05, "dan": 0.45}
"""Who errs, and how often; dan only on good rows, which he calls bad."""


@dataclass(frozen=True)
class Crowd:
    """Planted rows with answers: most rows have two or three of them, and the label is the first."""

    planted: Planted
    truth: npt.NDArray[Any]
    wide: pd.DataFrame

    @property
    def labels(self) -> npt.NDArray[Any]:
        return np.array(self.wide.bfill(axis=1).iloc[:, 0].tolist())

    @property
    def long(self) -> pd.DataFrame:
        """With ids ``r0``, ``r1``, …, in any order."""
        named = self.wide.assign(row=[f"r{row}" for row in range(len(self.wide))])
        found = named.melt("row", var_name="annotator", value_name="label").dropna()
        return found.sample(frac=1.0, random_state=0)

    @property
    def arguments(self) -> dict[str, Any]:
        """Of ``debug``, but for the model and the answers."""
        rows = self.planted
        return {"X_train": rows.X_train, "y_train": self.labels, "X_test": rows.X_test, "y_test": rows.y_test}


def crowd(*, seed: int = 0, train: int = 240, test: int = 120) -> Crowd:
    planted, rng = planted_rows(seed=seed, train=train, test=test), np.random.default_rng(seed)
    truth = np.where(planted.wrong, "good", planted.y_train)
    answers: dict[str, Any] = {}
    for name, error in ERRORS.items():
        errs = rng.random(train) < error
        said = np.where(errs, "bad" if name == "dan" else np.where(truth == "good", "bad", "good"), truth)
        asked = rng.random(train) < 0.7
        answers[name] = [str(each) if one else None for each, one in zip(said, asked, strict=True)]
    wide = pd.DataFrame(answers)
    empty = wide.isna().all(axis=1)
    wide.loc[empty, "ann"] = truth[empty]
    return Crowd(planted, truth, wide[["dan", "ann", "bob", "cid"]])
