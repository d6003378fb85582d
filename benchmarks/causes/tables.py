"""Five tables in which a cause is planted: rows with named columns, right labels, and a learner for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from psidebug.datasets import BENCHMARKS
from psidebug.task.learner import Classifier

Labels = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Tables:
    """Three sets of rows with their labels."""

    name: str
    X_train: pd.DataFrame
    y_train: Labels
    X_test: pd.DataFrame
    y_test: Labels
    X_validation: pd.DataFrame
    y_validation: Labels
    metadata: pd.DataFrame
    """About training rows: where they came from, and when."""

    @property
    def numbers(self) -> list[str]:
        """Columns of numbers."""
        return [name for name in self.X_train if pd.api.types.is_numeric_dtype(self.X_train[name])]

    @property
    def categories(self) -> list[str]:
        """The others."""
        return [name for name in self.X_train if name not in self.numbers]

    def learner(self, kind: str) -> Classifier:
        """ "logistic" or "boosting", for such columns; it takes missing values."""
        if kind == "boosting":
            from lightgbm import LGBMClassifier

            final: Classifier = LGBMClassifier(n_estimators=60, num_leaves=15, n_jobs=1, verbose=-1)
        else:
            final = LogisticRegression(max_iter=1000)
        if kind == "boosting":
            ordinal = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
            encoder = make_column_transformer((ordinal, self.categories), remainder="passthrough")
        else:
            filled = make_pipeline(SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler())
            one_hot = OneHotEncoder(handle_unknown="ignore", min_frequency=5)
            encoder = make_column_transformer((filled, self.numbers), (one_hot, self.categories))
        return make_pipeline(encoder, final)

    def rows(self, part: str, kept: npt.NDArray[Any]) -> Tables:
        """With some rows of one set."""
        parts: dict[str, Any] = {
            f"X_{part}": getattr(self, f"X_{part}").iloc[kept].reset_index(drop=True),
            f"y_{part}": getattr(self, f"y_{part}")[kept],
        }
        if part == "train":
            parts["metadata"] = self.metadata.iloc[kept].reset_index(drop=True)
        return replace(self, **parts)


@dataclass(frozen=True)
class Sizes:
    """Rows of the three sets."""

    train: int
    test: int
    validation: int


def _people(rng: np.random.Generator) -> tuple[pd.DataFrame, Labels]:
    made = BENCHMARKS["income"](int(rng.integers(2**31)), noise="none")
    X = pd.concat([pd.DataFrame(made.X_train), pd.DataFrame(made.X_test), pd.DataFrame(made.X_validation)])
    y = np.concatenate([made.clean, made.y_test, made.y_validation])
    return X, np.array(["<=50K", ">50K"], dtype=object)[y]


def _tumours(rng: np.random.Generator) -> tuple[pd.DataFrame, Labels]:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    order = rng.permutation(len(y))
    names = [name.replace(" ", "_") for name in X.columns]
    return X.set_axis(names, axis=1).iloc[order], np.array(["malignant", "benign"], dtype=object)[y.to_numpy()[order]]


def _digits(rng: np.random.Generator) -> tuple[pd.DataFrame, Labels]:
    X, y = load_digits(return_X_y=True, as_frame=True)
    order = rng.permutation(len(y))
    return X.iloc[order], y.to_numpy()[order].astype(str).astype(object)


def _shop(rng: np.random.Generator) -> tuple[pd.DataFrame, Labels]:
    """Orders that come back or not: numbers that hang together, and categories."""
    n = 8_000
    age = np.clip(rng.gamma(9.0, 4.5, n), 18, 95).round()
    price = np.exp(rng.normal(3.4 + 0.01 * (age - 40), 0.6)).round(2)
    items = 1 + rng.poisson(1.2, n)
    weight = (0.3 * items * rng.gamma(4.0, 0.25, n)).round(3)
    days = np.clip(rng.normal(4 + weight, 1.5), 1, None).round(1)
    rating = np.clip(rng.normal(4.2 - 0.12 * (days - 4), 0.5), 1, 5).round(1)
    kind = rng.choice(["shoes", "dress", "coat", "shirt", "hat"], n, p=[0.3, 0.25, 0.15, 0.2, 0.1])
    country = rng.choice(["de", "fr", "it", "es", "nl", "pl"], n, p=[0.3, 0.2, 0.15, 0.15, 0.1, 0.1])
    channel = np.where(rng.random(n) < 1 / (1 + np.exp((age - 45) / 10)), "app", rng.choice(["web", "store"], n))
    worth = {"shoes": 0.9, "dress": 1.3, "coat": 0.2, "shirt": -0.6, "hat": -1.0}
    score = (
        -0.6 + 1.1 * (np.log(price) - 3.4) - 0.05 * (age - 40) + 0.35 * (days - 5) - 1.1 * (rating - 4.1)
        + np.vectorize(worth.get)(kind) + np.where(channel == "store", -1.2, 0.0) + 0.25 * (items - 2)
    )  # fmt: skip
    back = rng.random(n) < 1 / (1 + np.exp(-1.6 * score))
    X = pd.DataFrame(
        {"age": age, "price": price, "items": items, "weight_kg": weight, "days": days, "rating": rating,
         "kind": kind, "country": country, "channel": channel}
    )  # fmt: skip
    return X, np.where(back, "returned", "kept").astype(object)


def _sensors(rng: np.random.Generator) -> tuple[pd.DataFrame, Labels]:
    """Three kinds of faults by eight sensors, correlated, with curved borders."""
    n = 8_000
    hidden = rng.normal(size=(n, 3))
    mixed = hidden @ rng.normal(size=(3, 8)) + 0.5 * rng.normal(size=(n, 8))
    scale = np.array([1.0, 20.0, 0.05, 300.0, 5.0, 80.0, 2.0, 10.0])
    score = np.stack([1.6 * hidden[:, 0], 1.6 * hidden[:, 1], 1.2 * hidden[:, 2] + 0.4 * hidden[:, 0]], axis=1)
    y = (score + 0.6 * rng.gumbel(size=score.shape)).argmax(axis=1)
    X = pd.DataFrame(50 * scale + 8 * scale * mixed, columns=[f"sensor_{i}" for i in range(1, 9)])
    X["line"] = rng.choice(["A", "B", "C"], n)
    return X, np.array(["ok", "worn", "broken"], dtype=object)[y]


DATA: Mapping[str, tuple[Callable[[np.random.Generator], tuple[pd.DataFrame, Labels]], Sizes]] = {
    "census": (_people, Sizes(3_000, 1_000, 1_500)),
    "shop": (_shop, Sizes(3_000, 1_000, 1_500)),
    "sensors": (_sensors, Sizes(2_000, 800, 1_500)),
    "digits": (_digits, Sizes(800, 400, 597)),
    "tumours": (_tumours, Sizes(280, 140, 149)),
}


def tables(name: str, seed: int) -> Tables:
    """One of the five; other seeds have other rows."""
    rows, sizes = DATA[name]
    rng = np.random.default_rng([seed, sorted(DATA).index(name)])
    X, y = rows(rng)
    ends = np.cumsum([sizes.train, sizes.test, sizes.validation])
    cut = [slice(begin, end) for begin, end in zip([0, *ends], ends, strict=False)]
    parts = [X.iloc[each].reset_index(drop=True) for each in cut]
    about = pd.DataFrame(
        {
            "source": rng.choice(["north", "south", "east"], sizes.train, p=[0.4, 0.3, 0.3]),
            "date": pd.Timestamp("2025-01-01") + pd.to_timedelta(np.sort(rng.integers(0, 365, sizes.train)), unit="D"),
        }
    )
    return Tables(name, parts[0], y[cut[0]], parts[1], y[cut[1]], parts[2], y[cut[2]], about)
