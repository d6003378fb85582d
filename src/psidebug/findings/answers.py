"""Findings as a user asks for them: by name, and as data frames in the user's own library."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar, cast

from psidebug.findings import frames
from psidebug.findings.effects import Controls
from psidebug.findings.findings import Curve, Findings
from psidebug.graybox.fidelity import Fidelity

T = TypeVar("T")


def _answer(read: Callable[[Findings], T], told: str) -> T:
    """A property that reads the findings; to the type checker it is what it gives."""
    return cast(T, property(lambda self: read(self.found), doc=told))


class Answers:
    """What can be read of findings; nothing here computes or trains."""

    found: Findings
    """Where the answers come from."""

    verdict = _answer(lambda found: found.verdict, "The result in two sentences; a third one when PS is a guess.")
    notes = _answer(
        lambda found: found.notes,
        "What a reader of the answers should know: an unfinished fit, a stand-in for the learner, a doubtful guess.",
    )
    settings = _answer(
        lambda found: dict(found.settings),
        "How it was decided: symptom, gray box, engine and why, noise rate, fidelity, number of fits.",
    )
    display = _answer(lambda found: found.display, "How rows are to be shown.")
    nothing_to_debug = _answer(
        lambda found: len(found.predictions.bugs) == 0,
        "Whether the classifier gets every test point right (or no bugs were named).",
    )
    order = _answer(lambda found: found.labels.order, "Positions of the suspects, first those most likely wrong.")
    p_wrong = _answer(
        lambda found: found.labels.p_wrong,
        "How likely each label (N,) is wrong, by the explanation with the most evidence; else P(Y_i ≠ y_i | ¬φ).",
    )
    proposed = _answer(lambda found: found.labels.proposed, "The likeliest other class of each label (N,).")
    prior = _answer(lambda found: found.prior, "p_T under which PS is taken: as stated, or learned.")
    correction = _answer(
        lambda found: found.correction,
        "The correction to apply; None if retraining says that nothing tried improves the model.",
    )
    corrected = _answer(lambda found: found.corrected, "Number of labels that the verified correction changes.")

    @property
    def fidelity(self) -> Fidelity | None:
        """How well the gray box follows retraining here; None if that was not measured."""
        return self.found.fidelity

    @property
    def curve(self) -> Curve | None:
        """Error against number of corrected suspects; None if there is nothing to debug, or it was not measured."""
        return self.found.curve

    @property
    def controls(self) -> Controls | None:
        """The correction beside as many random flips, and as many flips of the labels of highest loss.

        None without a correction, or if they were not measured.
        """
        return self.found.controls

    @cached_property
    def checks(self) -> Any:
        """Data frame of what was odd about the data before the diagnosis, the most important first.

        At most five lines, none of clean data: ``check`` (overlapping rows, contradicting duplicates, spelling of
        classes, outside training, class shares, id-like columns, constant columns, dates as text, numbers
        as text) and a ``sentence``
        that says what was seen, and what to do.
        """
        return frames.checks_frame(self.found)

    @cached_property
    def suspects(self) -> Any:
        """Data frame of every training row that is suspected, best first, in the user's own data-frame library.

        Columns: ``row`` (id, or position), ``given``, ``proposed``, ``ps`` (``ps_low``, ``ps_high``): how sufficient
        the label is as a cause of the symptom, and ``p_wrong``: how likely it is wrong. The bounds are those of the
        engine: chance where it samples, rounding where it does not. How far the gray box is from retraining is not in
        them; ``fidelity`` measures that.
        """
        return frames.suspects_frame(self.found)

    @cached_property
    def slices(self) -> Any:
        """Data frame of what the suspects have in common, that of the best explanation first.

        ``rows`` carry the label ``given`` and meet the ``condition``; where several labels are wrong under one
        condition, each has its line. ``suspects`` is the share of them that is more likely wrong than right by the best
        explanation with the slice, which corrects so many (``corrected``) here and so many ``elsewhere``. ``ps`` is
        that of the group, all its labels together as one cause; ``z`` and ``p_value`` (corrected for all that was
        looked at) say how far it stands out, if it was searched for; ``gain`` and ``test_error`` are the verified
        effect of the correction. ``said`` tells the extent in words.
        """
        return frames.slices_frame(self.found)

    @cached_property
    def explanations(self) -> Any:
        """Data frame of how it was decided: every explanation that competed, most evidence first.

        ``evidence`` in nats must exceed its ``charge``, and the ``gain`` of the model retrained on ``corrected`` labels
        its ``gain_error`` (twice that for scattered errors), for the explanation to be ``proved``. The first that is
        proved is taken; those after it have no ``gain`` until the whole proof is asked for.
        """
        return frames.explanations_frame(self.found)

    @property
    def cause(self) -> str:
        """The name of what is wrong with the task, as the first of :attr:`causes`; "none", or "cannot_say"."""
        return self.found.causes[0].cause

    @cached_property
    def causes(self) -> Any:
        """Data frame of what is wrong with the task, the most evidence first.

        ``cause`` is its name (see docs/causes.md) and ``where`` the column, rows or labels concerned; ``evidence`` are
        the nats of test log likelihood that its repair gains, ``share`` the part of the test log loss that this is,
        ``proved`` whether retraining proves the repair, and ``advice`` says what to do.
        """
        return frames.causes_frame(self.found)

    @cached_property
    def bugs(self) -> Any:
        """Data frame of the test rows that are explained: the misclassified ones, or those that were named.

        Columns: ``row`` (id, or position: what ``Diagnosis.explain`` takes), ``label``, ``predicted``, and ``after``:
        what the model says once the labels are corrected; the same without a correction.
        """
        return frames.bugs_frame(self.found)

    @cached_property
    def suspect_tests(self) -> Any:
        """Data frame of test labels that are probably wrong, the likeliest first; empty unless they are a cause.

        Columns: ``row`` (id, or position, of the test row), ``given``, ``proposed``, ``p_wrong`` and ``why``.
        """
        return frames.suspect_tests_frame(self.found)

    @cached_property
    def threshold_curve(self) -> Any:
        """Data frame of :attr:`curve`; None where that is."""
        return frames.curve_frame(self.found)

    @cached_property
    def annotators(self) -> Any:
        """Data frame of who errs and how, who errs most first; None without ``annotations``.

        ``error_rate`` is the expected share of wrong ``answers``, with a 95% interval (``low``, ``high``). The error
        made most often ``marks`` one class ``as`` another, in a ``share`` of the answers on rows of that class.
        """
        return frames.annotators_frame(self.found)

    @cached_property
    def answers(self) -> Any:
        """Data frame of every answer, the likeliest wrong first: ``row``, ``annotator``, ``label``, ``p_wrong`` and
        the ``consensus`` about the row; None without ``annotations``.
        """
        return frames.answers_frame(self.found)

    @cached_property
    def ask_again(self) -> Any:
        """Data frame of rows to ask again, those most worth it first; None without ``annotations``.

        The ``annotator`` is the one who is likeliest ``right`` about that ``row`` and has not answered it; ``gain`` is
        what the answer is expected to tell about the true label, in nats.
        """
        return frames.ask_again_frame(self.found)
