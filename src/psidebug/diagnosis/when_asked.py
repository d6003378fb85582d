"""The rest of the proof: what no decision depends on is made when somebody asks for it, and then kept.

The curve, the controls, the fidelity of the gray box, and the corrections after the one that is proved. All of it is by
the decision as it was made, so that it is the same at once and later, and a review changes none of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property

from psidebug.changes import Relabel
from psidebug.diagnosis.as_findings import found_explanations, found_slices
from psidebug.diagnosis.curve import curve_of
from psidebug.diagnosis.repair import Correction, retrained
from psidebug.diagnosis.session import Session
from psidebug.diagnosis.verdict import with_doubt, with_fidelity
from psidebug.errors import LearnerMismatch, LearnerMissing, UnknownOption
from psidebug.findings.effects import Controls
from psidebug.findings.findings import Curve, Findings, FoundCause, FoundSlice, Rows
from psidebug.graybox.fidelity import Fidelity, fidelity
from psidebug.graybox.protocol import GrayBox
from psidebug.graybox.retrain import Retrain
from psidebug.progress import silent
from psidebug.sufficiency import group_sufficiency
from psidebug.threads import one_blas_thread
from psidebug.timings import Stopwatch, Tick, staged

PARTS = ("tried", "slices", "curve", "controls", "fidelity")


@dataclass(eq=False)
class WhenAsked:
    """Everything that can be asked of a decision, each made once."""

    decided: Findings
    live: Session | None
    """Who decided; None of a loaded diagnosis, of which no file keeps the other corrections."""
    check_fidelity: bool
    watch: Stopwatch
    reopened: Callable[[], Session] | None = None
    """Who can train, where nobody is live; the learner is fitted by this call."""
    tick: Tick = silent

    def everything(self, tick: Tick) -> None:
        """Make all of it now."""
        self.tick = tick
        try:
            for name in PARTS:
                getattr(self, name)
        finally:
            self.tick = silent

    def added_to(self, found: Findings) -> Findings:
        """The findings, with as much of it as was made."""
        made = vars(self)
        if self.live is not None and (tried := made.get("tried")):
            explanations = found_explanations(self.live.task, self.live.hypotheses, tried)
            found = replace(found, explanations=explanations)
        if slices := made.get("slices"):
            own = next((each for each in slices if each.proved), None)
            correction = found.correction and replace(found.correction, slice=own)
            found = replace(found, slices=slices, correction=correction)
        if (controls := made.get("controls")) is not None:
            found = replace(found, controls=controls, causes=_with_control(found, controls))
        if (measured := made.get("fidelity")) is not None and found.fidelity is None:
            found = replace(
                found,
                fidelity=measured,
                verdict=with_doubt(found.verdict, self.decided, measured),
                notes=with_fidelity(found.notes, measured),
                settings={**found.settings, "fidelity": str(measured)},
            )
        return replace(found, curve=made.get("curve", found.curve))

    # ── the parts ──

    @cached_property
    def tried(self) -> tuple[Correction, ...]:
        """Every correction that was proposed, retrained; none of a loaded diagnosis."""
        if self.live is None or not self.live.hypotheses or not len(self.decided.predictions.bugs):
            return ()
        with self._working("retraining") as tick:
            return tuple(retrained(self.live.prover, self.live.hypotheses, tick, everyone=True))

    @cached_property
    def slices(self) -> tuple[FoundSlice, ...]:
        """The slices of all corrections, each with its own effect; of a loaded diagnosis those that it has."""
        session, found = self.live, self.decided
        if session is None or not self.tried:
            return found.slices
        box, phi, known = session.graybox, session.symptom, [each.ps for each in found.slices]
        assert box is not None
        assert phi is not None

        def sufficient(groups: list[Rows]) -> list[float]:
            """PS of the groups; the first slices are those of the decision."""
            others = groups[len(known) :]
            return [*known, *group_sufficiency(box, found.prior, phi, others, found.labels.proposed)]

        with self._working("slices"):
            return found_slices(session.prover, self.tried, sufficient, retrain=True)

    @cached_property
    def curve(self) -> Curve | None:
        """Error against number of corrections; None if there is nothing to debug, or no learner to train."""
        found, labels = self.decided, self.decided.labels
        if found.curve is not None or not len(found.predictions.bugs) or (session := self.session) is None:
            return found.curve
        with self._working("curve") as tick:
            return curve_of(
                session.prover,
                labels.order,
                labels.proposed,
                labels.ps,
                labels.p_wrong,
                suggested=found.corrected,
                tick=tick,
            )

    @cached_property
    def controls(self) -> Controls | None:
        """The correction beside its controls; None if there is none, or no learner to train."""
        found = self.decided
        if found.controls is not None or found.correction is None or (session := self.session) is None:
            return found.controls
        with self._working("controls") as tick:
            tick("controls", 0, 1)
            return session.prover.controls(Relabel.of(session.task.data, found.correction.codes))

    @cached_property
    def fidelity(self) -> Fidelity | None:
        """The gray box against retraining; of the lists of suspects that the curve retrained one comes for free."""
        found, labels = self.decided, self.decided.labels
        if found.fidelity is not None or not self.check_fidelity or self.curve is None:
            return found.fidelity
        if (session := self.session) is None or (box := _graybox(session)) is None or isinstance(box, Retrain):
            return None
        with self._working("fidelity") as tick:
            tick("fidelity", 0, 1)
            known = []
            for point in self.curve.points[1:]:
                codes, first = labels.given.copy(), labels.order[: point.corrected]
                codes[first] = labels.proposed[first]
                verified = session.prover.verify(Relabel.of(session.task.data, codes))
                known.append((codes, verified.margins))
            return fidelity(box, session.task, suspects=labels.order, proposed=labels.proposed, retrained=known)

    @cached_property
    def session(self) -> Session | None:
        """Who can train; None if the learner was not saved, or is another one by now."""
        try:
            return self.reopened() if self.live is None and self.reopened is not None else self.live
        except (LearnerMissing, LearnerMismatch):
            return None

    @contextmanager
    def _working(self, stage: str) -> Iterator[Tick]:
        with self.watch.watching(stage), one_blas_thread():
            yield staged(self.tick)


def _graybox(session: Session) -> GrayBox | None:
    """The gray box; None if it was an object that no file could hold."""
    try:
        return session.graybox
    except UnknownOption:
        return None


def _with_control(found: Findings, controls: Controls) -> tuple[FoundCause, ...]:
    """The causes; the corrected labels are told beside as many at random."""
    beside = None if controls.at_random is None else controls.at_random.gain
    return tuple(
        replace(each, control=beside) if each.cause == "training_labels" and each.proved else each
        for each in found.causes
    )
