"""``capacity``: other learners do far better on the same rows, so it is the learner, or its options."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from psidebug import policy
from psidebug.causes.claim import Claim
from psidebug.causes.columns import Floats
from psidebug.causes.dead import entropy_of
from psidebug.evidence.held_out import LabelPredictions
from psidebug.evidence.predictors import FOREST, LINEAR, OWN
from psidebug.task.data import Data
from psidebug.task.labels import Codes


def claims(data: Data, predictions: Sequence[LabelPredictions]) -> list[Claim]:
    """By log losses and errors on rows that nobody was trained on, in both sets: the other must do better in each."""
    by_name = {each.name: each for each in predictions}
    others = [each for name, each in by_name.items() if name in (LINEAR, FOREST)]
    if OWN not in by_name or not others:
        return []
    entropy = entropy_of(data.train.codes, data.encoding.size)
    own = _in_both(by_name[OWN], data)
    best = min(others, key=lambda each: float(_in_both(each, data)[0].mean()))
    than = _in_both(best, data)
    less = [float((one - other).mean()) for one, other in zip(own, than, strict=True)]
    if min(less) < policy.LEAST_CAPACITY_LOST * entropy:
        return []
    wrong = [float((each.test.argmax(axis=1) != data.test.codes).mean()) for each in (by_name[OWN], best)]
    return [
        Claim(
            "capacity",
            "the learner",
            f"{best.name}, trained on the same rows, has a log loss of {float(than[1].mean()):.2f} on the test rows "
            f"where yours has {float(own[1].mean()):.2f} (errors {wrong[1]:.0%} and {wrong[0]:.0%})",
            "Change the learner or its options: it is too weak, too strong, or its penalty is wrong.",
            strength=less[1] * len(data.test),
        )
    ]


def _in_both(predictions: LabelPredictions, data: Data) -> list[Floats]:
    return [_losses(predictions.train, data.train.codes), _losses(predictions.test, data.test.codes)]


def _losses(logs: Floats, codes: Codes) -> Floats:
    return np.asarray(-logs[np.arange(len(codes)), codes])
