"""Few labels: the law of T by listing all its sums. Exact, ties included, in any tail."""

from __future__ import annotations

import numpy as np

from psidebug.inference.estimates import Tails
from psidebug.inference.linear import LinearSymptom
from psidebug.priors import Floats

MOST_SUMS = 2**18


def subset_sum_tails(symptom: LinearSymptom) -> Tails:
    """Tails of T_-i for every i, from the list of all sums.

    The worlds in which label i has its given value list the sums T_-i, with the probability of the others. Only
    positive numbers are added, so that every tail keeps its relative precision.
    """
    prior = symptom.prior
    movable = np.flatnonzero(prior.rates > 0)
    sums, log_p, kept = np.zeros(1), np.zeros(1), np.ones((1, len(movable)), dtype=bool)
    for position, i in enumerate(movable):
        options = np.flatnonzero(prior.moves[i] > 0)
        kept = np.repeat(kept, len(options), axis=0)
        kept[:, position] = np.tile(options == prior.given[i], len(sums))
        sums = (sums[:, None] + symptom.effects[i, options]).ravel()
        log_p = (log_p[:, None] + np.log(prior.moves[i, options])).ravel()
    sums += symptom.effects[prior.rates == 0, prior.given[prior.rates == 0]].sum()
    margin = sums - symptom.threshold
    # relative to the likeliest world that some state of one label frees, so that nothing underflows
    within_reach = margin + max(float(symptom.moves.max()), 0.0) >= -symptom.rounding
    reference = float(log_p[within_reach].max())
    probability = np.exp(np.minimum(log_p - reference, 700.0))
    result = Tails(
        kept=np.full(prior.size, probability[margin >= -symptom.rounding].sum()),
        moved=np.zeros(symptom.moves.shape),
        turned=np.zeros(symptom.moves.shape),
        log_scale=np.full(prior.size, reference),
    )
    for position, i in enumerate(movable):
        others = kept[:, position]
        weight = probability[others] / prior.moves[i, prior.given[i]]
        _fill(result, int(i), margin[others], weight, symptom.moves[:, i], -symptom.rounding)
    return result


def _fill(tails: Tails, i: int, margin: Floats, weight: Floats, moves: Floats, tie: float) -> None:
    gone = margin >= tie
    tails.kept[i] = weight[gone].sum()
    for k, effect in enumerate(moves):
        gone_if_moved = margin + effect >= tie
        tails.moved[k, i] = weight[gone_if_moved].sum()
        tails.turned[k, i] = weight[gone_if_moved & ~gone].sum()
