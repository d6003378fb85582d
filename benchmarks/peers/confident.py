"""cleanlab (Northcutt, Jiang and Chuang 2021): confident learning with five folds of the same learner."""

from __future__ import annotations

import numpy as np

from benchmarks.peers.baselines import out_of_fold
from benchmarks.peers.contest import Contest, Finding, Peer


def rank(contest: Contest) -> Finding:
    """Least self-confidence first; rows that ``find_label_issues`` flags are left out, as ``CleanLearning`` does."""
    from cleanlab.filter import find_label_issues
    from cleanlab.rank import get_label_quality_scores

    p = out_of_fold(contest)
    p /= p.sum(axis=1, keepdims=True)
    quality = get_label_quality_scores(contest.given, p, method="self_confidence")
    flagged = find_label_issues(contest.given, p, n_jobs=1)
    return Finding(-np.asarray(quality), kept=~np.asarray(flagged, dtype=bool))


PEERS = (
    Peer(
        "cleanlab",
        rank,
        "5-fold self-confidence; find_label_issues",
        uses_test=False,
        chooses=True,
        package="cleanlab",
    ),
)
