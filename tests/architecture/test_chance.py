"""Chance has a seed, and numpy's global generator is nobody's to set: it belongs to the whole process."""

from __future__ import annotations

import pathlib
import re
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import TargetEncoder
from sklearn.svm import SVC

import psidebug
from tests.conftest import Planted

SOURCE = pathlib.Path(psidebug.__file__).parent
LEARNERS: dict[str, Any] = {
    "logistic": LogisticRegression(),
    "forest": RandomForestClassifier(10),
    "cross-fitted": make_pipeline(TargetEncoder(), LogisticRegression()),
    "surrogate": SVC(),
}


@pytest.fixture
def _untouchable(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("numpy's global generator was set")

    for name in ("seed", "set_state"):
        monkeypatch.setattr(np.random, name, refuse)


@pytest.mark.usefixtures("_untouchable")
@pytest.mark.filterwarnings("ignore:.*TargetEncoder.shuffle:FutureWarning")
@pytest.mark.parametrize("name", LEARNERS)
def test_a_diagnosis_is_repeated_without_numpys_global_generator(planted: Planted, name: str) -> None:
    """Neither set nor drawn from, and still the same answer twice."""
    before = np.random.get_state()[1].tolist()  # type: ignore[index]  # noqa: NPY002
    data = planted.X_train, planted.y_train, planted.X_test, planted.y_test
    one, same = (psidebug.debug(LEARNERS[name], *data, rng=1) for _ in range(2))
    assert np.random.get_state()[1].tolist() == before  # type: ignore[index]  # noqa: NPY002
    assert one.estimates is not None
    assert same.estimates is not None
    np.testing.assert_array_equal(one.estimates.ps, same.estimates.ps)
    np.testing.assert_array_equal(one.order, same.order)


def test_no_line_of_psi_sets_it() -> None:
    setting = re.compile(r"np\.random\.(seed|set_state)\b")
    assert [path.name for path in SOURCE.rglob("*.py") if setting.search(path.read_text(encoding="utf-8"))] == []
