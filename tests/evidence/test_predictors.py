"""Predictors: nobody predicts a label that they have seen, and who cannot be trained is left out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, cast

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from psidebug.diagnosis import some_rows
from psidebug.evidence.calibration import calibrate
from psidebug.evidence.contest import worth_asking
from psidebug.evidence.held_out import Folds, LabelPredictions, Lesson, Recipe, Without
from psidebug.evidence.predictors import FOREST, LINEAR, OWN, Predictors, once_for_all
from psidebug.evidence.predictors import OWN_ON_TEST as ON_TEST
from psidebug.evidence.which_set import mirrored
from psidebug.policy import FOLDS, LEAST_PROBABILITY
from psidebug.slices.conditions import Condition, Slice
from psidebug.task.data import LabelledSet
from psidebug.task.task import Task
from psidebug.training.trainer import Trainer

Codes = npt.NDArray[np.intp]


def predictors_of(model: Any, X: Any, y: Any, X_test: Any, y_test: Any, **options: Any) -> Predictors:
    return predictors_in(Task.of(model, X, y, X_test, y_test, **options))


def predictors_in(task: Task, folds: Folds | None = None) -> Predictors:
    return Predictors.of(task, Trainer(task), folds)


def predicted(predictors: Predictors, excluded: Any = None) -> dict[str, LabelPredictions]:
    nobody = np.zeros(len(predictors.task.train), dtype=bool)
    if excluded is not None:
        nobody[excluded] = True
    return {each.name: each for each in predictors.predict(nobody)}


def _mask(rows: Any) -> Any:
    return np.isin(np.arange(120), rows)


def drawn(seed: int = 0, train: int = 120, test: int = 60) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(train + test, 3))
    y = (X[:, 0] + 0.5 * rng.normal(size=len(X)) > 0).astype(int)
    return X[:train], y[:train], X[train:], y[train:]


# ── no row is predicted by a model that saw its label ───────────────────────────────────────────────────────────────


@pytest.mark.chance(1e-5)
def test_a_learner_by_heart_knows_nothing_of_random_labels() -> None:
    """One nearest neighbour says 1.00 of rows that it was trained on; 0.5 ± 0.12 is five standard errors of 450."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(900, 3)), rng.integers(0, 2, 900)
    model = KNeighborsClassifier(1).fit(X[:450], y[:450])
    assert model.score(X[:450], y[:450]) == 1.0
    predictions = predicted(predictors_of(KNeighborsClassifier(1), X[:450], y[:450], X[450:], y[450:]))
    assert set(predictions) == {OWN, ON_TEST, LINEAR, FOREST}
    for each in predictions.values():
        for said, labels in ((each.train, y[:450]), (each.test, y[450:])):
            assert (said.argmax(axis=1) == labels).mean() == pytest.approx(0.5, abs=0.12), each.name


@pytest.mark.parametrize(("where", "fold"), [("train", 0), ("train", 2), ("test", 1)])
def test_other_labels_of_a_fold_change_no_prediction_of_it(where: str, fold: int) -> None:
    predictors = predictors_of(GaussianNB(), *drawn())
    predictors = predictors.without([LINEAR, FOREST])
    rng, task = np.random.default_rng(fold), predictors.task
    folds = predictors.folds.train if where == "train" else predictors.folds.test
    own = np.flatnonzero(folds == fold)
    kept: LabelledSet = getattr(task, where)
    codes = kept.codes.copy()
    codes[own] = rng.permutation(1 - codes[own])
    changed_part: Any = {where: LabelledSet(kept.features, codes)}
    other_task = replace(task, data=replace(task.data, **changed_part))
    other = predictors_in(other_task, predictors.folds).without([LINEAR, FOREST])
    before, after = predicted(predictors), predicted(other)
    changed = []
    for name in before:
        one, two = getattr(before[name], where), getattr(after[name], where)
        np.testing.assert_array_equal(one[own], two[own])
        changed.append(not np.array_equal(one, two))
    assert any(changed), "it is the labels of other folds that are learned from"


