"""Gray boxes measured against retraining: good ones pass, those that know nothing do not, for a handful of fits."""

from __future__ import annotations

import math
from dataclasses import FrozenInstanceError, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import spearmanr
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

import psidebug
from psidebug.errors import UnknownOption
from psidebug.graybox.choose import graybox_for
from psidebug.graybox.fidelity import Fidelity, fidelity
from psidebug.graybox.protocol import Floats, LinearGrayBox
from psidebug.graybox.retrain import Retrain
from psidebug.report import summarise
from psidebug.report.page import render
from psidebug.task.task import Task
from tests.conftest import Planted
from tests.graybox.logistic_tasks import census_like


class OfOtherRows:
    """A gray box that takes every row for another: it knows what flips do, and not which."""

    name = "of other rows"

    def __init__(self, box: Any, task: Task, *, seed: int) -> None:
        self._box, self._given, self.actual = box, task.train.codes, box.actual
        self._other = np.random.default_rng(seed).permutation(len(self._given))

    def margins(self, worlds: npt.NDArray[np.intp], points: Any = None) -> Floats:
        moved = (worlds != self._given)[:, self._other]
        return np.asarray(self._box.margins(np.where(moved, 1 - self._given, self._given), points))

    def effects(self, weights: Floats) -> Floats:
        known = self._box.effects(weights)
        effects, rows = np.zeros(known.shape), np.arange(len(known))
        effects[self._other, 1 - self._given[self._other]] = known[rows, 1 - self._given]
        return effects


class Curved:
    """A gray box that only answers: no effects, so it cannot rank rows by itself."""

    name = "curved"

    def __init__(self, box: Any) -> None:
        self._box = box

    def margins(self, worlds: npt.NDArray[np.intp], points: Any = None) -> Floats:
        return np.asarray(self._box.margins(worlds, points))


class Shrugging:
    """A gray box that says that nothing ever changes."""

    name = "shrugging"

    def __init__(self, task: Task) -> None:
        self.actual = task.margins(task.learner, task.test)

    def margins(self, worlds: npt.NDArray[np.intp], points: Any = None) -> Floats:
        return np.repeat(self.actual[None, slice(None) if points is None else points], len(worlds), axis=0)


@pytest.fixture(scope="module")
def task() -> Task:
    data = census_like(rows=400, tests=150)
    wrong = (data.X_train[:, -1] > 0.8) & (data.y_train == 0)
    labels = np.where(wrong, 1, data.y_train)
    return replace(data, y_train=labels).task(LogisticRegression(tol=1e-8, max_iter=1000))


@pytest.fixture(scope="module")
def newton(task: Task) -> Any:
    return graybox_for(task, "newton")


def test_the_newton_step_is_trustworthy(task: Task, newton: Any) -> None:
    measured = fidelity(newton, task)
    assert measured.trustworthy
    assert measured.gains > 0.95
    assert measured.ranking == 1.0
    assert measured.groups.rank_correlation > 0.95
    assert measured.singles.rank_correlation > 0.99
    assert 0.8 < measured.singles.slope < 1.2
    assert measured.singles.relative_error < 0.2
    assert measured.groups.sign_agreement > 0.9
    assert (measured.fits, measured.labels, measured.groups.worlds, measured.singles.worlds) == (6, 20, 4, 2)


@pytest.mark.parametrize("form", ["leaf_derivative", "leaf"])
def test_trees_are_judged_by_groups(form: str) -> None:
    data = census_like(rows=300, tests=150)
    task = data.task(GradientBoostingClassifier(n_estimators=100, random_state=0))
    measured = fidelity(graybox_for(task, form), task)
    assert measured.trustworthy, str(measured)
    assert (0.5 < measured.groups.slope < 2.0) == (form == "leaf_derivative"), "the paper's form has the wrong scale"


@pytest.mark.parametrize("seed", range(6))
def test_a_gray_box_of_other_rows_is_found_out(task: Task, newton: Any, seed: int) -> None:
    bogus = OfOtherRows(newton, task, seed=seed)
    assert isinstance(bogus, LinearGrayBox)
    measured = fidelity(bogus, task, rng=np.random.default_rng(seed))
    assert not measured.trustworthy, str(measured)
    assert str(measured).endswith("so its ranking is a guess")
    pooled = spearmanr(
        (bogus.margins(worlds := _random_groups(task)) - newton.actual).ravel(),
        (Retrain(task).margins(worlds) - newton.actual).ravel(),
    ).statistic
    assert pooled > 0.4, "which is what margins' changes would not show if their mean were left in"


