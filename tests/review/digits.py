"""The run of the demo: digits, even against odd, where every 4 of the training set is called odd."""

from __future__ import annotations

from pathlib import Path

import psidebug
from psidebug.datasets.digits import mislabelled_digits


def save_digits(path: Path) -> None:
    data = mislabelled_digits(seed=1)
    psidebug.debug(**data.arguments(), check_fidelity=False, rng=1).save(path)
