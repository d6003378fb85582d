"""Rain's idea (Wu, Flokas, Wu and Wang, SIGMOD 2020): complaints drive a loop of train, rank, delete.

A complaint here: the misclassified test points should have their right classes. In each round the model is trained on
the rows left, rows are ranked by what removing them takes off the complaint's loss (influence for logistic regression,
BoostIn for trees), and the first 1% of all rows are deleted. It ends when nothing is left to complain about, or when a
fifth of the rows are gone. Rows are ranked by the round of their deletion, the others by the last influence.
"""

from __future__ import annotations

import numpy as np

from benchmarks.peers import boostin, influence
from benchmarks.peers.contest import Contest, Finding, Floats, Peer

ROUNDS = 20
SHARE = 0.01
"""Of all rows, deleted in one round."""


def rank(contest: Contest) -> Finding:
    """Rows in the order of their deletion; the automatic choice is to train on those that are left."""
    removal = influence.removal if contest.kind == "logistic" else boostin.removal
    count = max(1, round(SHARE * len(contest)))
    kept = np.arange(len(contest))
    scores = np.zeros(len(contest))
    for done in range(ROUNDS):
        fitted = contest.fit(rows=kept)
        complaints = fitted.predict(contest.X_test) != contest.y_test
        if not complaints.any() or (done and len(np.unique(contest.given[kept])) < contest.size):
            break
        found = removal(contest, fitted, complaints, kept)
        scores[kept] = _between_0_and_1(found)
        first = np.argsort(-found, kind="stable")[:count]
        scores[kept[first]] += ROUNDS - done
        kept = np.delete(kept, first)
    left = np.zeros(len(contest), dtype=bool)
    left[kept] = True
    return Finding(scores, kept=left)


def _between_0_and_1(found: Floats) -> Floats:
    places = np.empty(len(found))
    places[np.argsort(found, kind="stable")] = np.arange(len(found)) / len(found)
    return places


PEERS = (
    Peer(
        "Rain's idea",
        rank,
        "influence on the misclassified test points, delete, retrain, again",
        chooses=True,
        seconds=lambda contest, one_fit: 2.0 * ROUNDS * one_fit,
    ),
)
