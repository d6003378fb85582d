"""A hypothesis: how the labels came about, and what follows for each of them.

No label is wrong, some are wrong here and there, a slice or several were mislabelled: each is a prior over worlds,
*noise rates that may differ inside a slice*. :mod:`psidebug.evidence.contest` weighs them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from psidebug import policy
from psidebug.evidence.annotators import Annotated
from psidebug.evidence.belief import Belief
from psidebug.evidence.calibration import Calibrated
from psidebug.evidence.held_out import Floats, Mask, Rows
from psidebug.evidence.noise_rates import even_rates, fit_rates
from psidebug.slices.conditions import Slice
from psidebug.task.labels import Codes


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """Noise rates by group of rows, and the posterior of every label under them."""

    slices: tuple[Slice, ...]
    """Where rates of their own hold; empty if errors are scattered."""
    calibrated: Calibrated
    """P(k | x) of every row."""
    groups: Rows
    """The group of each training row: 0, or 1 and more inside the slices."""
    rates: tuple[Floats, ...]
    """R of each group."""
    posterior: Floats = field(repr=False)
    """W (N, K): how likely each class is the true label."""
    evidence: float
    """Nats gained on "the labels are right"."""
    charge: float
    """Nats that it has to gain: the penalty for its complexity."""
    log_likelihood: float = -np.inf
    """Of all labels under it, less what rates and slices cost: to be compared with hypotheses about other labels."""
    possible: Mask | None = field(default=None, repr=False)
    """(N, K): which classes each true label may have; None if any."""
    stated: bool = False
    """Whether the rates outside the slices were stated, not learned."""
    miscalibration: float = 0.0
    """Nats for each row that rates which differ between classes had to gain."""
    follow: float | None = None
    """ρ: the share of labels that follow the look of their row; None if none may."""
    beliefs: tuple[Belief, ...] = field(default=(), repr=False)
    """The rules whose mean is the posterior; none if no label is wrong."""
    annotated: Annotated | None = field(default=None, repr=False)
    """The answers of annotators, where the posterior is by them."""

    @property
    def finished(self) -> Hypothesis:
        """Without what it takes to speak of further rows: models, and all rows that they were asked about."""
        return replace(self, calibrated=replace(self.calibrated, elsewhere=()), beliefs=())

    @property
    def surplus(self) -> float:
        """What it gains beyond its charge."""
        return self.evidence - self.charge

    @property
    def likely(self) -> bool:
        """Whether it says more than chance would."""
        return self.surplus > 0

    @property
    def noticeable(self) -> bool:
        """Whether a noise rate ε would be noticed: Σ_i KL(P_i R ‖ P_i), R even, is what it would gain on the labels.

        That must exceed the charge. It does not where the test rows are few, or where their classes overlap.
        """
        chances = np.maximum(np.exp(self.calibrated.train), 1e-300)
        if self.possible is not None:  # labels that are not judged notice nothing
            judged = self.possible.sum(axis=1) > 1
            chances = chances[judged][:, self.possible[judged].any(axis=0)]
            chances /= chances.sum(axis=1, keepdims=True)
        if chances.size == 0:
            return False
        noisy = chances @ even_rates(chances.shape[1], policy.MOST_RATE)
        return bool(np.vdot(noisy, np.log(noisy / chances)) > self.charge)

    @property
    def accused(self) -> tuple[Slice, ...]:
        """The slices with labels that are probably wrong; the others are right where labels elsewhere are not."""
        wrong = [float((self.posterior[each.members, each.given] < 0.5).mean()) for each in self.slices]
        return tuple(each for each, share in zip(self.slices, wrong, strict=True) if share >= policy.ACCUSED)

    @property
    def excepted(self) -> tuple[Slice, ...]:
        """The slices that are exceptions."""
        accused = self.accused
        return tuple(each for each in self.slices if not any(each is one for one in accused))

    def p_wrong(self, given: Codes, rows: Rows | None = None) -> Floats:
        """1 - W_i(y_i), of some of the rows or all."""
        rows = np.arange(len(given)) if rows is None else rows
        return np.asarray(1.0 - self.posterior[rows, given[rows]])

    def corrected(self, given: Codes, rows: Rows | None = None) -> Codes:
        """The labels of some of the rows or all; those that are wrong with a probability above a half, put right."""
        rows = np.arange(len(given)) if rows is None else rows
        wrong = self.p_wrong(given, rows) > 0.5
        codes = given[rows]
        codes[wrong] = self.posterior[rows[wrong]].argmax(axis=1)
        return codes

    def after_review(self, given: Codes, known: Codes) -> Hypothesis:
        """The same hypothesis after a person has settled the labels of some rows; ``known`` is -1 elsewhere.

        They teach the rates of their group, and how far the predictors are to be believed there, and so move the
        others. Rates that were stated are not to be taught, and of labels that follow the look of their row it is not
        the rates that matter.
        """
        posterior, rates, size = self.posterior.copy(), list(self.rates), self.posterior.shape[1]
        for group in range(len(rates)):
            own = self.groups == group
            settled = own & (known >= 0)
            if not settled.any():
                continue
            if (self.stated or self.follow is not None) and group == 0:
                posterior[settled] = np.eye(size)[known[settled]]
                continue
            possible = None if self.possible is None else self.possible[own] | (known[own, None] == np.arange(size))
            logs = self.calibrated.train[own]
            noise = fit_rates(logs, given[own], known[own], possible, miscalibration=self.miscalibration)
            posterior[own], rates[group] = noise.posterior, noise.rates
        cells = self.groups * size + given
        for cell in np.unique(cells[(known >= 0) & ~(self.stated & (self.groups == 0))]):
            own = cells == cell
            posterior[own] = _moved(posterior[own], self.posterior[own], int(cell % size), known[own])
        annotated = None if self.annotated is None else self.annotated.after_review(known)
        posterior = posterior if annotated is None else annotated.over(posterior)
        return replace(self, posterior=posterior, rates=tuple(rates), annotated=annotated)


def _moved(posterior: Floats, before: Floats, given: int, known: Codes) -> Floats:
    """The posteriors (n, K) of rows with one given label, their log odds of being wrong moved by one number.

    δ is what the rows with a known label say about the log odds l_i that were held before: it maximises
    Σ log σ(±(l_i + δ)) - δ² / (2 · 3²), + for wrong labels. Many that were thought wrong and are right make the others
    doubtful too.
    """
    settled = known >= 0
    held = np.clip(before[:, given], 1e-4, 1.0 - 1e-4)
    odds = np.log1p(-held) - np.log(held)
    wrong, delta, variance = known[settled] != given, 0.0, policy.REVIEW_PRIOR**2
    for _ in range(50):
        chance = 1.0 / (1.0 + np.exp(-(odds[settled] + delta)))
        slope = float((wrong - chance).sum()) - delta / variance
        delta += float(np.clip(slope / (float((chance * (1.0 - chance)).sum()) + 1.0 / variance), -1.0, 1.0))
    moved = posterior.copy()
    right = moved[~settled, given].copy()
    others = 1.0 - right
    odds_now = np.exp(np.clip(delta, -50.0, 50.0)) * others / np.maximum(right, 1e-12)
    still = 1.0 / (1.0 + odds_now)
    moved[~settled] *= np.divide(1.0 - still, others, out=np.zeros_like(others), where=others > 0)[:, None]
    moved[~settled, given] = still
    return moved