@pytest.mark.parametrize("where", ["train", "test"])
@pytest.mark.parametrize("row", [0, 31])
def test_another_label_changes_no_prediction_of_its_row_by_a_forest(where: str, row: int) -> None:
    """Trees with the row in their bag are not asked about it, and the others have not seen its label."""
    predictors = predictors_of(GaussianNB(), *drawn())
    kept: LabelledSet = getattr(predictors.task, where)
    codes = kept.codes.copy()
    codes[row] = 1 - codes[row]
    changed_part: Any = {where: LabelledSet(kept.features, codes)}
    other_task = replace(predictors.task, data=replace(predictors.task.data, **changed_part))
    before, after = (predicted(each)[FOREST] for each in (predictors, predictors_in(other_task)))
    one, two = getattr(before, where), getattr(after, where)
    np.testing.assert_array_equal(one[row], two[row])
    assert not np.array_equal(one, two), "others learn from it"


@pytest.mark.parametrize("name", [OWN, ON_TEST, LINEAR])
def test_a_logistic_regression_predicts_a_row_as_if_trained_without_it(name: str) -> None:
    """Against all predictors on the task without the row, which predict it plainly."""
    X, y, X_test, y_test = drawn()
    prediction = predicted(predictors_of(LogisticRegression(tol=1e-10), X, y, X_test, y_test))[name]
    where = "test" if name == ON_TEST else "train"
    missed, moved = [], []
    for row in range(0, 60, 20):
        excluded, test = np.zeros(len(y), dtype=bool), np.arange(len(y_test))
        if where == "train":
            excluded[row] = True
            without = predicted(predictors_of(LogisticRegression(tol=1e-10), X, y, X_test, y_test), excluded)[
                name
            ].train[row]
        else:  # the row is asked about as one more training row, of which this learner sees no label
            test = np.delete(test, row)
            asked = np.vstack([X, X_test[[row]]]), np.append(y, 0)
            without = predicted(predictors_of(LogisticRegression(tol=1e-10), *asked, X_test[test], y_test[test]))[
                name
            ].train[-1]
        said = getattr(prediction, where)[row]
        fitted = (
            LogisticRegression(tol=1e-10).fit(X, y) if where == "train" else LogisticRegression().fit(X_test, y_test)
        )
        seen = fitted.predict_log_proba((X if where == "train" else X_test)[[row]])[0]
        missed.append(np.abs(said - without).max())
        moved.append(np.abs(seen - without).max())
    assert np.mean(missed) < 0.2 * np.mean(moved)


def test_excluded_rows_teach_nobody_who_speaks_of_them() -> None:
    """Of a slow learner, the others speak of them; of other rows it has spoken before they were excluded."""
    predictors = predictors_of(GaussianNB(), *drawn())
    task, excluded = predictors.task, np.arange(20, 50)
    codes = task.train.codes.copy()
    codes[excluded] = 1 - codes[excluded]
    other_task = replace(task, data=task.data.with_labels(codes))
    other = predictors_in(other_task, predictors.folds)
    before, after = predicted(predictors, excluded), predicted(other, excluded)
    assert set(before) == {OWN, ON_TEST, LINEAR, FOREST}
    for name in (ON_TEST, LINEAR):
        np.testing.assert_array_equal(before[name].train, after[name].train)
        np.testing.assert_array_equal(before[name].test, after[name].test)
    for one, labels in ((predictors, task), (other, other_task)):
        said, others = predicted(one, excluded), [each for each in one.predict(_mask(excluded)) if each.name != OWN]
        together = calibrate(others, labels.test.codes).train
        np.testing.assert_array_equal(said[OWN].train[excluded], together[excluded])
        kept = np.setdiff1d(np.arange(120), excluded)
        np.testing.assert_array_equal(said[OWN].train[kept], predicted(one)[OWN].train[kept])
    assert not np.array_equal(predicted(predictors)[OWN].train, predicted(other)[OWN].train)


def test_excluded_rows_are_not_counted_in_a_forest() -> None:
    """They have a part in where its leaves are, which changes little; not in what is in them."""
    predictors = predictors_of(GaussianNB(), *drawn(train=600))
    task, excluded = predictors.task, np.flatnonzero(predictors.task.train.features[:, 1] > 0.8)
    codes = task.train.codes.copy()
    codes[excluded] = 1 - codes[excluded]
    other = predictors_in(replace(task, data=task.data.with_labels(codes)), predictors.folds)
    counted, not_counted = (
        np.abs(np.exp(predicted(predictors, rows)[FOREST].train) - np.exp(predicted(other, rows)[FOREST].train))
        for rows in (None, excluded)
    )
    assert not_counted[excluded].mean() < 0.3 * counted[excluded].mean()


