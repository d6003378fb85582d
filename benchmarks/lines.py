"""Results as small CSV files.

Long runs append: a line is on disk as soon as it is measured, and an interrupted run goes on. Short ones write their
file anew, each line with what it was measured with.
"""

from __future__ import annotations

import csv
import dataclasses
import platform
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

import psidebug
from benchmarks import CHECKOUT

STAMP = "psidebug"
"""The column with the version that measured the line."""


def append(path: Path, lines: Iterable[Any]) -> None:
    """Add dataclasses as lines, with the version that measured them."""
    for line in lines:
        values = dataclasses.asdict(line) | {STAMP: psidebug.__version__}
        append_lines(path, [values], list(values))


def append_lines(path: Path, lines: Iterable[Mapping[str, Any]], fields: Sequence[str]) -> None:
    """Add lines; the first ones of a file bring the header. Numbers keep five digits."""
    fresh = not path.is_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fields, lineterminator="\n")
        if fresh:
            writer.writeheader()
        writer.writerows({name: _short(value) for name, value in line.items()} for line in lines)


def write(path: Path, lines: Sequence[Mapping[str, Any]]) -> None:
    """Replace a file by these lines, of which there is at least one."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(lines[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)


def made_with(*modules: ModuleType) -> dict[str, str]:
    """The day, and the versions of Python and of these modules: columns for every line of a run."""
    versions = {module.__name__: str(module.__version__) for module in modules}
    return {"date": date.today().isoformat(), "python": platform.python_version()} | versions


@lru_cache
def commit_of_psi() -> str:
    """The last one that changed Psi itself; empty without git. Versions change too rarely to tell what was measured."""
    command = ["git", "-C", str(CHECKOUT), "log", "-1", "--format=%h", "--", "src"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:
        return ""


def failure(error: Exception) -> str:
    """The reason in a line of something that failed: the kind of error and the first line of its message."""
    first = (str(error).strip().splitlines() or [""])[0]
    return f"failed: {type(error).__name__}: {first[:120]}"


def read(path: Path) -> list[dict[str, Any]]:
    """The lines, numbers as numbers and what is empty as None; no lines where there is no file."""
    return [{name: _value(text) for name, text in line.items()} for line in read_lines(path)]


def read_lines(path: Path) -> list[dict[str, str]]:
    """The lines as they are written; none where there is no file."""
    if not path.is_file():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _short(value: Any) -> Any:
    return f"{value:.5g}" if isinstance(value, float) else value


def _value(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text or None
