"""Real data: film reviews, census rows, and what comes with scikit-learn: breast cancer and handwritten digits.

``sentiment`` is the polarity dataset v2.0 of Pang and Lee (2004), 1,000 reviews of each class, as NLTK distributes it;
``income`` the training part of UCI Adult (Becker and Kohavi 1996), 32,561 rows.
"""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from psidebug.datasets.benchmark import Design, Sizes, shuffled
from psidebug.datasets.digits import handwritten
from psidebug.datasets.noise import Labels, marked_demographic, marked_word
from psidebug.datasets.sources import Source
from psidebug.task.tables import Table, frame_like


def _reviews() -> tuple[npt.NDArray[Any], Labels]:
    """Texts, and 1 where the review is positive, which its folder tells."""
    with zipfile.ZipFile(io.BytesIO(sentiment.source.content())) as archive:
        names = sorted(name for name in archive.namelist() if name.endswith(".txt"))
        texts = np.array([archive.read(name).decode("latin-1") for name in names], dtype=object)
    return texts, np.array(["/pos/" in name for name in names], dtype=np.intp)


WORDS = CountVectorizer(binary=True, min_df=3, dtype=np.float32)
sentiment = Design(
    name="sentiment",
    sizes=Sizes(train=1200, test=400, validation=400),
    columns="text",
    classes=("negative", "positive"),
    source=Source(
        home="Pang & Lee (2004), polarity v2.0, from NLTK",
        licence="by permission of the authors",
        file="movie_reviews.zip",
        url="https://raw.githubusercontent.com/nltk/nltk_data/gh-pages/packages/corpora/movie_reviews.zip",
        sha256="a41211ae685019137410268134db6a1a14428c89b671eb83056151a878539008",
    ),
    rows=shuffled(_reviews),
    usual="systematic",
    summary="every review with some word is marked negative (10% of the labels change)",
    fault=marked_word,
    encoders={"logistic": WORDS, "boosting": WORDS},
)
"""1,200 reviews to train on, 400 to test, 400 to validate; the features are about 14,000 words, there or not.

Systematic noise changes 10% of the labels: see :func:`psidebug.datasets.noise.marked_word`."""
FIELDS = [
    "age", "workclass", "sampling_weight", "education", "education_years", "marital_status", "occupation",
    "relationship", "race", "sex", "capital_gain", "capital_loss", "hours_per_week", "native_country", "income",
]  # fmt: skip
NUMBERS = ["age", "education_years", "capital_gain", "capital_loss", "hours_per_week"]
# The weight says how many people a row stands for, nothing about them.
COLUMNS = [name for name in FIELDS if name not in ("sampling_weight", "income")]
CATEGORIES = [name for name in COLUMNS if name not in NUMBERS]


def _people(rng: np.random.Generator, count: int) -> tuple[Callable[[slice], Table], Labels]:
    table = _census(income.source.content())
    order = rng.permutation(len(table["income"]))

    def part(rows: slice) -> Table:
        return frame_like({name: table[name][order[rows]] for name in COLUMNS}, None)

    return part, (table["income"][order] == ">50K").astype(np.intp)


def _census(content: bytes) -> dict[str, npt.NDArray[Any]]:
    """Column by column; an unknown value stays the category "?" of the file."""
    rows = [row for row in csv.reader(content.decode("ascii").splitlines(), skipinitialspace=True) if row]
    table = {name: np.array(values, dtype=object) for name, values in zip(FIELDS, zip(*rows, strict=True), strict=True)}
    return {name: values.astype(np.float64) if name in NUMBERS else values for name, values in table.items()}


ORDINAL = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
income = Design(
    name="income",
    sizes=Sizes(train=4000, test=4000, validation=8000),
    columns=len(COLUMNS),
    classes=("low", "high"),
    source=Source(
        home="UCI Adult, Becker & Kohavi (1996)",
        licence="CC BY 4.0",
        file="adult.data.gz",
        url="https://archive.ics.uci.edu/ml/machine-learning-databases/adult/adult.data",
        sha256="5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    ),
    rows=_people,
    usual="systematic",
    summary="all of a demographic (about 10% of the rows) is marked high income",
    fault=marked_demographic,
    encoders={
        "logistic": make_column_transformer(
            (StandardScaler(), NUMBERS), (OneHotEncoder(handle_unknown="ignore"), CATEGORIES)
        ),
        "boosting": make_column_transformer((ORDINAL, CATEGORIES), remainder="passthrough"),
    },
)
"""4,000 rows to train on, 4,000 to test, 8,000 to validate; five columns of numbers and eight of categories.

Systematic noise marks all of a demographic, 7 to 13% of the training rows, as high income."""
breast_cancer = Design(
    name="breast_cancer",
    sizes=Sizes(train=285, test=142, validation=142),
    columns=30,
    classes=("malignant", "benign"),
    source=Source(home="UCI breast cancer Wisconsin, by scikit-learn", licence="CC BY 4.0"),
    rows=shuffled(lambda: load_breast_cancer(return_X_y=True)),
    encoders={"logistic": StandardScaler()},
)
"""Tumours, malignant or benign, by 30 measurements of their cells: 285 to train on, 142 to test and validate."""
ten_digits = Design(
    name="ten_digits",
    sizes=Sizes(train=900, test=450, validation=447),
    columns=64,
    classes=tuple(map(str, range(10))),
    source=Source(home="UCI digits, by scikit-learn", licence="CC BY 4.0"),
    rows=shuffled(handwritten),
)
"""Handwritten digits of 8 × 8 pixels, ten classes: 900 to train on, 450 to test, 447 to validate."""


def _parity() -> tuple[npt.NDArray[Any], Labels]:
    pictures, written = handwritten()
    return pictures, written % 2


odd_even = replace(ten_digits, name="odd_even", classes=("even", "odd"), rows=shuffled(_parity))
"""The same digits, even against odd."""
