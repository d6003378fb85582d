"""Sampling the paper's programs as they stand: with any learner, the real one included.

Two ways, both of which the paper describes. *Rejection* runs figure "psi" for one label after another: worlds are drawn
until enough of them pass both observations. *Forward* runs the shared-sample program: every world that passes ¬φ serves
every label that differs in it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from psidebug.errors import NoWorldWithout
from psidebug.inference.estimates import Estimates, wilson_interval
from psidebug.priors import Codes, Prior
from psidebug.program.expressions import Learner
from psidebug.program.interpreter import finish, interpret, start
from psidebug.program.paper import LABELS, sufficiency
from psidebug.program.transformations import reuse_samples
from psidebug.symptoms import Symptom

BLOCK = 1024


class _Counted:
    """A learner that counts the worlds it was asked about."""

    def __init__(self, learner: Learner) -> None:
        self._learner = learner
        self.calls = 0

    def __call__(self, worlds: Codes) -> np.ndarray:
        self.calls += len(worlds)
        return self._learner(worlds)


def sampling(prior: Prior, learner: Learner, symptom: Symptom, *, worlds: int, rng: np.random.Generator) -> Estimates:
    """PS of every label by forward sampling of the shared-sample program from ``worlds`` draws of p_T."""
    counted = _Counted(learner)
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
    return _estimates(
        prior,
        trials,
        successes,
        gone,
        moved.argmax(axis=1),
        counted.calls,
        log_p_without=float(np.log(gone / worlds)),
        reason=f"{gone:,} of {worlds:,} sampled worlds were free of the symptom",
    )


def rejection(
    prior: Prior,
    learner: Learner,
    symptom: Symptom,
    *,
    indices: Sequence[int],
    worlds: int,
    rng: np.random.Generator,
) -> Estimates:
    """PS of some labels by running figure "psi" as printed, ``worlds`` draws of p_T for each; others are NaN."""
    counted = _Counted(learner)
    program = sufficiency(prior, counted, symptom)
    trials, successes = np.zeros(prior.size), np.zeros(prior.size)
    for i in indices:
        for first in range(0, worlds, BLOCK):
            draws = prior.draw(min(BLOCK, worlds - first), rng)
            result = interpret(program, {LABELS: draws}, index=i)
            trials[i] += len(result.values)
            successes[i] += result.values.sum()
    return _estimates(
        prior,
        trials,
        successes,
        gone=0,
        proposed=prior.alternatives[prior.proposals.argmax(axis=0), np.arange(prior.size)],
        calls=counted.calls,
        log_p_without=float("nan"),
        reason=f"figure psi was run {worlds:,} times for each of {len(indices)} labels",
    )


def _estimates(
    prior: Prior,
    trials: np.ndarray,
    successes: np.ndarray,
    gone: int,
    proposed: Codes,
    calls: int,
    *,
    log_p_without: float,
    reason: str,
) -> Estimates:
    unknown = np.full(prior.size, np.nan)
    ps = np.divide(successes, trials, out=np.zeros(prior.size), where=trials > 0)
    low, high = wilson_interval(successes, trials)
    few = int((trials < 30).sum())
    return Estimates(
        ps=ps,
        standard_error=(high - low) / (2 * 1.96),
        low=low,
        high=high,
        p_wrong=trials / gone if gone else unknown,
        proposed=proposed,
        effective_sample_size=trials,
        log_p_without=log_p_without,
        engine="sampling",
        reason=reason,
        learner_calls=calls,
        warnings=(f"{few} of {prior.size} labels were met in fewer than 30 worlds: their PS is a guess",)
        if few
        else (),
    )
