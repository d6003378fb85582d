"""Similar training rows, by a cheap distance that ignores labels.

Numbers are standardised, other values are hashed to columns of their own, and the Euclidean distance counts. More than
:data:`WIDTH` columns are projected to that many, with a fixed seed, which keeps distances to about 1 / √WIDTH.
For texts it is the cosine of TF-IDF weighted words. Of more than :data:`MOST` rows (fewer for texts) an even part is
searched, so that an answer takes milliseconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from psidebug.task.tables import Table, column_names, column_of, columns, is_frame, is_missing, row_count, take

WIDTH = 64
MOST, MOST_TEXTS = 100_000, 20_000
BLOCK = 10_000
"""Rows that are encoded at a time."""
HASHED = 64
"""Columns for hashed values."""

Floats = npt.NDArray[np.float32]
Rows = npt.NDArray[np.intp]


class Similar:
    """An index of similar rows."""

    def __init__(self, table: Table, text: str | None = None) -> None:
        """``text`` is the column that a person reads."""
        self._texts = len(table.shape) == 1 or (text is not None and text in map(str, column_names(table) or ()))
        count = row_count(table)
        most = MOST_TEXTS if self._texts else MOST
        self._among: Rows = np.unique(np.linspace(0, count - 1, min(count, most)).astype(np.intp))
        self._make = _Words(table, text, self._among) if self._texts else _Numbers(table, self._among)
        self.rows = lru_cache(1024)(self._rows)

    def _rows(self, position: int, count: int) -> tuple[int, ...]:
        """Positions of the ``count`` nearest other rows, nearest first."""
        near = self._make.nearness(self._make.of(position))
        near[self._among == position] = -np.inf
        best = np.argpartition(-near, min(count, len(near) - 1))[:count]
        best = best[np.argsort(-near[best], kind="stable")]
        return tuple(int(each) for each in self._among[best] if each != position)


class _Numbers:
    """Rows as points; the nearest have the least squared distance |x|² − 2 x·z + |z|²."""

    def __init__(self, table: Table, among: Rows) -> None:
        self._table = table
        # Of all rows: in a few rows, where values are missing, a column may seem numeric.
        self._numeric = tuple(each.numeric for each in columns(table))
        sample = take(table, among[:: max(1, len(among) // BLOCK)])
        raw = _raw(sample, self._numeric)
        self._mean = np.asarray(raw.mean(axis=0)).ravel().astype(np.float32)
        square = raw.multiply(raw).mean(axis=0) if sp.issparse(raw) else (raw**2).mean(axis=0)
        spread = np.sqrt(np.maximum(np.asarray(square).ravel() - self._mean**2, 0.0))
        self._scale = np.where(spread > 0, 1.0 / np.where(spread > 0, spread, 1.0), 0.0).astype(np.float32)
        width = raw.shape[1]
        chance = np.random.default_rng(0)
        self._project: Floats | None = None
        if width > WIDTH:
            self._project = (chance.normal(size=(width, WIDTH)) / np.sqrt(WIDTH)).astype(np.float32)
        blocks = [self._points(among[begin : begin + BLOCK]) for begin in range(0, len(among), BLOCK)]
        self._all: Floats = np.concatenate(blocks)
        self._norms: Floats = np.einsum("ij,ij->i", self._all, self._all)

    def of(self, position: int) -> Floats:
        return np.asarray(self._points(np.array([position]))[0])

    def nearness(self, point: Floats) -> Floats:
        return np.asarray(2.0 * (self._all @ point) - self._norms, dtype=np.float32)

    def _points(self, positions: Rows) -> Floats:
        raw = _raw(take(self._table, positions), self._numeric)
        if self._project is None:
            dense = raw.toarray() if sp.issparse(raw) else raw
            return np.asarray((dense - self._mean) * self._scale, dtype=np.float32)
        weighed = self._scale[:, None] * self._project  # distances do not depend on the mean
        return np.asarray(raw @ weighed, dtype=np.float32)


class _Words:
    """Texts by their words, with TF-IDF weights; the nearest have the largest cosine."""

    def __init__(self, table: Table, text: str | None, among: Rows) -> None:
        from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer

        self._texts = table if len(table.shape) == 1 else column_of(table, str(text)).values
        self._words = HashingVectorizer(n_features=2**18, norm=None, alternate_sign=False)
        counted = self._words.transform(map(str, self._texts[among]))
        self._rarity = TfidfTransformer().fit(counted)
        self._all = sp.csr_array(self._rarity.transform(counted))

    def of(self, position: int) -> Any:
        return sp.csr_array(self._rarity.transform(self._words.transform([str(self._texts[position])])))

    def nearness(self, point: Any) -> Floats:
        return np.asarray((self._all @ point.T).toarray().ravel(), dtype=np.float32)


def _raw(table: Table, numeric: Sequence[bool]) -> Any:
    """Rows as numbers: missing values are 0, other values are hashed with the name of their column."""
    if sp.issparse(table):
        return sp.csr_array(table, dtype=np.float32)
    if not is_frame(table) and table.dtype.kind in "biuf":
        return np.nan_to_num(table.astype(np.float32))
    from sklearn.feature_extraction import FeatureHasher

    every = columns(table)
    kinds = list(zip(every, numeric, strict=True))
    numbers = [np.nan_to_num(each.values.astype(np.float32)) for each, number in kinds if number]
    words = [[f"{each.name}={_word(one)}" for one in each.values.tolist()] for each, number in kinds if not number]
    parts = [np.stack(numbers, axis=1)] if numbers else []
    if words:
        hasher = FeatureHasher(HASHED, input_type="string", alternate_sign=False)
        parts.append(hasher.transform(map(list, zip(*words, strict=True))).toarray().astype(np.float32))
    return np.concatenate(parts, axis=1)


def _word(value: Any) -> str:
    """A value as a word that does not depend on the other rows: 1 is never 1.0."""
    if is_missing(value):
        return ""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
