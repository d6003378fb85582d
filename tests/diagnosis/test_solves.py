"""What is expensive is done once per diagnosis: the effects of labels on the log loss are one solve, or one pass."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.svm import NuSVC

import psidebug
from psidebug.graybox.logistic.box import LogisticBox
from psidebug.graybox.trees.derivative import Reverse
from tests.conftest import Planted

SOLVES: dict[str, tuple[Any, type, str]] = {
    "newton": (LogisticRegression(), LogisticBox, "_effects_of"),
    "leaf_derivative": (GradientBoostingClassifier(n_estimators=5, random_state=0), Reverse, "run"),
    "surrogate": (NuSVC(), LogisticBox, "_effects_of"),
}


@pytest.mark.parametrize("name", SOLVES)
def test_effects_on_the_log_loss_are_solved_for_once(
    planted: Planted, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """The slices, PS and the fidelity all ask for them."""
    model, kind, method = SOLVES[name]
    solve, solved = getattr(kind, method), 0

    def counting(*arguments: Any) -> Any:
        nonlocal solved
        solved += 1
        return solve(*arguments)

    monkeypatch.setattr(kind, method, counting)
    found = psidebug.debug(model, planted.X_train, planted.y_train, planted.X_test, planted.y_test)
    assert found.fidelity is not None
    assert found.graybox is not None
    assert found.graybox.name == name
    assert solved == 1
