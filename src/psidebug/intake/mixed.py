"""Mixed columns as numbers: one transformer for any data frame, put together from scikit-learn's own encoders.

scikit-learn's ColumnTransformer would do the same for pandas; this one reads the columns through narwhals, so that it
takes pandas, polars and pyarrow alike, and texts as texts. Its parameters are lists of names, so that it can be cloned,
compared and saved without a function in the file.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import narwhals as nw
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.utils.validation import check_is_fitted

from psidebug.intake.words import LEAST_ROWS, presence, vocabulary
from psidebug.task.tables import Table, column_of, is_missing

Floats = npt.NDArray[np.float64]
Frame = nw.DataFrame[Any]

MISSING = "(missing)"
"""The category of rows that have none."""
MOST_CATEGORIES = 200
"""Rarer categories of a column share one place."""
LARGEST = 1e38
"""Trees take no larger numbers, and the squares of much larger ones overflow."""
WIDEST_DENSE = 500
"""More columns than this are kept sparse."""


class MixedColumns(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Numbers, dates, categories and texts of a data frame → one matrix.

    For a linear learner numbers and dates are standardised, with the median for what is missing and a column that says
    so, and categories have a column each. For trees (``for_trees``) numbers stay as they are, missing ones included,
    and categories are numbered. A date is its day, month, weekday and hour. A text is the set of its words;
    ``most_words`` limits them to the most frequent, for learners that cannot take a sparse matrix.
    """

    label_free = True

    def __init__(
        self,
        numbers: Sequence[str] = (),
        dates: Sequence[str] = (),
        categories: Sequence[str] = (),
        texts: Sequence[str] = (),
        for_trees: bool = False,
        most_words: int | None = None,
    ) -> None:
        self.numbers = numbers
        self.dates = dates
        self.categories = categories
        self.texts = texts
        self.for_trees = for_trees
        self.most_words = most_words

    def fit(self, table: Table, labels: Any = None) -> Self:
        """Learn scales, categories and words."""
        frame = nw.from_native(table, eager_only=True)
        self.quantities_ = self._quantities_encoder()
        if self.numbers or self.dates:
            self.quantities_.fit(self._quantities(frame))
        self.categories_ = self._categories_encoder()
        if self.categories:
            self.categories_.fit(self._categories(frame))
        self.words_ = {name: vocabulary(_texts(frame, name), most=self.most_words) for name in self.texts}
        return self

    def transform(self, table: Table) -> Any:
        """The matrix: dense, or sparse where there are words or many categories."""
        check_is_fitted(self)
        frame = nw.from_native(table, eager_only=True)
        blocks: list[Any] = []
        if self.numbers or self.dates:
            blocks.append(self.quantities_.transform(self._quantities(frame)))
        if self.categories:
            blocks.append(self.categories_.transform(self._categories(frame)))
        blocks += [presence(_texts(frame, name), self.words_[name]) for name in self.texts]
        width = sum(block.shape[1] for block in blocks)
        if width <= WIDEST_DENSE or self.most_words is not None or not any(map(sp.issparse, blocks)):
            return np.hstack([block.toarray() if sp.issparse(block) else block for block in blocks])
        return sp.csr_matrix(sp.hstack(blocks, format="csr"))

    def _quantities_encoder(self) -> Any:
        if self.for_trees:
            return SimpleImputer(strategy="constant", fill_value=np.nan, keep_empty_features=True)  # as they are
        return make_pipeline(
            SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True), StandardScaler()
        )

    def _categories_encoder(self) -> Any:
        kept = {"max_categories": MOST_CATEGORIES, "min_frequency": LEAST_ROWS, "dtype": np.float64}
        if self.for_trees:
            return OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, **kept)
        return OneHotEncoder(handle_unknown="infrequent_if_exist", **kept)

    def _quantities(self, frame: Frame) -> Floats:
        return np.hstack([_numbers(frame, self.numbers), *(_calendar(frame, name) for name in self.dates)])

    def _categories(self, frame: Frame) -> npt.NDArray[Any]:
        each = [_texts(frame, name, missing=MISSING) for name in self.categories]
        return np.array(each, dtype=object).reshape(len(each), -1).T


def _numbers(frame: Frame, names: Sequence[str]) -> Floats:
    """Columns of numbers, all at once; what is as good as infinite is no quantity to learn from, and is missing."""
    if not names:
        return np.empty((len(frame), 0))
    numbers = frame.select(nw.col(*names).cast(nw.Float64)).to_numpy()
    return np.where(np.abs(numbers) < LARGEST, numbers, np.nan)


def _calendar(frame: Frame, name: str) -> Floats:
    """Days since 1970, month, weekday, hour; NaN where there is no date."""
    dates = column_of(frame.to_native(), name).values.astype("datetime64[s]")
    days, months = dates.astype("datetime64[D]"), dates.astype("datetime64[M]")
    parts = (
        (dates - np.datetime64(0, "s")) / np.timedelta64(1, "D"),
        months.astype(np.int64) % 12 + 1,
        (days.astype(np.int64) + 3) % 7,  # 1970-01-01 was a Thursday
        (dates - days) / np.timedelta64(1, "h"),
    )
    return np.where(np.isnat(dates)[:, None], np.nan, np.column_stack(parts).astype(np.float64))


def _texts(frame: Frame, name: str, *, missing: str = "") -> list[str]:
    return [missing if is_missing(value) else str(value) for value in frame[name].to_list()]
