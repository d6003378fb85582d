"""What nobody may skip: chance, training loss, self-influence, a judge trained on the test set, exact retraining."""

from __future__ import annotations

import numpy as np
from sklearn.model_selection import StratifiedKFold

from benchmarks.peers import boostin, influence
from benchmarks.peers.contest import Contest, Finding, Floats, Peer
from psidebug.task import learner as learners
from psidebug.task.labels import Codes

MOST_ROWS = 600
"""For exact retraining: a fit for every row."""


def random(contest: Contest) -> Finding:
    """Any order: the average precision to expect is the share of wrong labels."""
    return Finding(contest.rng.random(len(contest)))


def training_loss(contest: Contest) -> Finding:
    """-log p(y_i | x_i) under the model fitted on the given labels."""
    return Finding(-np.log(contest.belief(contest.fit(), contest.X_train, contest.given)))


def self_influence(contest: Contest) -> Finding:
    """How much a row's own loss would rise without it, to first order."""
    return Finding((influence.of_itself if contest.kind == "logistic" else boostin.of_itself)(contest))


def judge(contest: Contest) -> Finding:
    """-log q(y_i | x_i) under the same learner fitted on the test set alone.

    Its automatic choice: where q(y_i | x_i) < ½, the class that it finds likeliest.
    """
    fitted = learners.refit(contest.estimator, contest.X_test, contest.y_test, seed=contest.seed)
    belief = contest.belief(fitted, contest.X_train, contest.given)
    likeliest = contest.probabilities(fitted, contest.X_train).argmax(axis=1)
    return Finding(-np.log(belief), labels=np.where(belief < 0.5, likeliest, contest.given))


def exact_flips(contest: Contest) -> Finding:
    """By how much the log loss on the test set falls when one label moves to its best other class, by retraining."""
    before = _test_loss(contest, contest.given)
    scores = np.empty(len(contest))
    for row in range(len(contest)):
        after = []
        for other in range(contest.size):
            if other != contest.given[row]:
                labels = contest.given.copy()
                labels[row] = other
                after.append(_test_loss(contest, labels))
        scores[row] = before - min(after)
    return Finding(scores)


def _test_loss(contest: Contest, labels: Codes) -> float:
    return float(-np.log(contest.belief(contest.fit(labels), contest.X_test, contest.y_test)).mean())


def out_of_fold(contest: Contest, *, folds: int = 5) -> Floats:
    """Probabilities (N, K) by the learner, each row by a fit that has not seen it."""
    splits = StratifiedKFold(folds, shuffle=True, random_state=contest.seed).split(contest.given, contest.given)
    result = np.zeros((len(contest), contest.size))
    for others, fold in splits:
        result[fold] = contest.probabilities(contest.fit(rows=others), contest.X_train[fold])
    return result


PEERS = (
    Peer("training loss", training_loss, "loss of the given label in the fitted model", uses_test=False),
    Peer("self-influence", self_influence, "effect of a row on its own loss", uses_test=False),
    Peer(
        "judge of the test set",
        judge,
        "same learner fitted on the test set, disbelief of the training label",
        chooses=True,
    ),
    Peer(
        "exact single flips",
        exact_flips,
        "test log loss after retraining with one label changed, for every label",
        most_rows=MOST_ROWS,
        seconds=lambda contest, one_fit: one_fit * len(contest) * (contest.size - 1),
    ),
    Peer("random", random, "any order", uses_test=False),
)
