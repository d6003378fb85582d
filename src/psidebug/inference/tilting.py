"""Importance sampling from the tilted prior, label i marginalised: for every symptom over a linear gray box.

Worlds are drawn from q, the prior tilted in the direction in which the symptom goes, far enough that it is gone in
about half of them. A world w serves every label i in all of its states: with the weight of its other labels,
v_-i = Π_{j≠i} p_j(w_j)/q_j(w_j),

    PS(i) ≈ Σ_w v_-i Σ_k π_i(k) [¬φ(w_-i, k)] [φ(w_-i, y_i)] / Σ_w v_-i Σ_k π_i(k) [¬φ(w_-i, k)],

which is the program ``tilt_prior(marginalise_label(sufficiency(…)), q)`` with its inner expectation taken exactly.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from psidebug.errors import NoWorldWithout
from psidebug.inference.estimates import Estimates, wilson_interval
from psidebug.inference.linear_learner import LinearLearner, MovedLabels
from psidebug.priors import Codes, Floats, Prior
from psidebug.symptoms import Symptom

PILOT = 200
BATCH = 250
LEAN = (-1.0, 4.0)
"""Bounds on a label's log odds of moving, added by tilting: what is made too unlikely is never seen, and what is not
seen cannot warn."""
PLAIN = 1000
"""Worlds of the prior itself, drawn to see whether the tilted ones have missed a way for the symptom to go."""
TRUSTED = 100
"""Effective sample size below which an estimate is not to be trusted."""
LEAST_WORTH = 20
"""A label whose estimate is worth fewer worlds than this is not known at all: its interval is (0, 1)."""


def tilting(
    prior: Prior,
    learner: LinearLearner,
    symptom: Symptom,
    *,
    rng: np.random.Generator,
    effective: int = 500,
    worlds: int = 20_000,
) -> Estimates:
    """PS of every label from as many worlds as it takes to be worth ``effective`` ones, at most ``worlds``."""
    held = float(symptom.holds(learner(prior.draw(PILOT, rng))).mean())
    drawn_from = tilted_towards_absence(prior, learner, symptom, rng) if held > 0.75 else prior
    sums = WeightedSums(prior, drawn_from)
    while sums.worlds < worlds and sums.effective < effective:
        batch = drawn_from.draw(BATCH, rng)
        sums.add(batch, *states_without(learner, symptom, batch))
    found = sums.estimates()
    plain = ~symptom.holds(learner(prior.draw(PLAIN, rng)))
    return replace(found, warnings=_warnings(found, sums.effective, held, plain, symptom))


def tilted_towards_absence(prior: Prior, learner: LinearLearner, symptom: Symptom, rng: np.random.Generator) -> Prior:
    """The prior tilted by λ along the direction that the symptom pulls in, so that it is gone in about half the worlds.

    The best direction is the gradient of the mean severity under the tilted prior itself, so direction and λ are found
    in turns. Leaning by dλ along effects g moves the mean of Σ_i g_i(w_i) by dλ times its variance.
    """
    current, rate = prior, 0.0
    direction: Floats | None = None
    best, best_share = prior, 0.0
    for turn in range(40):
        margins = learner(current.draw(PILOT, rng))
        share = float((~symptom.holds(margins)).mean())
        if min(share, 1.0 - share) > min(best_share, 1.0 - best_share):
            best, best_share = current, share
        if 0.3 <= share <= 0.7 and turn > 2:
            return current
        pulled = learner.effects(symptom.pull(margins))
        direction = pulled if direction is None else 0.5 * direction + 0.5 * pulled
        mean = (current.moves * direction).sum(axis=1, keepdims=True)
        variance = float((current.moves * (direction - mean) ** 2).sum())
        if variance == 0.0:
            break
        step = float(np.median(symptom.severity(margins))) / variance
        most = max(0.5 * rate, 1.0 / float(np.abs(direction).max()))
        rate = max(rate + float(np.clip(step, -most, most)), 0.0)
        current = prior.tilted(np.clip(rate * direction, *LEAN))
    return best if best_share > 0 else _shaken(prior, learner, symptom, rng)


def _shaken(prior: Prior, learner: LinearLearner, symptom: Symptom, rng: np.random.Generator) -> Prior:
    """Where no direction helps: the prior with every label made more likely to move, more and more."""
    for odds in (2.0, 4.0, 8.0, 16.0, 32.0, 64.0):
        exponents = np.full_like(prior.moves, np.log(odds))
        exponents[np.arange(prior.size), prior.given] = 0.0
        shaken = prior.tilted(exponents)
        if not symptom.holds(learner(shaken.draw(4 * PILOT, rng))).all():
            return shaken
    raise NoWorldWithout(
        f"no world without the symptom was found («{symptom}») within the odds that tilting may lean by. Ask about a "
        f"milder symptom (fewer of the points, or symptom='log_loss') or raise the noise rate."
    )


def states_without(
    learner: LinearLearner, symptom: Symptom, worlds: Codes
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Whether the symptom is gone in each state of label i, the other labels as in the world.

    With label i as given, shape (worlds, N); and with each of its alternatives, shape (K-1, worlds, N).
    """
    margins = learner(worlds)
    classes = learner.classes
    absent = [np.broadcast_to(~symptom.holds(margins)[:, None], worlds.shape)]
    absent += [~symptom.holds_after(margins, MovedLabels(learner, worlds, shift)) for shift in range(1, classes)]
    # state k of a label is reached by moving it (k - w_i) mod K classes on
    away = (learner.given - worlds) % classes
    kept = np.select([away == shift for shift in range(classes)], absent, default=False)
    moved = np.empty((classes - 1, *worlds.shape), dtype=bool)
    for rank in range(classes - 1):
        alternative = rank + (rank >= learner.given)
        moved[rank] = np.select(
            [(alternative - worlds) % classes == shift for shift in range(classes)], absent, default=False
        )
    return kept, moved


def _warnings(
    answer: Estimates, worth: float, held: float, plain: npt.NDArray[np.bool_], symptom: Symptom
) -> tuple[str, ...]:
    found = []
    least, _ = wilson_interval(int(plain.sum()), len(plain), z=3.0)
    if plain.any() and answer.log_p_without < np.log(least) - 0.7:
        found.append(
            f"the symptom goes in {plain.mean():.2g} of the worlds of the prior, far more than the tilted ones know "
            f"of: it can go in ways that were not followed, so do not trust these numbers; ask about fewer points"
        )
    few = int((answer.effective_sample_size < LEAST_WORTH).sum())
    if few:
        found.append(f"{few} of {len(answer.ps)} labels are worth fewer than {LEAST_WORTH} worlds: their PS is unknown")
    if worth < TRUSTED:
        found.append(
            f"the sample is worth only {worth:.0f} worlds: do not trust these numbers; use symptom='log_loss', fewer "
            f"bugs or a larger noise rate"
        )
    if held < 0.02:
        found.append(
            f"saturated: «{symptom}» already fails in {1 - held:.0%} of the worlds of this prior, so hardly any label "
            f"can be its cause; ask about fewer points, 'half' of them, or symptom='log_loss'"
        )
    return tuple(found)


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
