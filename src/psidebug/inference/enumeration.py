"""The oracle: every world, weighed exactly. Slow, and always right."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from psidebug.errors import NoWorldWithout, TooManyWorlds
from psidebug.inference.estimates import Estimates
from psidebug.priors import Prior
from psidebug.program.expressions import Learner
from psidebug.program.interpreter import finish, start
from psidebug.program.paper import sufficiency
from psidebug.program.transformations import reuse_samples
from psidebug.symptoms import Symptom

MOST_WORLDS = 2**22
BLOCK = 2**14


def worlds_of(prior: Prior) -> Iterator[npt.NDArray[np.intp]]:
    """Every world of positive probability, in blocks. Refuses beyond about four million."""
    options = [np.flatnonzero(row > 0) for row in prior.moves]
    count = 1
    for choices in options:
        count *= len(choices)
        if count > MOST_WORLDS:
            raise TooManyWorlds(
                f"{prior.size} labels have more than {MOST_WORLDS:,} possible worlds, too many to enumerate. Use "
                "another "
                f"engine (engine='closed_form'), or give most rows a noise rate of 0."
            )
    for first in range(0, count, BLOCK):
        number = np.arange(first, min(first + BLOCK, count))
        block = np.empty((len(number), prior.size), dtype=np.intp)
        for label, choices in enumerate(options):
            number, digit = np.divmod(number, len(choices))
            block[:, label] = choices[digit]
        yield block


def enumerate_worlds(prior: Prior, learner: Learner, symptom: Symptom) -> Estimates:
    """PS of every label by running the program "psi" (samples shared between labels) in all worlds.

    The learner is asked once for each world, and once more for each label put back.
    """
    program = reuse_samples(sufficiency(prior, learner, symptom))
    size, classes = prior.moves.shape
    returned, back = np.zeros(size), np.zeros(size)
    gone, moved = 0.0, np.zeros((size, classes))
    for worlds in worlds_of(prior):
        probability = np.exp(prior.log_probability(worlds))
        state = start(program, {"Γ.Y": worlds})
        alive = probability[state.worlds]
        gone += alive.sum()
        for k in range(classes):
            moved[:, k] += alive @ (state.variables["Γ.Y"] == k)
        for i in range(size):
            result = finish(program, state, index=i)
            weight = probability[result.worlds]
            returned[i] += weight.sum()
            back[i] += weight @ result.values.astype(np.float64)
    if gone == 0.0:
        raise NoWorldWithout(
            "the symptom holds in every world that the prior allows: no change of labels removes it. Raise the noise "
            "rate "
            "of more rows, or ask about a milder symptom."
        )
    ps = np.divide(back, returned, out=np.zeros(size), where=returned > 0)
    moved[np.arange(size), prior.given] = -1.0
    return Estimates(
        ps=ps,
        low=ps,
        high=ps,
        p_wrong=returned / gone,
        proposed=moved.argmax(axis=1),
        log_p_without=float(np.log(gone)),
        engine="enumeration",
        reason="every world was visited; the answer is exact",
    )
