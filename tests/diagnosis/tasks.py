"""Tasks that more than one module of tests diagnoses."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_digits

from tests.conftest import Planted


def three_classes(planted: Planted) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Training and test labels of the planted rows, by the first column; the wrong ones are all low."""
    cuts = [-1.0, 2.0]
    names = np.array(["low", "mid", "top"])
    given = names[np.digitize(planted.X_train[:, 0], cuts)]
    given[planted.wrong] = "low"
    return given, names[np.digitize(planted.X_test[:, 0], cuts)]


def ten_digits(seed: int) -> tuple[npt.NDArray[Any], ...]:
    """Ten classes; all but the first eight 4s of training are called 9 (with none left, 4 would be an unseen class)."""
    pictures, digits = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(digits))
    train, test = order[:900], order[900:1350]
    given = digits[train].copy()
    given[np.flatnonzero(given == 4)[8:]] = 9
    return pictures[train] / 16.0, given, pictures[test] / 16.0, digits[test], digits[train]