@pytest.mark.parametrize("home", ["features", "metadata"])
def test_of_a_slice_the_others_speak_for_a_slow_learner(home: str) -> None:
    """It is not trained for that. Of metadata no test row is known to be inside."""
    X, y, X_test, y_test = drawn()
    metadata = None if home == "features" else pd.DataFrame({"x1": X[:, 1]})
    predictors = predictors_of(Watched(), X, y, X_test, y_test, metadata=metadata)
    first = predicted(predictors)[OWN]
    slices = [Slice((Condition("x1", ">", (0.5,), home),), 1, np.arange(3), 1.0)]  # type: ignore[arg-type]
    inside = X[:, 1] > 0.5
    inside_test = X_test[:, 1] > (0.5 if home == "features" else np.inf)
    Watched.fits.clear()
    said = predictors.predict(inside, slices)
    assert Watched.fits == []
    together = calibrate([each for each in said if each.name != OWN], y_test)
    own = next(each for each in said if each.name == OWN)
    for now, before, others, own_rows in (
        (own.train, first.train, together.train, inside),
        (own.test, first.test, together.test, inside_test),
    ):
        np.testing.assert_array_equal(now[~own_rows], before[~own_rows])
        np.testing.assert_array_equal(now[own_rows], others[own_rows])


def test_the_others_speak_of_the_rows_of_a_larger_task_too() -> None:
    X, y, X_test, y_test = drawn(train=300)
    whole = Task.of(GaussianNB(), X, y, X_test, y_test)
    part = whole.drawn(np.arange(0, 300, 2))
    predictors, rows = predictors_in(part), np.arange(1, 300, 2)
    slices = [Slice((Condition("x1", ">", (0.5,)),), 1, np.arange(3), 1.0)]
    first = predicted_elsewhere(predictors.predict(), whole, rows)
    predictions = predictors.predict(part.train.features[:, 1] > 0.5, slices)
    said, inside = predicted_elsewhere(predictions, whole, rows), X[rows, 1] > 0.5
    others = calibrate([each for each in predictions if each.name != OWN], y_test)
    together = others.of([said[name] for name in others.names])
    np.testing.assert_array_equal(said[OWN][~inside], first[OWN][~inside])
    np.testing.assert_allclose(said[OWN][inside], together[inside], rtol=1e-12)


def predicted_elsewhere(predictions: list[LabelPredictions], task: Task, rows: Any) -> dict[str, Any]:
    return {each.name: each.elsewhere(task, rows) for each in predictions if each.elsewhere is not None}


def test_predictors_of_exchanged_sets_are_the_same() -> None:
    """Against predictors that are trained on the sets in each other's place."""
    predictors = predictors_of(GaussianNB(), *drawn())
    mirror = mirrored(predictors.task)
    anew = predicted(predictors_in(mirror, predictors.folds.exchanged))
    fits = predictors.trainer.fits
    predicted(predictors)
    exchanged = predicted(predictors.of_mirrored(mirror))
    assert predictors.trainer.fits - fits == 2 * FOLDS, "nothing is trained for the mirror"
    for name, other in ((OWN, ON_TEST), (LINEAR, LINEAR)):
        np.testing.assert_allclose(exchanged[other].train, anew[name].train, atol=1e-5)
        np.testing.assert_allclose(exchanged[other].test, anew[name].test, atol=1e-5)
    both = exchanged[FOREST].train, anew[FOREST].train
    assert np.abs(np.exp(both[0]) - np.exp(both[1])).mean() < 0.05, "but for chance: its trees are others"


class Watched(GaussianNB):  # type: ignore[misc]
    """Keeps the rows of every fit; the first feature tells them apart."""

    fits: ClassVar[list[set[float]]] = []

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Watched:
        Watched.fits.append(set(X[:, 0].tolist()))
        super().fit(X, y, sample_weight)
        return self


def test_a_learner_sees_its_other_folds_and_where_nobody_else_speaks_no_excluded_row() -> None:
    X, y, X_test, y_test = drawn()
    predictors = predictors_of(Watched(), X, y, X_test, y_test).without([LINEAR, FOREST, ON_TEST])
    others = [set(X[predictors.folds.train != fold][:, 0]) for fold in range(FOLDS)]
    Watched.fits.clear()
    predicted(predictors)
    assert Watched.fits == others
    Watched.fits.clear()
    excluded = np.arange(15)
    predicted(predictors, excluded)
    assert Watched.fits == [each - set(X[excluded][:, 0]) for each in others]


