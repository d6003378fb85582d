"""Findings as a user asks for them: by name, and as data frames in his own library."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from psidebug.display import Display
from psidebug.findings.effects import Controls
from psidebug.findings.findings import Curve, Findings, VerifiedCorrection
from psidebug.findings.frames import (
    annotators_frame,
    answers_frame,
    ask_again_frame,
    curve_frame,
    explanations_frame,
    slices_frame,
    suspects_frame,
)
from psidebug.graybox.fidelity import Fidelity
from psidebug.priors import Prior
from psidebug.task.labels import Codes


class Answers:
    """What can be read of findings; nothing here computes or trains."""

    found: Findings
    """Where the answers come from."""

    @property
    def verdict(self) -> str:
        """The result in two sentences; a third one when PS is a guess."""
        return self.found.verdict

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the answers should know: an unfinished fit, a stand-in for the learner, a doubtful guess."""
        return self.found.notes

    @property
    def settings(self) -> Mapping[str, str]:
        """How it was decided: symptom, gray box, engine and why, noise rate, fidelity, number of fits."""
        return dict(self.found.settings)

    @property
    def display(self) -> Display:
        """How rows are to be shown."""
        return self.found.display

    @property
    def nothing_to_debug(self) -> bool:
        """Whether the classifier gets every test point right (or no bugs were named)."""
        return len(self.found.predictions.bugs) == 0

    @property
    def order(self) -> npt.NDArray[np.intp]:
        """Positions of the suspects, first those most likely wrong."""
        return self.found.labels.order

    @property
    def p_wrong(self) -> npt.NDArray[np.float64]:
        """How likely each label (N,) is wrong, by the explanation with the most evidence; else P(Y_i ≠ y_i | ¬φ)."""
        return self.found.labels.p_wrong

    @property
    def proposed(self) -> Codes:
        """The likeliest other class of each label (N,)."""
        return self.found.labels.proposed

    @property
    def prior(self) -> Prior:
        """p_T under which PS is taken: as stated, or learned."""
        return self.found.prior

    @property
    def fidelity(self) -> Fidelity | None:
        """How well the gray box follows retraining here; None if that was not measured."""
        return self.found.fidelity

    @property
    def curve(self) -> Curve | None:
        """Error against number of corrected suspects, and the threshold that it suggests."""
        return self.found.curve

    @property
    def controls(self) -> Controls | None:
        """The verified correction beside as many random flips, and as many flips of the labels of highest loss."""
        return self.found.controls

    @property
    def correction(self) -> VerifiedCorrection | None:
        """The correction to apply; None if retraining says that nothing tried improves the model."""
        return self.found.correction

    @property
    def corrected(self) -> int:
        """Number of labels that the verified correction changes."""
        return self.found.corrected

    @cached_property
    def suspects(self) -> Any:
        """Data frame of every training row that is suspected, best first, in the user's own data-frame library.

        Columns: ``row`` (id, or position), ``given``, ``proposed``, ``ps`` (``ps_low``, ``ps_high``): how sufficient
        the label is as a cause of the symptom, and ``p_wrong``: how likely it is wrong.
        """
        return suspects_frame(self.found)

    @cached_property
    def slices(self) -> Any:
        """Data frame of what the suspects have in common, that of the best explanation first.

        ``rows`` carry the label ``given`` and meet the ``condition``; ``suspects`` is the share of them among the first
        suspects (as many as are corrected); ``ps`` is that of the group, all its labels together as one cause; ``z``
        and ``p_value`` (corrected for all that was looked at) say how far they stand out; the rest is the verified
        effect of what its explanation corrects in it.
        """
        return slices_frame(self.found)

    @cached_property
    def explanations(self) -> Any:
        """Data frame of how it was decided: every explanation that competed, most evidence first.

        ``evidence`` in nats must exceed its ``charge``, and the ``gain`` of the model retrained on ``corrected`` labels
        its ``gain_error`` (twice that for scattered errors), for the explanation to be ``proved``.
        """
        return explanations_frame(self.found)

    @cached_property
    def threshold_curve(self) -> Any:
        """Data frame of :attr:`curve`; None when there is nothing to debug."""
        return curve_frame(self.found)

    @cached_property
    def annotators(self) -> Any:
        """Data frame of who errs and how, who errs most first; None without ``annotations``.

        ``error_rate`` is the expected share of wrong ``answers``, with a 95% interval (``low``, ``high``). The error
        made most often ``marks`` one class ``as`` another, in a ``share`` of the answers on rows of that class.
        """
        return annotators_frame(self.found)

    @cached_property
    def answers(self) -> Any:
        """Data frame of every answer, the likeliest wrong first: ``row``, ``annotator``, ``label``, ``p_wrong`` and
        the ``consensus`` about the row; None without ``annotations``.
        """
        return answers_frame(self.found)

    @cached_property
    def ask_again(self) -> Any:
        """Data frame of rows to ask again, those most worth it first; None without ``annotations``.

        The ``annotator`` is the one who is likeliest ``right`` about that ``row`` and has not answered it; ``gain`` is
        what the answer is expected to tell about the true label, in nats.
        """
        return ask_again_frame(self.found)
