"""Sampling the paper's program as it stands: with any learner, the real one included.

Figure "psi" waits, for one label after another, for worlds that pass both observations. The shared-sample program
``reuse_samples(sufficiency(…))`` lets every world that passes ¬φ serve every label that differs in it.
"""

from __future__ import annotations

import numpy as np

from psidebug.errors import NoWorldWithout
from psidebug.inference.estimates import Estimates, wilson_interval
from psidebug.priors import Codes, Floats, Prior
from psidebug.program.expressions import Learner
from psidebug.program.interpreter import finish, start
from psidebug.program.paper import LABELS, sufficiency
from psidebug.program.transformations import reuse_samples
from psidebug.symptoms import Symptom

BLOCK = 1024


def sampling(prior: Prior, learner: Learner, symptom: Symptom, *, worlds: int, rng: np.random.Generator) -> Estimates:
    """PS of every label by forward sampling of the shared-sample program from ``worlds`` draws of p_T."""
    calls = 0

    def counted(asked: Codes) -> Floats:
        nonlocal calls
        calls += len(asked)
        return learner(asked)

    program = reuse_samples(sufficiency(prior, counted, symptom))
    trials, successes, gone = np.zeros(prior.size), np.zeros(prior.size), 0
    moved = np.zeros((prior.size, prior.classes))
    for first in range(0, worlds, BLOCK):
        draws = prior.draw(min(BLOCK, worlds - first), rng)
        state = start(program, {LABELS: draws})
        gone += len(state.worlds)
        labels = state.variables[LABELS]
        for k in range(prior.classes):
            moved[:, k] += (labels == k).sum(axis=0)
        for i in np.flatnonzero((labels != prior.given).any(axis=0)):
            result = finish(program, state, index=int(i))
            trials[i] += len(result.values)
            successes[i] += result.values.sum()
    if gone == 0:
        raise NoWorldWithout(
            f"none of {worlds:,} sampled worlds was free of the symptom: it is too rare an event to sample. Use the "
            f"engine 'closed_form' or 'tilting', or a milder symptom."
        )
    moved[np.arange(prior.size), prior.given] = -1.0
    low, high = wilson_interval(successes, trials)
    few = int((trials < 30).sum())
    guessed = (f"{few} of {prior.size} labels were met in fewer than 30 worlds: their PS is a guess",)
    return Estimates(
        ps=np.divide(successes, trials, out=np.zeros(prior.size), where=trials > 0),
        standard_error=(high - low) / (2 * 1.96),
        low=low,
        high=high,
        p_wrong=trials / gone,
        proposed=moved.argmax(axis=1),
        effective_sample_size=trials,
        log_p_without=float(np.log(gone / worlds)),
        engine="sampling",
        reason=f"{gone:,} of {worlds:,} sampled worlds were free of the symptom",
        learner_calls=calls,
        warnings=guessed if few else (),
    )
