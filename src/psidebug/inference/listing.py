"""Middling many labels, few of them likely to move: the sums that matter, listed under the tilted prior.

Worlds are built label by label, each with its sum T and its tilted probability; the least likely are dropped. What
remains lacks a known mass δ, which bounds the error: with T_-i = T - c_i(w_i) in each listed world,

    P(T_-i ≥ a) = exp(K_-i(λ)) Σ_w P_λ(w) exp(-λ T_-i) [T_-i ≥ a],

and what was dropped adds at most δ exp(-λ a) to the sum.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from psidebug.inference.estimates import Tails
from psidebug.inference.linear import LinearSymptom
from psidebug.inference.tilt import Tilt
from psidebug.priors import Floats

UNLIKELY = 1e-11
MOST_MISSING = 1e-3
"""Share of the tilted prior that may be missing from the list."""
MOST_WORLDS = 2**17
MOST_CODES = 2**25
"""Worlds × labels held at once."""


def listed_tails(symptom: LinearSymptom, tilt: Tilt) -> tuple[Tails, Floats] | None:
    """Tails of T_-i for every i with the stated error of PS; None if too many worlds matter to be listed."""
    listed = _likely_worlds(symptom, tilt)
    if listed is None:
        return None
    worlds, sums, probability = listed
    missing = max(1.0 - float(probability.sum()), 0.0) + 1e-12
    size = symptom.prior.size
    kept, error = np.zeros(size), np.zeros(size)
    moved, turned = np.zeros(symptom.moves.shape), np.zeros(symptom.moves.shape)
    log_weight = np.log(probability) - tilt.rate * (sums - symptom.threshold)
    lift = tilt.rate * np.maximum(symptom.moves.max(axis=0), 0.0)
    for i in range(size):
        effect = symptom.effects[i, worlds[:, i]]
        margin = sums - effect - symptom.threshold
        # worlds that no state of label i frees have no say; of the others none weighs more than exp(lift)
        others = np.exp(np.minimum(log_weight + tilt.rate * effect - lift[i], 0.0))
        gone = margin >= -symptom.rounding
        kept[i] = others[gone].sum()
        for k, move in enumerate(symptom.moves[:, i]):
            away = margin + move >= -symptom.rounding
            moved[k, i] = others[away].sum()
            turned[k, i] = others[away & ~gone].sum()
        error[i] = missing / max(float(symptom.prior.proposals[:, i] @ moved[:, i]), 1e-300)
    log_scale = lift + tilt.log_norm - tilt.log_norms - tilt.rate * symptom.threshold
    return Tails(kept, moved, turned, log_scale), np.minimum(error, 1.0)


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
