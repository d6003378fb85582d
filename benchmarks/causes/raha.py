"""Wrong cells that nobody planted: public tables of which there is a dirty and a clean version, cell by cell.

They are those of Raha (Mahdavi and others 2019), read from the folder ``real/raha`` in ``PSI_DATA``; no row of them is
in this repository. A task has the dirty version of one set and the clean version of the other, or two clean ones.
Labels are those of the clean version, so none of them is wrong.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.causes.harness import (
    KEY,
    LEARNERS,
    Cell,
    Row,
    accused_tests,
    cells,
    changed_labels,
    diagnosed,
    run,
    told,
)
from benchmarks.causes.plants import Planted
from benchmarks.causes.tables import Labels, Tables
from psidebug.datasets.sources import VARIABLE, Source
from psidebug.diagnosis.diagnosis import Diagnosis

HOME = "https://github.com/BigDaMa/raha/tree/master/datasets"
SOURCES = {
    (file, version): Source("Raha", "Apache-2.0", f"real/raha/{file}_{version}.csv", HOME, sha256)
    for (file, version), sha256 in {
        ("beers", "dirty"): "7110bf4931a9445a1675e544d6c996817c739136239f8a2b02e088c7ec0a1f68",
        ("beers", "clean"): "373227df59ad197e154dd5149125789e415019535c7223355e9486ee1b3b93de",
        ("hospital", "dirty"): "dbc5575b915fe8b5e0ac6dc6172f38ba91e611fdb76d09a8f4a81cb7ea9925ac",
        ("hospital", "clean"): "ea3ee44998455c0b491750c348509de176c758a3bbf58e4530c0a136bb248b4b",
        ("flights", "dirty"): "1b5c1afa10aa0e7c20fd7e14d05c56772715b2771aa0f5fa67ed1709e1eecd46",
        ("flights", "clean"): "0acfcfd8985b06fdd363965c9e8d9522c43e7589a93d79ae7dc311e1c37fdf3b",
        ("rayyan", "dirty"): "7e25e6db262b0c72ca2d9735d5959599cf5a582e1c705459507c7b45d0d1d174",
        ("rayyan", "clean"): "23159f43c0706782388ed8957ad0c74eb7b88bc98f34d65bd49296e186d4673f",
    }.items()
}
NOTHING, IN_TRAINING, IN_TEST = "nothing", "dirty_training", "dirty_test"
TASKS = (IN_TRAINING, IN_TEST, NOTHING)
SEEDS = (0, 1, 2, 3, 4)
"""They are cheap: a run takes a second."""
SHARES = (0.5, 0.8)
"""Where the training rows end, and the test rows; the others are validation rows, clean in every task."""
FIELDS = (
    *KEY, "rows", "tests", "wrong_columns", "named", "named_column", "all", "checks", "error", "wrong", "changed",
    "changed_right", "changed_wrong", "error_before", "error_after", "worse", "wrong_tests", "accused_tests",
    "f1_tests", "fits", "seconds", "reason", "commit",
)  # fmt: skip


@dataclass(frozen=True)
class Kind:
    """How a table is read: cells as text, by the names of the dirty version, to columns and a label."""

    file: str
    columns: Callable[[pd.DataFrame], pd.DataFrame]
    label: Callable[[pd.DataFrame], pd.Series]
    """Of the clean version; missing where a row has none."""
    predicted: str
    wrong: str
    """What is predicted, and what kinds of errors there are, in words."""


def _number(texts: pd.Series) -> pd.Series:
    """What is not a number is missing."""
    return pd.to_numeric(texts, errors="coerce").astype(float)


def _minutes(texts: pd.Series) -> pd.Series:
    """Of "7:10 p.m.", since midnight; what is written otherwise is missing."""
    hour, minute, half = (part for _, part in texts.str.extract(r"^(\d{1,2}):(\d\d) ([ap])\.m\.$").items())
    return _number(hour) % 12 * 60 + _number(minute) + 720 * (half == "p")


def _beers(cells: pd.DataFrame) -> pd.DataFrame:
    return _beers_as_written(cells).assign(**{name: _number(cells[name]) for name in ("ounces", "abv", "ibu")})


def _beers_as_written(cells: pd.DataFrame) -> pd.DataFrame:
    return cells[["ounces", "abv", "ibu", "city", "state"]]


def _ipa(cells: pd.DataFrame) -> pd.Series:
    return cells["style"].str.contains("IPA").fillna(value=False).map({True: "IPA", False: "other"})


def _hospital(cells: pd.DataFrame) -> pd.DataFrame:
    names = ["name", "city", "state", "county", "owner", "emergency_service", "condition", "measure_code"]
    return cells[names].assign(sample=_number(cells["sample"].str.removesuffix(" patients")))


def _high(cells: pd.DataFrame) -> pd.Series:
    score = _number(cells["score"].str.removesuffix("%"))
    return (score >= 96).map({True: "high", False: "low"}).where(score.notna())


def _flights(cells: pd.DataFrame) -> pd.DataFrame:
    flight = cells["flight"].str.split("-", expand=True)
    times = {name: _minutes(cells[name]) for name in cells if name.endswith("_time")}
    named = {"src": cells["src"], "airline": flight[0], "origin": flight[2], "destination": flight[3]}
    return pd.DataFrame({**named, **times})


def _late(cells: pd.DataFrame) -> pd.Series:
    delay = _minutes(cells["act_arr_time"]) - _minutes(cells["sched_arr_time"])
    return ((delay + 720) % 1440 - 720 > 15).map({True: "late", False: "on time"})  # the nearest day


def _rayyan(cells: pd.DataFrame) -> pd.DataFrame:
    created = pd.to_datetime(cells["article_jcreated_at"], format="%m/%d/%y", errors="coerce")
    return pd.DataFrame(
        {
            "volume": _number(cells["article_jvolumn"]),
            "issue": _number(cells["article_jissue"]),
            "year": created.dt.year.astype(float),
            "month": created.dt.month.astype(float),
            "first_page": _number(cells["article_pagination"].str.extract(r"^(\d+)")[0]),
            "authors": cells["author_list"].str.count('","').astype(float) + 1,
            "journal": cells["journal_title"],
            "abbreviation": cells["jounral_abbreviation"],
        }
    )


def _language(cells: pd.DataFrame) -> pd.Series:
    given = cells["article_language"].str.lower().fillna("")
    return given.map(lambda name: "English" if name.startswith("eng") else "another" if name else "not given")


TABLES: Mapping[str, Kind] = {
    "beers": Kind("beers", _beers, _ipa, "an IPA, or another beer", "'12.0 oz', '0.05%'; a city with its state"),
    "beers_as_written": Kind(
        "beers", _beers_as_written, _ipa, "the same, all columns as texts", "the same, and 'N/A' for no value"
    ),
    "hospital": Kind("hospital", _hospital, _high, "a score of 96% and more", "a letter is an x, here and there"),
    "flights": Kind(
        "flights",
        _flights,
        _late,
        "over 15 minutes late, or not",
        "times with a date or a remark, none, and other ones",
    ),
    "rayyan": Kind(
        "rayyan", _rayyan, _language, "the language of an article", "day, year and month in another order; none for -1"
    ),
}


def missing_files() -> list[str]:
    """Files that the folder does not have: all without ``PSI_DATA``."""
    folder = os.environ.get(VARIABLE)
    return [each.file for each in SOURCES.values() if not folder or not (Path(folder) / each.file).is_file()]


@lru_cache(maxsize=len(TABLES))
def versions(name: str) -> tuple[pd.DataFrame, pd.DataFrame, Labels]:
    """Rows of the dirty and of the clean version, and right labels."""
    kind = TABLES[name]
    dirty, clean = (
        pd.read_csv(io.BytesIO(SOURCES[kind.file, each].content()), dtype=str, keep_default_na=False, na_values=[""])
        for each in ("dirty", "clean")
    )
    clean.columns = dirty.columns  # some are spelled otherwise
    label = kind.label(clean)
    kept = label.notna().to_numpy()
    rows = [kind.columns(each)[kept].reset_index(drop=True) for each in (dirty, clean)]
    return rows[0], rows[1], label[kept].to_numpy(dtype=object)


def planted_in(cell: Cell) -> Planted:
    """The task of a run, the same for every tool; the nearest cause of what is wrong in it."""
    dirty, clean, y = versions(cell.table)
    train, test, validation = _split(cell.seed, len(y))
    X = [
        rows.iloc[places].reset_index(drop=True)
        for rows, places in (
            (dirty if cell.plant == IN_TRAINING else clean, train),
            (dirty if cell.plant == IN_TEST else clean, test),
            (clean, validation),
        )
    ]
    nobody = pd.DataFrame(index=range(len(train)))
    made = Tables(cell.table, X[0], y[train], X[1], y[test], X[2], y[validation], nobody)
    return Planted(made, "none" if cell.plant == NOTHING else "missing_code")


def _split(seed: int, rows: int) -> list[Labels]:
    order = np.random.default_rng([seed, 9]).permutation(rows)
    return np.split(order, [int(share * rows) for share in SHARES])


def wrong_columns(cell: Cell) -> dict[str, float]:
    """Columns of which some cells differ between the versions, in the rows that are dirty, and their share."""
    if cell.plant == NOTHING:
        return {}
    dirty, clean, y = versions(cell.table)
    train, test, _ = _split(cell.seed, len(y))
    places = train if cell.plant == IN_TRAINING else test
    differ = ((dirty != clean) & ~(dirty.isna() & clean.isna())).iloc[places].mean()
    return {str(name): float(share) for name, share in differ.items() if share > 0}


def measured(cell: Cell) -> Row:
    """What Psi says of the task, in causes and in checks."""
    planted = planted_in(cell)
    diagnosis, fits, seconds = diagnosed(planted, cell)
    found = diagnosis.found.causes
    row: Row = {
        "rows": len(planted.tables.y_train),
        "tests": len(planted.tables.y_test),
        "wrong_columns": "; ".join(f"{name} {share:.3f}" for name, share in wrong_columns(cell).items()),
        "named": found[0].cause,
        "named_column": found[0].column or "",
        "all": "; ".join(map(told, found)),
        "checks": "; ".join(checked(diagnosis, list(planted.tables.X_train))),
        "error": float(diagnosis.found.predictions.wrong.mean()),
        "fits": fits,
        "seconds": seconds,
    }
    return row | changed_labels(planted, cell, diagnosis) | accused_tests(planted, diagnosis)


def checked(diagnosis: Diagnosis, columns: Sequence[str]) -> list[str]:
    """Checks before the diagnosis that name columns, as "check:column"."""
    return [
        f"{each.name}:{name}"
        for each in diagnosis.found.checks
        for name in re.findall(r"'([^']+)'", each.sentence)
        if name in columns
    ]


def run_raha(
    out: Path,
    *,
    seeds: Sequence[int] = SEEDS,
    learners: Sequence[str] = LEARNERS,
    tell: Callable[[str], None] = print,
) -> None:
    """Measure what is not yet in the file ``out``; without the tables, say so."""
    if missing := missing_files():
        tell(f"Wrong cells in real tables are left out: set {VARIABLE} to a folder that has {missing[0]} ({HOME}).")
        return
    for name in TABLES:
        versions(name)  # a damaged file is no result
    run(cells(TASKS, seeds, tuple(TABLES), learners), out, measure=measured, fields=FIELDS, tell=tell)
