"""What retraining says of a correction: errors before and after, row by row, and beside the two controls."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from scipy.stats import binom

from psidebug import policy
from psidebug.inference.estimates import wilson_interval

Mask = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ErrorRate:
    """A share of misclassified rows with its 95% Wilson interval."""

    wrong: int
    of: int

    @property
    def rate(self) -> float:
        """The share."""
        return self.wrong / self.of

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's interval at z = 1.96."""
        low, high = wilson_interval(self.wrong, self.of)
        return float(low), float(high)

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.rate:.3f} ({low:.3f}, {high:.3f})"


@dataclass(frozen=True)
class PairedErrors:
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
    def clearly_worse(self) -> bool:
        """Whether more rows are broken than fixed, by more than chance: b - f has the standard error √(b + f)."""
        return self.broken - self.fixed > policy.MORE_BROKEN * float(np.sqrt(self.broken + self.fixed))

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
class Verification:
    """The effect of correcting some labels, seen by retraining the user's own learner."""

    corrected: int
    test_before: ErrorRate
    test_after: ErrorRate
    validation_before: ErrorRate | None
    validation_after: ErrorRate | None
    bugs_fixed: int
    """Of the bugs asked about."""
    points_broken: int
    """Of the whole test set."""
    gain: float
    """Rise of the test set's log likelihood, in nats."""
    gain_error: float
    """Standard error of that gain if there were none: √Σ_t g_t² over the test points' gains.

    Unlike their standard deviation it is no smaller for equal gains, so that one or two points never prove anything.
    """
    margins: npt.NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 0)), repr=False)
    """Margins of the retrained model on the test set, (points, K-1)."""
    wrong_after: Mask = field(default_factory=lambda: np.empty(0, dtype=bool), repr=False)
    """Which test points the retrained model gets wrong."""
    log_loss_before: float = float("nan")
    log_loss_after: float = float("nan")
    """Mean log loss of the test set in nats; their difference times the number of points is the gain."""
    validation_broken: int | None = None
    validation_gain: float | None = None
    """Like the test set's; None without validation rows."""

    @property
    def test_change(self) -> PairedErrors:
        """Errors on the test set, paired."""
        return _change(self.test_before, self.test_after, self.points_broken)

    @property
    def validation_change(self) -> PairedErrors | None:
        """Errors on the validation set, paired; None if there is none."""
        if self.validation_before is None or self.validation_after is None or self.validation_broken is None:
            return None
        return _change(self.validation_before, self.validation_after, self.validation_broken)

    @property
    def rates(self) -> dict[str, float | None]:
        """Error rates before and after, by the names of the fields; None without validation rows."""
        names = ("test_before", "test_after", "validation_before", "validation_after")
        found: dict[str, ErrorRate | None] = {name: getattr(self, name) for name in names}
        return {name: None if each is None else each.rate for name, each in found.items()}

    def proved(self, *, accused: bool) -> bool:
        """Whether it proves the correction; ``accused`` if the rows are a slice that a likely explanation accuses.

        Fewer than ``policy.LEAST_TEST_ROWS`` test rows prove nothing, and validation rows that it breaks veto it.
        """
        if self.test_after.of < policy.LEAST_TEST_ROWS:
            return False
        if (apart := self.validation_change) is not None and apart.clearly_worse:
            return False
        paired = self.test_change
        return policy.proved(self.gain, self.gain_error, fixed=paired.fixed, broken=paired.broken, accused=accused)

    @property
    def p_value(self) -> float:
        """McNemar's, on the test set; too small if the test set chose the correction, so prefer validation rows."""
        return self.test_change.p_value

    @property
    def figures(self) -> dict[str, str]:
        """What the table shows, by the name of the line."""
        shown = {
            "labels corrected": str(self.corrected),
            "bugs fixed": str(self.bugs_fixed),
            "points broken": str(self.points_broken),
            **_lines("test error", self.test_before, self.test_after, self.test_change),
            "gain in nats": f"{self.gain:+.1f} ± {self.gain_error:.1f}",
        }
        if self.validation_before and self.validation_after and self.validation_change:
            shown |= _lines(
                "validation error", self.validation_before, self.validation_after, self.validation_change
            ) | {"validation gain in nats": f"{self.validation_gain:+.1f}"}
        return shown

    def __repr__(self) -> str:
        return table({"": self.figures})

    def _repr_html_(self) -> str:
        return html_table({"": self.figures})


@dataclass(frozen=True, eq=False)
class Controls:
    """A correction, and what moving as many other labels does; None where the learner cannot be trained on them."""

    correction: Verification
    at_random: Verification | None
    """As many, of the same classes and to the same classes, chosen at random."""
    highest_loss: Verification | None
    """Those of highest training loss, moved to the class that the model believes."""

    def against(self, control: Verification) -> PairedErrors:
        """Errors on the test set, paired: from the control's model to the correction's."""
        was, now = control.wrong_after, self.correction.wrong_after
        return PairedErrors(int((was & ~now).sum()), int((now & ~was).sum()), len(now))

    @property
    def figures(self) -> dict[str, dict[str, str]]:
        """What the table shows: of the correction and each control, by the name of the line."""
        columns = {"correction": self.correction.figures}
        for name, control in (("random flips", self.at_random), ("highest losses", self.highest_loss)):
            columns[name] = {"labels corrected": "cannot be trained"}
            if control is not None:
                p_value = f"{self.against(control).p_value:.2g}"
                columns[name] = control.figures | {"correction against it, p": p_value}
        return columns

    def __repr__(self) -> str:
        return table(self.figures)

    def _repr_html_(self) -> str:
        return html_table(self.figures)


def table(columns: Mapping[str, Mapping[str, str]]) -> str:
    """Columns of text side by side, a line for each name that one of them has."""
    names = list(dict.fromkeys(name for column in columns.values() for name in column))
    blocks = [["", *names]] + [[head, *(each.get(name, "") for name in names)] for head, each in columns.items()]
    padded = [[cell.ljust(max(map(len, block))) for cell in block] for block in blocks]
    return "\n".join("  ".join(line).rstrip() for line in zip(*padded, strict=True)).removeprefix("\n")


def html_table(columns: Mapping[str, Mapping[str, str]]) -> str:
    """The same for a notebook."""
    names = dict.fromkeys(name for column in columns.values() for name in column)
    heads = "".join(f'<th scope="col">{html.escape(head)}</th>' for head in columns)
    lines = "".join(
        f'<tr><th scope="row">{html.escape(name)}</th>'
        + "".join(f"<td>{html.escape(each.get(name, ''))}</td>" for each in columns.values())
        + "</tr>"
        for name in names
    )
    return f"<table><thead><tr><th></th>{heads}</tr></thead><tbody>{lines}</tbody></table>"


def counted(number: int, name: str = "") -> str:
    """A number and what it counts, in the singular or plural."""
    return f"{number:,} {name}".rstrip() + ("" if number == 1 or not name else "s")


def _change(before: ErrorRate, after: ErrorRate, broken: int) -> PairedErrors:
    return PairedErrors(fixed=before.wrong + broken - after.wrong, broken=broken, of=after.of)


def _lines(name: str, before: ErrorRate, after: ErrorRate, change: PairedErrors) -> dict[str, str]:
    return {
        f"{name} before": str(before),
        f"{name} after": str(after),
        f"{name} change": str(change),
        f"{name} change, p": f"{change.p_value:.2g}",
    }
