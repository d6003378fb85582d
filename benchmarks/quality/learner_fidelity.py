"""How well the gray boxes of learners that are neither logistic nor trees follow real retraining, beside a surrogate.

Three data sets of scikit-learn, 400 training rows with one label in twenty wrong and 150 test rows, seeds 4 and 5 (the
widths of the hinge's corner were chosen on seeds 0 to 3, and which gray box networks get on seeds 1 and 2). 40 single
labels are moved, and 8 groups of 20. "margins" is the
rank correlation of what single flips do to all margins, predicted and real; changes below 1e-9 count as none. "gain"
is that of the fall of the test log loss, flip by flip; "groups" that of the groups' margins, each about its mean.

    python -m benchmarks.quality.learner_fidelity                                # all learners
    python -m benchmarks.quality.learner_fidelity "SVC, linear kernel"           # this one; the others' lines stay
"""

from __future__ import annotations

import csv
import sys
import warnings
from typing import Any

import numpy as np
from scipy.stats import spearmanr
from sklearn.datasets import load_breast_cancer, load_digits, make_classification
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from benchmarks import RESULTS
from benchmarks.lines import write
from psidebug.graybox.choose import graybox_for
from psidebug.graybox.protocol import LinearGrayBox
from psidebug.graybox.retrain import Retrain
from psidebug.margins import loss_weights
from psidebug.task.task import Task

FILE = RESULTS / "learner_fidelity.csv"
SEEDS, TRAIN, TEST, SINGLES, GROUPS, GROUP = (4, 5), 400, 150, 40, 8, 20
LEARNERS: dict[str, Any] = {
    "nearest neighbours": KNeighborsClassifier(),
    "nearest neighbours by distance": KNeighborsClassifier(weights="distance"),
    "Gaussian naive Bayes": GaussianNB(),
    "ridge": RidgeClassifier(),
    "LinearSVC, squared hinge": LinearSVC(dual=False, tol=1e-7, max_iter=100_000),
    "LinearSVC, hinge": LinearSVC(loss="hinge", tol=1e-5, max_iter=200_000, C=0.1),
    "SVC, Gaussian kernel": SVC(),
    "SVC, linear kernel": SVC(kernel="linear", C=0.1),
    "kernel logistic (Nystroem)": make_pipeline(Nystroem(random_state=0), LogisticRegression(tol=1e-8)),
    "SGD, hinge": SGDClassifier(alpha=0.01, random_state=0),
    "SGD, hinge, averaged": SGDClassifier(alpha=0.01, average=True, tol=None, max_iter=100, random_state=0),
    "MLP, lbfgs": MLPClassifier((50,), solver="lbfgs", alpha=1.0, max_iter=2000, random_state=0),
    "MLP, adam": MLPClassifier((50,), random_state=0),
}


def task_of(learner: Any, data: str, seed: int) -> Task:
    """Scaled features; every twentieth label is moved to another class."""
    if data == "made":
        X, y = make_classification(3000, 12, n_informative=6, flip_y=0.1, class_sep=0.8, random_state=0)
    else:
        X, y = (load_breast_cancer if data == "cancer" else load_digits)(return_X_y=True)
        kept = np.isin(y, [0, 1] if data == "cancer" else [3, 5, 8])
        X, y = X[kept], np.unique(y[kept], return_inverse=True)[1]
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(X))[: TRAIN + TEST]
    X, y = StandardScaler().fit_transform(X[order]), y[order]
    noisy = np.where(rng.random(len(y)) < 0.05, (y + 1) % (y.max() + 1), y)
    train = len(X) - TEST
    return Task.of(learner, X[:train], noisy[:train], X[train:], y[train:], seed=seed)


def moved(task: Task, labels: int, count: int, rng: np.random.Generator) -> np.ndarray:
    """Worlds in which this many labels have moved."""
    worlds = np.tile(task.train.codes, (count, 1))
    for world in worlds:
        rows = rng.choice(len(world), labels, replace=False)
        world[rows] = (world[rows] + rng.integers(1, task.encoding.size, labels)) % task.encoding.size
    return worlds


def correlation(said: np.ndarray, real: np.ndarray) -> float:
    return float(spearmanr(np.round(said, 9).ravel(), np.round(real, 9).ravel()).statistic)


def line(name: str, data: str, seed: int) -> list[dict[str, Any]]:
    """One line for the learner's own gray box, one for a surrogate in its place."""
    task, rng = task_of(LEARNERS[name], data, seed), np.random.default_rng(seed)
    singles, groups = moved(task, 1, SINGLES, rng), moved(task, GROUP, GROUPS, rng)
    retrain, actual = Retrain(task, workers=1), task.margins(task.learner, task.test)
    real, together = retrain.margins(singles) - actual, retrain.margins(groups)
    weights, lines = loss_weights(actual), []
    own = "mlp" if name.startswith("MLP") else "auto"
    for box in (graybox_for(task, own), graybox_for(task, "surrogate")):
        assert isinstance(box, LinearGrayBox)
        world, row = np.nonzero(singles != task.train.codes)
        said, groups_said = box.margins(singles) - actual, box.margins(groups)
        gain = box.effects(weights)[row, singles[world, row]]
        lines.append(
            {
                "learner": name,
                "data": data,
                "seed": seed,
                "gray box": box.name,
                "margins": round(correlation(said, real), 3),
                "gain": round(correlation(gain, (real * weights).sum(axis=(1, 2))), 3),
                "groups": round(
                    correlation(groups_said - groups_said.mean(axis=0), together - together.mean(axis=0)), 3
                ),
            }
        )
    return lines


def main(names: list[str]) -> None:
    warnings.simplefilter("ignore")
    lines = []
    for name in names or LEARNERS:
        for data in ("made", "cancer", "digits"):
            for seed in SEEDS:
                lines += line(name, data, seed)
        for box in dict.fromkeys(each["gray box"] for each in lines if each["learner"] == name):
            own = [each for each in lines if each["learner"] == name and each["gray box"] == box]
            means = "  ".join(
                f"{key} {np.mean([each[key] for each in own]):.2f}" for key in ("margins", "gain", "groups")
            )
            least = min(each["margins"] for each in own)
            print(f"{name:32} {box:12} {means}  least margins {least:.2f}", flush=True)
    if names:
        with FILE.open(newline="", encoding="utf-8") as file:
            lines += [each for each in csv.DictReader(file) if each["learner"] not in names]
        lines.sort(key=lambda each: list(LEARNERS).index(each["learner"]))
    write(FILE, lines)


if __name__ == "__main__":
    main(sys.argv[1:])
