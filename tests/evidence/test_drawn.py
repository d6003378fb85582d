"""Labels weighed by a part of the rows: the rule that comes of it is the one for all, and the answer is nearly it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import psidebug
from psidebug.evidence import drawn as drawing
from psidebug.evidence.belief import Labels, mean_posterior
from psidebug.evidence.compete import compete
from psidebug.evidence.contest import Contest
from psidebug.evidence.drawn import drawn_rows, of_all, weighed_rows
from psidebug.evidence.predictors import Predictors
from psidebug.task.task import Task
from psidebug.training.trainer import Trainer

Mask = npt.NDArray[np.bool_]


def parcels(seed: int, wrong: str, rows: int = 3_000, tests: int = 600) -> tuple[Any, Any, Any, Any, Mask]:
    """Wrong labels of one kind of rows, or here and there."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(rows + tests, 4)), columns=list("abcd"))
    X["kind"] = rng.choice(["box", "tube", "bag"], len(X))
    score = 2.0 * X["a"] - 1.5 * X["b"] + (X["kind"] == "tube")
    y = (score + 0.6 * rng.logistic(size=len(X)) > 0).astype(int).to_numpy()
    given = y[:rows].copy()
    if wrong == "slice":
        bad = ((X["kind"] == "bag") & (X["c"] > 0)).to_numpy()[:rows] & (given == 1)
    else:
        bad = rng.random(rows) < (0.12 if wrong == "scattered" else 0.0)
    given[bad] = 1 - given[bad]
    return X[:rows], given, X[rows:], y[rows:], bad


def learner(kind: Any) -> Any:
    encoded = make_column_transformer((OneHotEncoder(), ["kind"]), remainder=StandardScaler(), sparse_threshold=0)
    return make_pipeline(encoded, kind)


