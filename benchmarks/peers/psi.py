"""Psi itself, with its defaults, on the rows and the pipeline that a user has."""

from __future__ import annotations

import numpy as np

import psidebug
from benchmarks.peers.contest import Contest, Finding, Peer


def rank(contest: Contest) -> Finding:
    """The order of the diagnosis, the other rows behind it by ``p_wrong``; ``repaired_labels`` as automatic choice."""
    found = psidebug.debug(contest.model, contest.train, contest.given, contest.test, contest.y_test, rng=contest.seed)
    scores = found.p_wrong.copy()
    scores[found.order] = 1.0 + np.arange(len(found.order), 0, -1)
    return Finding(scores, labels=np.asarray(found.repaired_labels, dtype=np.intp))


PEERS = (Peer("Psi", rank, "explanations compete; probability of sufficiency", chooses=True),)
