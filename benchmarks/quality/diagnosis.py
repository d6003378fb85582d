"""The automatic diagnosis on the paper's four tasks: errors found, set returned, validation error won back, cost.

Run ``PSI_DATA=folder python -m benchmarks.quality.diagnosis [data …]``; five seeds that nothing was tuned on. Every
line goes to ``results/diagnosis.csv`` as soon as it is measured; the table at the end has the mean of each cell.
Columns:

- ``p_at_n``: share of planted errors among the first n suspects, n planted; ``judge``: the same for the user's learner
  trained on the test set alone; ``knowing``: for the same learner told which slice it is, trained on clean labels of
  all other rows, test and validation set: what such a learner can reach at best;
- ``precision``, ``recall``, ``returned``: of the labels changed by default;
- ``first``: whether the planted condition is the first slice; ``won_back``: (noisy - repaired) / (noisy - clean) error;
- ``fits``: fits of the user's learner in the whole diagnosis; ``in_fits``: its time in the time of one fit.
"""

from __future__ import annotations

import platform
import sys
import time
import warnings
from collections import defaultdict
from typing import Any, get_args

import narwhals as nw
import numpy as np
import scipy.sparse as sp
import sklearn
from sklearn.base import clone

import psidebug
from benchmarks import RESULTS
from benchmarks.lines import write
from benchmarks.measures import precision_at_n
from psidebug.datasets import BENCHMARKS, Benchmark, Learner, Noise

SEEDS = range(5)
CELLS: dict[str, tuple[Noise, tuple[int, ...]]] = {
    "two_gaussians": ("random", (1000, 100)),
    "concentric": ("random", (2000, 100)),
    "income": ("systematic", (4000, 400, 100)),
    "sentiment": ("systematic", (400, 100)),
}


def cells(chosen: list[str]) -> list[tuple[str, Learner, Noise, int, int]]:
    """Data, learner, noise, test rows, seed; clean labels with the full test set only."""
    asked = {data: cell for data, cell in CELLS.items() if not chosen or data in chosen}
    kinds: list[tuple[str, Noise, int]] = [(data, noise, sizes[0]) for data, (noise, sizes) in asked.items()]
    kinds += [(data, "none", sizes[0]) for data, (_, sizes) in asked.items()]
    kinds += [(data, noise, size) for data, (noise, sizes) in asked.items() for size in sizes[1:]]
    return [
        (data, learner, noise, test, seed)
        for data, noise, test in kinds
        for learner in get_args(Learner)
        for seed in SEEDS
    ]


def measure(data: str, learner: Learner, noise: Noise, test: int, seed: int) -> dict[str, Any]:
    task: Benchmark = BENCHMARKS[data](seed, test=test, noise=noise)
    model = task.learner(learner)
    start = time.perf_counter()
    error = {"noisy": 1 - clone(model).fit(task.X_train, task.given).score(task.X_validation, task.y_validation)}
    one_fit = time.perf_counter() - start
    error["clean"] = 1 - clone(model).fit(task.X_train, task.clean).score(task.X_validation, task.y_validation)
    start = time.perf_counter()
    found = psidebug.debug(model, task.X_train, task.given, task.X_test, task.y_test)
    seconds = time.perf_counter() - start
    repaired = np.asarray(found.repaired_labels)
    error["repaired"] = 1 - clone(model).fit(task.X_train, repaired).score(task.X_validation, task.y_validation)
    wrong, changed = task.wrong, repaired != task.given
    n = int(wrong.sum())
    harm = error["noisy"] - error["clean"]
    knowing = _knowing(task, model)
    return {
        "data": data,
        "learner": learner,
        "noise": noise,
        "test": test,
        "seed": seed,
        "planted": str(task.planted),
        "n": n,
        "p_at_n": precision_at_n(found.order, wrong),
        "judge": precision_at_n(_judge(task, model), wrong),
        "knowing": None if knowing is None else precision_at_n(knowing, wrong),
        "precision": float(wrong[changed].mean()) if changed.any() else None,
        "recall": float(changed[wrong].mean()) if n else None,
        "returned": int(changed.sum()),
        "first": None if task.planted.fault is None else _first(found) == str(task.planted.fault.condition),
        "error_clean": error["clean"],
        "error_noisy": error["noisy"],
        "error_repaired": error["repaired"],
        "won_back": (error["noisy"] - error["repaired"]) / harm if n and abs(harm) > 1e-9 else None,
        "fits": int(found.settings.get("fits", 0)),
        "in_fits": seconds / one_fit,
        "seconds": seconds,
    }


