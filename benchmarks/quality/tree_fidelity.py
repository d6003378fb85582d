"""How well each tree gray box follows real retraining, for every library.

The data are the paper's income task: in training every row of one group is labelled "low income". A random 5% of the
training labels is flipped, 25 times ("group") and 35 times more ("group of 60": the standard error of a rank
correlation of 0.88 is 0.05 with 25 draws, 0.03 with 60); the effect on the test log loss that the gray box predicts is
compared with that of the retrained model: rank correlation, and the slope of the regression of the real effect on the
predicted one (1 is right). The linear forms predict by their effects under the log-loss weights, as the log-loss
symptom uses them. Single flips are printed too: no gray box with fixed regions can follow those, since one flip moves
splits by chance. "retrain, one more flip" is retraining against itself with one more label flipped.

    PSI_DATA=<folder with adult.data.gz> python -m benchmarks.quality.tree_fidelity [library …]

Without PSI_DATA, or without the file, census-like data are generated. Results go to results/tree_fidelity.csv, rows of
the libraries that were not run again are kept.
"""

from __future__ import annotations

import datetime
import gzip
import importlib.metadata
import os
import pathlib
import pkgutil
import sys
import time
import warnings
from typing import Any

import numpy as np
from scipy.stats import spearmanr
from threadpoolctl import threadpool_limits

from benchmarks import RESULTS
from benchmarks.lines import read_lines, write
from psidebug.changes import Relabel
from psidebug.graybox.trees.derivative import LeafDerivative
from psidebug.graybox.trees.ensemble import Ensemble
from psidebug.graybox.trees.linear import Leaf, LeafResidual
from psidebug.graybox.trees.refit import LeafRefit, LeafRefits
from psidebug.task.task import Task
from psidebug.training.trainer import Trainer

TRAIN, TEST, DRAWS, MORE_DRAWS, SHARE, SINGLES, SEEDS = 4_000, 4_000, 25, 35, 0.05, 20, (0, 1)
NAMES = ["age", "workclass", "fnlwgt", "education", "education_num", "marital", "occupation"]
NAMES += ["relationship", "race", "sex", "gain", "loss", "hours", "country"]
NUMERIC = {"age", "fnlwgt", "education_num", "gain", "loss", "hours"}
LIGHTGBM = {"n_estimators": 100, "num_leaves": 15, "verbose": -1, "n_jobs": 1}
CATBOOST = {"iterations": 100, "depth": 4, "learning_rate": 0.1, "random_seed": 0, "thread_count": 1}
FOREST = {"n_estimators": 100, "random_state": 0}
MODELS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "lightgbm": ("lightgbm", "lightgbm.LGBMClassifier", LIGHTGBM),
    "lightgbm_bagged": ("lightgbm", "lightgbm.LGBMClassifier", LIGHTGBM | {"subsample": 0.7, "subsample_freq": 1}),
    "xgboost": (
        "xgboost-cpu",
        "xgboost.XGBClassifier",
        {"n_estimators": 100, "max_depth": 4, "learning_rate": 0.1, "n_jobs": 1},
    ),
    "catboost": ("catboost", "catboost.CatBoostClassifier", CATBOOST | {"verbose": 0, "allow_writing_files": False}),
    "sklearn_boosting": (
        "scikit-learn",
        "sklearn.ensemble.GradientBoostingClassifier",
        {"n_estimators": 100, "random_state": 0},
    ),
    "sklearn_histogram": (
        "scikit-learn",
        "sklearn.ensemble.HistGradientBoostingClassifier",
        {"max_iter": 100, "max_leaf_nodes": 15, "random_state": 0},
    ),
    "random_forest": ("scikit-learn", "sklearn.ensemble.RandomForestClassifier", FOREST | {"min_samples_leaf": 3}),
    "random_forest_grown_out": ("scikit-learn", "sklearn.ensemble.RandomForestClassifier", FOREST),
}
"""By name: the package, the class and its settings. A class is imported only when its turn comes."""


def income(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, str]:
    """One-hot census rows with their labels."""
    path = pathlib.Path(os.environ.get("PSI_DATA", "")) / "adult.data.gz"
    if not path.is_file():
        return (*census_like(TRAIN + TEST, rng), "census-like")
    with gzip.open(path, "rt") as lines:
        rows = [line.strip().split(", ") for line in lines if line.count(",") == 14]
    columns = dict(zip(NAMES, zip(*(row[:-1] for row in rows), strict=True), strict=True))
    parts = []
    for name, values in columns.items():
        if name in NUMERIC:
            parts.append(np.array(values, dtype=np.float64)[:, None])
        else:
            array = np.array(values)
            parts.append((array[:, None] == np.unique(array)).astype(np.float64))
    X, y = np.hstack(parts), np.array([row[-1].startswith(">") for row in rows]).astype(int)
    chosen = rng.permutation(len(y))[: TRAIN + TEST]
    return X[chosen], y[chosen], "income"


