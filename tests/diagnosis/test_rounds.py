"""Correct, retrain, diagnose again."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

import psidebug
from psidebug.errors import NoWorldWithout, UnknownOption
from psidebug.inference.estimates import Estimates, no_causes
from psidebug.priors import Prior
from tests.conftest import Planted


def test_rounds_go_on_from_what_was_corrected_and_end_when_nothing_is_gained() -> None:
    X, y = make_classification(1500, 8, n_informative=6, class_sep=1.5, flip_y=0.0, random_state=3)
    given = y[:800].copy()
    wrong = np.random.default_rng(0).choice(800, 120, replace=False)
    given[wrong] = 1 - given[wrong]
    options = {"check_fidelity": False, "X_validation": X[1100:], "y_validation": y[1100:]}
    found = psidebug.debug(LogisticRegression(), X[:800], given, X[800:1100], y[800:1100], rounds=5, **options)
    assert found.correction is not None
    assert 1 <= len(found.later) < 4, "it ends by itself"
    rounds = [found, *found.later]
    for before, after in itertools.pairwise(rounds):
        assert before.correction is not None
        np.testing.assert_array_equal(after.task.train.codes, before.correction.codes)
        model = LogisticRegression().fit(X[:800], after.task.train.codes)
        np.testing.assert_array_equal(after.task.predicted, model.predict(X[800:1100]))
        assert before.findings.origin.fingerprint["train"] != after.findings.origin.fingerprint["train"]
    assert rounds[-1].correction is None, "nothing more is gained"
    last = next(each.correction for each in reversed(rounds) if each.correction is not None)
    np.testing.assert_array_equal(found.repaired_labels, last.codes)
    assert (found.repaired_labels != y[:800]).sum() < 0.5 * len(wrong)
    alone = psidebug.debug(LogisticRegression(), X[:800], given, X[800:1100], y[800:1100], **options)
    assert alone.later == ()
    assert alone.correction is not None
    np.testing.assert_array_equal(alone.correction.codes, found.correction.codes)


def test_a_later_round_without_an_answer_takes_nothing_from_the_first(planted: Planted) -> None:
    asked: list[Prior] = []

    def once(prior: Prior, learner: object, symptom: object) -> Estimates:
        asked.append(prior)
        if len(asked) > 1:
            raise NoWorldWithout("no world of the prior is free of the symptom.")
        return no_causes(prior, reason="for the test")

    rows = (planted.X_train, planted.y_train, planted.X_test, planted.y_test)
    found = psidebug.debug(LogisticRegression(), *rows, rounds=3, symptom="half", engine=once, check_fidelity=False)
    assert len(asked) == 2
    assert found.correction is not None
    assert found.later == ()
    assert "round 2 has no answer: no world of the prior is free of the symptom." in found.notes


@pytest.mark.parametrize("rounds", [0, -1, 1.5, True, "2", None])
def test_rounds_is_a_whole_number(rounds: object) -> None:
    X, y = make_classification(100, random_state=0)
    with pytest.raises(UnknownOption, match="whole number from 1"):
        psidebug.debug(LogisticRegression(), X[:50], y[:50], X[50:], y[50:], rounds=rounds)  # type: ignore[arg-type]
