"""Annotators: against enumeration of truths and looks, against Dawid and Skene as in the textbook, and with planted
annotators whose errors are known."""

from __future__ import annotations

from itertools import product

import numpy as np
import numpy.typing as npt
import pytest

from psidebug import policy
from psidebug.evidence import annotators as module
from psidebug.evidence.annotators import fit_annotators
from psidebug.task.annotations import Annotations
from psidebug.task.labels import Encoding

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.intp]


def answers_of(table: Codes, size: int) -> Annotations:
    return Annotations.of(table, np.arange(len(table)), Encoding(tuple(range(size))))


def crowd(seed: int, rows: int, errors: list[float], *, asked: float, size: int = 3) -> tuple[Codes, Codes]:
    """Truths and a table of answers: each annotator errs at his own even rate and answers a share of the rows."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(size, size=rows)
    table = np.full((rows, len(errors)), -1)
    for place, error in enumerate(errors):
        said = np.where(rng.random(rows) < error, (truth + rng.integers(1, size, size=rows)) % size, truth)
        table[:, place] = np.where(rng.random(rows) < asked, said, -1)
    return truth, table[(table >= 0).any(axis=1)] if asked == 1 else table


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("with_look", [True, False])
def test_the_posterior_is_what_enumeration_says(seed: int, with_look: bool) -> None:
    """Σ over the look g of P(k) P(g | k, x) Π_j C_j(a_j | g), written out for every row."""
    rng = np.random.default_rng(seed)
    table = rng.integers(-1, 3, size=(7, 4))
    table[0, 0] = 1
    probability, look = rng.dirichlet(np.ones(3), size=7), rng.dirichlet(np.ones(3), size=7)
    fit = fit_annotators(np.log(probability), answers_of(table, 3), np.log(look) if with_look else None)
    names = answers_of(table, 3).names.tolist()
    total = 0.0
    for row in range(7):
        joint = np.zeros((3, 3))
        for k, g in product(range(3), repeat=2):
            seen = (1 - fit.follow) * (k == g) + (fit.follow * look[row, g] if with_look else 0.0)
            said = [fit.confusions[names.index(j), g, b] for j, b in enumerate(table[row].tolist()) if b >= 0]
            joint[k, g] = probability[row, k] * seen * np.prod(said)
        np.testing.assert_allclose(fit.posterior[row], joint.sum(axis=1) / joint.sum(), atol=1e-9)
        np.testing.assert_allclose(fit.looks[row], joint.sum(axis=0) / joint.sum(), atol=1e-9)
        np.testing.assert_allclose(fit.truth_and_look(np.array([row]))[0], joint / joint.sum(), atol=1e-9)
        total += float(np.log(joint.sum()))
    assert fit.log_likelihood == pytest.approx(total)
    assert fit.follow == 0.0 if not with_look else 0 < fit.follow <= policy.MOST_FOLLOW


def dawid_and_skene(table: Codes, size: int) -> Floats:
    """The algorithm of 1979 with loops: majority first, confusions by counting, Bayes' rule; all classes as likely."""
    rows, annotators = table.shape
    truth = np.array([[np.sum(row == k) for k in range(size)] for row in table], dtype=float) + 0.1 / size
    truth /= truth.sum(axis=1, keepdims=True)
    for _ in range(1_000):
        before = truth.copy()
        confusion = np.full((annotators, size, size), 1e-12)
        for i, j in product(range(rows), range(annotators)):
            if table[i, j] >= 0:
                confusion[j, :, table[i, j]] += truth[i]
        confusion /= confusion.sum(axis=2, keepdims=True)
        for i in range(rows):
            for k in range(size):
                truth[i, k] = np.prod([confusion[j, k, table[i, j]] for j in range(annotators) if table[i, j] >= 0])
            truth[i] /= truth[i].sum()
        if np.abs(truth - before).max() < 1e-6:
            break
    return truth


def test_without_predictors_and_pseudo_counts_it_is_dawid_and_skene(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "ANNOTATOR_PSEUDO_COUNT", 0.0)
    monkeypatch.setattr(module, "SETTLED", 1e-6)
    _, table = crowd(5, 80, [0.1, 0.3, 0.4, 0.2, 0.5], asked=0.8)
    fit = fit_annotators(np.full((len(table), 3), -np.log(3)), answers_of(table, 3))
    np.testing.assert_allclose(fit.posterior, dawid_and_skene(table, 3), atol=1e-3)


