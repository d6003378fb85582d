"""Labels as weights, so that a flip, a class weight and a fraction of a label are one thing; and the first score.

Row i with (possibly fractional) label q_i over the classes counts as W_ik = s_i c_k q_ik, and a_i = Σ_k W_ik, with
sample weights s and class weights c. Balanced class weights follow the labels: c_k = N / (K Σ_i q_ik).

The score before the first tree follows the labels by the class totals S_k = Σ_i W_ik, with shares π_k = S_k / Σ_j S_j:

    constant   given by the user or by the library, whatever the labels
    log_odds   log π_1 - log π_0              one column
    newton     4 π_1 - 2                      one column: one Newton step from score 0
    log_prior  log π_c                        a column per class
    centred    log π_c - mean_j log π_j       a column per class
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from psidebug.graybox.protocol import Floats, Worlds

Kind = Literal["constant", "log_odds", "newton", "log_prior", "centred"]
SMALLEST_SHARE = 1e-15


@dataclass(frozen=True, eq=False)
class Weighting:
    """Sample weights s (0 for a row the trees never saw) and class weights c, fixed or balanced."""

    rows: Floats
    """s, shape (N,)."""
    classes: Floats
    """c, shape (K,); for balanced weights those of the given labels."""
    balanced: bool = False
    start_uses_classes: bool = True
    """Whether the score before the first tree counts class weights too."""

    def class_weights(self, labels: Floats) -> Floats:
        """c for these labels (K, N, worlds), shape (K, worlds)."""
        if not self.balanced:
            return np.repeat(self.classes[:, None], labels.shape[2], axis=1)
        counts = np.maximum(labels.sum(axis=1), 1e-12)
        return np.asarray(labels.shape[1] / (len(self.classes) * counts))

    def weighted(self, labels: Floats) -> Floats:
        """W for labels (K, N, worlds)."""
        return np.asarray(labels * self.class_weights(labels)[:, None, :] * self.rows[None, :, None])

    def start_totals(self, labels: Floats) -> Floats:
        """S_k = Σ_i W_ik as the first score sees them, shape (K, worlds)."""
        totals = np.einsum("knb,n->kb", labels, self.rows)
        return np.asarray(totals * self.class_weights(labels)) if self.start_uses_classes else totals

    def moved(self, labels: Floats, change: Floats) -> tuple[Floats, Floats]:
        """Changes of W and of S for a small change of the labels, both arguments (K, N, worlds)."""
        weights, share = self.class_weights(labels), np.zeros((len(self.classes), 1))
        if self.balanced:
            share = -weights * change.sum(axis=1) / np.maximum(labels.sum(axis=1), 1e-12)
        in_trees = (change * weights[:, None, :] + labels * share[:, None, :]) * self.rows[None, :, None]
        plain = np.einsum("knb,n->kb", change, self.rows)
        return np.asarray(in_trees), np.asarray(in_trees.sum(axis=1) if self.start_uses_classes else plain)

    def pulled(self, labels: Floats, on_weights: Floats, on_start: Floats) -> Floats:
        """The transpose of :meth:`moved`: pulls on W (K, N) and on S (K,) to pulls on the labels (K, N)."""
        weights = self.class_weights(labels[:, :, None])[:, 0]
        pull = on_weights + on_start[:, None] if self.start_uses_classes else on_weights
        pull = pull * self.rows
        on_labels = pull * weights[:, None]
        if self.balanced:
            on_labels -= (weights * (pull * labels).sum(axis=1) / np.maximum(labels.sum(axis=1), 1e-12))[:, None]
        if not self.start_uses_classes:
            on_labels += on_start[:, None] * self.rows
        return np.asarray(on_labels)


def one_hot(worlds: Worlds, classes: int) -> Floats:
    """Labels (K, N, worlds) of worlds (worlds, N)."""
    return np.asarray(worlds.T[None, :, :] == np.arange(classes)[:, None, None], dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Start:
    """The first score by its rule; ``value`` (columns,) is the one of the given labels."""

    kind: Kind
    value: Floats

    def scores(self, totals: Floats) -> Floats:
        """f_0 for class totals (K, worlds), shape (columns, worlds)."""
        share = np.clip(totals / totals.sum(axis=0), SMALLEST_SHARE, 1.0)
        logs = np.log(share)
        match self.kind:
            case "constant":
                return np.repeat(self.value[:, None], totals.shape[1], axis=1)
            case "log_odds":
                return np.asarray(logs[1:] - logs[:1])
            case "newton":
                return np.asarray(4.0 * share[1:] - 2.0)
            case "log_prior":
                return np.asarray(logs)
            case "centred":
                return np.asarray(logs - logs.mean(axis=0))

    def slopes(self, totals: Floats) -> Floats:
        """∂f_0/∂S for class totals (K,), shape (columns, K)."""
        size, whole = len(totals), totals.sum()
        share = np.clip(totals / whole, SMALLEST_SHARE, 1.0)
        by_log = np.diag(1.0 / (share * whole))
        match self.kind:
            case "constant":
                return np.zeros((len(self.value), size))
            case "log_odds":
                return np.asarray(by_log[1:] - by_log[:1])
            case "newton":
                return 4.0 * np.array([[-share[1] / whole, (1.0 - share[1]) / whole]])
            case "log_prior":
                return np.asarray(by_log - 1.0 / whole)
            case "centred":
                return np.asarray(by_log - by_log.mean(axis=0))


def recognised(kinds: tuple[Kind, ...], value: Floats, totals: Floats) -> Start:
    """The first of these rules that gives the model's own first score from the given labels; constant otherwise."""
    for kind in kinds:
        rule = Start(kind, value)
        if np.allclose(rule.scores(totals[:, None])[:, 0], value, rtol=1e-5, atol=1e-5):
            return rule
    return Start("constant", value)