def test_here_what_a_fold_learns_from_is_made_when_its_turn_has_come(monkeypatch: pytest.MonkeyPatch) -> None:
    """All at once they are several copies of the features."""
    predictors = predictors_of(Watched(), *drawn())
    predictors = predictors.without([LINEAR, FOREST])
    fits_before: list[int] = []
    made = Recipe.lesson

    def lesson(recipe: Recipe, without: Without) -> Lesson:
        fits_before.append(len(Watched.fits))
        return made(recipe, without)

    monkeypatch.setattr(Recipe, "lesson", lesson)
    Watched.fits.clear()
    predicted(predictors)
    assert fits_before[:FOLDS] == list(range(FOLDS))


def test_a_learner_is_trained_once_on_either_set() -> None:
    predictors = predictors_of(Watched(), *drawn()).without([LINEAR, FOREST])
    before = predictors.trainer.fits
    Watched.fits.clear()
    predicted(predictors)
    predicted(predictors, [0, 1])
    predictors.of_mirrored(mirrored(predictors.task)).predict(np.arange(60) < 9)
    assert len(Watched.fits) == 2 * FOLDS == predictors.trainer.fits - before


def test_a_slow_learner_is_trained_on_repaired_labels_once_and_a_quick_one_when_it_is_asked() -> None:
    for learner, fits in ((GaussianNB(), FOLDS), (LogisticRegression(), 2 * FOLDS)):
        predictors = predictors_of(learner, *drawn())
        posterior, before = np.eye(2)[predictors.task.train.codes], predictors.trainer.fits
        assert predictors.predict_from_repaired(posterior) is not None
        mirror = mirrored(predictors.task)
        predictors.of_mirrored(mirror).predict_from_repaired(np.eye(2)[mirror.train.codes])
        assert predictors.trainer.fits - before == fits


@pytest.mark.parametrize("seed", range(3))
def test_folds_hold_as_many_of_each_class_as_can_be(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(100, 2)), rng.choice(3, size=100, p=[0.7, 0.25, 0.05])
    y[:3] = [0, 1, 2]
    predictors = predictors_of(GaussianNB(var_smoothing=0.1), X, y, X[:40], y[:40])
    for folds, labels in ((predictors.folds.train, y), (predictors.folds.test, y[:40])):
        table = np.array([[((folds == fold) & (labels == each)).sum() for fold in range(FOLDS)] for each in range(3)])
        assert np.all(np.ptp(table, axis=1) <= 1)
        assert np.ptp(table.sum(axis=0)) <= 1


# ── who is silent ───────────────────────────────────────────────────────────────────────────────────────────────────


