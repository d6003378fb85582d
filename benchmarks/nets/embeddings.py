"""Embeddings without a model, alone in a process: ``python -m benchmarks.nets.embeddings rank|decide`` prints JSON.

50,000 rows of 512 numbers in single precision, ten classes, 5% of the labels wrong at random, 1,000 test rows; about a
tenth of the test rows are misclassified. The peak is that of the whole process, the rows and the interpreter included.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.metrics import average_precision_score

from benchmarks import CHECKOUT
from benchmarks.nets.line import Line

ROWS, TESTS, WIDTH, CLASSES = 50_000, 1_000, 512, 10
RATE, NOISE, APART = 0.05, 0.25, 0.78
EFFORTS = ("rank", "decide")
NAME = f"{ROWS:,} × {WIDTH} embeddings"


def embedding_lines(seed: int) -> Iterator[Line]:
    """Processor seconds and peak memory of either effort, each in a fresh process on one thread."""
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    for effort in EFFORTS:
        command = [sys.executable, "-m", "benchmarks.nets.embeddings", effort, str(seed)]
        told = subprocess.run(command, check=True, capture_output=True, cwd=CHECKOUT, env=os.environ | threads)
        found = json.loads(told.stdout)
        for measure, value in found["measures"].items():
            yield Line(NAME, "random", seed, measure, f"Psi, {effort}", value, found["seconds"])


def _drawn(seed: int) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Rows of all sets, their right labels, and the training labels as given."""
    rng = np.random.default_rng(seed)
    right = rng.integers(CLASSES, size=ROWS + TESTS)
    centres = (rng.normal(size=(CLASSES, WIDTH)) * APART / WIDTH**0.5).astype(np.float32)
    X = rng.standard_normal((ROWS + TESTS, WIDTH), dtype=np.float32)
    X *= NOISE
    for row, each in zip(X, right, strict=True):  # in place: nothing but the rows is ever held
        row += centres[each]
    wrong = rng.random(ROWS) < RATE
    return X, right, np.where(wrong, (right[:ROWS] + rng.integers(1, CLASSES, ROWS)) % CLASSES, right[:ROWS])


def _measured(effort: Any, seed: int) -> dict[str, object]:
    import psidebug

    X, right, given = _drawn(seed)
    begun = time.process_time()
    found = psidebug.debug(None, X[:ROWS], given, X[ROWS:], right[ROWS:], effort=effort, rng=seed)
    seconds = time.process_time() - begun
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    measures = {"processor seconds": seconds, "peak MB": peak}
    if found.p_wrong is not None:
        measures["average precision"] = float(average_precision_score(given != right[:ROWS], found.p_wrong))
    return {"seconds": seconds, "measures": measures}


if __name__ == "__main__":
    print(json.dumps(_measured(sys.argv[1], int(sys.argv[2]))))
