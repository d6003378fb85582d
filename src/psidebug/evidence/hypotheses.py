"""Explanations compete: no label is wrong, some are wrong here and there, a slice or several were mislabelled.

Each is a prior over worlds, *rates that may differ inside a slice*, and all are measured in one currency: the held-out
log likelihood of all labels, in nats,

    E = Σ_i log Σ_k P(k | x_i) R_g(i)(y_i | k)  +  Σ_t log P(y_t | x_t),

training labels through the noisy channel of their group, test labels as they are. The labeller P of a hypothesis never
learns from the slices that it accuses. "The labels are right" is R = 1. What a hypothesis gains on that must exceed its
charge: log(conditions looked at) for each slice, ½ log n for each rate, and (N/M) χ²/2 for the p numbers that calibrate
the labeller on M test points and are then applied to N training rows: what chance gains on clean labels, by the 95%
point of χ² with p degrees of freedom. Scattered errors have a second account, by a labeller who also learns from the
training labels: :mod:`psidebug.evidence.accounts`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
from scipy.stats import chi2

from psidebug.evidence.accounts import GivenLabels, as_right, as_wrong
from psidebug.evidence.labeller import Labeller, labeller_of
from psidebug.evidence.opinions import Panel
from psidebug.evidence.rates import Channel, Floats, Mask, even_rates, learned, told, untouched
from psidebug.evidence.speakers import Opinion
from psidebug.policy import LEAST_TEST_ROWS_OF_A_CLASS
from psidebug.slices.slices import Slice
from psidebug.task.labels import Codes
from psidebug.task.task import Task

MOST_EXCLUDED = 0.5
"""A slice with more of the training rows than this is not left out of training: its rates alone may differ."""

ACCUSED = 0.05
"""A slice is accused if at least this share of its labels is probably wrong."""
A_LITTLE = 1.0
"""Nats that scattered errors gain by chance, or where a slice was mislabelled, at most."""
SELDOM = 0.001
"""The noise rate where nothing speaks for errors: it keeps the rows in order."""


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """How the labels came about, and what follows for each of them."""

    slices: tuple[Slice, ...]
    """Where rates of their own hold; empty if errors are scattered."""
    labeller: Labeller
    groups: npt.NDArray[np.intp]
    """The group of each training row: 0, or 1 and more inside the slices."""
    rates: tuple[Floats, ...]
    """R of each group."""
    posterior: Floats = field(repr=False)
    """W (N, K): how likely each class is the true label."""
    evidence: float
    """Nats gained on "the labels are right"."""
    charge: float
    """Nats that it has to gain."""
    possible: Mask | None = field(default=None, repr=False)
    """(N, K): which classes each true label may have; None if any.

    A stated prior may rule some out; and of a class without test rows nothing is known, so its labels stay.
    """
    stated: bool = False
    """Whether the rates outside the slices were stated, not learned."""
    doubt: float = 0.0
    """Nats for each row that rates which differ between classes had to gain."""

    @property
    def surplus(self) -> float:
        """Nats beyond those that it has to gain."""
        return self.evidence - self.charge

    @property
    def likely(self) -> bool:
        """Whether it says more than chance would."""
        return self.surplus > 0

    @property
    def accused(self) -> tuple[Slice, ...]:
        """The slices with labels that are probably wrong.

        The others are exceptions: where labels are wrong elsewhere, or in a broader slice, in these they are right.
        """
        wrong = [float((self.posterior[each.members, each.given] < 0.5).mean()) for each in self.slices]
        return tuple(each for each, share in zip(self.slices, wrong, strict=True) if share >= ACCUSED)

    @property
    def excepted(self) -> tuple[Slice, ...]:
        """The slices that are exceptions."""
        accused = self.accused
        return tuple(each for each in self.slices if not any(each is one for one in accused))

    def p_wrong(self, given: Codes) -> Floats:
        """1 - W_i(y_i)."""
        return np.asarray(1.0 - self.posterior[np.arange(len(given)), given])

    def knowing(self, given: Codes, known: Codes) -> Hypothesis:
        """The same explanation after a person has said the true labels of some rows; ``known`` is -1 elsewhere.

        What is known of them teaches the rates of their group, and how far the labeller is to be believed there, and so
        moves the others; rates that were stated are not to be taught.
        """
        posterior, rates, size = self.posterior.copy(), list(self.rates), self.posterior.shape[1]
        for group in range(len(rates)):
            own = self.groups == group
            sure = own & (known >= 0)
            if not sure.any():
                continue
            if self.stated and group == 0:
                posterior[sure] = np.eye(size)[known[sure]]
                continue
            possible = None if self.possible is None else self.possible[own] | (known[own, None] == np.arange(size))
            channel = learned(self.labeller.train[own], given[own], known[own], possible, doubt=self.doubt)
            posterior[own], rates[group] = channel.posterior, channel.rates
        taught = (known >= 0) & ~(self.stated & (self.groups == 0))
        for cell in np.unique((self.groups * size + given)[taught]):
            own = self.groups * size + given == cell
            posterior[own] = _believed(posterior[own], self.posterior[own], int(cell % size), known[own])
        return replace(self, posterior=posterior, rates=tuple(rates))

    def corrected(self, given: Codes) -> Codes:
        """Labels that are wrong with a probability above a half, put right."""
        return np.where(self.p_wrong(given) > 0.5, self.posterior.argmax(axis=1), given)


class Competition:
    """Makes hypotheses about one task and weighs them."""

    def __init__(self, task: Task, panel: Panel, stated: Floats | None = None) -> None:
        self._task, self._panel, self._stated = task, panel, stated
        self._possible = None if stated is None else np.asarray(stated > 0)
        unseen = np.bincount(task.test.codes, minlength=task.encoding.size) < LEAST_TEST_ROWS_OF_A_CLASS
        if unseen.any():
            given = task.train.codes
            may = np.ones((len(given), len(unseen)), dtype=bool) if self._possible is None else self._possible.copy()
            may[unseen[given]] = False
            may[:, unseen] = False
            may[np.arange(len(given)), given] = True
            self._possible = may
        self._given = task.as_it_came.train.codes
        self._known = None if task.known is None else np.where(task.known, task.train.codes, -1)
        if self._known is not None and self._possible is not None:
            self._possible |= self._known[:, None] == np.arange(task.encoding.size)
        # What chance gains for each row by the biases of the classes, K-1 numbers calibrated on M test points.
        self._doubt = 0.5 * float(chi2.ppf(0.95, task.encoding.size - 1)) / len(task.test)
        everyone = np.ones(len(task.train), dtype=bool)
        self._open = everyone if self._possible is None else self._possible.sum(axis=1) > 1
        self._opinions: list[Opinion] = []
        self._accounted: float | None = None
        self._right = 0.0

    def scattered(self) -> Hypothesis:
        """Errors here and there, at rates that depend on the classes alone; the first to be asked for."""
        self._opinions = self._panel.hear(np.zeros(len(self._task.train), dtype=bool))
        labeller = labeller_of(self._opinions, self._task.test.codes)
        self._panel.dismiss(labeller.unheard)
        self._right = untouched(labeller.train, self._given) + self._of_test(labeller)
        return self._weighed((), labeller)

    def accounted(self, scattered: Hypothesis) -> Hypothesis:
        """Scattered errors by a labeller who learns from the training labels as well, if that explains them.

        It knows more, and is believed where its errors gain more nats than they cost: see
        :mod:`psidebug.evidence.accounts`. Where they do not, labels that are wrong together may have taught
        it, and who trusts the test labels alone is the better witness; unless that one has nothing to tell either, and
        errors gain a little. The evidence is that of the account which says more of it.
        """
        if self._stated is not None:
            return scattered
        given = self._labels(scattered.groups == 0)
        right, wrong = (account(self._opinions, self._task.test.codes, given) for account in (as_right, as_wrong))
        evidence, charge = wrong.log_likelihood - right.log_likelihood, wrong.channel.charge
        if evidence <= charge and (scattered.likely or evidence <= A_LITTLE):
            return scattered
        self._accounted = wrong.log_likelihood - charge if evidence > charge else None
        posterior = np.eye(self._task.encoding.size)[self._given]
        posterior[given.rows] = wrong.channel.posterior
        if evidence - charge < scattered.evidence - scattered.charge:
            evidence, charge = scattered.evidence, scattered.charge
        return replace(
            scattered,
            labeller=wrong.labeller,
            rates=(wrong.channel.rates,),
            posterior=posterior,
            evidence=evidence,
            charge=charge,
            doubt=0.0,  # what is uncertain about the labeller was weighed with the rates
        )

    def confirmed(self, accused: Hypothesis) -> bool:
        """Whether slices explain more than scattered errors do, if these explain the labels, by the same account."""
        if self._accounted is None:
            return True
        inside = accused.groups > 0
        opinions, given = self._panel.hear(self._unlearned(inside)), self._labels(~inside)
        right, wrong = (account(opinions, self._task.test.codes, given) for account in (as_right, as_wrong))
        surplus = max(right.log_likelihood, wrong.log_likelihood - wrong.channel.charge)
        labeller = (right if surplus == right.log_likelihood else wrong).labeller
        for group, each in enumerate(accused.slices, start=1):
            own = (accused.groups == group) & self._open
            channel = self._channel(labeller.train[own], own, scattered=False)
            surplus += channel.log_likelihood - channel.charge - _choice(each)
        return surplus > self._accounted

    def mislabelled(self, slices: Sequence[Slice]) -> Hypothesis:
        """These slices have rates of their own, whatever happens elsewhere."""
        inside = np.logical_or.reduce([each.everyone(self._task) for each in slices])
        opinions = self._panel.hear(self._unlearned(inside))
        return self._weighed(tuple(slices), labeller_of(opinions, self._task.test.codes))

    def promise(self, suspect: Slice, by: Hypothesis) -> float:
        """Nats that rates of its own would gain for a slice, asking nobody anew; less the charge for choosing it."""
        members = suspect.everyone(self._task)
        if members.all() or not members.any():
            return -np.inf
        given, logs = self._given[members], by.labeller.train[members]
        alone = self._channel(logs, members, scattered=False)
        before = sum(
            told(logs[part], given[part], rates).log_likelihood
            for group, rates in enumerate(by.rates)
            if (part := by.groups[members] == group).any()
        )
        return alone.log_likelihood - before - _choice(suspect) - alone.charge

    def _unlearned(self, inside: Mask) -> Mask:
        """The rows that nobody is to learn from: these, unless too little would be left."""
        rest = self._task.train.codes[~inside]
        alone = inside.mean() <= MOST_EXCLUDED and set(rest.tolist()) == set(self._task.train.codes.tolist())
        return inside if alone else np.zeros_like(inside)

    def _labels(self, own: Mask) -> GivenLabels:
        """Those of these rows whose truth is open."""
        order = self._task.in_order_of_ids
        rows = order[(own & self._open)[order]]
        known = None if self._known is None else self._known[rows]
        possible = None if self._possible is None else self._possible[rows]
        return GivenLabels(self._given[rows], rows, known, possible)

    def _weighed(self, slices: tuple[Slice, ...], labeller: Labeller) -> Hypothesis:
        given, size = self._given, self._task.encoding.size
        groups = np.zeros(len(given), dtype=np.intp)
        for number, each in enumerate(slices, start=1):
            groups[each.everyone(self._task)] = number
        posterior, rates, total = np.empty((len(given), size)), [], 0.0
        calibration = 0.5 * float(chi2.ppf(0.95, max(labeller.parameters, 1))) * len(given) / len(self._task.test)
        charge = calibration + sum(map(_choice, slices))
        for group in range(len(slices) + 1):
            own = groups == group
            channel = self._channel(labeller.train[own], own, scattered=group == 0)
            if slices and group == 0 and self._stated is None:
                channel = self._elsewhere(channel, labeller.train[own], given[own], calibration)
            posterior[own] = channel.posterior
            rates.append(channel.rates)
            total += channel.log_likelihood
            charge += channel.charge
        if self._known is not None:  # also where rates were not learned
            sure = self._known >= 0
            posterior[sure] = np.eye(size)[self._known[sure]]
        evidence = total + self._of_test(labeller) - self._right
        return Hypothesis(
            slices,
            labeller,
            groups,
            tuple(rates),
            posterior,
            evidence,
            charge,
            self._possible,
            self._stated is not None,
            self._doubt,
        )

    def _channel(self, logs: Floats, own: Mask, *, scattered: bool) -> Channel:
        given = self._given[own]
        if self._stated is None or not scattered:
            known = None if self._known is None else self._known[own]
            possible = None if self._possible is None else self._possible[own]
            return learned(logs, given, known, possible, doubt=self._doubt)
        # What the user states is P(true label | given label) row by row: with it the rates need not be learned.
        size = logs.shape[1]
        shares = np.exp(logs).mean(axis=0)
        stated = np.log(np.maximum(self._stated[own], 1e-300)) - np.log(np.maximum(shares, 1e-6))
        joint = np.exp(logs + stated - (logs + stated).max(axis=1, keepdims=True))
        posterior = joint / joint.sum(axis=1, keepdims=True)
        counts = posterior.T @ np.eye(size)[given] + np.eye(size)
        rates = counts / counts.sum(axis=1, keepdims=True)
        return Channel(rates, posterior, told(logs, given, rates).log_likelihood)

    def _elsewhere(self, channel: Channel, logs: Floats, given: Codes, calibration: float) -> Channel:
        """Outside the accused slices labels are right, unless errors there gain more than chance would."""
        gain = channel.log_likelihood - untouched(logs, given)
        if gain > calibration + channel.charge:
            return channel
        size = logs.shape[1]
        return told(logs, given, even_rates(size, SELDOM))

    def _of_test(self, labeller: Labeller) -> float:
        return untouched(labeller.test, self._task.test.codes)


def _choice(suspect: Slice) -> float:
    return float(np.log(suspect.looked))


def _believed(posterior: Floats, before: Floats, given: int, known: Codes) -> Floats:
    """The posteriors (n, K) of rows with one given label, their log odds of being wrong moved by one number.

    δ is what the rows with a known truth say about the odds l_i that were held before: it maximises
    Σ log σ(±(l_i + δ)) - δ² / (2 · 3²), + for wrong labels. Many who were thought wrong and are right make the others
    doubtful too.
    """
    sure = known >= 0
    held = np.clip(before[:, given], 1e-4, 1.0 - 1e-4)
    odds = np.log1p(-held) - np.log(held)
    wrong = known[sure] != given
    delta = 0.0
    for _ in range(50):
        chance = 1.0 / (1.0 + np.exp(-(odds[sure] + delta)))
        slope = float((wrong - chance).sum()) - delta / 9.0
        delta += float(np.clip(slope / (float((chance * (1.0 - chance)).sum()) + 1.0 / 9.0), -1.0, 1.0))
    moved = posterior.copy()
    right = moved[~sure, given].copy()
    others = 1.0 - right
    odds_now = np.exp(np.clip(delta, -50.0, 50.0)) * others / np.maximum(right, 1e-12)
    still = 1.0 / (1.0 + odds_now)
    moved[~sure] *= np.divide(1.0 - still, others, out=np.zeros_like(others), where=others > 0)[:, None]
    moved[~sure, given] = still
    return moved