def _random_groups(task: Task) -> npt.NDArray[np.intp]:
    rng = np.random.default_rng(0)
    worlds = np.tile(task.train.codes, (3, 1))
    for world in worlds:
        rows = rng.choice(len(world), 20, replace=False)
        world[rows] = 1 - world[rows]
    return worlds


def test_a_gray_box_that_says_nothing_is_not_trusted(task: Task) -> None:
    measured = fidelity(Shrugging(task), task)
    assert measured.gains == measured.groups.rank_correlation == 0.0
    assert math.isnan(measured.groups.slope)
    assert measured.groups.relative_error == 1.0
    assert not measured.trustworthy


def test_retraining_agrees_with_itself(task: Task) -> None:
    itself = fidelity(Retrain(task), task)
    assert itself.groups.rank_correlation == pytest.approx(1.0)
    assert itself.groups.slope == pytest.approx(1.0)
    assert itself.singles.sign_agreement == 1.0
    assert itself.groups.relative_error == 0.0


@pytest.mark.parametrize("fits", [4, 9, 15])
def test_no_more_fits_than_allowed(task: Task, newton: Any, fits: int) -> None:
    measured = fidelity(newton, task, fits=fits)
    assert measured.fits == fits == measured.groups.worlds + measured.singles.worlds


@pytest.mark.parametrize("fits", [3, 0, -1, 2.5, "many"])
def test_too_few_fits_to_say_anything(task: Task, newton: Any, fits: Any) -> None:
    with pytest.raises(UnknownOption, match="fits"):
        fidelity(newton, task, fits=fits)


def test_a_group_that_was_retrained_before_costs_nothing(task: Task, newton: Any) -> None:
    order = np.argsort(-newton.effects(np.ones_like(newton.actual)).max(axis=1))
    known = []
    for count in (1, 16, 32, 100):
        codes = task.train.codes.copy()
        codes[order[:count]] = 1 - codes[order[:count]]
        known.append((codes, Retrain(task).margins(codes[None])[0]))
    measured = fidelity(newton, task, retrained=known)
    assert measured.labels == 16, "the nearest to 5% of 400"
    assert (measured.fits, measured.groups.worlds) == (6, 5)
    assert fidelity(newton, task, retrained=known[3:]).labels == 20, "a quarter of the labels is no small change"


def test_a_gray_box_that_cannot_rank_is_given_the_suspects(task: Task, newton: Any) -> None:
    effects = newton.effects(_loss_weights(task))
    other = 1 - task.train.codes
    order = np.argsort(-effects[np.arange(len(other)), other])
    measured = fidelity(Curved(newton), task, suspects=order, proposed=other)
    assert measured.trustworthy
    assert measured.gains == pytest.approx(fidelity(newton, task).gains, abs=0.1)
    assert fidelity(Curved(newton), task).groups.rank_correlation > 0.9, "random groups do too, with less to tell apart"


def _loss_weights(task: Task) -> Floats:
    margins = task.margins(task.learner, task.test)
    return np.asarray(1.0 / (1.0 + np.exp(margins)) / len(margins))


def test_three_classes_and_one_that_is_lost() -> None:
    data = census_like(rows=200, tests=60, classes=3)
    labels = data.y_train.copy()
    labels[np.flatnonzero(labels == 2)[1:]] = 0  # one row of the third class is left
    task = replace(data, y_train=labels).task(LogisticRegression())
    measured = fidelity(graybox_for(task), task, fits=9)
    assert measured.groups.worlds == 6
    assert -1.0 <= measured.gains <= 1.0
    assert 0.0 <= measured.groups.sign_agreement <= 1.0


def test_worlds_that_cannot_be_trained_in_are_left_out(task: Task, newton: Any) -> None:
    class Moody(LogisticRegression):  # type: ignore[misc]
        """Fails unless the first row is labelled as given."""

        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
            if y[first] != given:
                raise ValueError("not today")
            return super().fit(X, y)

    first = int(np.argsort(-newton.effects(_loss_weights(task)).max(axis=1))[0])
    given = task.encoding.native[task.train.codes][first]
    moody = replace(task, learner=Moody().fit(task.train.features, task.encoding.native[task.train.codes]))
    measured = fidelity(newton, moody)
    assert measured.groups.worlds < 4
    assert measured.singles.worlds < 2


