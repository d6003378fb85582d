"""The oracle: every world, weighed exactly. Slow, and always right."""

from __future__ import annotations

import math
from collections import defaultdict
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from psidebug.errors import NoWorldWithout, TooManyWorlds
from psidebug.inference.estimates import Estimates, Tails, exact_estimates
from psidebug.priors import Floats, Prior
from psidebug.program.distributions import Labels
from psidebug.program.expressions import Learner
from psidebug.program.interpreter import interpret
from psidebug.program.statements import Program
from psidebug.symptoms import Symptom

MOST_WORLDS = 2**22


def meaning(program: Program, index: int | None = None) -> dict[Any, float]:
    """The distribution over returned values that a program specifies: P(value), over all worlds that return.

    Values that are arrays (pairs) are tuples here.
    """
    samples = program.samples
    if len({each.target for each in samples}) < len(samples):
        raise ValueError("this program samples one variable twice: give each sample a name of its own")
    size = math.prod(each.distribution.support_size(index) for each in samples)
    if size > MOST_WORLDS:
        raise TooManyWorlds(
            f"this program has {size:,.0f} worlds, more than the {MOST_WORLDS:,} that can be enumerated."
        )
    weights: defaultdict[Any, float] = defaultdict(float)
    for blocks in product(*(each.distribution.support(index) for each in samples)):
        sizes = [len(values) for values, _ in blocks]
        grid = np.indices(sizes).reshape(len(sizes), int(np.prod(sizes, dtype=int)))
        draws = {each.target: values[pick] for each, (values, _), pick in zip(samples, blocks, grid, strict=True)}
        chance = np.ones(grid.shape[1])
        for (_, probabilities), pick in zip(blocks, grid, strict=True):
            chance *= probabilities[pick]
        result = interpret(program, draws, index, worlds=grid.shape[1])
        for value, weight in zip(
            result.values.tolist(), chance[result.worlds] * np.exp(result.log_weights), strict=True
        ):
            weights[tuple(value) if isinstance(value, list) else value] += float(weight)
    total = sum(weights.values())
    if total == 0:
        raise NoWorldWithout("the program returns in no world: its observations contradict each other or the prior.")
    return {value: weight / total for value, weight in weights.items()}


def mean(program: Program, index: int | None = None) -> float:
    """The expected value of what a program returns; for a Bernoulli variable, its probability of being true."""
    return sum(float(value) * probability for value, probability in meaning(program, index).items())


def enumeration(prior: Prior, learner: Learner, symptom: Symptom) -> Estimates:
    """PS of every label from the symptom in all worlds; the learner is asked once for each world.

    Worlds are numbered with one digit per label, so that the world in which label i is put back is an addition away.
    """
    if prior.worlds > MOST_WORLDS:
        raise TooManyWorlds(
            f"{prior.size} labels have more than {MOST_WORLDS:,} possible worlds, too many to enumerate. Use another "
            f"engine ('closed_form', 'tilting', 'sampling'), or give most rows a noise rate of 0."
        )
    blocks = [(probability, ~symptom.holds(learner(labels))) for labels, probability in Labels(prior).support(None)]
    probability = np.concatenate([block for block, _ in blocks])
    gone = np.concatenate([block for _, block in blocks])
    if not gone.any():
        raise NoWorldWithout(
            "the symptom holds in every world that the prior allows: no change of labels removes it. Raise the noise "
            "rate of more rows, or ask about a milder symptom."
        )
    size = len(gone)
    return exact_estimates(
        prior,
        _tails(prior, probability, gone),
        error=0.0,
        engine="enumeration",
        reason=f"all {size:,} worlds were visited; the answer is exact",
        learner_calls=size,
    )


def _tails(prior: Prior, probability: Floats, gone: npt.NDArray[np.bool_]) -> Tails:
    kept, log_scale = np.zeros(prior.size), np.zeros(prior.size)
    moved, turned = np.zeros((prior.classes - 1, prior.size)), np.zeros((prior.classes - 1, prior.size))
    stride = 1
    for i in range(prior.size):
        options = np.flatnonzero(prior.moves[i] > 0)
        shape = (-1, len(options), stride)
        here, chance = gone.reshape(shape), probability.reshape(shape)
        own = int(np.flatnonzero(options == prior.given[i])[0])
        others = chance[:, own] / prior.moves[i, prior.given[i]]
        kept[i] = others[here[:, own]].sum()
        for digit, option in enumerate(options):
            if digit != own:
                k = int(option) - (option > prior.given[i])
                moved[k, i] = others[here[:, digit]].sum()
                turned[k, i] = others[here[:, digit] & ~here[:, own]].sum()
        stride *= len(options)
    return Tails(kept, moved, turned, log_scale)
