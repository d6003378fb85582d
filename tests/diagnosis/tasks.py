"""Tasks that more than one module of tests diagnoses."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tests.conftest import Planted


def three_classes(planted: Planted) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Training and test labels of the planted rows, by the first column; the wrong ones are all low."""
    cuts = [-1.0, 2.0]
    names = np.array(["low", "mid", "top"])
    given = names[np.digitize(planted.X_train[:, 0], cuts)]
    given[planted.wrong] = "low"
    return given, names[np.digitize(planted.X_test[:, 0], cuts)]
