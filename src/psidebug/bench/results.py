"""Results as small CSV files: a line is on disk as soon as it is measured, and an interrupted run goes on."""

from __future__ import annotations

import csv
import dataclasses
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import psidebug

STAMP = "psidebug"
"""The column with the version that measured the line."""


def append(path: Path, lines: Iterable[Any]) -> None:
    """Add dataclasses as lines; the first ones of a file bring the header. Numbers keep five digits."""
    for line in lines:
        values = {name: _short(value) for name, value in dataclasses.asdict(line).items()} | {
            STAMP: psidebug.__version__
        }
        fresh = not path.exists()
        with path.open("a", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, fieldnames=list(values), lineterminator="\n")
            if fresh:
                writer.writeheader()
            writer.writerow(values)


def read(path: Path) -> list[dict[str, Any]]:
    """The lines, numbers as numbers and what is empty as None; no lines where there is no file."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return [{name: _value(text) for name, text in line.items()} for line in csv.DictReader(file)]


def _short(value: Any) -> Any:
    return f"{value:.5g}" if isinstance(value, float) else value


def _value(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text or None
