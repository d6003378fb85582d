"""CatBoost's ``get_object_importance`` (LeafInfluence: Sharchilev and others 2018), with a model of its own."""

from __future__ import annotations

import numpy as np

from benchmarks.peers.contest import Contest, Finding, Peer


def rank(contest: Contest) -> Finding:
    """Rows whose removal would lower the test loss most, first, in a CatBoost model of 100 trees."""
    from catboost import CatBoostClassifier, Pool

    model = CatBoostClassifier(
        iterations=100, random_seed=contest.seed, thread_count=1, verbose=False, allow_writing_files=False
    )
    train = Pool(contest.X_train, contest.given)
    model.fit(train)
    rows, importance = model.get_object_importance(
        Pool(contest.X_test, contest.y_test), train, thread_count=1, verbose=False
    )
    scores = np.empty(len(contest))
    scores[np.asarray(rows)] = np.asarray(importance)
    return Finding(scores)


PEERS = (
    Peer(
        "CatBoost object importance",
        rank,
        "get_object_importance of a CatBoost model",
        ("boosting",),
        most_classes=2,
        package="catboost",
        seconds=lambda contest, one_fit: 1e-6 * len(contest) * contest.points,
    ),
)
