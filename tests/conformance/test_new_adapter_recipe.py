"""The skeleton of docs/recipes/new_adapter.md is run, and goes through the suite like any other adapter."""

from __future__ import annotations

import pathlib
import re
import sys
import types
from collections.abc import Callable

import numpy as np
import pytest

from psidebug.graybox.retrain import Retrain
from psidebug.graybox.trees.adapters import REGISTRY
from psidebug.graybox.trees.refit import LeafRefit, LeafRefits
from tests.conformance.adapter_checks import CHECKS, Case, some_worlds, task

RECIPE = pathlib.Path(__file__).parents[2] / "docs" / "recipes" / "new_adapter.md"


@pytest.fixture
def stump_booster(monkeypatch: pytest.MonkeyPatch) -> Case:
    library, adapter = re.findall(r"```python\n(.*?)```", RECIPE.read_text(encoding="utf-8"), re.DOTALL)
    for name, text in (("stumps.library", library), ("stumps.adapter", adapter)):
        module = types.ModuleType(name)
        exec(compile(text, str(RECIPE), "exec"), module.__dict__)
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setitem(REGISTRY, "stumps.library.StumpBooster", "stumps.adapter")
    return Case(sys.modules["stumps.library"].StumpBooster)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_skeleton_conforms(stump_booster: Case, check: Callable[[Case], None]) -> None:
    check(stump_booster)


def test_leaf_refit_is_retraining_where_splits_do_not_follow_labels(stump_booster: Case) -> None:
    task_ = task(stump_booster.model())
    worlds = some_worlds(task_, flips=40)
    refit, retrain = LeafRefit(task_).margins(worlds), Retrain(task_).margins(worlds)
    np.testing.assert_allclose(refit, retrain, rtol=0, atol=1e-12)
    np.testing.assert_allclose(LeafRefits(task_).margins(worlds), retrain, rtol=0, atol=1e-12)
    assert np.abs(refit - refit[0]).max() > 0.1
