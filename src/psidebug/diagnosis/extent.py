"""How far an explanation calls labels wrong, and in which directions: in figures and in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from psidebug.evidence.held_out import Floats, Rows
from psidebug.evidence.hypotheses import Hypothesis
from psidebug.slices.conditions import Slice
from psidebug.task.labels import Codes, Encoding, quoted

NAMED, NEARLY_ALL = 0.1, 0.9
"""A direction with a smaller part of the wrong labels is not named; a larger part of the rows is nearly all."""
MOST_NAMED = 3
"""More directions are many."""
Pair = tuple[int, int]
"""A given label, and the true one."""


@dataclass(frozen=True, eq=False)
class Extent:
    """What a hypothesis says of the rows of a slice, by the labels that it corrects in it."""

    parts: tuple[Slice, ...]
    """The slice, if its label is wrong; and with the same conditions, each other label that is wrong there."""
    by: Hypothesis
    given: Codes

    @cached_property
    def rows(self) -> Rows:
        """Those of all parts."""
        return np.sort(np.concatenate([each.members for each in self.parts]))

    @property
    def share(self) -> float:
        """Part of the labels that is wrong: the mean of p_wrong."""
        return float(self.by.p_wrong(self.given, self.rows).mean())

    @property
    def corrected(self) -> int:
        """Labels that are more likely wrong than right."""
        return int(self._counts.sum())

    @property
    def corrected_share(self) -> float:
        """Part of the rows with such labels."""
        return self.corrected / max(len(self.rows), 1)

    @cached_property
    def _counts(self) -> Floats:
        return corrections(self.by, self.given, self.rows)

    def told(self, encoding: Encoding, *, kind: str = "") -> str:
        """As a clause; ``kind`` says which rows, if they are not those of training."""
        many = "nearly all" if self.share >= NEARLY_ALL else about(self.share)
        said = f"{many} of the {len(self.rows):,} {kind}rows with {self.parts[0].condition}"
        pairs = frequent_pairs(self._counts)
        if len(self.parts) > 1:
            return f"{said} are mislabelled, {directions(pairs, encoding)}"
        said = f"{said}, labelled {quoted(encoding.classes[self.parts[0].given])}, are mislabelled"
        right = [quoted(encoding.classes[true]) for _, true in pairs[:MOST_NAMED]]
        if not right:
            return said
        all_named = sum(self._counts[each] for each in pairs[:MOST_NAMED]) >= NEARLY_ALL * self.corrected
        return f"{said} and should be {' or '.join(right) if all_named else f'others, most often {right[0]}'}"

    def of_each_part(self) -> list[Extent]:
        """The same of the rows with one label."""
        return [replace(self, parts=(each,)) for each in self.parts]


def extent_of(one: Slice, by: Hypothesis, given: Codes) -> Extent:
    """Of one of the slices that a hypothesis accuses."""
    number = next(place for place, each in enumerate(by.slices, start=1) if each is one)
    inside = by.groups == number
    inside[one.members] = True
    wrong = corrections(by, given, np.flatnonzero(inside)).sum(axis=1)
    labels = np.flatnonzero(wrong > NAMED * wrong.max()).tolist() or [one.given]
    # Other labels were not searched for: how far they stand out is not known.
    unknown = replace(one, z=float("nan"), log_p_value=float("nan"))
    parts = [
        one if label == one.given else replace(unknown, given=label, members=np.flatnonzero(inside & (given == label)))
        for label in sorted(labels, key=lambda label: label != one.given)
    ]
    return Extent(tuple(parts), by, given)


def corrections(by: Hypothesis, given: Codes, rows: Rows) -> Floats:
    """How many labels of these rows a hypothesis corrects, (K, K) by given and true class."""
    size = by.posterior.shape[1]
    pairs = np.ravel_multi_index((given[rows], by.corrected(given, rows)), (size, size))
    counts = np.bincount(pairs, minlength=size * size).reshape(size, size).astype(np.float64)
    np.fill_diagonal(counts, 0.0)
    return counts


def frequent_pairs(counts: Floats) -> tuple[Pair, ...]:
    """Of counts (K, K) of labels by given and true class, the pairs with at least a tenth of all, most first."""
    order = np.argsort(-counts, axis=None, kind="stable").tolist()
    pairs = (divmod(place, len(counts)) for place in order)
    return tuple(each for each in pairs if counts[each] > 0 and counts[each] >= NAMED * counts.sum())


def directions(pairs: Sequence[Pair], encoding: Encoding) -> str:
    """'late' instead of 'punctual', and the like."""

    def one(pair: Pair) -> str:
        label, true = (quoted(encoding.classes[code]) for code in pair)
        return f"{label} instead of {true}"

    if not 0 < len(pairs) <= MOST_NAMED:
        return "in many directions"
    back = len(pairs) == 2 and pairs[0] == pairs[1][::-1]
    return f"{one(pairs[0])} and the other way round" if back else " or ".join(map(one, pairs))


def about(share: float) -> str:
    """A share in words: never 0%, nor 100% of what is not all."""
    if share < 0.005:
        return "less than 1%"
    return "more than 99%" if 0.995 <= share < 1.0 else f"about {share:.0%}"
