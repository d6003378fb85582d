"""A folder as a new user has it: three CSV files with a planted labelling bug; and ``psi`` run in it."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv

from psidebug.cli import main

PSI = [sys.executable, "-c", "from psidebug.cli import main; main()"]


@dataclass(frozen=True)
class Ran:
    """What a command said and how it ended."""

    code: int
    out: str
    err: str


def psi(*arguments: str, folder: Path | None = None) -> Ran:
    """Run a command in this process, in the folder."""
    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.chdir(folder or os.curdir),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            main(list(arguments))
        except SystemExit as end:
            code = end.code
    assert isinstance(code, int)
    return Ran(code, out.getvalue(), err.getvalue())


def people(rows: int, *, seed: int) -> dict[str, Any]:
    """Loans are repaid by those who earn; ids, a city, a date, a source that no model should see, missing values."""
    rng = np.random.default_rng(seed)
    income = rng.normal(size=rows)
    city = rng.choice(["Lima", "Oslo", "Pune"], size=rows)
    repaid = np.where(income + 0.4 * rng.normal(size=rows) > 0, "yes", "no")
    return {
        "id": np.arange(rows) + 1000 * seed,
        "income": [
            None if lost else round(float(value), 3)
            for value, lost in zip(income, rng.random(rows) < 0.03, strict=True)
        ],
        "city": city.tolist(),
        "since": (np.datetime64("2020-01-01") + rng.integers(0, 900, rows)).tolist(),
        "source": rng.choice(["web", "desk"], size=rows).tolist(),
        "label": repaid.tolist(),
    }


def spoiled(table: Mapping[str, Any]) -> dict[str, Any]:
    """Every row from Pune is labelled no: the bug to be found."""
    labels = ["no" if city == "Pune" else label for city, label in zip(table["city"], table["label"], strict=True)]
    return {**table, "label": labels}


def write_csv(path: Path, table: Mapping[str, Sequence[Any]]) -> Path:
    """The table as a CSV file."""
    pa.csv.write_csv(pa.table(dict(table)), path)
    return path


def fill(folder: Path) -> Path:
    """Write train.csv, test.csv and validation.csv."""
    write_csv(folder / "train.csv", spoiled(people(240, seed=1)))
    write_csv(folder / "test.csv", people(160, seed=2))
    write_csv(folder / "validation.csv", people(300, seed=3))
    return folder
