"""The learner when no model is given: a classifier behind :class:`MixedColumns`, which turns columns into numbers.

scikit-learn's ColumnTransformer does the same for pandas; this one reads columns through narwhals, so it takes pandas,
polars and pyarrow alike. Its parameters are lists of names: it can be cloned, compared and saved without a function in
the file.

A text is the set of its words, as in scikit-learn's binary CountVectorizer; but each text is split once. A diagnosis
fits and asks the learner dozens of times about the same texts, and splitting them would take most of that time.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Self

import narwhals as nw
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.utils.validation import check_is_fitted

from psidebug.errors import UnknownOption
from psidebug.intake.plan import Plan
from psidebug.task.columns import column_of
from psidebug.task.tables import Table, is_missing

Floats = npt.NDArray[np.float64]
Frame = nw.DataFrame[Any]

NAMES = {
    "logistic": "logistic regression",
    "boosting": "boosted trees of scikit-learn",
    "lightgbm": "LightGBM",
    "xgboost": "XGBoost",
    "forest": "a random forest",
}
LEARNERS = tuple(NAMES)
MOST_WORDS = 1000
"""Words for boosted trees of scikit-learn, which take no sparse matrix."""
WORD = re.compile(r"(?u)\b\w\w+\b")
"""scikit-learn's: two letters or more."""
LEAST_ROWS = 3
"""Texts that must contain a word, and rows that must have a category."""
MISSING = "(missing)"
"""The category of missing values."""
MOST_CATEGORIES = 200
"""Rarer categories of a column share one column."""
LARGEST = 1e38
"""Trees take no larger numbers, and the squares of much larger ones overflow."""
WIDEST_DENSE = 500
"""More columns than this are kept sparse."""


def learner_for(name: str, plan: Plan, *, seed: int = 0) -> Any:
    """An unfitted Pipeline of the encoder for these columns and the learner of this name; chance has this seed."""
    if name not in LEARNERS:
        raise UnknownOption(f"learner={name!r} is not one of {', '.join(LEARNERS)}.")
    columns = MixedColumns(
        numbers=list(plan.numbers),
        dates=list(plan.dates),
        categories=list(plan.categories),
        texts=list(plan.texts),
        for_trees=name != "logistic",
        most_words=MOST_WORDS if name == "boosting" else None,
    )
    return Pipeline([("columns", columns), (name, _classifier(name, seed))])


def _classifier(name: str, seed: int) -> Any:
    if name in ("lightgbm", "xgboost") and importlib.util.find_spec(name) is None:
        raise UnknownOption(
            f"the learner {name} needs {NAMES[name]}, which is not installed. Run: pip install 'psidebug[{name}]'."
        )
    match name:
        case "boosting":
            from sklearn.ensemble import HistGradientBoostingClassifier

            return HistGradientBoostingClassifier(early_stopping=False, max_leaf_nodes=15, random_state=seed)
        case "lightgbm":
            from lightgbm import LGBMClassifier

            return LGBMClassifier(num_leaves=15, random_state=seed, n_jobs=1, deterministic=True, verbose=-1)
        case "xgboost":
            from xgboost import XGBClassifier

            return XGBClassifier(n_estimators=100, max_depth=4, learning_rate=0.1, random_state=seed, n_jobs=1)
        case "forest":
            from sklearn.ensemble import RandomForestClassifier

            return RandomForestClassifier(200, min_samples_leaf=3, random_state=seed)
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=1000)


class MixedColumns(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Numbers, dates, categories and texts of a data frame → one matrix.

    For a linear learner, numbers and dates are standardised, missing ones are the median with an indicator column, and
    categories are one-hot. For trees (``for_trees``), numbers stay as they are, missing ones included, and categories
    are ordinal. A date is its day, month, weekday and hour. ``most_words`` limits the words of a text to the most
    frequent, for learners that cannot take a sparse matrix.
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
    """Columns of numbers; a number that is infinite or nearly so counts as missing."""
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


@lru_cache(maxsize=20_000)
def words_in(text: str) -> tuple[str, ...]:
    """The different words of a text, in lower case."""
    return tuple(sorted({sys.intern(word) for word in WORD.findall(text.lower())}))


def vocabulary(texts: Sequence[str], *, most: int | None = None) -> dict[str, int]:
    """The words that are in enough texts, each with its column, in alphabetical order; the ``most`` frequent ones."""
    counts = Counter(word for text in texts for word in words_in(text))
    frequent = sorted(counts, key=lambda word: (-counts[word], word))[:most]
    return {word: column for column, word in enumerate(sorted(w for w in frequent if counts[w] >= LEAST_ROWS))}


def presence(texts: Sequence[str], words: Mapping[str, int]) -> sp.csr_matrix:
    """(texts, words), 1 where the word is in the text."""
    rows = [[words[word] for word in words_in(text) if word in words] for text in texts]
    columns = np.array([column for row in rows for column in row], dtype=np.int32)
    ends = np.cumsum([0, *map(len, rows)], dtype=np.int32)
    return sp.csr_matrix((np.ones(len(columns)), columns, ends), shape=(len(texts), len(words)))