def _judge(task: Benchmark, model: Any) -> np.ndarray:
    """Rows whose label a learner of the test set alone believes least, first."""
    return _disbelieved(clone(model).fit(task.X_test, task.y_test), task, np.ones(len(task.given), dtype=bool))


def _knowing(task: Benchmark, model: Any) -> np.ndarray | None:
    fault = task.planted.fault
    if fault is None:
        return None
    inside = fault.condition.holds(task.X_train)
    parts = [(_rows(task.X_train, ~inside), task.clean[~inside])]
    parts += [(task.X_test, task.y_test), (task.X_validation, task.y_validation)]
    features = _stacked([features for features, _ in parts])
    oracle = clone(model).fit(features, np.concatenate([labels for _, labels in parts]))
    return _disbelieved(oracle, task, inside & (task.given == fault.marked))


def _disbelieved(judge: Any, task: Benchmark, among: np.ndarray) -> np.ndarray:
    probability = judge.predict_proba(task.X_train)
    place = {label: column for column, label in enumerate(judge.classes_)}
    belief = np.array(
        [row[place[label]] if label in place else 0.0 for row, label in zip(probability, task.given, strict=True)]
    )
    return np.argsort(np.where(among, belief, 2.0), kind="stable")


def _rows(table: Any, mask: np.ndarray) -> Any:
    return table[mask] if isinstance(table, np.ndarray) or sp.issparse(table) else table[mask].reset_index(drop=True)


def _stacked(tables: list[Any]) -> Any:
    if isinstance(tables[0], np.ndarray):
        return np.concatenate(tables)
    return nw.concat([nw.from_native(table, eager_only=True) for table in tables]).to_native()


def _first(found: psidebug.Diagnosis) -> str | None:
    slices = nw.from_native(found.slices, eager_only=True)
    return slices["condition"][0] if len(slices) else None


def main() -> None:
    rows: list[dict[str, Any]] = []
    stamp = {"psidebug": psidebug.__version__, "python": platform.python_version(), "sklearn": sklearn.__version__}
    warnings.simplefilter("ignore")
    for cell in cells(sys.argv[1:]):
        row = {key: round(value, 3) if isinstance(value, float) else value for key, value in measure(*cell).items()}
        print(row, flush=True)
        rows.append(row | stamp)
        write(RESULTS / "diagnosis.csv", rows)
    print_means(rows)


def print_means(rows: list[dict[str, Any]]) -> None:
    """The mean of each cell over the seeds; won back as a ratio of sums, since single differences are noise."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        groups[row["data"], row["learner"], row["noise"], row["test"]].append(row)
    names = ("p_at_n", "judge", "knowing", "precision", "recall", "returned", "first", "fits", "in_fits")
    print(f"{'':42}" + "".join(f"{name:>11}" for name in (*names, "won_back")))
    for group, members in groups.items():
        means = []
        for name in names:
            values = [float(row[name]) for row in members if row[name] is not None]
            means.append(f"{np.mean(values):11.3f}" if values else f"{'':11}")
        harm = sum(row["error_noisy"] - row["error_clean"] for row in members)
        back = sum(row["error_noisy"] - row["error_repaired"] for row in members)
        means.append(f"{back / harm:11.3f}" if abs(harm) > 0.01 else f"{'':11}")
        print(f"{' '.join(map(str, group)):42}" + "".join(means))


if __name__ == "__main__":
    main()