@pytest.mark.chance(1e-4)
def test_who_errs_is_found_and_the_consensus_beats_the_majority() -> None:
    """Two good annotators among five bad ones, 2,000 rows: a majority is wrong far oftener than the two.

    An error rate is learned from 1,000 answers and more; 5 standard errors of a share there are below 0.08.
    """
    errors = [0.05, 0.05, 0.5, 0.5, 0.5, 0.5, 0.5]
    truth, table = crowd(0, 2_000, errors, asked=0.9)
    fit = fit_annotators(np.full((2_000, 3), -np.log(3)), answers_of(table, 3))
    learned = 1.0 - np.array([np.trace(each) / 3 for each in fit.confusions])
    np.testing.assert_allclose(learned, errors, atol=0.08)
    votes = np.array([[np.sum(row == k) for k in range(3)] for row in table])
    wrong, majority = (np.mean(each.argmax(axis=1) != truth) for each in (fit.posterior, votes))
    assert wrong < 0.5 * majority


def deceived(seed: int, rows: int = 1_500) -> tuple[Floats, Floats, Codes, Annotations]:
    """A third of the rows look like another class to everybody; the predictors of the truth are not deceived."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(3, size=rows)
    seems = np.where(rng.random(rows) < 1 / 3, (truth + 1) % 3, truth)
    table = np.stack([np.where(rng.random(rows) < 0.1, rng.integers(3, size=rows), seems) for _ in range(5)], axis=1)
    logs, look = (np.log(0.8 * np.eye(3)[each] + 0.2 / 3) for each in (truth, seems))
    return logs, look, truth, answers_of(table, 3)


def test_annotators_who_are_deceived_by_the_same_look_do_not_outvote_the_predictors() -> None:
    """Without q five equal answers outweigh P = 0.87, and every deceived row is wrong; with it they count as about one.

    Only rows where q and P both tell of it: a third of all.
    """
    logs, look, truth, answers = deceived(0)
    alone, together = fit_annotators(logs, answers), fit_annotators(logs, answers, look)
    wrong = [float(np.mean(each.posterior.argmax(axis=1) != truth)) for each in (alone, together)]
    assert together.follow == policy.MOST_FOLLOW
    assert wrong[0] > 0.25
    assert wrong[1] < 0.05


def test_known_rows_are_facts_and_teach() -> None:
    truth, table = crowd(1, 300, [0.3, 0.3], asked=1.0)
    uniform = np.full((300, 3), -np.log(3))
    known = np.where(np.arange(300) < 150, truth, -1)
    fit = fit_annotators(uniform, answers_of(table, 3), known=known)
    np.testing.assert_array_equal(fit.posterior[:150], np.eye(3)[truth[:150]])
    counts = np.zeros((3, 3))
    np.add.at(counts, (truth[:150], table[:150, 0]), 1.0)
    assert np.abs(fit.confusions[0] - counts / counts.sum(axis=1, keepdims=True)).max() < 0.2


def test_a_class_that_is_not_possible_gets_nothing() -> None:
    _, table = crowd(2, 50, [0.2, 0.2], asked=1.0)
    possible = np.ones((50, 3), dtype=bool)
    possible[:, 2] = False
    fit = fit_annotators(np.full((50, 3), -np.log(3)), answers_of(table, 3), possible=possible)
    assert fit.posterior[:, 2].max() == 0.0
    np.testing.assert_allclose(fit.posterior.sum(axis=1), 1.0)


def test_an_annotator_with_one_answer_is_taken_for_one_like_the_others() -> None:
    _, table = crowd(3, 400, [0.1, 0.1, 0.1], asked=1.0)
    table[1:, 2] = -1
    fit = fit_annotators(np.full((400, 3), -np.log(3)), answers_of(table, 3))
    assert np.abs(fit.confusions[2] - fit.common).max() < 0.06


def test_rows_without_answers_keep_what_the_predictors_say() -> None:
    _, table = crowd(4, 60, [0.2, 0.2, 0.2], asked=1.0)
    table[:5] = -1
    probability = np.random.default_rng(0).dirichlet(np.ones(3), size=60)
    fit = fit_annotators(np.log(probability), answers_of(table, 3))
    np.testing.assert_allclose(fit.posterior[:5], probability[:5])
