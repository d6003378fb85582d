"""The law of T by listing its sums: all of them for few labels, those that matter where few labels are likely to move.

``all_sums`` is exact, ties included, in any tail. ``likely_sums`` builds worlds label by label, each with its sum T and
its tilted probability, and drops the least likely. What remains lacks a known mass δ, which bounds the error: with
T_-i = T - c_i(w_i) in each listed world,

    P(T_-i ≥ a) = exp(K_-i(λ)) Σ_w P_λ(w) exp(-λ T_-i) [T_-i ≥ a],

and what was dropped adds at most δ exp(-λ a) to the sum.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from psidebug.inference.estimates import Tails
from psidebug.inference.linear import LinearSymptom
from psidebug.inference.tilted_prior import Tilt
from psidebug.priors import Floats

MOST_SUMS = 2**18
"""Up to this many worlds, all sums are listed."""
UNLIKELY = 1e-11
MOST_MISSING = 1e-3
"""Share of the tilted prior that may be missing from the list."""
MOST_WORLDS = 2**17
MOST_CODES = 2**25
"""Worlds × labels held at once."""


def all_sums(symptom: LinearSymptom) -> Tails:
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
    tails = _empty(symptom, log_scale=np.full(prior.size, reference))
    tails.kept[:] = probability[margin >= -symptom.rounding].sum()
    for position, i in enumerate(movable):
        others = kept[:, position]
        _fill(tails, int(i), symptom, margin[others], probability[others] / prior.moves[i, prior.given[i]])
    return tails


def likely_sums(symptom: LinearSymptom, tilt: Tilt) -> tuple[Tails, Floats] | None:
    """Tails of T_-i for every i with the stated error of PS; None if too many worlds matter to be listed."""
    listed = _likely_worlds(symptom, tilt)
    if listed is None:
        return None
    worlds, sums, probability = listed
    missing = max(1.0 - float(probability.sum()), 0.0) + 1e-12
    log_weight = np.log(probability) - tilt.rate * (sums - symptom.threshold)
    lift = tilt.rate * np.maximum(symptom.moves.max(axis=0), 0.0)
    tails = _empty(symptom, log_scale=lift + tilt.log_norm - tilt.log_norms - tilt.rate * symptom.threshold)
    error = np.zeros(symptom.prior.size)
    for i in range(symptom.prior.size):
        effect = symptom.effects[i, worlds[:, i]]
        # worlds that no state of label i frees have no say; of the others none weighs more than exp(lift)
        others = np.exp(np.minimum(log_weight + tilt.rate * effect - lift[i], 0.0))
        _fill(tails, i, symptom, sums - effect - symptom.threshold, others)
        error[i] = missing / max(float(symptom.prior.proposals[:, i] @ tails.moved[:, i]), 1e-300)
    return tails, np.minimum(error, 1.0)


def _likely_worlds(symptom: LinearSymptom, tilt: Tilt) -> tuple[npt.NDArray[Any], Floats, Floats] | None:
    """Worlds (worlds, N), their sums and tilted probabilities; None if they become too many."""
    prior = symptom.prior
    most = min(MOST_WORLDS, MOST_CODES // prior.size)
    if most * tilt.coarseness**2 < 100.0:  # 1/ΣP² worlds are the least that matter; nearly all of them are far more
        return None
    worlds = prior.given[None].astype(np.uint8 if prior.classes < 256 else np.intp)
    sums, probability = np.zeros(1), np.ones(1)
    for i in range(prior.size):
        stay = probability * (1.0 - tilt.moved[:, i].sum())
        parts = [(None, sums, stay)]
        for k, code in enumerate(prior.alternatives[:, i]):
            likely = probability * tilt.moved[k, i]
            if likely.max() >= UNLIKELY:
                parts.append((code, sums + symptom.moves[k, i], likely))
        grown = []
        for code, new_sums, chance in parts:
            keep = chance >= UNLIKELY
            some = worlds[keep]
            if code is not None:
                some[:, i] = code
            grown.append((some, new_sums[keep], chance[keep]))
        worlds, sums, probability = (np.concatenate(pieces) for pieces in zip(*grown, strict=True))
        if len(sums) > most:
            keep = np.argpartition(probability, len(sums) - most // 2)[-(most // 2) :]
            worlds, sums, probability = worlds[keep], sums[keep], probability[keep]
            if probability.sum() < 1.0 - MOST_MISSING:
                return None
    return worlds, sums, probability


def _empty(symptom: LinearSymptom, log_scale: Floats) -> Tails:
    return Tails(np.zeros(symptom.prior.size), np.zeros(symptom.moves.shape), np.zeros(symptom.moves.shape), log_scale)


def _fill(tails: Tails, i: int, symptom: LinearSymptom, margin: Floats, weight: Floats) -> None:
    """The tails of label i from margins T_-i - M of listed worlds and the weights of their other labels."""
    gone = margin >= -symptom.rounding
    tails.kept[i] = weight[gone].sum()
    for k, effect in enumerate(symptom.moves[:, i]):
        gone_if_moved = margin + effect >= -symptom.rounding
        tails.moved[k, i] = weight[gone_if_moved].sum()
        tails.turned[k, i] = weight[gone_if_moved & ~gone].sum()
