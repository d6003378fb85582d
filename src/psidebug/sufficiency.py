"""The waist, which alone knows both sides: gray box, prior and symptom → program → engine → PS of every label."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from psidebug.errors import InvalidSymptom, NoWorldWithout, SymptomAbsent, UnknownOption
from psidebug.graybox.protocol import GrayBox, LinearGrayBox, Worlds, coefficients_of
from psidebug.inference.closed_form import closed_form
from psidebug.inference.enumeration import enumeration
from psidebug.inference.estimates import Estimates
from psidebug.inference.linear import LinearSymptom
from psidebug.inference.linear_learner import LinearLearner
from psidebug.inference.sampling import sampling
from psidebug.inference.tilting import tilting
from psidebug.priors import Codes, Floats, Prior
from psidebug.program.expressions import Learner
from psidebug.symptoms import LogLossAbove, Symptom

Engine = Callable[[Prior, Learner, Symptom], Estimates]
ENGINES = ("auto", "closed_form", "enumeration", "sampling", "tilting")
FEW_WORLDS = 2**12
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
        watched, renumbered = _watched(symptom)
        return engine(prior, _asked(graybox, watched), renumbered)
    chosen, why = (engine, "") if engine != "auto" else _cheapest(graybox, prior, symptom)
    chance = np.random.default_rng(0) if rng is None else rng
    match chosen:
        case "closed_form":
            answer = closed_form(_linear_symptom(graybox, prior, symptom))
        case "tilting":
            learner, renumbered = _linear_learner(graybox, prior, symptom)
            answer = tilting(prior, learner, renumbered, rng=chance)
        case "sampling":
            watched, renumbered = _watched(symptom)
            asked = _asked(graybox, watched)
            if watched is not None and isinstance(graybox, LinearGrayBox):  # a few points: coefficients in memory
                asked, renumbered = _linear_learner(graybox, prior, symptom)
            answer = sampling(prior, asked, renumbered, worlds=SAMPLED_WORLDS, rng=chance)
        case _:
            watched, renumbered = _watched(symptom)
            answer = enumeration(prior, _asked(graybox, watched), renumbered)
    return replace(answer, reason=f"{why}{answer.reason}")


def group_sufficiency(
    graybox: GrayBox, prior: Prior, symptom: Symptom, groups: Sequence[npt.NDArray[np.intp]], proposed: Codes
) -> list[float]:
    """PS of each group of labels, as one cause: its labels are all as given, or all as proposed (N,).

    PS(S) = P( φ(Â(w[Y_S ← y_S])) | ¬φ(Â(w)), Y_S ≠ y_S ): the same program with one label in place of the group, whose
    effect is c_S = Σ_{i∈S} c_i and whose rate is the group's mean rate. NaN where the symptom is not one linear
    constraint, or the group alone cannot remove it.
    """
    line = symptom.linearised(graybox.actual) if isinstance(graybox, LinearGrayBox) else None
    if line is None or not isinstance(graybox, LinearGrayBox):
        return [float("nan")] * len(groups)
    effects = np.asarray(graybox.effects(line.weights))
    answers = []
    for members in groups:
        others = np.setdiff1d(np.arange(prior.size), members)
        together, moves = np.zeros((2, 1, prior.classes))
        together[0, 1] = effects[members, proposed[members]].sum()
        rate = float(np.clip(prior.rates[members].mean(), 1e-6, 1.0 - 1e-6))
        moves[0, :2] = 1.0 - rate, rate
        joined = Prior(np.append(prior.given[others], 0), np.concatenate([prior.moves[others], moves]))
        try:
            cause = LinearSymptom(joined, np.concatenate([effects[others], together]), line.threshold)
            answers.append(float(closed_form(cause).ps[-1]))
        except NoWorldWithout:
            answers.append(float("nan"))
    return answers


def _cheapest(graybox: GrayBox, prior: Prior, symptom: Symptom) -> tuple[str, str]:
    """The engine to take, and why, as the start of a sentence."""
    few = prior.worlds <= FEW_WORLDS
    if isinstance(graybox, LinearGrayBox):
        line = symptom.linearised(graybox.actual)
        if line is not None and line.exact:
            return "closed_form", ""
        if line is not None and isinstance(symptom, LogLossAbove) and not few:
            return "closed_form", "the log loss was taken by its tangent at the actual margins; "
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


def _linear_symptom(graybox: GrayBox, prior: Prior, symptom: Symptom) -> LinearSymptom:
    line = symptom.linearised(graybox.actual) if isinstance(graybox, LinearGrayBox) else None
    if line is None or not isinstance(graybox, LinearGrayBox):
        raise InvalidSymptom(
            f"the closed form needs a gray box that is linear in the labels and a symptom that is one linear "
            f"constraint; with {graybox.name!r}, «{symptom}» is not. Use engine='auto'."
        )
    return LinearSymptom(prior, graybox.effects(line.weights), line.threshold)


def _linear_learner(graybox: GrayBox, prior: Prior, symptom: Symptom) -> tuple[LinearLearner, Symptom]:
    """The gray box on the watched points only, with all its coefficients in memory."""
    if not isinstance(graybox, LinearGrayBox):
        raise InvalidSymptom(
            f"tilting needs a gray box that is linear in the labels, which {graybox.name!r} is not. Use "
            f"engine='sampling' or 'enumeration'."
        )
    watched, renumbered = _watched(symptom)
    points = np.arange(len(graybox.actual)) if watched is None else watched
    return LinearLearner(prior.given, graybox.actual[points], coefficients_of(graybox, points)), renumbered


def _watched(symptom: Symptom) -> tuple[npt.NDArray[np.intp] | None, Symptom]:
    """The points that the symptom looks at (None: all), and the symptom with them numbered from 0."""
    if symptom.points is None:
        return None, symptom
    points = np.array(sorted(symptom.points), dtype=np.intp)
    return points, symptom.renumbered({int(point): position for position, point in enumerate(points)})


def _asked(graybox: GrayBox, points: npt.NDArray[np.intp] | None) -> Learner:
    """The gray box as the learner of a program: labels → margins of the watched points."""

    def learner(worlds: Worlds) -> Floats:
        return graybox.margins(worlds, points)

    return learner