def test_a_task_of_a_few_rows_says_what_can_be_said() -> None:
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    task = Task.of(LogisticRegression(), X, [0, 0, 1, 1], X, [0, 1, 1, 1])
    measured = fidelity(graybox_for(task), task)
    assert measured.labels == 1
    assert "1 label " in str(measured)
    two = Task.of(LogisticRegression(), X[:2], [0, 1], X, [0, 1, 1, 1])
    assert "could not be measured" in str(fidelity(graybox_for(two), two))


# ── in the diagnosis ────────────────────────────────────────────────────────────────────────────────────────────────


def debug(planted: Planted, **options: Any) -> psidebug.Diagnosis:
    return psidebug.debug(
        LogisticRegression(), planted.X_train, planted.y_train, planted.X_test, planted.y_test, **options
    )


def test_the_diagnosis_has_it_in_its_settings_and_its_report(planted: Planted) -> None:
    found = debug(planted).with_proof
    assert isinstance(found.fidelity, Fidelity)
    assert found.fidelity.trustworthy
    assert found.fidelity.fits <= 6
    assert found.settings["fidelity"] == str(found.fidelity)
    assert str(found.fidelity).replace("'", "&#39;") in render(summarise(found.findings, found.data))
    assert "guess" not in found.verdict
    with pytest.raises(FrozenInstanceError):
        found.fidelity.gains = 1.0  # type: ignore[misc]


def test_it_can_be_left_out_and_changes_no_suspect(planted: Planted) -> None:
    without, with_it = debug(planted, check_fidelity=False).with_proof, debug(planted).with_proof
    assert without.fidelity is None
    assert without.settings["fidelity"] == "not measured"
    assert with_it.fidelity is not None
    assert with_it.settings["fits"] == without.settings["fits"], "those of the decision"
    assert without.suspects.equals(with_it.suspects)


def test_a_guess_is_called_a_guess(planted: Planted) -> None:
    data = planted.X_train, planted.y_train, planted.X_test, planted.y_test
    task = Task.of(LogisticRegression(), *data)
    bogus = OfOtherRows(graybox_for(task), task, seed=0)
    found = psidebug.debug(LogisticRegression(), *data, graybox=bogus)
    assert "guess" not in found.verdict
    found = found.with_proof
    assert found.fidelity is not None
    assert not found.fidelity.trustworthy
    assert "PS is a guess" in found.verdict
    assert found.settings["gray box"] == "of other rows"
    assert "PS is a guess" in render(summarise(found.findings, found.data))


def test_retraining_and_nothing_to_debug_need_none(planted: Planted) -> None:
    rates = np.where(np.isin(np.arange(120), np.flatnonzero(planted.wrong)[:3]), 0.3, 0.0)
    task = Task.of(LogisticRegression(), planted.X_train, planted.y_train, planted.X_test, planted.y_test)
    nearest = int(task.bugs[task.margins(task.learner, task.test)[task.bugs].min(axis=1).argmax()])
    found = debug(planted, graybox="retrain", prior=rates, bugs=[nearest], symptom="misclassified")
    assert found.fidelity is None
    assert debug(planted, bugs=[]).fidelity is None


@pytest.mark.filterwarnings("ignore:lbfgs failed")
def test_what_the_gray_box_and_the_engine_have_to_say_reaches_the_reader(planted: Planted) -> None:
    wide = 1e4 * planted.X_train
    model = LogisticRegression(max_iter=3).fit(wide, planted.y_train)
    found = psidebug.debug(model, wide, planted.y_train, 1e4 * planted.X_test, planted.y_test)
    assert found.estimates is not None
    assert any("max_iter" in note for note in found.notes)
    assert set(found.estimates.warnings) <= set(found.notes)
    page = render(summarise(found.findings, found.data))
    assert "What to bear in mind" in page
    assert all(note.replace("'", "&#39;") in page for note in found.notes)
    assert "What to bear in mind" not in render(summarise((clear := debug(planted)).findings, clear.data))
