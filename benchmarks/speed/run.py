"""The run: every method on every case, each in a process of its own; a line is on disk as soon as it is measured.

What is in the file is not measured again, so a run that was stopped goes on where it was. A method that does not apply,
is not installed, fails, or takes too long has a line with the reason.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.lines import append_lines, commit_of_psi, read_lines
from benchmarks.peers import environment
from benchmarks.speed.cases import Case, save
from benchmarks.speed.methods import METHODS, OF_NEIGHBOURS, Method
from psidebug import __version__

TWICE_UP_TO = 30.0
"""What takes no more processor seconds is measured in a second process, too, and the faster one counts: other work on
the machine takes a half more of the processor time of some processes than of others."""
LIMIT = 900.0
"""Seconds that one process may take."""
TASK = ("learner", "rows", "columns", "classes", "method")
KEY = (*TASK, "version")
MEASURES = ("processor_seconds", "seconds", "memory_mb", "data_mb", "fits", "reason")
MADE_WITH = ("date", "python", "numpy", "scipy", "sklearn", "lightgbm", "package", "commit")
FIELDS = (*KEY, *MEASURES, *MADE_WITH)
STAGES = (*KEY, "stage", "seconds", "processor_seconds", "fits", "peak_memory_mb")
"""Fields of the file beside it: where Psi spends its time."""
TOO_LONG = "took more than"
Row = dict[str, Any]


def run_speed(
    cases: Sequence[Case],
    out: Path,
    *,
    methods: Sequence[Method] = METHODS,
    pythons: Mapping[str, Path] | None = None,
    absences: Mapping[str, str] | None = None,
    limit: float = LIMIT,
    tell: Callable[[str], None] = print,
) -> None:
    """Measure what is not yet in the file ``out``.

    ``pythons`` are interpreters by the module that a rival needs, ``absences`` why there is none.
    """
    lines = {tuple(line[name] for name in KEY): line for line in read_lines(out)}
    with tempfile.TemporaryDirectory(prefix="psi-speed-") as folder:
        for number, case in enumerate(cases, 1):
            saved = Path(folder) / case.name
            for method in methods:
                key = _key(case, method)
                if tuple(key.values()) in lines:
                    continue
                row = _known(case, method, lines, absences or {})
                if row is None:
                    if not saved.is_dir():
                        save(case.parts(), saved)
                    package = method.peer.package if method.peer else None
                    python = (pythons or {}).get(package or "", Path(sys.executable))
                    row = fastest(case, method, saved, python=python, limit=limit) | {"commit": commit_of_psi()}
                stages = [key | stage for stage in row.pop("stages", ())]
                append_lines(out, [key | row], FIELDS)
                if stages:
                    append_lines(stages_of(out), _only(stages, STAGES), STAGES)
                lines[tuple(key.values())] = {name: str(value) for name, value in (key | row).items()}
                told = row.get("reason") or f"{row['processor_seconds']:.3g} s"
                tell(f"{number}/{len(cases)} {case.name}, {method.name}: {told}")
            for path in sorted(saved.glob("*")):
                path.unlink()


def fastest(case: Case, method: Method, folder: Path, *, python: Path, limit: float = LIMIT) -> Row:
    """The faster of two measurements; one alone, where it takes long."""
    first = alone(case, method, folder, python=python, limit=limit)
    if first.get("processor_seconds", np.inf) > TWICE_UP_TO:
        return first
    second = alone(case, method, folder, python=python, limit=limit)
    return min(first, second, key=lambda row: float(row.get("processor_seconds", np.inf)))


def alone(case: Case, method: Method, folder: Path, *, python: Path, limit: float = LIMIT) -> Row:
    """The line of one method on the saved rows of a case, measured in a fresh process with one thread."""
    command = [str(python), "-m", "benchmarks.speed.alone", str(folder), case.name, method.name]
    process = subprocess.Popen(
        command,
        env=environment.variables(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        said, complaint = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # its group is its own: it and what it started
        process.communicate()
        return {"reason": f"{TOO_LONG} {limit:.0f} s"}
    if process.returncode != 0 or not said:
        last = environment.last_line(complaint)
        return {"reason": f"failed: the process ended with {process.returncode}: {last}"}
    row: Row = json.loads(said)
    return row


def forget(out: Path, methods: Sequence[str], cases: Sequence[Case]) -> None:
    """Drop these methods' lines of these cases from a file of results and from that of its stages.

    "Psi" is all its efforts; lines of other cases would not be measured anew, and stay.
    """
    dropped = {tuple(_key(case, method).values()) for case in cases for method in METHODS
               if {method.name, method.name.split(",")[0]} & set(methods)}  # fmt: skip
    for path, fields in ((out, FIELDS), (stages_of(out), STAGES)):
        lines = read_lines(path)
        if dropped and lines:
            path.unlink()
            append_lines(path, [line for line in lines if tuple(line[name] for name in KEY) not in dropped], fields)


def stages_of(out: Path) -> Path:
    """The file of stages beside a file of results."""
    return out.with_name(f"{out.stem}_stages.csv")


def _known(
    case: Case, method: Method, lines: Mapping[tuple[str, ...], Mapping[str, Any]], absences: Mapping[str, str]
) -> Row | None:
    """A line that needs no measuring: a reason, or what a method that never uses the learner did for the other one."""
    if reason := method.refusal(case):
        return {"reason": reason}
    package = method.peer.package if method.peer else None
    if package is not None and package in absences:
        return {"reason": absences[package]}
    key = _key(case, method)
    if method.name in OF_NEIGHBOURS and case.learner != "logistic":
        twin = lines.get(tuple((key | {"learner": "logistic"}).values()))
        if twin is not None:
            return {name: twin[name] for name in (*MEASURES, *MADE_WITH) if name in twin} | _numbers(twin)
    same = [line for line in lines.values() if all(line[name] == key[name] for name in key if name != "rows")]
    smaller = [line for line in same if TOO_LONG in line.get("reason", "") and int(line["rows"]) < case.rows]
    if smaller:
        fewest = min(int(line["rows"]) for line in smaller)
        return {"reason": f"not tried: {fewest:,} rows took too long"}
    return None


def _numbers(line: Mapping[str, Any]) -> Row:
    return {name: float(line[name]) for name in MEASURES[:4] if line.get(name)}


def _key(case: Case, method: Method) -> dict[str, str]:
    values = (case.learner, case.rows, case.form, case.classes, method.name, __version__)
    return dict(zip(KEY, map(str, values), strict=True))


def _only(rows: Iterable[Mapping[str, Any]], fields: Sequence[str]) -> list[Row]:
    return [{name: row.get(name) for name in fields} for row in rows]
