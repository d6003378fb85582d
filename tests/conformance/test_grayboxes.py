"""Every gray box that can be chosen by name, found in the registry and not listed here, through every check."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cache

import pytest
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from psidebug.graybox.adapters import REGISTRY
from psidebug.graybox.choose import GRAYBOXES, graybox_for
from psidebug.graybox.logistic.reading import READERS
from tests.conformance import adapter_checks
from tests.conformance.graybox_checks import CHECKS, NAMES_OF_CLASSES, ORDER_OF_ROWS, Entry, Subject


def logistic() -> LogisticRegression:
    return LogisticRegression(solver="newton-cholesky", tol=1e-10)


def boosting() -> GradientBoostingClassifier:
    return GradientBoostingClassifier(n_estimators=10, max_depth=2, random_state=0)


# New regions are grown on labels moved at random by position, so the order of rows and the names of classes matter.
BY_CHANCE = frozenset({ORDER_OF_ROWS, NAMES_OF_CLASSES})
ENTRIES: dict[str, Entry] = {
    "newton": Entry(logistic, follows=0.9),
    "newton_residual": Entry(logistic, follows=0.9),
    "gradient": Entry(logistic, follows=0.9),
    "gradient_residual": Entry(logistic, follows=0.9),
    "leaf": Entry(boosting, follows=0.9),
    "leaf_residual": Entry(boosting, follows=0.9),
    "leaf_refit": Entry(boosting, follows=0.9, linear=False),
    "leaf_refits": Entry(boosting, follows=0.9, linear=False, depends_on=BY_CHANCE),
    "leaf_derivative": Entry(boosting, follows=0.9),
    "surrogate": Entry(GaussianNB, follows=0.9),
    "retrain": Entry(logistic, follows=0.999, linear=False),
}


@cache
def subject(name: str, classes: int, weighted: bool) -> Subject:
    """Made once: the task is fitted once for all checks."""
    return Subject(name, ENTRIES[name], classes, weighted)


def test_every_gray_box_has_an_entry() -> None:
    assert set(ENTRIES) == set(GRAYBOXES) - {"auto"}


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", ENTRIES)
def test_conforms(name: str, classes: int, weighted: bool, check: Callable[[Subject], None]) -> None:
    check(subject(name, classes, weighted))


def test_every_learner_with_a_gray_box_of_its_own_gets_it() -> None:
    for name in READERS:
        kind = getattr(importlib.import_module("sklearn.linear_model"), name)
        model = kind(loss="log_loss", random_state=0) if name == "SGDClassifier" else kind()
        assert graybox_for(adapter_checks.task(model)).name == "newton"
    for path in REGISTRY:
        module, name = path.rsplit(".", 1)
        model = adapter_checks.Case(getattr(importlib.import_module(module), name)).model()
        assert graybox_for(adapter_checks.task(model)).name == "leaf_derivative"
