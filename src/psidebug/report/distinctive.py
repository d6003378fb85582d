"""Which words and columns tell the given labels apart: simple figures of the training set, found once.

They say what a reader should look at first. They are no attribution: the learner is not asked.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from psidebug.slices.conditions import coded, words_of
from psidebug.task.columns import Column
from psidebug.task.labels import Codes, Encoding

Floats = npt.NDArray[np.float64]

GROUPS = 20
"""A column is cut into at most so many groups of rows."""
MOST_WORDS, LEAST_Z = 300, 3.0
"""At most so many words are marked, and none whose log odds are not so many standard errors from 0."""


def telling_words(texts: npt.NDArray[Any], codes: Codes, encoding: Encoding) -> dict[str, Any]:
    """Words, each with the class whose rows have it more often than the others do.

    By the log odds of a word's presence in class k against the rest, ½ added to each of the four counts a, b, c, d:
    z = log(ad / bc) / √(1/a + 1/b + 1/c + 1/d).
    """
    present, words = words_of(texts, least=5)
    if not words:
        return {}
    best, of = np.zeros(len(words)), np.zeros(len(words), dtype=np.intp)
    every = np.asarray(present.sum(axis=0), dtype=np.float64).ravel()
    for code in np.unique(codes):
        own = codes == code
        inside = np.asarray(present[np.flatnonzero(own)].sum(axis=0), dtype=np.float64).ravel()
        a, b = inside + 0.5, own.sum() - inside + 0.5
        c, d = every - inside + 0.5, (~own).sum() - every + inside + 0.5
        z = np.log(a * d / (b * c)) / np.sqrt(1 / a + 1 / b + 1 / c + 1 / d)
        of[z > best] = code
        best = np.maximum(best, z)
    first = np.argsort(-best, kind="stable")[:MOST_WORDS]
    return {words[word]: encoding.classes[of[word]] for word in first.tolist() if best[word] >= LEAST_Z}


def worth_of_column(column: Column, codes: Codes) -> float:
    """How much of the labels the column alone tells: Goodman and Kruskal's τ, from 0 to 1.

    With n_gk rows of group g and class k: τ = (Σ_gk n_gk² / (n n_g) - Σ_k p_k²) / (1 - Σ_k p_k²). Numbers are grouped
    at their quantiles, other values by their kind, the rare ones together.
    """
    groups = _groups(column)
    classes = int(codes.max()) + 1
    counts = np.bincount(groups * classes + codes, minlength=(int(groups.max()) + 1) * classes).reshape(-1, classes)
    return float(_tau(counts[:, None, :].astype(np.float64))[0])


def is_constant(column: Column) -> bool:
    """Whether all rows have the same value, or none."""
    values = column.values
    if column.dated or column.numeric:
        missing = np.isnat(values) if column.dated else np.isnan(values)
        return bool((values == values[0]).all() or missing.all())
    codes, _ = coded(values if values.dtype == object else values.astype(object))
    return bool((codes == codes[0]).all())


def worth_of_entries(matrix: Any, codes: Codes) -> Floats:
    """The same of each column of a sparse matrix, whose rows make two groups: with an entry, and without."""
    present = sp.csr_array(matrix) != 0
    classes = np.unique(codes)
    inside = np.stack([np.asarray(present[np.flatnonzero(codes == code)].sum(axis=0)).ravel() for code in classes], 1)
    sizes = np.array([(codes == code).sum() for code in classes], dtype=np.float64)
    return _tau(np.stack([inside.astype(np.float64), sizes - inside]))


def _tau(counts: Floats) -> Floats:
    """τ of tables (groups, tables, classes)."""
    rows = counts[:, 0, :].sum()
    within = (counts**2).sum(axis=2) / np.maximum(counts.sum(axis=2), 1.0)
    chance = ((counts[:, 0, :].sum(axis=0) / rows) ** 2).sum()
    return np.asarray((within.sum(axis=0) / rows - chance) / max(1.0 - chance, 1e-12))


def _groups(column: Column) -> npt.NDArray[np.intp]:
    values = column.values
    if column.dated:
        values = np.where(np.isnat(values), np.nan, values.astype("datetime64[s]").astype(np.float64))
    if column.dated or column.numeric:
        numbers = values.astype(np.float64)
        known = numbers[np.isfinite(numbers)]
        cuts = np.unique(np.quantile(known, np.linspace(0, 1, GROUPS)[1:-1])) if known.size else np.empty(0)
        return np.where(np.isfinite(numbers), np.searchsorted(cuts, numbers), len(cuts) + 1).astype(np.intp)
    codes, _ = coded(values if values.dtype == object else values.astype(object))
    _, frequent = np.unique(codes, return_inverse=True)
    place = np.empty(int(frequent.max()) + 1, dtype=np.intp)
    place[np.argsort(-np.bincount(frequent), kind="stable")] = np.arange(len(place))
    return np.minimum(place[frequent], GROUPS - 1)
