"""The run of the demo: digits, even against odd, where every 4 of the training set is called odd."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from sklearn.linear_model import LogisticRegression

import psidebug
from psidebug.datasets.digits import mislabelled_digits


def save_digits(path: Path) -> None:
    data = mislabelled_digits(seed=1)
    diagnosis = psidebug.debug(
        LogisticRegression(max_iter=1000),
        data.X_train,
        data.y_train,
        data.X_test,
        data.y_test,
        rows=data.rows,
        X_validation=data.X_validation,
        y_validation=data.y_validation,
        metadata=pa.table({"digit": data.digit_train}),
        images=(8, 8),
        check_fidelity=False,
        rng=1,
    )
    diagnosis.save(path)
