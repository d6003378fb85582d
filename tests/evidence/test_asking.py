"""Whom to ask again: what an answer tells, by enumeration of all that it may say; and who is never asked."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from psidebug import policy
from psidebug.evidence.annotators import Annotated, fit_annotators
from psidebug.evidence.asking import ask_again
from psidebug.task.annotations import Annotations
from psidebug.task.labels import Encoding


def annotated(seed: int = 0, rows: int = 40, annotators: int = 5, *, look: bool = True) -> Annotated:
    rng = np.random.default_rng(seed)
    truth = rng.integers(3, size=rows)
    table = np.where(rng.random((rows, annotators)) < 0.3, rng.integers(3, size=(rows, annotators)), truth[:, None])
    table[rng.random(table.shape) < 0.4] = -1
    answers = Annotations.of(table, np.arange(rows), Encoding((0, 1, 2)))
    logs, seems = (np.log(rng.dirichlet(np.ones(3), size=rows)) for _ in range(2))
    return Annotated.of(answers, logs, seems if look else None)


@pytest.mark.parametrize("look", [True, False])
def test_the_gain_is_the_entropy_that_an_answer_is_expected_to_take_away(look: bool) -> None:
    """Each answer b in turn is added to the row, with the confusions as they are: H(k) - Σ_b P(b) H(k | b)."""
    given = annotated(look=look)
    asked, fit = ask_again(given), given.fit
    assert len(asked.rows) > 10
    for row, who, right, gain in zip(
        asked.rows[:8], asked.annotators[:8], asked.right[:8], asked.gain[:8], strict=True
    ):
        joint = fit.truth_and_look(np.array([row]))[0]
        before, after, correct = entropy(joint.sum(axis=1)), 0.0, 0.0
        for b in range(3):
            with_b = (joint * fit.confusions[who, :, b]).sum(axis=1)
            correct += with_b[b]
            after += with_b.sum() * entropy(with_b / with_b.sum())
        assert gain == pytest.approx(before - after)
        assert right == pytest.approx(correct)


def entropy(shares: npt.NDArray[np.float64]) -> float:
    return float(-(shares * np.log(shares)).sum())


def test_nobody_else_is_likelier_right_and_nobody_is_asked_twice() -> None:
    given = annotated(1)
    asked, answers, fit = ask_again(given), given.annotations, given.fit
    said = set(zip(answers.rows.tolist(), answers.annotators.tolist(), strict=True))
    for row, who, right in zip(asked.rows.tolist(), asked.annotators.tolist(), asked.right.tolist(), strict=True):
        assert (row, who) not in said
        joint = fit.truth_and_look(np.array([row]))[0]
        others = [each for each in range(len(answers.names)) if (row, each) not in said]
        assert right == pytest.approx(max(float(np.sum(joint * fit.confusions[each].T)) for each in others))
    assert (np.diff(asked.gain) <= 0).all()
    assert asked.gain.min() >= policy.WORTH_ASKING


def test_settled_rows_and_newcomers_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    given = annotated(2)
    every = ask_again(given)
    settled = np.isin(np.arange(given.annotations.count), every.rows[:5])
    assert not np.isin(ask_again(given, settled).rows, every.rows[:5]).any()
    monkeypatch.setattr(policy, "LEAST_ANSWERS", 10_000)
    assert len(ask_again(given).rows) == 0


def test_a_row_that_deceives_everybody_gains_less_than_one_that_is_not_answered() -> None:
    """Both are a toss-up between two classes; but one has three answers that tell its look, and one has none."""
    rng = np.random.default_rng(3)
    truth = rng.integers(2, size=300)
    table = np.where(rng.random((300, 6)) < 0.1, 1 - truth[:, None], truth[:, None])
    table[:, 3:][rng.random((300, 3)) < 0.3] = -1
    logs = np.log(np.where(np.eye(2)[truth] == 1, 0.9, 0.1))
    table[0], table[1] = [0, 0, 0, -1, -1, -1], -1
    logs[0], logs[1] = np.log([0.01, 0.99]), np.log([0.5, 0.5])
    look = np.log(np.where(np.eye(2)[truth] == 1, 0.8, 0.2))
    look[0] = np.log([0.9, 0.1])
    answers = Annotations.of(table, np.arange(300), Encoding((0, 1)))
    fit = fit_annotators(logs, answers, look)
    asked = ask_again(Annotated(answers, fit, logs, look))
    gains = dict(zip(asked.rows.tolist(), asked.gain.tolist(), strict=True))
    assert gains[1] > 0.2
    assert gains.get(0, 0.0) < 0.2 * gains[1]
