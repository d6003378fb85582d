"""One mislabelled demographic in census data: what self-consistency finds, and what the test errors tell.

Run ``PSI_DATA=folder python -m benchmarks.quality.census`` with the UCI Adult training file ``adult.data.gz`` in the
folder. 4,000 rows to train on, 4,000 to test, 4,000 to validate; every "Unmarried" of the training set is marked high
income. Results go to ``results/census.csv``. These are the figures of the README.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import sklearn
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

import psidebug
from benchmarks import RESULTS
from benchmarks.lines import made_with, write

NAMES = (
    "age workclass fnlwgt education education_num marital occupation relationship race sex gain loss hours country y"
)
NUMBERS = ["age", "education_num", "gain", "loss", "hours"]
SEEDS = range(3)


def logistic(categories: list[str]) -> Any:
    encode = make_column_transformer((StandardScaler(), NUMBERS), (OneHotEncoder(handle_unknown="ignore"), categories))
    return make_pipeline(encode, LogisticRegression(max_iter=1000))


def trees(categories: list[str]) -> Any:
    encode = make_column_transformer(
        (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), categories), remainder="passthrough"
    )
    return make_pipeline(encode, lightgbm.LGBMClassifier(n_estimators=100, num_leaves=15, verbose=-1, n_jobs=1))


def self_confidence(model: Any, X: pd.DataFrame, y: np.ndarray) -> np.ndarray:
    """Rows by the probability that a model trained on the other folds gives to their label, lowest first."""
    probability = cross_val_predict(model, X, y, cv=5, method="predict_proba")
    return np.argsort(probability[np.arange(len(y)), np.searchsorted(np.unique(y), y)], kind="stable")


def measure(name: str, make: Callable[[list[str]], Any], census: pd.DataFrame, seed: int) -> dict[str, object]:
    income = np.where(census["y"].str.startswith(">50K"), "high", "low")
    features = census.drop(columns=["y", "fnlwgt"])
    order = np.random.default_rng(seed).permutation(len(census))
    train, test, validation = order[:4000], order[4000:8000], order[8000:12000]
    X, X_test, X_validation = (features.iloc[rows].reset_index(drop=True) for rows in (train, test, validation))
    clean = income[train]
    given = np.where(X["relationship"] == "Unmarried", "high", clean)
    wrong = given != clean
    n = int(wrong.sum())
    model = make([column for column in features if column not in NUMBERS])
    start = time.perf_counter()
    diagnosis = psidebug.debug(
        model, X, given, X_test, income[test], X_validation=X_validation, y_validation=income[validation]
    )
    seconds = time.perf_counter() - start
    assert diagnosis.correction is not None
    changed = diagnosis.repaired_labels != given
    effect = diagnosis.correction.verified
    assert effect.validation_before is not None
    assert effect.validation_after is not None
    doubted = self_confidence(model, X, given)
    return {
        "model": name,
        "seed": seed,
        "planted": n,
        "self_confidence_p_at_n": round(float(wrong[doubted[:n]].mean()), 3),
        "psi_p_at_n": round(float(wrong[diagnosis.order[:n]].mean()), 3),
        "corrected_precision": round(float(wrong[changed].mean()), 3),
        "corrected_recall": round(float(changed[wrong].mean()), 3),
        "validation_clean": round(1 - model.fit(X, clean).score(X_validation, income[validation]), 3),
        "validation_noisy": round(effect.validation_before.rate, 3),
        "validation_repaired": round(effect.validation_after.rate, 3),
        "explanation": diagnosis.correction.explanation,
        "seconds": round(seconds, 1),
    }


def main() -> None:
    folder = os.environ.get("PSI_DATA")
    if not folder:
        raise SystemExit("set PSI_DATA to the folder that holds adult.data.gz")
    census = pd.read_csv(Path(folder) / "adult.data.gz", header=None, names=NAMES.split(), skipinitialspace=True)
    rows: list[dict[str, object]] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, make in (("logistic regression", logistic), ("LightGBM", trees)):
            for seed in SEEDS:
                rows.append(measure(name, make, census, seed))
                print(rows[-1], flush=True)
    write(RESULTS / "census.csv", [row | made_with(sklearn) for row in rows])


if __name__ == "__main__":
    main()
