"""Learners with a gray box of their own besides logistic models and trees: against retraining, label by label."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scipy.sparse as sp
from scipy.stats import spearmanr
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.ensemble import BaggingClassifier
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression, RidgeClassifier, RidgeClassifierCV, SGDClassifier
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.naive_bayes import BernoulliNB, ComplementNB, GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from psidebug.errors import LearnerMismatch, UnsupportedLearner
from psidebug.graybox.choose import graybox_for
from psidebug.graybox.margin import MarginBox
from psidebug.graybox.margin.following import Followed
from psidebug.graybox.margin.reading import machine_of, side_and_weight
from psidebug.graybox.retrain import Retrain
from psidebug.margins import loss_weights
from psidebug.task.task import Task

Floats = npt.NDArray[np.float64]


@cache
def rows(name: str) -> tuple[Floats, npt.NDArray[np.intp]]:
    X, y = (load_breast_cancer if name == "cancer" else load_digits)(return_X_y=True)
    kept = np.isin(y, [0, 1]) if name == "cancer" else np.isin(y, [3, 5, 8])
    order = np.random.default_rng(0).permutation(np.flatnonzero(kept))[:420]
    return X[order], np.unique(y[order], return_inverse=True)[1]


def task(model: Any, name: str = "cancer", *, counts: bool = False, **options: Any) -> Task:
    """300 training rows, one label in twenty wrong, and 120 test rows."""
    X, y = rows(name)
    X = X if counts else StandardScaler().fit_transform(X)
    noisy = y[:300].copy()
    noisy[::20] = (noisy[::20] + 1) % len(np.unique(y))
    return Task.of(model, X[:300], noisy, X[300:], y[300:], **options)


def flips(task_: Task, count: int = 40) -> npt.NDArray[np.intp]:
    given = task_.train.codes
    chosen = np.random.default_rng(1).choice(len(given), count, replace=False)
    worlds = np.tile(given, (count, 1))
    worlds[np.arange(count), chosen] = (given[chosen] + 1) % task_.encoding.size
    return worlds


def agreement(task_: Task) -> float:
    """Rank correlation with retraining of what single flips do to the margins; changes of rounding size are none."""
    worlds = flips(task_)
    actual = task_.margins(task_.learner, task_.test)
    said, real = (box.margins(worlds) - actual for box in (graybox_for(task_), Retrain(task_, workers=1)))
    return float(spearmanr(np.round(said, 9).ravel(), np.round(real, 9).ravel()).statistic)


DETERMINISTIC: dict[str, tuple[Any, str, float]] = {
    "ridge": (RidgeClassifier(), "margin", 0.999),
    "ridge of the best alpha": (RidgeClassifierCV(alphas=np.array([1.0])), "margin", 0.999),
    "ridge with class weights": (RidgeClassifier(class_weight={0: 1.0, 1: 3.0}), "margin", 0.999),
    "linear support vectors": (LinearSVC(dual=False, tol=1e-8, max_iter=100_000), "margin", 0.85),
    "linear hinge": (LinearSVC(loss="hinge", C=0.1, tol=1e-8, max_iter=1_000_000), "margin", 0.8),
    "support vectors": (SVC(tol=1e-8), "margin", 0.85),
    "support vectors, linear": (SVC(kernel="linear", C=0.1, tol=1e-8), "margin", 0.75),
    "neighbours": (KNeighborsClassifier(), "neighbours", 0.999),
    "neighbours by distance": (KNeighborsClassifier(weights="distance"), "neighbours", 0.999),
    "Gaussian Bayes": (GaussianNB(), "naive_bayes", 0.995),
    "kernel logistic": (make_pipeline(Nystroem(random_state=0), LogisticRegression(tol=1e-10)), "newton", 0.95),
}


@pytest.mark.parametrize("name", ["cancer", "digits"])
@pytest.mark.parametrize("learner", DETERMINISTIC)
def test_single_flips_follow_retraining(learner: str, name: str) -> None:
    model, box, least = DETERMINISTIC[learner]
    task_ = task(model, name)
    assert graybox_for(task_).name == box
    assert agreement(task_) >= least


@pytest.mark.parametrize(
    "model",
    [
        SVC(tol=1e-10),
        SVC(kernel="linear", C=0.1, tol=1e-10, class_weight={0: 1.0, 1: 3.0}),
        LinearSVC(loss="hinge", C=0.1, tol=1e-10, max_iter=1_000_000, intercept_scaling=2.0),
        LinearSVC(loss="hinge", C=0.1, tol=1e-10, max_iter=1_000_000, fit_intercept=False),
    ],
)
def test_a_hinge_of_a_sharp_corner_is_followed_to_the_fit_that_retraining_makes(model: Any) -> None:
    weights = np.random.default_rng(2).uniform(0.5, 2.0, 300)
    task_ = task(model, sample_weight=weights)
    machine, worlds = machine_of(task_.learner, task_), flips(task_, 12)
    assert machine.kernels is not None
    given = task_.train.codes
    sides, most = (each[:, 0] for each in side_and_weight(machine.columns, machine.weights, given))
    fit = Followed(machine.kernels, sides, most, corner=1e-5)
    now = np.where(task_.test.codes == 1, 1.0, -1.0)
    real = (Retrain(task_, workers=1).margins(worlds) - task_.margins(task_.learner, task_.test))[:, :, 0]
    for world, moved in zip(worlds, real, strict=True):
        row = int(np.flatnonzero(world != given)[0])
        weight = float(side_and_weight(machine.columns, machine.weights, world)[1][row, 0])
        np.testing.assert_allclose(now * fit.moved(row, -sides[row], weight), moved, atol=2e-3 * np.abs(real).max())


@pytest.mark.parametrize("kernel", ["given by a function", "precomputed"])
def test_support_vectors_by_a_kernel_of_the_users_own(kernel: str) -> None:
    X, y = rows("digits")
    X = StandardScaler().fit_transform(X)
    among = [(np.exp(-((part[:, None] - X[None, :300]) ** 2).sum(axis=2) / 64)) for part in (X[:300], X[300:])]
    usual = Task.of(SVC(gamma=1 / 64, tol=1e-8), X[:300], y[:300], X[300:], y[300:])
    if kernel == "precomputed":
        own = Task.of(SVC(kernel="precomputed", tol=1e-8), among[0], y[:300], among[1], y[300:])
    else:
        made = SVC(kernel=lambda a, b: rbf_kernel(a, b, gamma=1 / 64), tol=1e-8)
        own = Task.of(made, X[:300], y[:300], X[300:], y[300:])
    worlds = flips(usual, 5)
    assert graybox_for(own).name == "margin"
    np.testing.assert_allclose(graybox_for(own).margins(worlds), graybox_for(usual).margins(worlds), atol=1e-6)
    other = Task.of(own.learner, own.train.features, np.roll(y[:300], 1), own.test.features, y[300:])
    assert graybox_for(other).name == "surrogate"


def test_more_labels_than_a_path_each_is_worth_have_a_force_each(monkeypatch: pytest.MonkeyPatch) -> None:
    task_ = task(SVC(tol=1e-8), "digits")
    worlds = flips(task_, 20)
    followed = MarginBox(task_).margins(worlds)
    monkeypatch.setattr("psidebug.graybox.margin.box.MOST_WORK", 0.0)
    by_force = MarginBox(task_).margins(worlds)
    assert 0.8 < spearmanr(followed.ravel(), by_force.ravel()).statistic < 1.0


@pytest.mark.parametrize("prior", ["counted", "given", "uniform"])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kind", [MultinomialNB, ComplementNB, BernoulliNB])
def test_naive_bayes_of_counts_is_exact(kind: Any, sparse: bool, prior: str) -> None:
    X, y = rows("digits")
    made = sp.csr_matrix(X) if sparse else X
    choices: dict[str, dict[str, Any]] = {
        "counted": {},
        "given": {"class_prior": [0.2, 0.3, 0.5]},
        "uniform": {"fit_prior": False},
    }
    settings = choices[prior]
    model = kind(alpha=0.5, **({"binarize": 8.0} if kind is BernoulliNB else {}), **settings)
    weights = np.random.default_rng(2).uniform(0.5, 2.0, 300)
    task_ = Task.of(model, made[:300], y[:300], made[300:], y[300:], sample_weight=weights)
    box, worlds = graybox_for(task_), flips(task_, 10)
    worlds[0] = np.roll(worlds[0], 7)
    np.testing.assert_allclose(box.margins(worlds), Retrain(task_, workers=1).margins(worlds), rtol=1e-6, atol=1e-6)


def test_effects_of_counts_are_derivatives_of_margins() -> None:
    """One row of little weight, moved: the derivative is then the difference."""
    X, y = rows("digits")
    light = np.where(np.arange(300) < 5, 1e-4, 1.0)
    for kind in (GaussianNB, MultinomialNB, ComplementNB, BernoulliNB):
        model = kind(var_smoothing=1e-2) if kind is GaussianNB else kind()
        task_ = Task.of(model, X[:300], y[:300], X[300:], y[300:], sample_weight=light)
        box: Any = graybox_for(task_)
        weights = loss_weights(box.actual)
        worlds = np.tile(task_.train.codes, (5, 1))
        worlds[np.arange(5), np.arange(5)] = (worlds[np.arange(5), np.arange(5)] + 1) % 3
        moved = ((box.margins(worlds) - box.actual) * weights).sum(axis=(1, 2))
        said = box.effects(weights)[np.arange(5), worlds[np.arange(5), np.arange(5)]]
        np.testing.assert_allclose(said, moved, rtol=1e-2, atol=1e-12)


def test_neighbours_may_be_weighed_by_a_function() -> None:
    task_ = task(KNeighborsClassifier(7, weights=lambda distances: np.exp(-distances)), "digits")
    worlds = flips(task_, 5)
    np.testing.assert_allclose(
        graybox_for(task_).margins(worlds), Retrain(task_, workers=1).margins(worlds), rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (SGDClassifier(loss="hinge", alpha=0.01, random_state=0), "margin"),
        (MLPClassifier((30,), max_iter=60, random_state=0), "mlp"),
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_learners_of_chance_have_a_gray_box_and_no_promise(model: Any, name: str) -> None:
    box: Any = graybox_for(task(model), name)
    assert np.isfinite(box.effects(loss_weights(box.actual))).all()


@pytest.mark.parametrize(
    "model", [RidgeClassifier(), LinearSVC(dual=False), SVC(), KNeighborsClassifier(), GaussianNB()]
)
def test_a_model_of_other_labels_is_refused(model: Any) -> None:
    fitted, (X, y) = task(model).learner, rows("cancer")
    other = y[:300].copy()
    other[:60] = 1 - other[:60]
    X = StandardScaler().fit_transform(X)
    stranger = Task.of(fitted, X[:300], other, X[300:], y[300:])
    by_name = {"KNeighborsClassifier": "neighbours", "GaussianNB": "naive_bayes"}.get(type(model).__name__, "margin")
    with pytest.raises(LearnerMismatch, match="was not fitted on"):
        graybox_for(stranger, by_name)
    assert graybox_for(stranger).name == "surrogate"


@pytest.mark.parametrize("name", ["margin", "neighbours", "naive_bayes", "mlp"])
def test_a_gray_box_of_another_learner_says_so(name: str) -> None:
    with pytest.raises(UnsupportedLearner):
        graybox_for(task(BaggingClassifier(n_estimators=2, random_state=0)), name)


def test_leverages_of_many_rows_are_taken_from_some(monkeypatch: pytest.MonkeyPatch) -> None:
    task_ = task(RidgeClassifier())
    worlds = flips(task_, 10)
    exact = MarginBox(task_).margins(worlds)
    monkeypatch.setattr("psidebug.graybox.margin.response.SOLVED_WORK", 0.0)
    np.testing.assert_allclose(MarginBox(task_).margins(worlds), exact, atol=0.05 * np.abs(exact).max())
