"""What a diagnosis found, as values. Pages, files and commands are made from these and from the rows, nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from psidebug.changes import Change
from psidebug.checks import Check
from psidebug.display import Display
from psidebug.findings.annotators import AnnotatorFindings
from psidebug.findings.effects import Controls, ErrorRate, Floats, Mask, Verification, table
from psidebug.findings.origin import Origin
from psidebug.graybox.fidelity import Fidelity
from psidebug.priors import Prior
from psidebug.slices.conditions import Condition, Conjunction
from psidebug.task.data import Data
from psidebug.task.labels import Codes, Encoding

Rows = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class LabelFindings:
    """What was found about each training label, as arrays (N,) in the order of the rows."""

    rows: npt.NDArray[Any]
    """Ids."""
    given: Codes
    proposed: Codes
    """The likeliest other class."""
    repaired: Codes
    """After the verified corrections of every round, and what people have settled."""
    ps: Floats
    ps_low: Floats
    ps_high: Floats
    """How sufficient the label is as a cause of the symptom, and bounds on it; NaN where there is nothing to debug.

    The bounds are the engine's: the error of the gray box, and of a symptom taken as linear, are not in them."""
    p_wrong: Floats
    """How likely it is wrong."""
    likeliest: Codes
    confidence: Floats
    """The class that is most likely the true one, max_k W_ik, and how likely it is; the given label, surely, where no
    explanation says more than chance."""
    order: Rows
    """Positions of the suspects, first those most likely wrong."""

    @property
    def corrected(self) -> Rows:
        """Positions of the labels that the verified corrections change."""
        return np.flatnonzero(self.repaired != self.given)

    def first(self, most: int) -> LabelFindings:
        """The same, with the first suspects only."""
        return replace(self, order=self.order[:most])

    def right(self, codes: Codes) -> Floats:
        """How likely each of these labels (N,) is right; of one that nothing proposes, somebody knows it."""
        other = np.where(codes == self.proposed, self.p_wrong, 1.0)
        as_given = np.where(codes == self.given, 1.0 - self.p_wrong, other)
        return np.where(codes == self.likeliest, self.confidence, as_given)


@dataclass(frozen=True, eq=False)
class Predictions:
    """The test set as codes (M,): labels, what the model says, and what it says after the correction."""

    labels: Codes
    before: Codes
    after: Codes | None
    """None without a correction."""
    bugs: Rows
    """Positions of the test rows that are explained."""
    ids: npt.NDArray[Any] | None = None
    """Ids of the test rows; None where they have none but their positions."""

    @property
    def rows(self) -> npt.NDArray[Any]:
        """Ids of the test rows, or else their positions."""
        return np.arange(len(self.labels)) if self.ids is None else self.ids

    @property
    def wrong(self) -> Mask:
        """Which rows are misclassified."""
        return np.asarray(self.labels != self.before)


@dataclass(frozen=True)
class FoundSlice(Conjunction):
    """Training rows that meet some conditions and carry one given label, and what correcting them does."""

    conditions: tuple[Condition, ...]
    given: int
    """Code of the label."""
    rows: int
    suspects: float
    """Share of its rows that are more likely wrong than right by its best explanation: those that are corrected."""
    ps: float
    """Of the group, all its labels together as one cause; NaN where that is not known."""
    z: float
    p_value: float
    """How far its rows stand out, and how likely chance does that, corrected for all that was looked at."""
    corrected: int
    gain: float
    test_error: float
    """Labels of it that its best explanation corrects, and the verified effect of that, with those ``elsewhere``; NaN
    where that explanation accuses several slices and the proof was not asked for."""
    proved: bool
    """Whether it is part of the verified correction."""
    accused: bool = False
    """Whether a likely explanation accuses it: a smaller gain proves a correction of it."""
    elsewhere: int = 0
    """Labels outside of it that are corrected together with it."""
    said: str = ""
    """How many of its rows are mislabelled, and what they should be, as a clause."""

    def members(self, data: Data) -> Rows:
        """Positions of its training rows."""
        return np.flatnonzero(self.holds(data) & (data.train.codes == self.given))


@dataclass(frozen=True)
class FoundExplanation:
    """An explanation that competed, and how it was decided.

    The first one that retraining proves is taken; the ``gain`` of those after it is NaN until the proof is asked for.
    ``evidence`` in nats must exceed its ``charge``, and the ``gain`` of the model retrained on ``corrected`` labels its
    ``gain_error`` (twice that for scattered errors), for it to be ``proved``.
    """

    explanation: str
    evidence: float
    charge: float
    corrected: int
    gain: float
    gain_error: float
    proved: bool


@dataclass(frozen=True)
class FoundRepair:
    """Something to train on instead of the labels as given, and what the learner is then worth.

    The error is cross-fitted: every test row is judged by a model that neither trained on it nor was made with it.
    """

    repair: str
    """Its name."""
    rows: int
    """How many the learner is trained on."""
    error: ErrorRate
    log_loss: float
    """Cross-fitted too, in nats for each test row."""
    validation: ErrorRate | None
    """Of the model made with all test rows; None without a validation set."""
    chosen: bool
    """Whether it is the one to take."""


@dataclass(frozen=True, eq=False)
class VerifiedCorrection:
    """The labels to apply instead of the given ones, why, and what retraining says."""

    explanation: str
    codes: Codes
    """All training labels with the correction."""
    verified: Verification
    slice: FoundSlice | None = None
    """What the rows have in common; the first slice if it is several."""
    inside: int | None = None
    """How many of the corrected labels are in the rows that the explanation names; None for scattered errors."""
    trained: str = "learner"
    """What retraining trained: the ``"learner"``, a ``"stand-in"`` where none was given, or of a neural net its
    ``"head"`` alone (``"untrained"`` if all layers were tried, and failed), or the whole ``"net"``."""

    def __repr__(self) -> str:
        return f"{self.explanation}\n{self.verified!r}"


