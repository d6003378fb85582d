"""``income``: census rows, income above 50,000 dollars or not, where one demographic was marked as high.

UCI Adult (Becker and Kohavi 1996), its training part of 32,561 rows.
"""

from __future__ import annotations

import csv
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.compose import make_column_transformer
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from psidebug.datasets.benchmark import Benchmark, Design, Sizes
from psidebug.datasets.faults import marked_demographic
from psidebug.datasets.noise import Noise
from psidebug.datasets.sources import Source
from psidebug.task.tables import Table, frame_like

FIELDS = [
    "age",
    "workclass",
    "sampling_weight",
    "education",
    "education_years",
    "marital_status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital_gain",
    "capital_loss",
    "hours_per_week",
    "native_country",
    "income",
]
NUMBERS = ["age", "education_years", "capital_gain", "capital_loss", "hours_per_week"]
# The weight says how many people a row stands for, nothing about them.
COLUMNS = [name for name in FIELDS if name not in ("sampling_weight", "income")]
CATEGORIES = [name for name in COLUMNS if name not in NUMBERS]
ORDINAL = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
INCOME = Design(
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


def income(seed: int, *, test: int = INCOME.sizes.test, noise: Noise = "systematic") -> Benchmark:
    """4,000 rows to train on, 4,000 to test, 8,000 to validate; five columns of numbers and eight of categories.

    Systematic noise marks all of a demographic, 7 to 13% of the training rows, as high income.
    """
    table = _census(INCOME.source.content())
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(table["income"]))

    def part(rows: slice) -> Table:
        return frame_like({name: table[name][order[rows]] for name in COLUMNS}, None)

    high = (table["income"][order] == ">50K").astype(np.intp)
    return INCOME.benchmark(part, high, test=test, noise=noise, rng=rng)


def _census(content: bytes) -> dict[str, npt.NDArray[Any]]:
    """Column by column; what is unknown stays the category "?" that the file writes for it."""
    rows = [row for row in csv.reader(content.decode("ascii").splitlines(), skipinitialspace=True) if row]
    table = {name: np.array(values, dtype=object) for name, values in zip(FIELDS, zip(*rows, strict=True), strict=True)}
    return {name: values.astype(np.float64) if name in NUMBERS else values for name, values in table.items()}