@pytest.mark.parametrize("kind", [LogisticRegression(), GaussianNB()])
@pytest.mark.parametrize("wrong", ["slice", "scattered"])
def test_the_answer_by_a_part_of_the_rows_is_nearly_that_by_all(
    kind: Any, wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    *parts, bad = parcels(0, wrong)
    monkeypatch.setattr(drawing, "MOST_WEIGHED", 10**9)
    by_all = psidebug.debug(learner(kind), *parts, rng=0)
    monkeypatch.setattr(drawing, "MOST_WEIGHED", 1_200)
    by_part = psidebug.debug(learner(kind), *parts, rng=0)
    assert by_part.cause == by_all.cause == "training_labels"
    assert [len(each.hypotheses[0].slices) for each in (by_all, by_part)] == [int(wrong == "slice")] * 2
    changed = [np.asarray(each.repaired_labels) != parts[1] for each in (by_all, by_part)]
    assert (changed[0] == changed[1]).mean() > 0.97
    assert (changed[1] & bad).sum() > 0.9 * (changed[0] & bad).sum()
    assert by_part.p_wrong.mean() == pytest.approx(by_all.p_wrong.mean(), rel=0.25)


def test_clean_labels_of_rows_that_were_not_weighed_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    *parts, _ = parcels(1, "nothing")
    monkeypatch.setattr(drawing, "MOST_WEIGHED", 1_000)
    found = psidebug.debug(learner(LogisticRegression()), *parts, rng=0)
    np.testing.assert_array_equal(np.asarray(found.repaired_labels), parts[1])
    assert found.p_wrong.shape == (3_000,)


@pytest.mark.parametrize("wrong", ["slice", "scattered"])
def test_the_rule_gives_the_rows_that_were_weighed_their_own_posterior(wrong: str) -> None:
    """Applied to what was said of these rows, it is what the hypothesis believes of them."""
    *parts, _ = parcels(2, wrong, rows=900)
    task = Task.of(learner(LogisticRegression()), *parts)
    for each in compete(Contest.of(task, Predictors.of(task, Trainer(task))), None, lambda *_: None):
        labels = Labels(task.train.codes, each.groups, possible=each.possible)
        logs = [belief.calibrated.train for belief in each.beliefs]
        look = next((belief.look.train for belief in each.beliefs if belief.look is not None), None)
        np.testing.assert_allclose(mean_posterior(each.beliefs, logs, look, labels), each.posterior, atol=1e-4)


def test_rows_that_were_not_drawn_are_judged_by_models_that_never_saw_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other labels of rows outside the part change what is believed of these rows alone."""
    X, y, X_test, y_test, _ = parcels(3, "scattered", rows=1_500)
    task = Task.of(learner(LogisticRegression()), X, y, X_test, y_test)
    drawn = drawn_rows(task.data, 500)
    outside = np.setdiff1d(np.arange(1_500), drawn)[:200]
    other_labels = y.copy()
    other_labels[outside] = 1 - other_labels[outside]
    beliefs = []
    for labels in (y, other_labels):
        whole = Task.of(learner(LogisticRegression()), X, labels, X_test, y_test)
        part = whole.drawn(drawn)
        found = compete(Contest.of(part, Predictors.of(part, Trainer(part))), None, lambda *_: None)
        beliefs.append(of_all(found[:1], drawn, whole, None)[0])
    rest = np.setdiff1d(np.arange(1_500), outside)
    np.testing.assert_allclose(beliefs[0].posterior[rest], beliefs[1].posterior[rest], atol=1e-6)
    np.testing.assert_allclose(beliefs[0].calibrated.train, beliefs[1].calibrated.train, atol=1e-6)
    assert not np.allclose(beliefs[0].posterior[outside], beliefs[1].posterior[outside])


def test_wide_rows_are_judged_in_smaller_blocks_with_the_same_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, X_test, y_test, _ = parcels(3, "scattered", rows=1_500)
    task = Task.of(learner(LogisticRegression()), X, y, X_test, y_test)
    drawn = drawn_rows(task.data, 500)
    part = task.drawn(drawn)
    found = compete(Contest.of(part, Predictors.of(part, Trainer(part))), None, lambda *_: None)[:1]
    asked: list[int] = []
    judged = drawing._judge

    def counted(hypotheses: Any, extended: Any, rows: Any, *others: Any) -> None:
        asked.append(len(rows))
        judged(hypotheses, extended, rows, *others)

    monkeypatch.setattr(drawing, "_judge", counted)
    whole = of_all(found, drawn, task, None)[0]
    monkeypatch.setattr(drawing, "BLOCK_NUMBERS", 300 * X.shape[1])
    parts = of_all(found, drawn, task, None)[0]
    assert asked[0] == 1_500 - len(drawn)
    assert len(asked) > 3
    assert max(asked[1:]) <= 300
    np.testing.assert_allclose(whole.posterior, parts.posterior, atol=1e-9)


def test_rows_are_drawn_the_same_in_any_order_and_rare_classes_are_all_in() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2_000, 3)), rng.integers(0, 2, 2_000)
    y[:5] = 2
    order = rng.permutation(2_000)
    one = Task.of(GaussianNB(), X, y, X[:300], y[:300], rows=np.arange(2_000))
    two = Task.of(GaussianNB(), X[order], y[order], X[:300], y[:300], rows=order)
    drawn = drawn_rows(one.data, 600)
    assert set(drawn.tolist()) == set(order[drawn_rows(two.data, 600)].tolist())
    assert set(range(5)) <= set(drawn.tolist())
    assert 600 <= len(drawn) <= 605


def test_a_part_of_the_rows_is_drawn_from_as_all_are() -> None:
    """Also where a class is rare in the part alone; over blocks rows come as such a part."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2_000, 3)), rng.integers(0, 2, 2_000)
    y[:20] = 2
    data = Task.of(GaussianNB(), X, y, X[:300], y[:300]).data
    part = drawn_rows(data, 600, seed=3)
    again = data.drawn(part)
    assert set(part[drawn_rows(again, 200, seed=3)].tolist()) == set(drawn_rows(data, 200, seed=3).tolist())


def test_labels_that_a_person_has_settled_stay_in_rows_that_were_not_weighed(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, X_test, y_test, bad = parcels(4, "scattered", rows=1_600)
    monkeypatch.setattr(drawing, "MOST_WEIGHED", 700)
    settled = np.flatnonzero(bad)[:60]
    found = psidebug.debug(
        learner(LogisticRegression()), X, y, X_test, y_test, known={int(row): int(1 - y[row]) for row in settled}, rng=0
    )
    np.testing.assert_array_equal(np.asarray(found.repaired_labels)[settled], 1 - y[settled])
    np.testing.assert_array_equal(found.p_wrong[settled], 0.0)
    stated = psidebug.debug(learner(LogisticRegression()), X, y, X_test, y_test, prior=np.where(bad, 0.5, 0.01), rng=0)
    assert (stated.p_wrong[bad] > 0.5).mean() > 0.7


def test_where_most_classes_are_rare_rows_are_drawn_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """All rows of rare classes are in, so that more are drawn than are weighed; that is not drawn from again."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 12, 900)
    y[:480] = 0
    centres = 3.0 * rng.normal(size=(12, 6))
    tests = rng.integers(0, 12, 240)
    X, X_test = centres[y] + rng.normal(size=(900, 6)), centres[tests] + rng.normal(size=(240, 6))
    for rare, count in ((0.2, None), (2.0, 900)):
        monkeypatch.setattr(drawing, "RARE", rare)
        monkeypatch.setattr(drawing, "MOST_WEIGHED", 400)
        task = Task.of(GaussianNB(), X, y, X_test, tests)
        weighed = weighed_rows(task)
        assert weighed is None if count == 900 else weighed is not None and 400 < len(weighed) < 900
        found = psidebug.debug(GaussianNB(), X, y, X_test, tests, check_fidelity=False)
        assert found.p_wrong.shape == (900,)