def census_like(count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Six numbers, eight categorical columns of ten values one-hot, a curved boundary, 25% positives."""
    numbers = rng.normal(size=(count, 6))
    codes = rng.integers(10, size=(count, 8))
    effects = rng.normal(size=(8, 10)) * 0.7
    z = numbers[:, 0] + np.abs(numbers[:, 1]) - 0.5 * numbers[:, 2] * (codes[:, 0] > 4)
    z += effects[np.arange(8), codes].sum(axis=1) + rng.logistic(size=count) * 0.7
    one_hot = (codes[:, :, None] == np.arange(10)).reshape(count, -1).astype(np.float64)
    return np.hstack([numbers, one_hot]), (z > np.quantile(z, 0.75)).astype(int)


def log_loss(margins: np.ndarray) -> np.ndarray:
    """Mean of log(1 + e^-m) over the test rows, by world; probabilities of 0 count as 1e-15."""
    return np.asarray(np.logaddexp(0.0, -np.maximum(margins[..., 0], np.log(1e-15))).mean(axis=-1))


def flipped(codes: np.ndarray, count: int, draws: int, rng: np.random.Generator) -> np.ndarray:
    worlds = np.tile(codes, (draws, 1))
    for world in worlds:
        rows = rng.choice(len(codes), count, replace=False)
        world[rows] = 1 - world[rows]
    return worlds


def retrained(task: Task, worlds: np.ndarray) -> np.ndarray:
    trainer = Trainer(task)
    return np.stack([trainer.trained(Relabel.of(task.data, world)).test for world in worlds])


def planted(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Labels with every row of one group set to 0: the 0/1 column whose positives are nearest to 10% of the rows."""
    groups = [j for j in range(X.shape[1]) if set(np.unique(X[:, j])) <= {0.0, 1.0}]
    shares = np.array([((X[:, j] == 1) & (y == 1)).mean() for j in groups])
    return np.where(X[:, groups[int(np.abs(shares - 0.1).argmin())]] == 1, 0, y)


def agreement(real: np.ndarray, predicted: np.ndarray) -> tuple[float, float]:
    """Rank correlation, and the slope of the regression of the real effect on the predicted one."""
    return float(spearmanr(real, predicted).statistic), float(np.polyfit(predicted, real, 1)[0])


def predicted_effect(graybox: Any, worlds: np.ndarray, now: float) -> np.ndarray:
    if not hasattr(graybox, "effects"):
        return log_loss(graybox.margins(worlds)) - now
    weights = -1.0 / (1.0 + np.exp(np.clip(graybox.actual, np.log(1e-15), None))) / len(graybox.actual)
    effects = graybox.effects(weights)
    return np.array([effects[np.arange(len(world)), world].sum() for world in worlds])


def measured(name: str, model: Any, data: tuple[np.ndarray, np.ndarray, str], seed: int) -> list[dict[str, Any]]:
    X, y, source = data
    task = Task.of(model, X[:TRAIN], planted(X[:TRAIN], y[:TRAIN]), X[TRAIN:], y[TRAIN:], seed=seed)
    rng = np.random.default_rng(seed)
    groups = flipped(task.train.codes, int(SHARE * TRAIN), DRAWS, rng)
    singles = flipped(task.train.codes, 1, SINGLES, rng)
    more = groups.copy()
    for world in more:
        row = rng.integers(TRAIN)
        world[row] = 1 - world[row]
    rest = flipped(task.train.codes, int(SHARE * TRAIN), MORE_DRAWS, np.random.default_rng([seed, DRAWS]))
    ensemble = Ensemble.of(task)
    now = float(log_loss(ensemble.actual[None])[0])
    all_groups, draws = np.concatenate([groups, rest]), {"group": DRAWS, "group of 60": DRAWS + MORE_DRAWS}
    real = {"group": log_loss(retrained(task, all_groups)) - now, "single": log_loss(retrained(task, singles)) - now}
    again = log_loss(retrained(task, more)) - now
    rows = []
    for box in (Leaf, LeafResidual, LeafRefit, LeafRefits, LeafDerivative):
        graybox = box(task, ensemble)
        for kind, worlds in (("group", all_groups), ("single", singles)):
            begin = time.perf_counter()
            predicted = predicted_effect(graybox, worlds, now)
            taken = round(1000 * (time.perf_counter() - begin) / len(worlds), 2)
            for flips, count in (draws if kind == "group" else {kind: SINGLES}).items():
                found = agreement(real[kind][:count], predicted[:count])
                rows.append(_row(name, source, graybox.name, flips, found, seed) | {"ms_per_world": taken})
    found = agreement(real["group"][:DRAWS], again)
    rows.append(_row(name, source, "retrain, one more flip", "group", found, seed))
    return rows


def _row(name: str, source: str, graybox: str, kind: str, found: tuple[float, float], seed: int) -> dict[str, Any]:
    print(
        f"{name:23} {source:12} seed {seed} {graybox:22} {kind:11} rank {found[0]:+.3f}  slope {found[1]:+.3f}",
        flush=True,
    )
    return {
        "date": datetime.date.today().isoformat(),
        "library": name,
        "version": importlib.metadata.version(MODELS[name][0]),
        "data": source,
        "graybox": graybox,
        "flips": kind,
        "seed": seed,
        "rank_correlation": round(found[0], 4),
        "slope": round(found[1], 4),
        "ms_per_world": "",
    }


def main() -> None:
    warnings.simplefilter("ignore")
    chosen = sys.argv[1:] or list(MODELS)
    with threadpool_limits(limits=1):  # threads would wait for each other on a busy machine
        for seed in SEEDS:
            data = income(np.random.default_rng(seed))
            for name in chosen:
                _, learner, settings = MODELS[name]
                save(measured(name, pkgutil.resolve_name(learner)(**settings), data, seed))


def save(rows: list[dict[str, Any]]) -> None:
    """Replace the rows of the same library, data and seed."""
    path = RESULTS / "tree_fidelity.csv"
    new = {(row["library"], row["data"], str(row["seed"])) for row in rows}
    kept = [row for row in read_lines(path) if (row["library"], row["data"], row["seed"]) not in new]
    write(path, sorted([*kept, *rows], key=lambda row: (row["library"], row["data"], str(row["seed"]))))


if __name__ == "__main__":
    main()
