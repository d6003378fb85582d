"""Running sums of an importance sampler in which every world serves every label, and the estimates they make."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from psidebug.inference.estimates import Estimates
from psidebug.priors import Codes, Prior

LEAST_WORTH = 20
"""A label whose estimate is worth fewer worlds than this is not known at all: its interval is (0, 1)."""


class WeightedSums:
    """Sums over weighted worlds of what each label needs: ratios with their errors by the delta method.

    PS(i) = X/Y with X = Σ v x, Y = Σ v y has variance Σ v² (x - PS y)² / Y², and is worth Y² / Σ v² y² worlds.
    """

    def __init__(self, prior: Prior, drawn_from: Prior) -> None:
        self._prior = prior
        with np.errstate(divide="ignore", invalid="ignore"):
            log_ratio = np.log(prior.moves) - np.log(drawn_from.moves)
        self._log_ratio = np.where(prior.moves > 0, log_ratio, 0.0)
        self._reference = 0.0
        self._x, self._y, self._xx, self._yy = (np.zeros(prior.size) for _ in range(4))
        self._kept = np.zeros(prior.size)
        self._moved = np.zeros((prior.classes - 1, prior.size))
        self._gone, self._gone_squared = 0.0, 0.0
        self.worlds = 0

    @property
    def effective(self) -> float:
        """Effective number of worlds without the symptom."""
        return self._gone**2 / self._gone_squared if self._gone_squared > 0 else 0.0

    def add(self, worlds: Codes, kept: npt.NDArray[np.bool_], moved: npt.NDArray[np.bool_]) -> None:
        """More worlds, and where the symptom is gone in them with each label as given, and with each alternative."""
        prior = self._prior
        own = self._log_ratio[np.arange(prior.size), worlds]
        log_weights = own.sum(axis=1)
        if self.worlds == 0:
            self._reference = float(log_weights.max())
        self.worlds += len(worlds)
        others = np.exp(log_weights[:, None] - self._reference - own)
        away = np.zeros(worlds.shape)
        for k, gone in enumerate(moved):
            away += prior.proposals[k] * gone
            self._moved[k] += prior.proposals[k] * np.einsum("wn,wn->n", others, gone)
        y = others * away
        x = np.where(kept, 0.0, y)
        self._x += x.sum(axis=0)
        self._y += y.sum(axis=0)
        self._xx += np.einsum("wn,wn->n", x, x)
        self._yy += np.einsum("wn,wn->n", y, y)
        self._kept += np.einsum("wn,wn->n", others, kept)
        # the world itself: its first label in the state it is in
        here = np.where(worlds[:, 0] == prior.given[0], kept[:, 0], False)
        for k, alternative in enumerate(prior.alternatives[:, 0]):
            here |= (worlds[:, 0] == alternative) & moved[k, :, 0]
        weights = np.exp(log_weights[here] - self._reference)
        self._gone += float(weights.sum())
        self._gone_squared += float((weights**2).sum())

    def estimates(self) -> Estimates:
        """PS of every label with its error, and the posterior that the label differs."""
        prior, known = self._prior, self._y > 0
        nothing = np.zeros(prior.size)
        ps = np.divide(self._x, self._y, out=nothing.copy(), where=known)
        spread = np.maximum((1.0 - 2.0 * ps) * self._xx + ps**2 * self._yy, 0.0)  # x is y or 0, so xy = xx
        error = np.divide(np.sqrt(spread), self._y, out=np.full(prior.size, np.inf), where=known)
        worth = np.divide(self._y**2, self._yy, out=nothing.copy(), where=known)
        # a label that was never, or always, seen to bring the symptom back has the rule of three for its interval
        settled = (ps == 0) | (ps == 1)
        half = np.where(settled, np.divide(3.0, worth, out=np.ones(prior.size), where=worth > 3), 1.96 * error)
        wrong, right = prior.rates * self._y, (1.0 - prior.rates) * self._kept
        unknown = worth < LEAST_WORTH
        return Estimates(
            ps=ps,
            standard_error=half / 1.96,
            low=np.where(unknown, 0.0, np.clip(ps - half, 0.0, 1.0)),
            high=np.where(unknown, 1.0, np.clip(ps + half, 0.0, 1.0)),
            p_wrong=np.divide(wrong, wrong + right, out=prior.rates.copy(), where=wrong + right > 0),
            proposed=prior.alternatives[self._moved.argmax(axis=0), np.arange(prior.size)],
            effective_sample_size=worth,
            log_p_without=float(np.log(self._gone / self.worlds) + self._reference) if self._gone > 0 else -np.inf,
            engine="tilting",
            reason=f"{self.worlds:,} worlds of the tilted prior, worth {self.effective:.0f} without the symptom",
            learner_calls=self.worlds,
        )
