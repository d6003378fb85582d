"""Every gray box that can be chosen by name, found in the registry and not listed here, through every check."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cache, partial

import numpy as np
import pytest
import torch
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC
from skorch import NeuralNetClassifier

from psidebug.graybox.choose import GRAYBOXES, graybox_for
from psidebug.graybox.logistic.reading import READERS
from psidebug.graybox.trees.adapters import REGISTRY
from tests.conformance import adapter_checks
from tests.conformance.graybox_checks import (
    CHECKS,
    NAMES_OF_CLASSES,
    ORDER_OF_ROWS,
    ROWS,
    Entry,
    Subject,
    agreement,
)
from tests.nets import perceptron


def logistic() -> LogisticRegression:
    return LogisticRegression(solver="newton-cholesky", tol=1e-10)


def boosting() -> GradientBoostingClassifier:
    return GradientBoostingClassifier(n_estimators=10, max_depth=2, min_samples_leaf=10, random_state=0)


def support_vectors() -> SVC:
    return SVC(tol=1e-8)


def network() -> MLPClassifier:
    return MLPClassifier((50,), solver="lbfgs", alpha=5.0, max_iter=2000, random_state=0)


def skorched(classes: int, widths: tuple[int, ...] = ()) -> NeuralNetClassifier:
    """A net of these widths between its five columns and its scores, trained on all rows at once."""
    return NeuralNetClassifier(
        perceptron(*widths, scores=classes),
        criterion=torch.nn.CrossEntropyLoss,
        optimizer=torch.optim.Adam,
        lr=0.05,
        max_epochs=150,
        batch_size=-1,
        train_split=None,
        verbose=0,
    )


# New regions are grown on labels moved at random by position, so the order of rows and the names of classes matter.
BY_CHANCE = frozenset({ORDER_OF_ROWS, NAMES_OF_CLASSES})
# Every class of a net begins with weights of its own.
WEIGHTS_DRAWN = frozenset({NAMES_OF_CLASSES})
ENTRIES: dict[str, Entry] = {
    "newton": Entry(logistic, follows=0.98),
    "newton_residual": Entry(logistic, follows=0.65),
    "gradient": Entry(logistic, follows=0.75),
    "gradient_residual": Entry(logistic, follows=0.55),
    "leaf": Entry(boosting, follows=0.55),
    "leaf_residual": Entry(boosting, follows=0.55),
    "leaf_refit": Entry(boosting, follows=0.55, linear=False),
    "leaf_refits": Entry(boosting, follows=0.55, linear=False, depends_on=BY_CHANCE),
    "leaf_derivative": Entry(boosting, follows=0.55),
    "margin": Entry(support_vectors, follows=0.5),
    "neighbours": Entry(KNeighborsClassifier, follows=0.999, adds_up=False, weighs=False),
    "naive_bayes": Entry(GaussianNB, follows=0.999, adds_up=False),
    "mlp": Entry(network, follows=0.6, depends_on=BY_CHANCE),
    "surrogate": Entry(GaussianNB, follows=0.7),
    # Its head stands where the training of all layers ended, and not at its own minimum.
    "last_layer": Entry(partial(skorched, widths=(8,)), follows=0.8, knows_classes=True, depends_on=WEIGHTS_DRAWN),
    # Of a net of one layer, so that the head that is retrained is all of it.
    "all_layers": Entry(skorched, follows=0.9, knows_classes=True, depends_on=WEIGHTS_DRAWN),
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
    if weighted and not ENTRIES[name].weighs:
        pytest.skip("this learner takes no weights")
    check(subject(name, classes, weighted))


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", ENTRIES)
def test_a_gray_box_of_other_rows_does_not_follow_retraining(name: str, classes: int) -> None:
    """What the level asks for is knowledge of the rows: with the rows shuffled it is out of reach."""
    shuffled = np.random.default_rng(8).permutation(ROWS)
    assert agreement(subject(name, classes, False), shuffled) < 0.35 < ENTRIES[name].follows


@pytest.mark.filterwarnings("ignore::FutureWarning")  # LogisticRegressionCV announces other defaults
@pytest.mark.parametrize("name", READERS)
def test_auto_takes_the_newton_step_for_every_logistic_learner(name: str) -> None:
    kind = getattr(importlib.import_module("sklearn.linear_model"), name)
    model = kind(loss="log_loss", random_state=0) if name == "SGDClassifier" else kind()
    assert graybox_for(adapter_checks.task(model)).name == "newton"


@pytest.mark.parametrize("path", REGISTRY, ids=lambda path: path.rsplit(".", 1)[1])
def test_auto_takes_the_leaf_derivative_for_every_adapter(path: str) -> None:
    module, name = path.rsplit(".", 1)
    model = adapter_checks.Case(getattr(importlib.import_module(module), name)).model()
    assert graybox_for(adapter_checks.task(model)).name == "leaf_derivative"
