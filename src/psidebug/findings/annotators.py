"""What was found about annotators: who errs and how, how likely each answer is wrong, and which rows to ask again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from psidebug.findings.effects import Floats, counted
from psidebug.task.annotations import Annotations
from psidebug.task.labels import Codes, Encoding, quoted

Rows = npt.NDArray[np.intp]
NOBODY = -1
"""Stands for no class, where an annotator confuses none."""


@dataclass(frozen=True, eq=False)
class AnnotatorFindings:
    """Arrays about annotators (J,), answers (A,), training rows (N,) and questions (n,)."""

    answers: Annotations
    """What was said, by whom."""
    error_rate: Floats
    low: Floats
    high: Floats
    """Expected share of wrong answers of each annotator, with its 95% interval by Wilson."""
    marks: Codes
    confused_as: Codes
    """The classes k and b of the error that he makes most often: he marks k as b; -1 if he makes hardly any."""
    share: Floats
    """How many of his answers on rows of the class k say b; NaN if he makes hardly any."""
    p_wrong: Floats
    """How likely each answer is wrong, 1 - W_i(a_ij)."""
    consensus: Codes
    """The likeliest class of each training row, by answers and predictors."""
    certainty: Floats
    """How likely that is the true one."""
    follow: float
    """ρ, the share of rows that are answered by their look alone; 0 if that was not learned."""
    ask_rows: Rows
    ask_whom: Rows
    ask_right: Floats
    ask_gain: Floats
    """Which rows to ask again, whom, how likely he is right, and the nats that this is expected to tell."""

    @property
    def names(self) -> npt.NDArray[Any]:
        """Of the annotators."""
        return self.answers.names

    @property
    def counts(self) -> Rows:
        """Answers of each annotator."""
        return np.bincount(self.answers.annotators, minlength=len(self.names))

    @property
    def most_wrong_first(self) -> Rows:
        """The annotators, in the order of the least error rate that the answers allow."""
        return np.lexsort((np.arange(len(self.names)), -self.error_rate, -self.low))

    def told(self, annotator: int, encoding: Encoding) -> str:
        """How one annotator errs, in words: a17 errs in 20% of 50 answers; marks 'coast' as 'open country', 31%."""
        given = counted(int(self.counts[annotator]), "answer")
        name, errs = self.names[annotator], f"errs in {self.error_rate[annotator]:.0%} of {given}"
        true, said = int(self.marks[annotator]), int(self.confused_as[annotator])
        if true == NOBODY:
            return f"{name} {errs}"
        true_name, said_name = quoted(encoding.classes[true]), quoted(encoding.classes[said])
        return f"{name} {errs}; marks {true_name} as {said_name}, {self.share[annotator]:.0%}"

    def of_row(self, row: int) -> list[tuple[Any, int, float]]:
        """Annotator, answer and p_wrong of each answer on the training row at this position."""
        own = slice(*np.searchsorted(self.answers.rows, [row, row + 1]))
        who, codes = self.names[self.answers.annotators[own]].tolist(), self.answers.codes[own].tolist()
        return list(zip(who, codes, self.p_wrong[own].tolist(), strict=True))
