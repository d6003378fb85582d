"""Small tasks that every engine is asked about, and what the paper's program means on them, by all worlds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
import numpy.typing as npt

from psidebug.errors import NoWorldWithout
from psidebug.graybox.protocol import GrayBox
from psidebug.inference.enumeration import mean
from psidebug.inference.linear import LinearSymptom
from psidebug.inference.linear_learner import LinearLearner
from psidebug.margins import log_losses
from psidebug.priors import Prior, noise
from psidebug.program.distributions import Labels
from psidebug.program.expressions import LabelDiffers, Learned, Learner, Negation, Shows
from psidebug.program.paper import LABELS, sufficiency
from psidebug.program.statements import Let, Observe, Program, Return, Sample
from psidebug.symptoms import LogLossAbove, Symptom, at_least, misclassified
from tests.inference.tasks import random_learner

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.intp]

POINTS = 5
LABELS_OF = {2: 7, 3: 5}
"""Labels of a task by its number of classes: 2⁶ and 3⁴ worlds, as one label is known."""
KNOWN = 1
"""The label that a person has settled: its rate is 0."""
SYMPTOMS: dict[str, Symptom] = {
    "one bug": misclassified(0),
    "all of three": misclassified(0, 1, 2),
    "two of three": at_least(2, [0, 1, 2]),
    "a count": at_least(3),
    "log loss": LogLossAbove(0.0),  # the threshold is set by the task
    "log loss of some": LogLossAbove(0.0, of=(0, 2, 4)),
    "or": misclassified(0) | misclassified(1),
    "and not": at_least(2) & ~misclassified(4),
}


@dataclass(frozen=True)
class LinearBox:
    """A gray box that is linear in the labels."""

    learner: LinearLearner
    name = "linear"

    @property
    def actual(self) -> Floats:
        return self.learner.actual

    def margins(self, worlds: Codes, points: Codes | None = None) -> Floats:
        margins = self.learner(worlds)
        return margins if points is None else margins[:, points]

    def effects(self, weights: Floats) -> Floats:
        return self.learner.effects(weights)


@dataclass(frozen=True)
class CurvedBox:
    """A gray box that is not: labels strengthen each other."""

    learner: LinearLearner
    name = "curved"

    def margins(self, worlds: Codes, points: Codes | None = None) -> Floats:
        margins = self.learner(worlds)
        margins = margins + 0.3 * (margins - self.learner.actual) ** 2
        return margins if points is None else margins[:, points]


@dataclass(frozen=True, eq=False)
class Question:
    """Prior, learner and symptom, and what the programs about them mean: PS, the posterior, the rarity of ¬φ."""

    prior: Prior
    learner: Learner
    symptom: Symptom

    @cached_property
    def ps(self) -> Floats:
        """Figure "psi" for every label, in all worlds; 0 for a label that never differs while the symptom is gone."""
        program = sufficiency(self.prior, self.learner, self.symptom)
        return np.array([self._mean_or_zero(program, i) for i in range(self.prior.size)])

    @cached_property
    def p_wrong(self) -> Floats:
        """P(Y_i ≠ y_i | ¬φ)."""
        opening = (Sample(LABELS, Labels(self.prior)), Let("c", Learned(self.learner, LABELS)))
        gone, differs = Observe(Negation(Shows(self.symptom, "c"))), Return(LabelDiffers(LABELS, self.prior.given))
        program = Program("", (*opening, gone, differs))
        return np.array([mean(program, i) for i in range(self.prior.size)])

    @cached_property
    def p_without(self) -> float:
        """P(¬φ)."""
        opening = (Sample(LABELS, Labels(self.prior)), Let("c", Learned(self.learner, LABELS)))
        return mean(Program("", (*opening, Return(Negation(Shows(self.symptom, "c"))))))

    @staticmethod
    def _mean_or_zero(program: Program, i: int) -> float:
        try:
            return mean(program, i)
        except NoWorldWithout:
            return 0.0


@dataclass(frozen=True, eq=False)
class Case:
    """One task: a gray box, a prior and a symptom that holds as the labels are, and goes in some worlds."""

    name: str
    box: GrayBox
    prior: Prior
    symptom: Symptom

    @cached_property
    def asked(self) -> Question:
        """The question itself."""
        return Question(self.prior, self.box.margins, self.symptom)

    @cached_property
    def tangent(self) -> Question | None:
        """The question with the symptom taken as one linear constraint; None where it has no such form."""
        line = self.symptom.linearised(self.box.actual) if isinstance(self.box, LinearBox) else None
        if line is None or not isinstance(self.box, LinearBox):
            return None
        learner = LinearSymptom(self.prior, self.box.effects(line.weights), line.threshold).margins
        return Question(self.prior, learner, misclassified(0))


@cache
def cases() -> tuple[Case, ...]:
    """Two and three classes, linear and not, every symptom; uneven rates and proposals, one label known."""
    kinds = [(classes, box) for classes in LABELS_OF for box in (LinearBox, CurvedBox)]
    return tuple(case_of(classes, box, name) for classes, box in kinds for name in SYMPTOMS)


def case_of(classes: int, kind: type[LinearBox | CurvedBox], name: str, *seed: int) -> Case:
    """The first random task in which the symptom holds and is gone in 5% to 80% of the worlds."""
    rng = np.random.default_rng([classes, kind is LinearBox, list(SYMPTOMS).index(name), *seed])
    while True:
        learner = random_learner(rng, labels=LABELS_OF[classes], points=POINTS, classes=classes)
        rates = rng.uniform(0.05, 0.35, LABELS_OF[classes])
        rates[KNOWN] = 0.0
        prior = noise(learner.given, classes, rates, 10 ** rng.uniform(-1.5, 0, (classes, classes)))
        symptom = SYMPTOMS[name]
        if isinstance(symptom, LogLossAbove):  # asked to fall by five percent
            symptom = LogLossAbove(0.95 * float(log_losses(symptom.watched(learner.actual[None])).mean()), symptom.of)
        case = Case(f"{classes} classes, {kind.name}, {name}", kind(learner), prior, symptom)
        if symptom.holds(learner.actual[None])[0] and 0.05 <= case.asked.p_without <= 0.8:
            return case