class Choosy(LogisticRegression):  # type: ignore[misc]
    """Cannot be trained on fewer than a hundred rows."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Choosy:
        if len(y) < 100:
            raise ValueError("too few rows")
        super().fit(X, y, sample_weight)
        return self


def test_who_cannot_be_trained_is_left_out() -> None:
    assert set(predicted(predictors_of(Choosy(), *drawn()))) == {LINEAR, FOREST}
    predictors = predictors_of(Choosy(), *drawn(train=160))
    predictors = predictors.without([FOREST, LINEAR])
    assert set(predicted(predictors)) == {OWN}
    assert set(predicted(predictors, np.arange(60))) == {"uniform"}, "without the excluded rows there are too few"
    assert set(predicted(predictors)) == {OWN}, "and is there again"


def test_who_is_not_wanted_is_left_out() -> None:
    predictors = predictors_of(GaussianNB(), *drawn())
    predictors = predictors.without([FOREST, ON_TEST])
    assert set(predicted(predictors)) == {OWN, LINEAR}


def test_if_nobody_can_be_trained_the_shares_of_the_classes_are_what_is_known() -> None:
    predictors = predictors_of(GaussianNB(), *drawn())
    predictors = predictors.without([OWN, ON_TEST, LINEAR, FOREST])
    predictions = predictors.predict(np.zeros(120, dtype=bool))
    assert [each.name for each in predictions] == ["uniform"]
    calibrated = calibrate(predictions, predictors.task.test.codes)
    shares = np.bincount(predictors.task.test.codes) / 60
    np.testing.assert_allclose(np.exp(calibrated.train), np.broadcast_to(shares, (120, 2)), atol=0.01)


def test_a_class_that_some_folds_lack_is_unlikely_there_and_no_more() -> None:
    X, y, X_test, y_test = drawn()
    y, y_test = y.copy(), y_test.copy()
    y[5], y_test[7] = 2, 2
    for each in predicted(predictors_of(LogisticRegression(), X, y, X_test, y_test)).values():
        for said in (each.train, each.test):
            assert said.shape[1] == 3
            assert np.isfinite(said).all()
            assert said.min() >= np.log(LEAST_PROBABILITY) - 1e-12
        assert each.train[5].argmax() != 2, "it was learned nowhere else"


# ── kinds of features ───────────────────────────────────────────────────────────────────────────────────────────────


def words(seed: int, count: int) -> tuple[list[str], Codes]:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, count)
    tone = np.array([["poor", "dull", "sad"], ["fine", "good", "nice"]])
    return [" ".join([*rng.choice(tone[k], 2), *rng.choice(["the", "a", "film"], 2)]) for k in labels], labels


def frames(seed: int, count: int) -> tuple[pd.DataFrame, Codes]:
    rng = np.random.default_rng(seed)
    city, age = rng.choice(["Lima", "Oslo"], count), rng.normal(size=count)
    return pd.DataFrame({"city": city, "age": age}), ((city == "Lima") ^ (rng.random(count) < 0.1)).astype(int)


def matrices(seed: int, count: int, kind: Any) -> tuple[Any, Codes]:
    X, y, *_ = drawn(seed, count, 10)
    return kind(np.where(np.abs(X) < 0.3, 0.0, X)), y


def amounts(seed: int, count: int) -> tuple[Any, Codes]:
    X, *_ = drawn(seed, count, 10)
    return np.abs(X), (np.abs(X[:, 0]) > 0.7).astype(int)


encoded = make_column_transformer((OneHotEncoder(), ["city"]), remainder="passthrough")
KINDS: dict[str, tuple[Any, Any, set[str]]] = {
    "dense": (
        LogisticRegression(),
        lambda seed, count: matrices(seed, count, np.asarray),
        {OWN, ON_TEST, LINEAR, FOREST},
    ),
    "sparse": (LogisticRegression(), lambda seed, count: matrices(seed, count, sp.csr_array), {OWN, ON_TEST, LINEAR}),
    "sparse counts": (
        LogisticRegression(),
        lambda *a: (sp.csr_array(np.round(3 * amounts(*a)[0])), amounts(*a)[1]),
        {OWN, ON_TEST, LINEAR},
    ),
    "texts": (make_pipeline(CountVectorizer(), LogisticRegression()), words, {OWN, ON_TEST, LINEAR}),
    "frame": (make_pipeline(encoded, LogisticRegression()), frames, {OWN, ON_TEST, LINEAR, FOREST}),
}


@pytest.mark.parametrize(("model", "make", "names"), KINDS.values(), ids=KINDS)
def test_every_kind_of_features_has_predictors_that_know_something(model: Any, make: Any, names: set[str]) -> None:
    (X, y), (X_test, y_test) = make(0, 150), make(1, 90)
    predictions = predicted(predictors_of(model, X, y, X_test, y_test), np.arange(10))
    assert set(predictions) == names
    for each in predictions.values():
        assert (each.train.shape, each.test.shape) == ((150, 2), (90, 2))
        assert (each.train.argmax(axis=1) == y).mean() > 0.65, each.name
        assert (each.test.argmax(axis=1) == y_test).mean() > 0.65, each.name


class Plain(DummyClassifier):  # type: ignore[misc]
    """Looks at no feature."""


class OfNames(GaussianNB):  # type: ignore[misc]
    """A learner of a table of words, which no plain learner can read."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> OfNames:
        super().fit(self._counted(X), y, sample_weight)
        return self

    def predict_proba(self, X: Any) -> Any:
        return super().predict_proba(self._counted(X))

    def predict(self, X: Any) -> Any:
        return super().predict(self._counted(X))

    def _counted(self, X: Any) -> Any:
        return np.array([[len(str(each)) for each in row] for row in np.asarray(X)], dtype=float)


def test_columns_of_names_get_a_plain_learner_only_where_a_name_occurs_often() -> None:
    y = np.array([0, 0, 1, 1] * 20)
    often = pd.DataFrame({"name": ["Al", "Bo", "Christine", "Dorothea"] * 20})
    assert set(predicted(predictors_of(OfNames(), often, y, often[:40], y[:40]))) == {OWN, ON_TEST, LINEAR, FOREST}
    once = pd.DataFrame({"name": [f"{name}{i}" for i, name in enumerate(often["name"])]})
    assert set(predicted(predictors_of(OfNames(), once, y, once[:40], y[:40]))) == {OWN, ON_TEST}


