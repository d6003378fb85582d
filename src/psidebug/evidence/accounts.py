"""Labeller and rates learned together: an account of all labels.

How much each opinion is worth, a and b, and at which rates R labels were recorded wrong, maximise the likelihood of
test labels and training labels at once,

    Σ_t log P(y_t | x_t; a, b) + Σ_i log Σ_k P(k | x_i; a, b) R(y_i | k).

A hundred test points alone say little about a and b, and what they say wrong looks like errors in thousands of training
labels. Together they cannot: to call labels wrong that the opinions expect, a and b would have to leave the test ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from psidebug.evidence.labeller import Labeller, labeller_of
from psidebug.evidence.rates import (
    START,
    Channel,
    Floats,
    Mask,
    by_em,
    even_rates,
    told,
    uneven_are_better,
    untouched,
)
from psidebug.evidence.speakers import Opinion, Rows, few
from psidebug.task.labels import Codes

ROUNDS, SETTLED = 40, 1e-2
"""Labeller and rates are learned in turns, until a turn gains fewer nats than this."""
TURNS_OF_EM = 10


@dataclass(frozen=True, eq=False)
class GivenLabels:
    """Training labels that are to be accounted for."""

    codes: Codes
    """(n,) of these rows, as are the others."""
    rows: Rows
    """Where they stand among all training rows, in an order that does not depend on how these came."""
    known: Codes | None = None
    """True labels that a person has confirmed, -1 elsewhere."""
    possible: Mask | None = None
    """(n, K): which classes the true label may have; None if any."""

    def of(self, labeller: Labeller) -> Floats:
        """P(k | x) (n, K) of these rows where they can be k, 0 elsewhere."""
        return np.exp(labeller.train[self.rows]) * (1.0 if self.possible is None else self.possible)

    def few(self, opinions: Sequence[Opinion]) -> tuple[GivenLabels, list[Opinion]]:
        """As many as a labeller needs to learn from, and the opinions about these alone."""
        at = few(np.arange(len(self.rows)), 0)
        known = None if self.known is None else self.known[at]
        possible = None if self.possible is None else self.possible[at]
        heard = [Opinion(each.name, each.train[self.rows[at]], each.test) for each in opinions]
        return GivenLabels(self.codes[at], np.arange(len(at)), known, possible), heard

    def lesson(self, rates: Floats) -> Floats:
        """What they say under these rates, R(y | k) (n, K)."""
        size = len(rates)
        likelihood = rates[:, self.codes].T.copy()
        if self.possible is not None:
            likelihood *= self.possible
        if self.known is not None:
            sure = self.known >= 0
            likelihood[sure] = np.eye(size)[self.known[sure]]
        return likelihood


@dataclass(frozen=True, eq=False)
class Account:
    """Who labels, and what became of the labels."""

    labeller: Labeller
    channel: Channel
    """Of the rows that are accounted for."""
    log_likelihood: float
    """Of their labels and of the test labels, in nats."""

    @classmethod
    def of(cls, labeller: Labeller, channel: Channel, test_codes: Codes) -> Account:
        """With what is likely of the test labels."""
        return cls(labeller, channel, channel.log_likelihood + untouched(labeller.test, test_codes))


def as_right(opinions: Sequence[Opinion], test_codes: Codes, given: GivenLabels) -> Account:
    """No label is wrong: R = 1, and the labeller learns from all."""
    right = np.eye(opinions[0].test.shape[1])
    some, heard = given.few(opinions)
    labeller = labeller_of(heard, test_codes, some.lesson(right)).about(opinions)
    return Account.of(labeller, told(labeller.train[given.rows], given.codes, right), test_codes)


def as_wrong(opinions: Sequence[Opinion], test_codes: Codes, given: GivenLabels) -> Account:
    """Some labels are wrong, at even rates unless uneven ones say clearly more."""
    even, free = (_together(opinions, test_codes, given, even=even) for even in (True, False))
    return free if uneven_are_better(even.channel, free.channel, free.log_likelihood - even.log_likelihood) else even


def _together(opinions: Sequence[Opinion], test_codes: Codes, given: GivenLabels, *, even: bool) -> Account:
    (some, heard), rates = given.few(opinions), even_rates(opinions[0].test.shape[1], START)
    labeller, before = labeller_of(heard, test_codes, some.lesson(rates)), -np.inf
    for _ in range(ROUNDS):
        channel = by_em(some.of(labeller), some.codes, some.known, even=even, start=rates, rounds=TURNS_OF_EM)
        now, rates = channel.log_likelihood + untouched(labeller.test, test_codes), channel.rates
        if abs(now - before) < SETTLED:
            break
        labeller, before = labeller_of(heard, test_codes, some.lesson(rates), labeller), now
    labeller = labeller.about(opinions)
    channel = by_em(given.of(labeller), given.codes, given.known, even=even, start=rates)
    return Account.of(labeller, channel, test_codes)
