"""Columns from which nothing about other rows can be learned: ids, names of rows, and one value for all rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from psidebug import policy
from psidebug.checks.check import Check, columns_told
from psidebug.checks.pairs import Pair
from psidebug.task.data import Data
from psidebug.task.tables import is_frame

NAMES_SHARE = 0.9
"""If more than this share of short values are different, they are names of rows."""
NUMBERS_SHARE = 0.5
"""At least this share of the numbers from first to last is there if they number the rows: rows without a label may have
been left out. That 30 measurements, drawn from 60 values, are all different has a probability below e^-7."""
WORDS_OF_AN_ID = 1.5
"""Values of more words than this, on average, may be texts to some learner."""


def ids(data: Data, pairs: Iterable[Pair]) -> Check | None:
    """Columns that number or name the rows; the only column of texts is what it has to be."""
    if len(data.train.features.shape) == 1:
        return None
    found = [pair.name for pair in pairs if names_rows(pair)]
    if not found:
        return None
    return Check(
        "id-like columns",
        f"{columns_told(found)} another value in nearly every training row, as ids do: a model can only learn them by "
        f"heart. Leave {'it' if len(found) == 1 else 'them'} out.",
    )


def constants(data: Data, pairs: Iterable[Pair]) -> Check | None:
    """Columns that have one value, but not those of pixels and the like: a wide matrix without names has them."""
    features = data.train.features
    wide = not is_frame(features) and len(features.shape) == 2 and features.shape[1] > policy.PIXELS
    if wide or len(data.train) < policy.LEAST_ROWS_CHECKED:
        return None
    found = [pair.name for pair in pairs if _one_value(pair)]
    if not found:
        return None
    told, were = ("it", "it was") if len(found) == 1 else ("them", "they were")
    return Check(
        "constant columns",
        f"{columns_told(found)} one value in all training rows: nothing can be learned from {told}. Check how {were} "
        f"made, or leave {told} out.",
    )


def names_rows(pair: Pair) -> bool:
    """Whether the column of the training set tells rows apart and nothing else."""
    if pair.quantity:
        return not pair.dated and numbers_the_rows(pair.train)
    return pair.texts is not None and like_names(pair.texts, pair.distinct or 0, most_words=WORDS_OF_AN_ID)


def numbers_the_rows(values: npt.NDArray[Any]) -> bool:
    """Whether these are whole numbers that follow each other, gaps aside, each once, in order or from 0 or 1."""
    low, high = values.min().item(), values.max().item()
    few = len(values) < max(policy.LEAST_ROWS_CHECKED, NUMBERS_SHARE * (high - low + 1))
    if few or np.any(values != np.round(values)):
        return False
    return _rising(values) or (low in (0, 1) and _rising(np.sort(values)))


def like_names(texts: Any, distinct: int, *, most_words: float) -> bool:
    """Whether nearly every row has its own text, and a short one."""
    if len(texts) < policy.LEAST_ROWS_CHECKED or distinct < NAMES_SHARE * len(texts):
        return False
    return mean_words(texts) <= most_words


def mean_words(texts: Any) -> float:
    """Words of a text, on average."""
    return float(pc.mean(pc.count_substring_regex(texts, r"\S+")).as_py())


def _rising(values: npt.NDArray[Any]) -> bool:
    return bool(np.all(values[1:] > values[:-1]))


def _one_value(pair: Pair) -> bool:
    if not pair.quantity:
        return pair.distinct == 0 or (pair.distinct == 1 and bool((pair.train >= 0).all()))
    return bool(pair.train.min() == pair.train.max() or np.isnan(pair.train).all())
