"""A correction compared: with the model as it was, row by row, and with as many labels moved otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from scipy.stats import binom

from psidebug.margins import best_rival, log_losses
from psidebug.task.labels import Codes

if TYPE_CHECKING:
    from psidebug.diagnosis.verification import Verification


@dataclass(frozen=True)
class Change:
    """The same n rows classified by two models: f of them only the second gets right, b only the first.

    All else follows from these three counts.
    """

    fixed: int
    broken: int
    of: int

    @property
    def difference(self) -> float:
        """Rise of the error rate, (b - f) / n; negative for the better."""
        return (self.broken - self.fixed) / self.of

    @property
    def interval(self) -> tuple[float, float]:
        """95% interval of the difference by Agresti and Min: half a row added to each of the four cells.

        With n' = n + 2: (b - f)/n' ± 1.96 √(b + f + 1 - (b - f)²/n') / n'. The plain formula has no width where no row
        changes, as if that were certain of other rows too.
        """
        rows, net = self.of + 2, self.broken - self.fixed
        half = 1.96 * float(np.sqrt(self.broken + self.fixed + 1 - net**2 / rows)) / rows
        return max(net / rows - half, -1.0), min(net / rows + half, 1.0)

    @property
    def p_value(self) -> float:
        """McNemar's test, mid-p: 2 P(X < k) + P(X = k), k = min(f, b), X ~ Binomial(f + b, ½); 1 where none changes."""
        k, changed = min(self.fixed, self.broken), self.fixed + self.broken
        return float(2 * binom.cdf(k, changed, 0.5) - binom.pmf(k, changed, 0.5))

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.difference:+.3f} ({low:+.3f}, {high:+.3f})"


@dataclass(frozen=True, eq=False)
class Controls:
    """A correction, and what moving as many other labels does; None where the learner cannot be trained on them."""

    correction: Verification
    at_random: Verification | None
    """As many, of the same classes and to the same classes, chosen at random."""
    highest_loss: Verification | None
    """Those of highest training loss, moved to the class that the model believes."""

    def against(self, control: Verification) -> Change:
        """Errors on the test set, paired: from the control's model to the correction's."""
        was, now = control.wrong_after, self.correction.wrong_after
        return Change(int((was & ~now).sum()), int((now & ~was).sum()), len(now))

    def __str__(self) -> str:
        columns = {"correction": self.correction.figures}
        for name, control in (("random flips", self.at_random), ("highest losses", self.highest_loss)):
            columns[name] = {"labels corrected": "cannot be trained"}
            if control is not None:
                compared = {"correction against it, p": f"{self.against(control).p_value:.2g}"}
                columns[name] = control.figures | compared
        return table(columns)


def moved_at_random(given: Codes, codes: Codes, rng: np.random.Generator) -> Codes:
    """The corrected labels, permuted at random among the rows of each given class.

    So as many rows move from class a to class b as in the correction, for every a and b, and the classes keep the sizes
    that it gives them. What a correction gains by shifting the balance of the classes alone, this control gains too;
    what is left between them is the choice of the rows.
    """
    control = codes.copy()
    for each in np.unique(given):
        members = np.flatnonzero(given == each)
        control[members] = rng.permutation(codes[members])
    return control


def highest_losses_moved(given: Codes, margins: npt.NDArray[np.float64], count: int) -> Codes:
    """The ``count`` labels of highest loss log(1 + Σ_r exp(-m_ir)) moved to the class that the model believes.

    ``margins`` (N, K-1) are those of the model on its own training rows. Of a row whose given class the model believes,
    the label moves to the next best.
    """
    control = given.copy()
    chosen = np.argsort(-log_losses(margins), kind="stable")[:count]
    control[chosen] = best_rival(margins[chosen], given[chosen])
    return control


def table(columns: Mapping[str, Mapping[str, str]]) -> str:
    """Columns of text side by side, a line for each name that one of them has."""
    names = list(dict.fromkeys(name for column in columns.values() for name in column))
    blocks = [["", *names]] + [[head, *(each.get(name, "") for name in names)] for head, each in columns.items()]
    padded = [[cell.ljust(max(map(len, block))) for cell in block] for block in blocks]
    return "\n".join("  ".join(line).rstrip() for line in zip(*padded, strict=True)).removeprefix("\n")
