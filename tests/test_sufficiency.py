"""The waist: which engine is chosen, that it says why, and that all engines agree on one small task."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from psidebug.diagnosis.options import graybox_of
from psidebug.errors import InvalidSymptom, UnknownOption
from psidebug.graybox.protocol import GrayBox
from psidebug.priors import Prior, noise
from psidebug.sufficiency import sufficiency
from psidebug.symptoms import at_least, log_loss_above_boundary, misclassified
from psidebug.task import Task


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
    loss = sufficiency(box, prior, log_loss_above_boundary(task.margins(task.learner, task.test), task.bugs))
    assert loss.engine == "closed_form"
    assert "tangent" in loss.reason
    some = sufficiency(box, prior, at_least(len(task.bugs) // 2 + 1, task.bugs.tolist()))
    assert some.engine == "tilting"
    assert "not linear" in some.reason
    task, box, prior = small
    few = sufficiency(box, prior, misclassified(*task.bugs[:2].tolist()))
    assert few.engine == "enumeration"
    assert "few worlds" in few.reason


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
