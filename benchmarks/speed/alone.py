"""One measurement in a process of its own: ``python -m benchmarks.speed.alone FOLDER CASE METHOD`` prints it as JSON.

The method is run once on a few rows first, so that what is loaded once is not counted. Then the data are loaded, and
memory counts from there. What is short is done again for a second, at most twenty times, and the fastest counts.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import os
import resource
import sys
import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import scipy.sparse as sp
import sklearn
from sklearn.preprocessing import StandardScaler

from benchmarks.lines import failure, made_with
from benchmarks.peers.contest import Contest
from benchmarks.speed.cases import Case, Parts, load, size_of
from benchmarks.speed.methods import OF_NEIGHBOURS, Method, method_named

MEGABYTE = 1e6
MOST_MEMORY = 12 * 10**9
"""Bytes that one measurement may ask for: a method that needs more fails, and the machine lives on."""
TIMES, ENOUGH = 20, 1.0
"""Work is repeated so often, or for so many seconds."""
LARGE_BLOCK = 3_000_000
WARM_ROWS, WARM_POINTS = 400, 200


def contest_of(case: Case, parts: Parts, method: Method) -> Contest:
    """What a method sees of a case; only methods of nearest neighbours get dense columns of one scale."""
    X_train, X_test = parts["X_train"], parts["X_test"]
    near = (X_train, X_test)
    if method.name in OF_NEIGHBOURS:
        near = (X_train.toarray(), X_test.toarray()) if sp.issparse(X_train) else _scaled(X_train, X_test)
    return Contest(
        kind=case.learner,
        model=case.model(),
        train=X_train,
        test=X_test,
        X_train=X_train,
        X_test=X_test,
        near_train=near[0],
        near_test=near[1],
        given=parts["given"],
        y_test=parts["y_test"],
        size=case.classes,
        seed=0,
    )


def measured(method: Method, case: Case, folder: Path) -> dict[str, Any]:
    """Seconds, processor seconds and memory of a method, or the reason why there are none."""
    small = replace(case, rows=WARM_ROWS)
    with contextlib.suppress(Exception):  # a method that fails here fails below, too, and says why
        method.work(contest_of(small, small.parts(points=WARM_POINTS), method))
    parts = load(folder)
    contest = contest_of(case, parts, method)
    line: dict[str, Any] = {"data_mb": size_of(parts) / MEGABYTE}
    _settle()
    before = _memory_from_now()
    times: list[tuple[float, float]] = []
    try:
        while len(times) < TIMES and sum(wall for _, wall in times) < ENOUGH:
            start = _processor_seconds(), time.perf_counter()
            extra = method.work(contest)
            times.append((_processor_seconds() - start[0], time.perf_counter() - start[1]))
            if len(times) == 1:
                line["memory_mb"] = max(0, _peak() - before) / MEGABYTE
    except Exception as error:  # a method's failure is a result
        return line | {"reason": failure(error)}
    processor, wall = min(times)
    return line | {"processor_seconds": processor, "seconds": wall} | extra


def versions_of(method: Method) -> dict[str, str]:
    """The day, and versions of what was measured with."""
    package = method.peer.package if method.peer else None
    own = f"{package} {importlib.metadata.version(package)}" if package else ""
    return made_with(np, scipy, sklearn) | {"lightgbm": importlib.metadata.version("lightgbm"), "package": own}


def _scaled(train: Any, test: Any) -> tuple[Any, Any]:
    scaler = StandardScaler().fit(train)
    return scaler.transform(train), scaler.transform(test)


def _processor_seconds() -> float:
    """Of this process and of those that it has started and ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def _settle() -> None:
    """Free one large block, as any program that works on data has done before long.

    Until then the C library of Linux asks the system for new pages for every array of middle size. A fit of ten classes
    took 60% longer for that, and only in a process as fresh as this one.
    """
    np.ones(LARGE_BLOCK)


def _memory_from_now() -> int:
    """Bytes in use; the peak counts from here where the system lets us say so (Linux)."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return _peak()


def _peak() -> int:
    """``ru_maxrss``; on Linux the same figure from where a process does not inherit that of its parent."""
    status = Path("/proc/self/status")
    if status.is_file():
        line = next(line for line in status.read_text(encoding="ascii").splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure one method and print the line; its own words go to stderr."""
    folder, case_name, method_name = sys.argv[1:] if arguments is None else arguments
    learner, rows, form, classes = case_name.split("-")
    case = Case(learner, int(rows), form, int(classes))  # type: ignore[arg-type]
    method = method_named(method_name)
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    warnings.simplefilter("ignore")
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    line = measured(method, case, Path(folder)) | versions_of(method)
    answer.write(json.dumps(line, default=float))
    answer.close()


if __name__ == "__main__":
    main()