def test_constant_features_change_no_plain_learner() -> None:
    X, y, X_test, y_test = drawn()
    wider, wider_test = (np.column_stack([np.ones(len(each)), each, np.zeros(len(each))]) for each in (X, X_test))
    plain, other = (
        predicted(predictors_of(Plain(), X, y, X_test, y_test)),
        predicted(predictors_of(Plain(), wider, y, wider_test, y_test)),
    )
    for name in (LINEAR, FOREST):
        np.testing.assert_allclose(other[name].train, plain[name].train, atol=1e-12)
        np.testing.assert_allclose(other[name].test, plain[name].test, atol=1e-12)


def test_holes_are_filled_for_plain_learners() -> None:
    X, y, X_test, y_test = drawn()
    X[::7, 1], X_test[::5, 2] = np.nan, np.nan
    model = HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=5)
    assert set(predicted(predictors_of(model, X, y, X_test, y_test))) == {OWN, ON_TEST, LINEAR, FOREST}


def test_the_order_of_rows_with_ids_does_not_matter() -> None:
    X, y, X_test, y_test = drawn()
    order = np.random.default_rng(1).permutation(len(y))
    one = predicted(predictors_of(GaussianNB(), X, y, X_test, y_test, rows=np.arange(len(y))))
    two = predicted(predictors_of(GaussianNB(), X[order], y[order], X_test, y_test, rows=order))
    for name, each in one.items():
        np.testing.assert_allclose(each.train[order], two[name].train, atol=1e-12)
        np.testing.assert_allclose(each.test, two[name].test, atol=1e-12)


# ── who need not be trained ─────────────────────────────────────────────────────────────────────────────────────────


def with_a_slice(share: float, seed: int = 0) -> Task:
    """Rows of which a neighbour knows much; the given labels of this share of them are all 0."""
    X, y, X_test, y_test = drawn(seed, 600, 300)
    given = np.where(X[:, 1] > np.quantile(X[:, 1], 1.0 - share), 0, y)
    return Task.of(KNeighborsClassifier(1), X, given, X_test, y_test)


def test_a_slow_learner_that_counts_for_nothing_is_not_trained_in_folds() -> None:
    """One nearest neighbour has learned the wrong labels by heart, as have its folds."""
    task = with_a_slice(0.5)
    everyone = predictors_in(task)
    heard = worth_asking(everyone)
    assert [each.name for each in heard.everyone] == [ON_TEST, LINEAR, FOREST]
    before = heard.trainer.fits
    assert OWN in calibrate(everyone.predict(), task.test.codes).unused  # its folds, trained all the same
    assert everyone.trainer.fits == before + FOLDS


def test_a_slow_learner_that_knows_something_is_asked_and_a_quick_one_always() -> None:
    X, y, X_test, y_test = drawn(0, 600, 300)
    knows = predictors_of(GaussianNB(), X, y, X_test, y_test)
    assert worth_asking(knows) is knows
    quick = predictors_of(LogisticRegression(), X, np.roll(y, 1), X_test, y_test)
    assert worth_asking(quick) is quick


def test_about_fewer_test_rows_who_learned_from_training_labels_is_not_trained_again() -> None:
    X, y, X_test, y_test = drawn(0, 200, 90)
    task = Task.of(GaussianNB(), X, y, X_test, y_test)
    everyone, kept = predictors_in(task), np.arange(0, 90, 2)
    everyone.predict()
    fewer = everyone.tested_by(some_rows.tested_by(task, kept), kept)
    before = fewer.trainer.fits
    said = predicted(fewer)
    assert fewer.trainer.fits == before + FOLDS  # the learner on these test rows alone
    anew = predicted(predictors_in(fewer.task, fewer.folds))
    assert set(said) == set(anew)
    for name, each in said.items():
        np.testing.assert_array_equal(each.train, anew[name].train)
        np.testing.assert_array_equal(each.test, anew[name].test)


def test_rows_in_scale_are_made_once_for_all_who_ask_about_the_same() -> None:
    made: list[int] = []

    def twice(task: Task, rows: Any) -> Any:
        made.append(len(rows))
        return rows * 2

    prepared, task = once_for_all(twice), cast(Task, None)
    some, others = np.arange(3), np.arange(3)
    assert prepared(task, some) is prepared(task, some)
    assert made == [3]
    prepared(task, others)
    assert made == [3, 3]
    assert prepared(task, some).tolist() == [0, 2, 4]
