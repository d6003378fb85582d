"""The rival to beat: a labeller calibrated on the trusted rows, with noise rates by its own confidence.

Opinions p_m(k | x), m = 1 … 4, none of which has seen the label of the row it speaks of: the user's learner, another
linear one and a forest, trained on the given labels (out of fold or out of bag), and the judge, trained on the trusted
rows (out of fold for these). The labeller

    q(k | x) ∝ exp(Σ_m a_m log p_m(k | x) + b_k)

gets its a and b by maximum likelihood from the trusted labels alone. The training rows are split into five groups g by
the confidence max_k q(k | x). In each, with noise rates R_g[k, b] = P(given b | true k), EM repeats

    W_i(k) ∝ q(k | x_i) R_g[k, y_i],        R_g[k, b] = (Σ_{i in g, y_i = b} W_i(k) + c) / Σ_b (…)

Then p_wrong_i = 1 - W_i(y_i), the new label is argmax_k W_i(k), and its weight max_k W_i(k).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from benchmarks.real.loaders import Codes, Floats
from benchmarks.real.rivals import Finding, fitted, out_of_fold, probabilities
from benchmarks.real.rivals import encoded as encoded_rows
from benchmarks.real.tasks import RealTask

GROUPS = 5
FLOOR = 0.01
"""Share of the even distribution in every opinion: a forest's zero is not a certainty."""
PENALTY = 1.0
"""Precision of the normal prior of a around 1/4 and of b around 0."""
RIGHT = 0.9
"""P(given k | true k) at the start of EM; also what its pseudo-counts say."""
PSEUDO = 1.0
STEPS = 100


def find(task: RealTask) -> Finding:
    """The posterior of every training label, and the labels that it finds likeliest."""
    train, trusted = opinions(task)
    a, b = calibrated(trusted, task.y_trusted)
    q = softmax(np.tensordot(a, train, axes=1) + b, axis=1)
    posterior = q.copy()
    edges = np.quantile(q.max(axis=1), np.arange(1, GROUPS) / GROUPS)
    group = np.searchsorted(edges, q.max(axis=1), side="right")
    for g in np.unique(group):
        posterior[group == g] = with_rates(q[group == g], task.given[group == g])
    p_wrong = 1.0 - posterior[np.arange(len(q)), task.given]
    return Finding(p_wrong, p_wrong, labels=posterior.argmax(axis=1), weights=posterior.max(axis=1))


def opinions(task: RealTask) -> tuple[Floats, Floats]:
    """log p_m (4, rows, K) of the training rows, and of the trusted ones."""
    K, seed, given = task.size, task.seed, task.given
    X, Z = encoded_rows(task, task.X_trusted)
    linear = make_pipeline(MaxAbsScaler(), LogisticRegression(C=1.0, max_iter=1000))
    forest = RandomForestClassifier(200, oob_score=True, min_samples_leaf=2, random_state=seed, n_jobs=1).fit(X, given)
    bag = np.zeros((len(given), K))
    bag[:, forest.classes_] = np.nan_to_num(forest.oob_decision_function_, nan=1.0 / K)

    def user(rows: Any, y: Codes) -> Any:
        return fitted(task, rows, y)

    def other(rows: Any, y: Codes) -> Any:
        return linear.fit(rows, y)

    of_judge = out_of_fold(user, task.X_trusted, task.y_trusted, K, seed)
    pairs = (
        (out_of_fold(user, task.X_train, given, K, seed), probabilities(user(task.X_train, given), task.X_trusted, K)),
        (out_of_fold(other, X, given, K, seed), probabilities(other(X, given), Z, K)),
        (bag, probabilities(forest, Z, K)),
        (probabilities(user(task.X_trusted, task.y_trusted), task.X_train, K), of_judge),
    )
    train, trusted = (
        np.stack([np.log((1 - FLOOR) * p + FLOOR / K) for p in side]) for side in zip(*pairs, strict=True)
    )
    return train, trusted


def calibrated(logs: Floats, y: Codes) -> tuple[Floats, Floats]:
    """a (opinions,) and b (K,) that make labels y likeliest, given log p_m (opinions, rows, K)."""
    M, _, K = logs.shape
    own = np.eye(K)[y]

    def loss(packed: Floats) -> tuple[float, Floats]:
        a, b = packed[:M], packed[M:]
        log_q = log_softmax(np.tensordot(a, logs, axes=1) + b, axis=1)
        gap = np.exp(log_q) - own
        slope = np.concatenate([np.einsum("mnk,nk->m", logs, gap), gap.sum(axis=0)]) + PENALTY * (packed - start)
        return float(-(log_q * own).sum() + 0.5 * PENALTY * ((packed - start) ** 2).sum()), slope

    start = np.concatenate([np.full(M, 1.0 / M), np.zeros(K)])
    best = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=[(0.0, None)] * M + [(None, None)] * K).x
    return best[:M], best[M:]


def with_rates(q: Floats, y: Codes) -> Floats:
    """W (rows, K) after EM for one matrix of noise rates."""
    K = q.shape[1]
    prior = PSEUDO * (np.full((K, K), (1 - RIGHT) / max(K - 1, 1)) + np.eye(K) * (RIGHT - (1 - RIGHT) / max(K - 1, 1)))
    R, own = prior / prior.sum(axis=1, keepdims=True), np.eye(K)[y]
    for _ in range(STEPS):
        W = q * R[:, y].T
        W /= W.sum(axis=1, keepdims=True)
        R = W.T @ own + prior
        R /= R.sum(axis=1, keepdims=True)
    return np.asarray(W)
