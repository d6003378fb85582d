"""The waist: which engine is chosen, that it says why, and that all engines agree on one small task."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from sklearn.linear_model import LogisticRegression

from psidebug.diagnosis.named_options import graybox_of
from psidebug.errors import InvalidSymptom, UnknownOption
from psidebug.graybox.protocol import GrayBox
from psidebug.inference.linear import LinearSymptom
from psidebug.inference.tilted_prior import tilt_at
from psidebug.priors import Prior, noise
from psidebug.program.distributions import Labels
from psidebug.sufficiency import _by_saddle_point, _cheapest, group_sufficiency, sufficiency
from psidebug.symptoms import Symptom, at_least, log_loss_above_boundary, misclassified
from psidebug.task.task import Task

Rows = npt.NDArray[np.intp]
Codes = npt.NDArray[np.intp]


def _task(rows: int) -> Task:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows + 40, 3))
    y = (X[:, 0] + 0.5 * rng.normal(size=len(X)) > 0).astype(int)
    wrong = y[:rows].copy()
    wrong[X[:rows, 0] > 0.5] = 0
    wrong[:2] = [0, 1]
    return Task.of(LogisticRegression(), X[:rows], wrong, X[rows:], y[rows:])


@pytest.fixture(scope="module")
def small() -> tuple[Task, GrayBox, Prior]:
    task = _task(9)
    return task, graybox_of("newton", task), noise(task.train.codes, 2, 0.1)


@pytest.fixture(scope="module")
def large() -> tuple[Task, GrayBox, Prior]:
    task = _task(120)
    return task, graybox_of("newton", task), noise(task.train.codes, 2, 0.05)


def test_all_engines_agree_on_one_bug(small: tuple[Task, GrayBox, Prior]) -> None:
    task, box, prior = small
    symptom = misclassified(int(task.bugs[0]))
    truth = sufficiency(box, prior, symptom, engine="enumeration")
    exact = sufficiency(box, prior, symptom, engine="closed_form")
    np.testing.assert_allclose(exact.ps, truth.ps, atol=1e-9)
    for engine in ("sampling", "tilting"):
        found = sufficiency(box, prior, symptom, engine=engine, rng=np.random.default_rng(1))
        assert np.all(np.abs(found.ps - truth.ps) <= 5 * found.standard_error + 1e-9)


def test_the_cheapest_engine_is_chosen_and_says_why(
    small: tuple[Task, GrayBox, Prior], large: tuple[Task, GrayBox, Prior]
) -> None:
    task, box, prior = large
    one = sufficiency(box, prior, misclassified(int(task.bugs[0])))
    assert one.engine == "closed_form"
    assert "tangent" not in one.reason
    phi = log_loss_above_boundary(task.margins(task.learner, task.test), task.bugs)
    for engine in ("auto", "closed_form"):
        loss = sufficiency(box, prior, phi, engine=engine)
        assert loss.engine == "closed_form"
        assert "tangent" in loss.reason
    some = sufficiency(box, prior, at_least(len(task.bugs) // 2 + 1, task.bugs.tolist()))
    assert some.engine == "tilting"
    assert "not linear" in some.reason
    task, box, prior = small
    few = sufficiency(box, prior, misclassified(*task.bugs[:2].tolist()))
    assert few.engine == "enumeration"
    assert "few worlds" in few.reason


def test_a_million_labels_are_counted_at_once(large: tuple[Task, GrayBox, Prior]) -> None:
    """Worlds were once counted row by row into an integer of N bits, which is quadratic in N."""

    class Whole(np.ndarray):
        def __iter__(self) -> Any:
            raise AssertionError("a loop over rows")

    task, box, _ = large
    many = noise(np.zeros(1_000_000, dtype=np.intp), 2, 0.05)
    prior = Prior(many.given, many.moves.view(Whole))
    assert _cheapest(box, prior, misclassified(*task.bugs[:2].tolist()))[0] == "tilting"
    assert Labels(prior).support_size(None) == np.inf


def test_retraining_is_enumerated_on_small_tasks(small: tuple[Task, GrayBox, Prior]) -> None:
    task, _, _ = small
    prior = noise(task.train.codes, 2, np.where(np.arange(9) < 5, 0.1, 0.0))
    found = sufficiency(graybox_of("retrain", task), prior, misclassified(int(task.bugs[0])))
    assert found.engine == "enumeration"
    assert found.learner_calls == 2**5


def test_engines_that_cannot_answer_say_so(small: tuple[Task, GrayBox, Prior]) -> None:
    task, box, prior = small
    with pytest.raises(UnknownOption, match="closed_form"):
        sufficiency(box, prior, misclassified(0), engine="magic")
    with pytest.raises(InvalidSymptom, match="one linear"):
        sufficiency(box, prior, misclassified(*task.bugs[:2].tolist()), engine="closed_form")
    with pytest.raises(InvalidSymptom, match="linear in the labels"):
        sufficiency(graybox_of("retrain", task), prior, misclassified(int(task.bugs[0])), engine="tilting")


# ── a group of labels as one cause ──────────────────────────────────────────────────────────────────────────────────


def by_hand(box: GrayBox, prior: Prior, symptom: Symptom, members: Rows, proposed: Codes) -> float:
    """PS of the group in all worlds of the other labels, each as given or as proposed: the group has one coin."""
    others = np.setdiff1d(np.arange(prior.size), members)
    flips = np.array(list(itertools.product([False, True], repeat=len(others))))
    chances = np.where(flips, prior.rates[others], 1.0 - prior.rates[others]).prod(axis=1)
    moved = np.tile(prior.given, (len(flips), 1))
    moved[:, others] = np.where(flips, 1 - prior.given[others], prior.given[others])
    back = moved.copy()
    moved[:, members] = proposed[members]
    gone, again = ~symptom.holds(box.margins(moved)), symptom.holds(box.margins(back))
    return float((chances * (gone & again)).sum() / (chances * gone).sum())


@pytest.mark.parametrize("members", [[0, 1], [2, 5, 7], [0, 3, 4, 6, 8], list(range(9)), [4]])
def test_ps_of_a_group_is_that_of_one_label_in_its_place(
    small: tuple[Task, GrayBox, Prior], members: list[int]
) -> None:
    task, box, _ = small
    rates = np.linspace(0.05, 0.4, 9)
    prior = noise(task.train.codes, 2, rates)
    proposed = 1 - task.train.codes
    answered = 0
    for bug in task.bugs[:6]:
        symptom = misclassified(int(bug))
        (found,) = group_sufficiency(box, prior, symptom, [np.array(members)], proposed)
        truth = by_hand(box, prior, symptom, np.array(members), proposed)
        if np.isfinite(truth):
            assert found == pytest.approx(truth, abs=1e-9)
            answered += truth > 0.0
    assert answered > 0


def test_a_group_of_one_label_is_that_label(small: tuple[Task, GrayBox, Prior]) -> None:
    task, box, prior = small
    symptom = misclassified(int(task.bugs[0]))
    alone = sufficiency(box, prior, symptom, engine="enumeration").ps
    together = group_sufficiency(box, prior, symptom, [np.array([i]) for i in range(9)], 1 - task.train.codes)
    np.testing.assert_allclose(together, alone, atol=1e-9)
    assert alone.max() > 0


def test_a_group_of_one_label_of_many(large: tuple[Task, GrayBox, Prior]) -> None:
    task, box, prior = large
    symptom = log_loss_above_boundary(task.margins(task.learner, task.test), task.bugs)
    alone = sufficiency(box, prior, symptom).ps
    rows = np.argsort(-alone)[:5]
    together = group_sufficiency(box, prior, symptom, [np.array([row]) for row in rows], 1 - task.train.codes)
    np.testing.assert_allclose(together, alone[rows], atol=1e-6)


def test_ps_of_a_group_among_very_many_labels_is_nearly_exact(
    large: tuple[Task, GrayBox, Prior], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The saddle point against the inverted characteristic function, for groups of little and of much effect."""
    task, box, prior = large
    symptom = log_loss_above_boundary(task.margins(task.learner, task.test), task.bugs)
    order = np.argsort(-sufficiency(box, prior, symptom).ps)
    groups = [order[:1], order[:3], order[:10], order[:40], order[20:60], order[-30:]]
    exact = group_sufficiency(box, prior, symptom, groups, 1 - task.train.codes)
    monkeypatch.setattr("psidebug.sufficiency.MOST_INVERTED", 0)
    near = group_sufficiency(box, prior, symptom, groups, 1 - task.train.codes)
    assert 0.05 < min(each for each in exact if each > 0) < max(exact)
    np.testing.assert_allclose(near, exact, atol=0.02)


