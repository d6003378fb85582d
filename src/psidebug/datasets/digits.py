"""Handwritten digits, even against odd, where a labelling script marked every 4 of the training set as odd.

The pictures are scikit-learn's own copy of the UCI digits (1,797 of 8 × 8 pixels); nothing is downloaded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, eq=False)
class MislabelledDigits:
    """Training, test and validation digits; only the training labels are wrong."""

    X_train: npt.NDArray[np.float64]
    y_train: npt.NDArray[Any]
    digit_train: npt.NDArray[np.intp]
    X_test: npt.NDArray[np.float64]
    y_test: npt.NDArray[Any]
    X_validation: npt.NDArray[np.float64]
    y_validation: npt.NDArray[Any]
    rows: list[str]
    """Name of each training picture."""
    y_clean: npt.NDArray[Any]
    """What the training labels should have been."""

    def arguments(self) -> dict[str, Any]:
        """Arguments of :func:`psidebug.debug`: a logistic regression, these rows, and the digit of each."""
        import pyarrow as pa
        from sklearn.linear_model import LogisticRegression

        data = ("X_train", "y_train", "X_test", "y_test", "rows", "X_validation", "y_validation")
        return {
            "model": LogisticRegression(max_iter=1000),
            **{name: getattr(self, name) for name in data},
            "metadata": pa.table({"digit": self.digit_train}),
            "images": (8, 8),
        }


def handwritten() -> tuple[npt.NDArray[np.float64], npt.NDArray[np.intp]]:
    """All pictures, their pixels from 0 to 1, and the digits they show."""
    from sklearn.datasets import load_digits

    pictures, digits = load_digits(return_X_y=True)
    return pictures / 16.0, digits.astype(np.intp)


def mislabelled_digits(seed: int = 0) -> MislabelledDigits:
    """Half of the digits to train on, a quarter to test, a quarter to validate; every 4 in training is called odd."""
    pictures, digits = handwritten()
    order = np.random.default_rng(seed).permutation(len(digits))
    train, test, validation = np.split(order, [900, 1350])
    parity = np.where(digits % 2 == 0, "even", "odd")
    return MislabelledDigits(
        X_train=pictures[train],
        y_train=np.where(digits[train] == 4, "odd", parity[train]),
        digit_train=digits[train],
        X_test=pictures[test],
        y_test=parity[test],
        X_validation=pictures[validation],
        y_validation=parity[validation],
        rows=[f"picture-{number:04d}" for number in train],
        y_clean=parity[train],
    )
