"""The waist, the only module that knows both sides: gray box + prior + symptom → program → engine → PS of every label."""

from __future__ import annotations

import numpy as np

from psidebug.errors import InvalidSymptom, TooManyWorlds, UnknownOption
from psidebug.graybox.protocol import GrayBox, LinearGrayBox, Worlds
from psidebug.inference.closed_form import saddle_point
from psidebug.inference.enumeration import enumerate_worlds, worlds_of
from psidebug.inference.estimates import Estimates
from psidebug.priors import Floats, Prior
from psidebug.symptoms import Symptom

ENGINES = ("auto", "closed_form", "enumeration")


def sufficiency(graybox: GrayBox, prior: Prior, symptom: Symptom, *, engine: str = "auto") -> Estimates:
    """PS of every label, by the named engine or by the cheapest that can answer.

    PS(i) = P( φ(Â(w[Y_i ← y_i])) | ¬φ(Â(w)), Y_i ≠ y_i ), w ~ p_T, with the gray box Â in place of the learner.
    """
    if engine not in ENGINES:
        raise UnknownOption(f"engine={engine!r} is not one of {', '.join(ENGINES)}.")
    if engine == "enumeration":
        return _enumerated(graybox, prior, symptom)
    if isinstance(graybox, LinearGrayBox):
        line = symptom.linearised(graybox.actual)
        if line is not None:
            return saddle_point(prior, graybox.effects(line.weights), line.threshold)
    if engine == "closed_form":
        raise InvalidSymptom(
            f"the closed form needs a gray box that is linear in the labels and a symptom that is one linear "
            "constraint; "
            f"with {graybox.name!r}, «{symptom}» is not. Use engine='enumeration', one bug, or symptom='log_loss'."
        )
    try:
        next(worlds_of(prior))
    except TooManyWorlds as error:
        raise InvalidSymptom(
            f"no engine can answer for «{symptom}» with the gray box {graybox.name!r} on {prior.size} labels: it is "
            "not one "
            f"linear constraint, and the worlds are too many to enumerate. Use symptom='log_loss', or name one bug."
        ) from error
    return _enumerated(graybox, prior, symptom)


def _enumerated(graybox: GrayBox, prior: Prior, symptom: Symptom) -> Estimates:
    points = None if symptom.points is None else np.array(sorted(symptom.points), dtype=np.intp)
    if points is not None:
        symptom = symptom.renumbered({int(point): position for position, point in enumerate(points)})

    def learner(worlds: Worlds) -> Floats:
        return graybox.margins(worlds, points)

    return enumerate_worlds(prior, learner, symptom)
