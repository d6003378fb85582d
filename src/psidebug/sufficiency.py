"""The waist, which alone knows both sides: gray box, prior and symptom → engine → PS of every label.

The question is one program, ``program.paper.sufficiency(prior, learner, symptom)``. Those three values say all of it,
so they are what an engine takes; what the program means is what it must answer (decision 20).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from psidebug.errors import InvalidSymptom, NoWorldWithout, SymptomAbsent, UnknownOption
from psidebug.graybox.protocol import GrayBox, LinearGrayBox, coefficients_of
from psidebug.inference.closed_form import closed_form
from psidebug.inference.enumeration import enumeration
from psidebug.inference.estimates import Estimates
from psidebug.inference.linear import LinearSymptom
from psidebug.inference.linear_learner import LinearLearner
from psidebug.inference.sampling import sampling
from psidebug.inference.tilted_prior import log_tail
from psidebug.inference.tilting import tilting
from psidebug.priors import Codes, Floats, Prior
from psidebug.program.expressions import Learner
from psidebug.symptoms import Linearisation, LogLossAbove, Symptom

Engine = Callable[[Prior, Learner, Symptom], Estimates]
FEW_WORLDS = 2**12
MOST_INVERTED = 5_000
"""Labels up to which PS of a group is exact; of more, tails are by the saddle point, in a hundredth of the time."""
"""Up to this many worlds, visiting them all is the cheapest engine that is exact for any symptom."""
SAMPLED_WORLDS = 10_000


def sufficiency(
    graybox: GrayBox,
    prior: Prior,
    symptom: Symptom,
    *,
    engine: str | Engine = "auto",
    rng: np.random.Generator | None = None,
) -> Estimates:
    """PS of every label, by the named engine or by the cheapest whose answer is good enough.

    PS(i) = P( φ(Â(w[Y_i ← y_i])) | ¬φ(Â(w)), Y_i ≠ y_i ), w ~ p_T, with the gray box Â in place of the learner.
    """
    if not callable(engine) and (not isinstance(engine, str) or engine not in ENGINES):
        raise UnknownOption(
            f"engine={engine!r} is not one of {', '.join(ENGINES)}, nor a function of prior, learner and symptom."
        )
    _check_present(graybox, prior, symptom)
    if callable(engine):
        return engine(prior, *_watching(graybox, symptom))
    chosen, why = (engine, "") if engine != "auto" else _cheapest(graybox, prior, symptom)
    answer = REGISTRY[chosen](graybox, prior, symptom, np.random.default_rng(0) if rng is None else rng)
    return replace(answer, reason=f"{why}{answer.reason}")


def group_sufficiency(
    graybox: GrayBox, prior: Prior, symptom: Symptom, groups: Sequence[npt.NDArray[np.intp]], proposed: Codes
) -> list[float]:
    """PS of each group of labels, as one cause: its labels are all as given, or all as proposed (N,).

    PS(S) = P( φ(Â(w[Y_S ← y_S])) | ¬φ(Â(w)), Y_S ≠ y_S ): the same question with one label in place of the group, whose
    effect is c_S = Σ_{i∈S} c_i and whose rate is the group's mean rate. NaN where the symptom is not one linear
    constraint, or the group alone cannot remove it.
    """
    constraint = _constraint(graybox, symptom)
    if constraint is None:
        return [float("nan")] * len(groups)
    effects, line = constraint
    answers = []
    for members in groups:
        others = np.ones(prior.size, dtype=bool)
        others[members] = False
        together, moves = np.zeros((2, 1, prior.classes))
        together[0, 1] = effects[members, proposed[members]].sum()
        rest = Prior(prior.given[others], prior.moves[others])
        try:
            if prior.size > MOST_INVERTED:
                answers.append(_by_saddle_point(rest, effects[others], line.threshold, float(together[0, 1])))
                continue
            rate = float(np.clip(prior.rates[members].mean(), 1e-6, 1.0 - 1e-6))
            moves[0, :2] = 1.0 - rate, rate
            joined = Prior(np.append(rest.given, 0), np.concatenate([rest.moves, moves]))
            cause = LinearSymptom(joined, np.concatenate([effects[others], together]), line.threshold)
            answers.append(float(closed_form(cause).ps[-1]))
        except NoWorldWithout:
            answers.append(float("nan"))
    return answers


def _by_saddle_point(others: Prior, effects: Floats, threshold: float, effect: float) -> float:
    """PS of a group with this effect: 1 - P(T ≥ M) / P(T ≥ M - c_S), T the sum of all other labels."""
    if effect <= 0.0:
        return 0.0
    everything = LinearSymptom(others, effects, np.finfo(np.float64).tiny)
    moved = log_tail(everything, threshold - effect)
    if np.isneginf(moved):
        raise NoWorldWithout("this group of labels alone does not remove the symptom.")
    return float(-np.expm1(min(log_tail(everything, threshold) - moved, 0.0)))


def _cheapest(graybox: GrayBox, prior: Prior, symptom: Symptom) -> tuple[str, str]:
    """The engine to take, and why, as the start of a sentence."""
    few = prior.worlds <= FEW_WORLDS
    if isinstance(graybox, LinearGrayBox):
        line = symptom.linearised(graybox.actual)
        if line is not None and line.exact:
            return "closed_form", ""
        if line is not None and isinstance(symptom, LogLossAbove) and not few:
            return "closed_form", ""
        return ("enumeration", "there are few worlds; ") if few else ("tilting", "the symptom is not linear; ")
    if few:
        return "enumeration", "the gray box is not linear and there are few worlds; "
    return "sampling", "the gray box is not linear and the worlds are too many to visit; "


def _check_present(graybox: GrayBox, prior: Prior, symptom: Symptom) -> None:
    """What the labels as given do not show, they cannot be the cause of."""
    actual = graybox.actual if isinstance(graybox, LinearGrayBox) else graybox.margins(prior.given[None])[0]
    if not symptom.holds(actual[None])[0]:
        raise SymptomAbsent(
            f"the symptom does not hold for the labels as given («{symptom}»), so they cannot be its cause. Ask about "
            f"a symptom that the classifier shows."
        )


# ── engines, as the waist asks them ─────────────────────────────────────────────────────────────────────────────────


def _closed_form(graybox: GrayBox, prior: Prior, symptom: Symptom, rng: np.random.Generator) -> Estimates:
    constraint = _constraint(graybox, symptom)
    if constraint is None:
        raise InvalidSymptom(
            f"the closed form needs a gray box that is linear in the labels and a symptom that is one linear "
            f"constraint; with {graybox.name!r}, «{symptom}» is not. Use engine='auto'."
        )
    effects, line = constraint
    answer = closed_form(LinearSymptom(prior, effects, line.threshold))
    what = "log loss" if isinstance(symptom, LogLossAbove) else "symptom"
    tangent = "" if line.exact else f"the {what} was taken by its tangent at the actual margins; "
    return replace(answer, reason=f"{tangent}{answer.reason}")


def _sampling(graybox: GrayBox, prior: Prior, symptom: Symptom, rng: np.random.Generator) -> Estimates:
    learner, renumbered = _watching(graybox, symptom)
    if symptom.points is not None and isinstance(graybox, LinearGrayBox):  # a few points: coefficients in memory
        learner, renumbered = _linear_learner(graybox, prior, symptom)
    return sampling(prior, learner, renumbered, worlds=SAMPLED_WORLDS, rng=rng)


REGISTRY: Mapping[str, Callable[[GrayBox, Prior, Symptom, np.random.Generator], Estimates]] = {
    "closed_form": _closed_form,
    "enumeration": lambda graybox, prior, symptom, rng: enumeration(prior, *_watching(graybox, symptom)),
    "sampling": _sampling,
    "tilting": lambda graybox, prior, symptom, rng: tilting(prior, *_linear_learner(graybox, prior, symptom), rng=rng),
}
"""Every engine by its name; ``tests/conformance/test_engines.py`` puts each through the same tasks."""
ENGINES = ("auto", *REGISTRY)


# ── gray box and symptom, as an engine takes them ───────────────────────────────────────────────────────────────────


def _constraint(graybox: GrayBox, symptom: Symptom) -> tuple[Floats, Linearisation] | None:
    """φ as Σ_i c_i(w_i) < M: the effects c (N, K) and the line they are taken along; None if it has no such form."""
    if not isinstance(graybox, LinearGrayBox) or (line := symptom.linearised(graybox.actual)) is None:
        return None
    return np.asarray(graybox.effects(line.weights)), line


def _linear_learner(graybox: GrayBox, prior: Prior, symptom: Symptom) -> tuple[LinearLearner, Symptom]:
    """The gray box on the watched points only, with all its coefficients in memory."""
    if not isinstance(graybox, LinearGrayBox):
        raise InvalidSymptom(
            f"tilting needs a gray box that is linear in the labels, which {graybox.name!r} is not. Use "
            f"engine='sampling' or 'enumeration'."
        )
    points, renumbered = _watched(symptom)
    points = np.arange(len(graybox.actual)) if points is None else points
    return LinearLearner(prior.given, graybox.actual[points], coefficients_of(graybox, points)), renumbered


def _watching(graybox: GrayBox, symptom: Symptom) -> tuple[Learner, Symptom]:
    """The gray box as a learner: labels → margins of the watched points only."""
    points, renumbered = _watched(symptom)
    return (lambda worlds: graybox.margins(worlds, points)), renumbered


def _watched(symptom: Symptom) -> tuple[npt.NDArray[np.intp] | None, Symptom]:
    """The points that the symptom looks at (None: all), and the symptom with them numbered from 0."""
    if symptom.points is None:
        return None, symptom
    points = np.array(sorted(symptom.points), dtype=np.intp)
    return points, symptom.renumbered({int(point): position for position, point in enumerate(points)})