def test_a_group_that_alone_removes_the_symptom_has_ps_near_one() -> None:
    """Its effect is beyond the threshold, and all others together are expected to take some of it away."""
    rng = np.random.default_rng(0)
    prior = noise(np.zeros(400, dtype=np.intp), 2, 0.05)
    effects = np.zeros((400, 2))
    effects[:, 1] = rng.normal(-0.3, 1.0, 400)
    effects[:30, 1] = 1.0
    symptom = LinearSymptom(prior, effects, 20.0)
    rest = Prior(prior.given[30:], prior.moves[30:])
    near = _by_saddle_point(rest, effects[30:], symptom.threshold, 30.0)
    plain = tilt_at(LinearSymptom(rest, effects[30:], 1.0), 0.0)
    assert plain.mean < symptom.threshold - 30.0 + 10.0
    assert near > 0.99
    assert _by_saddle_point(rest, effects[30:] - 0.5, symptom.threshold, 20.5) > 0.9


def test_a_guilty_group_is_more_sufficient_than_any_of_its_labels(large: tuple[Task, GrayBox, Prior]) -> None:
    task, box, prior = large
    symptom = log_loss_above_boundary(task.margins(task.learner, task.test), task.bugs)
    alone = sufficiency(box, prior, symptom).ps
    top, idle = np.argsort(-alone)[:15], np.argsort(alone)[:15]
    guilty, innocent = group_sufficiency(box, prior, symptom, [top, idle], 1 - task.train.codes)
    assert guilty > alone.max()
    assert innocent < guilty


def test_where_the_symptom_is_no_linear_constraint_a_group_has_no_ps(small: tuple[Task, GrayBox, Prior]) -> None:
    task, box, prior = small
    some, one = at_least(1, task.bugs[:2].tolist()), misclassified(int(task.bugs[0]))
    groups, proposed = [np.array([0, 1]), np.array([2])], 1 - task.train.codes
    assert np.isnan(group_sufficiency(box, prior, some, groups, proposed)).tolist() == [True, True]
    assert np.isnan(group_sufficiency(graybox_of("retrain", task), prior, one, groups, proposed)).tolist() == [True] * 2
    assert group_sufficiency(box, prior, one, [], proposed) == []
