"""Cost of a tree gray box against the fit itself: LightGBM, 100 trees, profile and effects under the log-loss weights.

    python -m benchmarks.speed.trees [--large]

prints, for 4,000 × 107 and with --large also 1,000,000 × 50, the ratio of (profile + trace + effects of all rows) to
the fit, for each linear form, and the peak of extra memory as a share of the training matrix. One thread
throughout and CPU seconds, so that whatever else the machine does is not counted. Results are added to
results/trees.csv.
"""

from __future__ import annotations

import datetime
import importlib.metadata
import pathlib
import resource
import sys
import threading
import warnings
from functools import partial
from time import process_time
from typing import Any

import numpy as np
from lightgbm import LGBMClassifier

from benchmarks import RESULTS
from benchmarks.lines import read_lines, write
from benchmarks.speed.clock import best_of, seconds_of
from psidebug.graybox.trees.derivative import LeafDerivative
from psidebug.graybox.trees.ensemble import Ensemble
from psidebug.graybox.trees.linear import Leaf, LeafResidual
from psidebug.graybox.trees.refit import LeafRefit
from psidebug.task.task import Task


class PeakMemory:
    """Resident memory sampled every few milliseconds: numpy's and the libraries' alike."""

    def __enter__(self) -> PeakMemory:
        self._stop, self.extra = threading.Event(), 0
        self._before = _resident()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(0.005):
            self.extra = max(self.extra, _resident() - self._before)


def _resident() -> int:
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def rows_like(count: int, columns: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Half numbers, half 0/1 columns, a curved boundary with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, columns))
    X[:, columns // 2 :] = X[:, columns // 2 :] > 0.8
    z = X[:, 0] + np.abs(X[:, 1]) - X[:, 2] * X[:, -1] + X[:, -5:].sum(axis=1) + rng.logistic(size=count) * 0.5
    return X, (z > np.quantile(z, 0.7)).astype(int)


def measured(count: int, columns: int) -> list[dict[str, Any]]:
    X, y = rows_like(count + 4_000, columns, seed=0)
    model = LGBMClassifier(n_estimators=100, verbose=-1, n_jobs=1)
    train, test = slice(0, count), slice(count, None)
    times = 1 if count > 100_000 else 5
    fit = best_of(times, lambda: model.fit(X[train], y[train]), process_time)
    task = Task.of(model, X[train], y[train], X[test], y[test])
    results = []
    for box in (Leaf, LeafResidual, LeafDerivative):
        taken, extra = [], 0
        for _ in range(times):
            with PeakMemory() as peak:
                taken.append(seconds_of(partial(_effects, box, task), process_time))
            extra = max(extra, peak.extra)
        ratio, memory = min(taken) / fit, extra / X[train].nbytes
        print(
            f"{count:>9,} × {columns}  {box.name:16} fit {fit:6.2f} s  gray box {min(taken):6.2f} s  "
            f"ratio {ratio:.2f}  memory {memory:.2f} × the training matrix",
            flush=True,
        )
        results.append(_row(count, columns, box.name, fit, min(taken), memory))
    refit = LeafRefit(task)
    worlds = np.tile(task.train.codes, (1 if count > 100_000 else 25, 1))
    taken_refit = seconds_of(lambda: refit.margins(worlds), process_time) / len(worlds)
    print(f"{count:>9,} × {columns}  leaf_refit: {1000 * taken_refit:.1f} ms per world", flush=True)
    return results


def _effects(box: Any, task: Task) -> np.ndarray:
    graybox = box(task, Ensemble.of(task))
    effects: np.ndarray = graybox.effects(-1.0 / (1.0 + np.exp(graybox.actual)))
    return effects


def _row(count: int, columns: int, name: str, fit: float, graybox: float, memory: float) -> dict[str, Any]:
    return {
        "date": datetime.date.today().isoformat(),
        "lightgbm": importlib.metadata.version("lightgbm"),
        "numpy": np.__version__,
        "rows": count,
        "columns": columns,
        "graybox": name,
        "fit_cpu_seconds": round(fit, 3),
        "graybox_cpu_seconds": round(graybox, 3),
        "ratio": round(graybox / fit, 3),
        "extra_memory_of_matrix": round(memory, 3),
    }


def main() -> None:
    warnings.simplefilter("ignore")
    X, y = rows_like(400, 10, seed=1)  # once before the clock starts, so that imports are not counted
    small = LGBMClassifier(n_estimators=2, verbose=-1, n_jobs=1).fit(X[:300], y[:300])
    _effects(LeafDerivative, Task.of(small, X[:300], y[:300], X[300:], y[300:]))
    results = measured(4_000, 107)
    if "--large" in sys.argv:
        results += measured(1_000_000, 50)
    write(RESULTS / "trees.csv", [*read_lines(RESULTS / "trees.csv"), *results])


if __name__ == "__main__":
    main()
