"""Gray box of k nearest neighbours, exact: labels have no part in who is near, so other labels are other votes.

With the weights q_tj ≥ 0 of the neighbours j of test point t, which add up to 1,

    s_tk(w) = Σ_j q_tj [w_j = k],    f_tk = log((s_tk + a) / (1 + K a)),

a as in ``margins.log_shares``. Margins of a world are those of the retrained learner, ties included. Effects are those
of a single label, exact too; the logarithm makes them add up only where labels do not share a test point.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors

from psidebug.errors import UnsupportedLearner
from psidebug.graybox.class_scores import NUMBERS_AT_ONCE, OfClassScores
from psidebug.graybox.protocol import Floats, Worlds
from psidebug.margins import SMOOTHING, log_shares, margins_of, with_signs
from psidebug.task import learner as learners
from psidebug.task.task import Task


def supports(model: Any) -> bool:
    """Whether the model asks its nearest neighbours."""
    return isinstance(model, KNeighborsClassifier)


class Neighbours(OfClassScores):
    """Gray box of ``KNeighborsClassifier``, whatever its metric and weights."""

    name = "neighbours"

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        model = learners.final_step(task.learner)
        if not supports(model):
            raise UnsupportedLearner(
                f"{type(model).__name__} asks no nearest neighbours: graybox='neighbours' takes KNeighborsClassifier."
            )
        options = {name: value for name, value in model.get_params().items() if name != "weights"}
        # An index of the rows given: the model's own may have them in another order.
        distances, self._near = NearestNeighbors(**options).fit(task.seen.train).kneighbors(task.seen.test)
        self._votes = _votes(model.weights, distances)
        self._check_reproduced(task)

    def margins(self, worlds: Worlds, points: npt.NDArray[np.intp] | None = None) -> Floats:
        """Margins of the learner with these labels, their sign its predictions': of a tie the first class."""
        chosen = np.arange(len(self._right)) if points is None else np.asarray(points, dtype=np.intp)
        right, result = self._right[chosen], np.empty((len(worlds), len(chosen), self._classes - 1))
        at_once = max(1, NUMBERS_AT_ONCE // max(1, self._near[chosen].size))
        for start in range(0, len(worlds), at_once):
            scores = self._scores(np.asarray(worlds[start : start + at_once]), chosen)
            wrong = scores.argmax(axis=-1) != right
            for place, (each, missed) in enumerate(zip(scores, wrong, strict=True)):
                result[start + place] = with_signs(margins_of(each, right), missed)
        return result

    def _scores(self, worlds: Worlds, points: npt.NDArray[np.intp]) -> Floats:
        labels = worlds[:, self._near[points]]
        shares = [((labels == k) * self._votes[points]).sum(axis=-1) for k in range(self._classes)]
        return log_shares(np.stack(shares, axis=-1))

    def _gains(self, pulls: Floats) -> Floats:
        """Σ_t v_tk log((s_tk + q_tj + a) / (s_tk + a)) + v_ty log((s_ty - q_tj + a) / (s_ty + a)); 0 for label y."""
        gains = np.zeros((len(self._given), self._classes))
        shares = np.stack([self._of_class(k) for k in range(self._classes)], axis=1) + SMOOTHING
        left = np.take_along_axis(shares, self._given[self._near], axis=1)
        own = np.take_along_axis(pulls, self._given[self._near], axis=1)
        lost = own * np.log(np.maximum(left - self._votes, SMOOTHING) / left)
        for k in range(self._classes):
            won = pulls[:, k, None] * np.log1p(self._votes / shares[:, k, None])
            gain = np.where(self._given[self._near] == k, 0.0, lost + won)
            gains[:, k] = np.bincount(self._near.ravel(), gain.ravel(), minlength=len(gains))
        return gains

    def _of_class(self, k: int) -> Floats:
        return np.asarray(((self._given[self._near] == k) * self._votes).sum(axis=1))


def _votes(weights: Any, distances: Floats) -> Floats:
    """q_tj, as the library weighs neighbours at these distances: who is at distance 0 has all the say."""
    if callable(weights):
        votes = np.asarray(weights(distances), dtype=np.float64)
    elif weights == "distance":
        here = distances == 0
        with np.errstate(divide="ignore"):
            votes = np.where(here.any(axis=1)[:, None], here, 1.0 / distances)
    else:
        votes = np.ones(distances.shape)
    total = votes.sum(axis=1, keepdims=True)
    return np.asarray(votes / np.where(total == 0, 1.0, total))
