"""Labels as weights, so that a flip, a class weight and a fraction of a label are one thing.

Row i with (possibly fractional) label q_i over the classes counts as W_ik = s_i c_k q_ik, and a_i = Σ_k W_ik, with
sample weights s and class weights c. Balanced class weights follow the labels: c_k = N / (K Σ_i q_ik).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from psidebug.graybox.protocol import Floats, Worlds


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