@dataclass(frozen=True, eq=False)
class Point:
    """The first ``corrected`` suspects corrected."""

    corrected: int
    ps: float
    """Of the last of them: the threshold τ that corrects just these."""
    p_wrong: float
    verified: Verification


@dataclass(frozen=True, eq=False)
class Curve:
    """Error against number of corrections; the first point is without any."""

    points: tuple[Point, ...]
    minimum: int
    """Which point has the fewest errors on the test set."""
    chosen: int
    """Which point is the verified correction; the first one without any."""
    reported: float
    """One half of the test set chooses the fewest corrections within one standard error of the best; this is the error
    rate of the other half, which did not choose."""

    @property
    def wrong(self) -> Mask:
        """Which test rows each point leaves wrong, (points, M)."""
        return np.stack([point.verified.wrong_after for point in self.points])

    def __repr__(self) -> str:
        errors = {f"{each.corrected:,} corrected": str(each.verified.test_after) for each in self.points}
        return table({"test error": errors})


@dataclass(frozen=True)
class FoundCause:
    """Something that is wrong with the task, and what it is worth to repair it."""

    cause: str
    """Its name; see docs/causes.md."""
    where: str
    """Which column, rows or labels, in a few words."""
    said: str
    """What was seen, as a clause."""
    advice: str
    """What to do."""
    evidence: float
    """Nats of test log likelihood that its repair gains."""
    share: float
    """Part of the test log loss that this is."""
    proved: bool
    """Whether retraining proves the repair, and it is worth more than its control."""
    column: str | None = None
    control: float | None = None
    """Nats that the same change gains elsewhere; None if there is no elsewhere. Nothing is proved without."""
    change: Change | None = field(default=None, repr=False, compare=False)
    """What repairs the rows, to be written by ``psi apply``; None if only the user can."""

    @property
    def proof(self) -> str:
        """Whether it is proved, in a word or two."""
        tried = self.change is not None and self.evidence > 0
        return "yes" if self.proved else "no control" if tried and self.control is None else "no"


@dataclass(frozen=True, eq=False)
class SuspectTests:
    """Test rows whose label is probably wrong, by hypotheses that trust the training labels."""

    rows: Rows
    """Positions, first those most likely wrong."""
    proposed: Codes
    p_wrong: Floats
    why: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Causes:
    """The first causes of one bug, best first."""

    test_row: int
    positions: Rows
    """Of the training rows."""
    proposed: Codes
    ps: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True)
class Round:
    """A later round: a diagnosis of the model trained on what was corrected before."""

    verdict: str
    corrected: int


@dataclass(frozen=True, eq=False)
class Findings:
    """Everything that pages, files and commands show of a diagnosis; with the rows it is all that they need."""

    encoding: Encoding
    labels: LabelFindings
    predictions: Predictions
    verdict: str
    """The result in two sentences; a third one when PS is a guess."""
    notes: tuple[str, ...]
    """What a reader should know: an unfinished fit, a stand-in for the learner, a doubtful estimate."""
    settings: Mapping[str, str]
    """How it was decided, to be shown: symptom, gray box, engine and why, noise rate, fidelity, number of fits."""
    origin: Origin
    prior: Prior
    """p_T under which PS is taken: as stated, or learned."""
    display: Display
    """How rows are to be shown."""
    frames: str
    """The data-frame library that results are given in: the user's own."""
    checks: tuple[Check, ...] = ()
    """What was odd about the data before the diagnosis, the most important first."""
    graybox: str | None = None
    """Name of the gray box that PS is by; None when there is nothing to debug."""
    slices: tuple[FoundSlice, ...] = ()
    """What the suspects have in common, that of the best explanation first."""
    explanations: tuple[FoundExplanation, ...] = ()
    """Most evidence first; none if the test set is too small."""
    correction: VerifiedCorrection | None = None
    """None if retraining says that nothing tried improves the model."""
    controls: Controls | None = None
    """The correction beside as many random flips, and as many flips of the labels with the highest loss; None if there
    is none, or it was not asked for."""
    curve: Curve | None = None
    """Error against number of corrections; None if there was nothing to debug, or it was not asked for."""
    fidelity: Fidelity | None = None
    """How well the gray box follows retraining here; None if that was not measured."""
    repairs: tuple[FoundRepair, ...] = ()
    """What to train on instead, as given first; none if the test set is too small."""
    bug_causes: tuple[Causes, ...] = ()
    """Training labels that are causes of the bugs that are most confidently wrong."""
    causes: tuple[FoundCause, ...] = ()
    """What is wrong with the task, the most evidence first; that nothing is, or that nothing can be said."""
    changes: tuple[Change, ...] = ()
    """Repairs of the rows that all else here is about: a unit, codes, a column left out."""
    suspect_tests: SuspectTests | None = None
    """None unless test labels are a cause."""
    unexplained: str | None = None
    """Why no bug has causes, as a part of a sentence; None if some have, or there are no bugs."""
    rounds: tuple[Round, ...] = ()
    """The rounds after this one."""
    annotators: AnnotatorFindings | None = field(default=None, repr=False)
    """Who errs and how; None if no answers of annotators were given."""
    test_probabilities: Floats | None = field(default=None, repr=False)
    """What the predictors of the best explanation, calibrated, say about the test rows (M, K); None without one."""

    @property
    def corrected(self) -> int:
        """Number of labels that the verified correction changes."""
        return 0 if self.correction is None else self.correction.verified.corrected
