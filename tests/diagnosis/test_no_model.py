"""No model at all: probabilities, embeddings, or both in its place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import torch
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

import psidebug as psi
from psidebug.changes import Drop, Join
from psidebug.diagnosis import some_rows
from psidebug.errors import InvalidProbabilities, NotAClassifier, ShapeMismatch, UnsupportedFeatures
from psidebug.evidence.held_out import Folds, Without
from psidebug.evidence.one_predictor import Told
from psidebug.task.task import Task
from psidebug.training.trainer import Trainer

Floats = npt.NDArray[np.float64]
NAMES = np.array(["ash", "beech", "oak"])


class Somebody:
    """900 rows of three classes, 100 training labels wrong, and a model of theirs that is not at hand."""

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        right = rng.integers(3, size=1200)
        self.X = rng.normal(size=(1200, 6)) + 1.6 * np.eye(6)[right]
        self.right = NAMES[right]
        self.wrong = np.zeros(900, dtype=bool)
        self.wrong[rng.choice(900, 100, replace=False)] = True
        self.given = np.where(self.wrong, NAMES[(right[:900] + 1) % 3], self.right[:900])
        own = LogisticRegression()
        self.p = cross_val_predict(own, self.X[:900], self.given, method="predict_proba")
        self.p_test = own.fit(self.X[:900], self.given).predict_proba(self.X[900:])

    def debug(self, *, embeddings: bool, probabilities: bool, **changes: Any) -> psi.Diagnosis:
        parts: dict[str, Any] = {
            "model": None,
            "X_train": self.X[:900] if embeddings else None,
            "y_train": self.given,
            "X_test": self.X[900:] if embeddings else None,
            "y_test": self.right[900:],
            "causes": "labels",
        }
        if probabilities:
            parts |= {"pred_probs": self.p, "pred_probs_test": self.p_test}
        return psi.debug(**(parts | changes))


@pytest.fixture(scope="module")
def somebody() -> Somebody:
    return Somebody()


@pytest.mark.parametrize(("embeddings", "probabilities"), [(True, True), (True, False), (False, True)])
def test_wrong_labels_are_found_and_proved_for_the_head(
    somebody: Somebody, embeddings: bool, probabilities: bool
) -> None:
    found = somebody.debug(embeddings=embeddings, probabilities=probabilities)
    first = np.argsort(-found.findings.labels.p_wrong)[:100]
    assert somebody.wrong[first].mean() > 0.6
    assert "for a logistic head on what was given, not for your own model" in found.verdict
    assert any("logistic head" in note for note in found.notes)


def test_a_saved_run_keeps_the_probabilities(somebody: Somebody, tmp_path: Path) -> None:
    found = somebody.debug(embeddings=True, probabilities=True)
    found.save(tmp_path / "run")
    opinion = psi.Diagnosis.load(tmp_path / "run").data.opinion
    assert opinion is not None
    np.testing.assert_allclose(np.exp(opinion.train), somebody.p, atol=1e-6)
    np.testing.assert_allclose(np.exp(opinion.test), somebody.p_test, atol=1e-6)


def test_probabilities_are_an_opinion_beside_a_model_too(somebody: Somebody) -> None:
    """A model of noise knows nothing; the opinion finds the labels all the same."""
    noise = np.random.default_rng(1).normal(size=(1200, 2))
    parts = {"X_train": noise[:900], "X_test": noise[900:], "model": LogisticRegression()}
    alone = somebody.debug(embeddings=False, probabilities=False, **parts)
    told = somebody.debug(embeddings=False, probabilities=True, **parts)
    share = [somebody.wrong[np.argsort(-each.findings.labels.p_wrong)[:100]].mean() for each in (alone, told)]
    assert share[0] < 0.3
    assert share[1] > 0.6
    assert "logistic head" not in told.verdict


def task(somebody: Somebody) -> Task:
    X = somebody.X
    given = {"pred_probs": somebody.p, "pred_probs_test": somebody.p_test}
    return Task.of(None, X[:900], somebody.given, X[900:], somebody.right[900:], **given)


def test_it_says_nothing_of_rows_whose_labels_are_left_out_together(somebody: Somebody) -> None:
    whole = task(somebody)
    assert whole.data.opinion is not None
    told = Told(whole.data.opinion, "told")
    without = Without(np.arange(900) < 50, np.zeros(300, dtype=bool))
    said = told.predict(Trainer(whole), Folds.of(whole), without)
    np.testing.assert_allclose(said.train[:50], -np.log(3))
    np.testing.assert_allclose(np.exp(said.train[50:]), somebody.p[50:], atol=1e-6)
    assert told.concerned(without)
    assert told.inside(Trainer(whole), without) is None


def test_the_opinion_follows_its_rows(somebody: Somebody) -> None:
    data = task(somebody).data
    dropped, joined = Drop(np.arange(10)).applied(data), Join(np.array([3, 5])).applied(data)
    drawn, tested = data.drawn(np.array([7, 9])), some_rows.tested_by(task(somebody), np.array([4, 8])).data
    assert dropped.opinion is not None
    assert joined.opinion is not None
    assert drawn.opinion is not None
    np.testing.assert_allclose(np.exp(dropped.opinion.train), somebody.p[10:], atol=1e-6)
    np.testing.assert_allclose(np.exp(joined.opinion.train[900:]), somebody.p_test[[3, 5]], atol=1e-6)
    assert tested.opinion is not None
    np.testing.assert_allclose(np.exp(drawn.opinion.train), somebody.p[[7, 9]], atol=1e-6)
    np.testing.assert_allclose(np.exp(tested.opinion.test), somebody.p_test[[4, 8]], atol=1e-6)


def test_columns_with_the_names_of_classes_may_be_in_any_order(somebody: Somebody) -> None:
    turned = [pl.DataFrame(p[:, [2, 0, 1]], schema=["oak", "ash", "beech"]) for p in (somebody.p, somebody.p_test)]
    found = somebody.debug(
        embeddings=True, probabilities=False, pred_probs=turned[0], pred_probs_test=turned[1], effort="rank"
    )
    assert found.data.opinion is not None
    np.testing.assert_allclose(np.exp(found.data.opinion.train), somebody.p, atol=1e-6)


def by_heart(somebody: Somebody) -> tuple[Floats, Floats]:
    return (somebody.given[:, None] == NAMES) * 0.97 + 0.01, somebody.p_test


REFUSED: dict[str, tuple[Any, type[Exception], str]] = {
    "columns in another order": (lambda s: (s.p[:, [1, 2, 0]], s.p_test[:, [1, 2, 0]]), InvalidProbabilities, "order"),
    "too few columns": (lambda s: (s.p[:, :2], s.p_test[:, :2]), ShapeMismatch, r"\(900, 2\).*3 classes"),
    "too few rows": (lambda s: (s.p[:5], s.p_test), ShapeMismatch, r"\(5, 3\).*900 rows"),
    "no sum of 1": (lambda s: (s.p * 2, s.p_test), InvalidProbabilities, "row 0 of pred_probs and 899 more"),
    "missing": (lambda s: (s.p * np.nan, s.p_test), InvalidProbabilities, "add up to 1"),
    "texts": (lambda s: (np.full((900, 3), "a"), s.p_test), InvalidProbabilities, "table of numbers"),
    "one set only": (lambda s: (s.p, None), ShapeMismatch, "go together"),
    "seen in training": (by_heart, InvalidProbabilities, "out-of-fold"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_probabilities_of_these_rows_is_refused(somebody: Somebody, case: str) -> None:
    made, error, told = REFUSED[case]
    train, test = made(somebody)
    with pytest.raises(error, match=told):
        somebody.debug(embeddings=True, probabilities=False, pred_probs=train, pred_probs_test=test)


def test_nothing_at_all_is_refused(somebody: Somebody) -> None:
    with pytest.raises(NotAClassifier, match="Give a model, or embeddings, or pred_probs"):
        somebody.debug(embeddings=False, probabilities=False)
    with pytest.raises(ShapeMismatch, match="go together"):
        somebody.debug(embeddings=False, probabilities=True, X_train=somebody.X[:900])


def test_embeddings_and_probabilities_may_be_tensors_or_sparse(somebody: Somebody) -> None:
    """As a net gives them: with a gradient, in half precision; and as a vectorizer does."""
    X = torch.from_numpy(somebody.X).requires_grad_()
    p, p_test = (torch.from_numpy(each).requires_grad_() for each in (somebody.p, somebody.p_test))
    asked: dict[str, Any] = {"effort": "rank", "embeddings": True, "probabilities": False}
    usual = somebody.debug(**asked).findings.labels.ps
    told = somebody.debug(**asked, X_train=X[:900], X_test=X[900:], pred_probs=p, pred_probs_test=p_test)
    np.testing.assert_allclose(told.findings.labels.ps, usual, atol=1e-6)
    half = somebody.debug(**asked, X_train=X[:900].to(torch.bfloat16), X_test=X[900:].to(torch.bfloat16))
    assert np.abs(half.findings.labels.ps - usual).mean() < 0.02
    sparse = somebody.debug(**asked, X_train=sp.csr_array(somebody.X[:900]), X_test=sp.csr_array(somebody.X[900:]))
    assert np.abs(sparse.findings.labels.ps - usual).mean() < 0.1


def test_columns_of_probabilities_may_be_named_by_numbers(somebody: Somebody) -> None:
    codes = {"y_train": np.unique(somebody.given, return_inverse=True)[1], "effort": "rank"}
    codes["y_test"] = np.unique(somebody.right[900:], return_inverse=True)[1]
    order = [2, 0, 1]
    named = {
        name: pd.DataFrame(p[:, order], columns=order)
        for name, p in (("pred_probs", somebody.p), ("pred_probs_test", somebody.p_test))
    }
    opinion = somebody.debug(embeddings=True, probabilities=False, **codes, **named).data.opinion
    assert opinion is not None
    np.testing.assert_allclose(np.exp(opinion.train), somebody.p, atol=1e-6)


def test_probabilities_of_rows_that_the_model_was_trained_on_are_refused(somebody: Somebody) -> None:
    """A forest says all of its own labels, and nearly all test labels: how sure it is gives it away."""
    X = np.column_stack([somebody.X, 4.0 * np.eye(3)[np.unique(somebody.right, return_inverse=True)[1]]])
    forest = RandomForestClassifier(random_state=0).fit(X[:900], somebody.given)
    p, p_test = forest.predict_proba(X[:900]), forest.predict_proba(X[900:])
    assert (NAMES[p_test.argmax(axis=1)] == somebody.right[900:]).mean() > 0.97
    with pytest.raises(InvalidProbabilities, match="has seen the labels"):
        somebody.debug(embeddings=True, probabilities=False, pred_probs=p, pred_probs_test=p_test)


def test_texts_are_no_embeddings(somebody: Somebody) -> None:
    with pytest.raises(UnsupportedFeatures, match="X_train holds texts, and there is no model"):
        somebody.debug(
            embeddings=True, probabilities=False, X_train=list(somebody.given), X_test=list(NAMES[[0] * 300])
        )
