"""Both sets column by column, as numbers or as codes of values: read once, for all causes that look at columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import kstwo, rankdata

from psidebug.causes.claim import Side
from psidebug.task.columns import Column, columns
from psidebug.task.data import Data
from psidebug.task.tables import is_missing

Floats = npt.NDArray[np.float64]
MISSING = -1
FREQUENT = 0.02
"""Share of the rows that a value must have to get an indicator of its own."""
MOST_INDICATORS = 12


@dataclass(frozen=True, eq=False)
class TwoSets:
    """One column in both sets: numbers, with NaN where there is none, or codes of values, with -1."""

    name: str
    train: npt.NDArray[Any]
    test: npt.NDArray[Any]
    values: tuple[Any, ...] | None
    """What the codes stand for; None of numbers."""

    @property
    def numeric(self) -> bool:
        """Whether these are numbers."""
        return self.values is None

    def of(self, side: Side) -> npt.NDArray[Any]:
        """The column in one of the sets."""
        return self.train if side == "training" else self.test

    def other(self, side: Side) -> npt.NDArray[Any]:
        """The column in the other set."""
        return self.test if side == "training" else self.train

    def present(self, side: Side) -> npt.NDArray[Any]:
        """Its values in one set, without the missing ones."""
        own = self.of(side)
        return np.asarray(own[np.isfinite(own)] if self.numeric else own[own != MISSING])

    @cached_property
    def differ(self) -> float:
        """How likely the two sets differ as they do by chance, p: by their distributions, or by their ends."""
        train, test = self.present("training"), self.present("test")
        return unlike(train, test) if self.values is not None else min(unlike(train, test), _beyond(train, test))

    def indicators(self) -> tuple[Floats, Floats]:
        """The column as numbers that can be correlated, (N, c) and (M, c): ranks, or frequent values there or not."""
        count = len(self.train)
        both = np.concatenate([self.train, self.test])
        if self.numeric:
            filled = np.where(np.isfinite(both), both, np.nan)
            ranks = np.full(len(both), np.nan)
            there = np.isfinite(filled)
            for part in (np.arange(len(both)) < count, np.arange(len(both)) >= count):
                own = part & there  # within each set: another unit in one of them is another matter
                ranks[own] = rankdata(filled[own]) / max(own.sum(), 1)
            ranks[~there] = 0.5
            made = ranks[:, None]
        else:
            shares = np.bincount(both[both != MISSING].astype(np.intp), minlength=1) / max(len(both), 1)
            frequent = [code for code in np.argsort(-shares)[:MOST_INDICATORS] if shares[code] >= FREQUENT]
            made = (
                np.stack([both == code for code in frequent], axis=1).astype(float)
                if frequent
                else np.empty((len(both), 0))
            )
        return made[:count], made[count:]


def unlike(one: Floats, other: Floats) -> float:
    """p of Kolmogorov and Smirnov's test; 1 where there is nothing to compare."""
    if len(one) < 5 or len(other) < 5:
        return 1.0
    return float(kstwo.sf(distance(one, other), np.round(len(one) * len(other) / (len(one) + len(other)))))


def _beyond(one: Floats, other: Floats) -> float:
    """p that k values of one set of numbers lie beyond all of the other, at one of the ends: (n / (n + m))^k."""
    if min(len(one), len(other)) < 5:
        return 1.0
    found = 1.0
    for own, than in ((one, other), (other, one)):
        most = max(int((own > than.max()).sum()), int((own < than.min()).sum()))
        found = min(found, 4.0 * (len(own) / (len(own) + len(than))) ** most)
    return found


def distance(one: Floats, other: Floats) -> float:
    """The largest difference of the two distribution functions."""
    if len(one) < 5 or len(other) < 5:
        return 0.0
    one, other = np.sort(one), np.sort(other)
    both = np.concatenate([one, other])
    shares = (np.searchsorted(each, both, side="right") / len(each) for each in (one, other))
    return float(np.abs(np.subtract(*shares)).max())


def both_sets(data: Data) -> list[TwoSets]:
    """Every column of the features; none of texts and of sparse features."""
    return list(_pairs(columns(data.train.features), columns(data.test.features)))


def _pairs(train: list[Column], test: list[Column]) -> Iterator[TwoSets]:
    for one, other in zip(train, test, strict=True):
        if one.numeric and other.numeric:
            yield TwoSets(str(one.name), one.values.astype(np.float64), other.values.astype(np.float64), None)
        elif not one.dated and not other.dated:
            yield coded(str(one.name), one.values, other.values)


def coded(name: str, train: npt.NDArray[Any], test: npt.NDArray[Any]) -> TwoSets:
    """A column of values, by their text, so that a cell of any kind can be compared."""
    texts = [[None if is_missing(each) else str(each) for each in part.tolist()] for part in (train, test)]
    values = sorted({each for part in texts for each in part if each is not None})
    place = {value: code for code, value in enumerate(values)}
    codes = [np.array([MISSING if each is None else place[each] for each in part], dtype=np.intp) for part in texts]
    return TwoSets(name, codes[0], codes[1], tuple(values))
