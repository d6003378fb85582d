"""Similar training rows, by a cheap distance that ignores labels.

Numbers are standardised, other values are hashed to columns of their own, and the Euclidean distance counts. More than
:data:`WIDTH` columns are projected to that many, with a fixed seed, which keeps distances to about 1 / √WIDTH.
For texts it is the cosine of TF-IDF weighted words. Of more than :data:`MOST` rows (fewer for texts) an even part is
searched, so that an answer takes milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.feature_extraction import FeatureHasher
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.random_projection import GaussianRandomProjection

from psidebug.task.columns import column_of, columns
from psidebug.task.tables import Table, column_names, is_frame, is_missing, row_count, take

WIDTH = 64
MOST, MOST_TEXTS = 100_000, 20_000
BLOCK = 10_000
"""Rows that are encoded at a time."""
HASHED = 64
"""Columns for hashed values."""

Rows = npt.NDArray[np.intp]


class Similar:
    """An index of similar rows."""

    def __init__(self, table: Table, text: str | None = None, others: Table | None = None) -> None:
        """``text`` is the column that a person reads; ``others`` are rows that are not searched, but asked about."""
        of_words = len(table.shape) == 1 or (text is not None and text in map(str, column_names(table) or ()))
        count, most = row_count(table), MOST_TEXTS if of_words else MOST
        self._among: Rows = np.unique(np.linspace(0, count - 1, min(count, most)).astype(np.intp))
        self._table, self._others = table, others
        self._points = _words(table, text, self._among) if of_words else _numbers(table, self._among)
        begins = range(0, len(self._among), BLOCK)
        blocks = [self._points(take(table, self._among[begin : begin + BLOCK])) for begin in begins]
        every = sp.vstack(blocks) if sp.issparse(blocks[0]) else np.concatenate(blocks)
        self._index = NearestNeighbors(algorithm="brute", metric="cosine" if of_words else "euclidean").fit(every)
        self.rows = lru_cache(1024)(self._rows)

    def _rows(self, position: int, count: int, of_others: bool = False) -> tuple[int, ...]:
        """Positions of the ``count`` nearest rows, nearest first: to another row, or to one of ``others``."""
        table = self._others if of_others else self._table
        assert table is not None
        here, most = self._points(take(table, np.array([position]))), min(count + 1, len(self._among))
        near = self._among[self._index.kneighbors(here, most, return_distance=False)[0]]
        return tuple((near if of_others else near[near != position]).tolist()[:count])


def _numbers(table: Table, among: Rows) -> Callable[[Table], Any]:
    """Rows → points."""
    # Of all rows: in a few rows, where values are missing, a column may seem numeric.
    numeric = tuple(each.numeric for each in columns(table))
    sample = _raw(take(table, among[:: max(1, len(among) // BLOCK)]), numeric)
    steps: list[Any] = [StandardScaler(with_mean=not sp.issparse(sample))]
    if sample.shape[1] > WIDTH:
        steps.append(GaussianRandomProjection(WIDTH, random_state=0))
    encoder = make_pipeline(*steps).fit(sample)
    return lambda rows: encoder.transform(_raw(rows, numeric))


def _words(table: Table, text: str | None, among: Rows) -> Callable[[Table], Any]:
    """Rows → words of their texts, with TF-IDF weights."""

    def texts(rows: Table) -> Iterable[str]:
        return map(str, rows if len(rows.shape) == 1 else column_of(rows, str(text)).values)

    words = HashingVectorizer(n_features=2**18, norm=None, alternate_sign=False)
    weights = TfidfTransformer().fit(words.transform(texts(take(table, among))))
    return lambda rows: weights.transform(words.transform(texts(rows)))


def _raw(table: Table, numeric: Sequence[bool]) -> Any:
    """Rows as numbers: missing values are 0, other values are hashed with the name of their column."""
    if sp.issparse(table):
        return sp.csr_array(table, dtype=np.float32)
    if not is_frame(table) and table.dtype.kind in "biuf":
        return np.nan_to_num(table.astype(np.float32))
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
