"""``psi apply --cause``: the table at fault, with what was found repaired and every other cell as it was written."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from psidebug.store import load_run
from tests.causes.rows import Rows, parcels
from tests.cli.folder import psi
from tests.cli.json_page import KEYS


def planted() -> tuple[Rows, Rows]:
    """Clean parcels, and the same with test weights in grams, and kinds that are not known in training."""
    clean = parcels(0, 400, 240)
    hit = np.random.default_rng(0).random(len(clean.y_train)) < 0.4
    rows = clean.with_column("training", "kind", clean.X_train["kind"].where(~hit, "unknown"))
    return clean, rows.with_column("test", "weight", (clean.X_test["weight"] * 1000).round().astype(int))


def as_written(X: pd.DataFrame, labels: object) -> pd.DataFrame:
    """As texts: ids with zeros, prices with two digits."""
    prices = [f"{each:.2f}" for each in X["price"]]
    ids = [f"{place:05d}" for place in range(len(X))]
    return X.assign(id=ids, price=prices, late=labels).astype(str)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("causes")
    _, rows = planted()
    as_written(rows.X_train, rows.y_train).to_csv(place / "train.csv", index=False)
    as_written(rows.X_test, rows.y_test).assign(note="x, y").to_csv(place / "test.csv", index=False)
    ran = psi("debug", "train.csv", "test.csv", "--label", "late", "--id", "id", folder=place)
    assert ran.code == 0, ran.err
    return place


def texts(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_a_unit_of_the_test_rows_is_written_with_its_trace(folder: Path) -> None:
    clean, _ = planted()
    ran = psi("apply", "psi-run", "--cause", "unit", "--tests", "--trace", "-o", "fixed.csv", folder=folder)
    assert (ran.code, ran.err) == (0, "240 cells changed, 0 rows dropped; written to fixed.csv\n")
    before, after = texts(folder / "test.csv"), texts(folder / "fixed.csv")
    assert list(after[0]) == [*before[0], "was_weight"]
    np.testing.assert_allclose([float(row["weight"]) for row in after], clean.X_test["weight"])
    undone = [{name: row["was_weight" if name == "weight" else name] for name in before[0]} for row in after]
    assert undone == before, "to the last zero"
    (again,) = [each for each in load_run(folder / "psi-run").findings.causes if each.cause == "unit"]
    assert again.proved
    assert again.control is not None


def test_words_for_no_value_in_training_are_written_as_missing_values(folder: Path) -> None:
    ran = psi("apply", "psi-run", "--cause", "missing_code", "-o", "known.csv", "--json", folder=folder)
    assert ran.code == 0, ran.err
    before, after = texts(folder / "train.csv"), texts(folder / "known.csv")
    unknown = [row["kind"] == "unknown" for row in before]
    told = json.loads(ran.out)
    assert {*told} == KEYS["apply, with --cause"]
    assert (told["cells"], told["rows"], told["dropped"]) == (sum(unknown), len(before), 0)
    assert [row["kind"] == "" for row in after] == unknown
    assert [{**row, "kind": old["kind"]} for row, old in zip(after, before, strict=True)] == before


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ["--cause", "unit"],
            "psi: the repair of 'unit' is in the test rows, not in the training rows: test=",
        ),
        (["--cause", "missing_code", "--tests"], "psi: the repair of 'missing_code' is in the training rows, not"),
        (["--cause", "leak"], "psi: the run did not find 'leak': it can repair missing_code, unit."),
        (["--tests"], "psi: which test labels? Give --reviewed"),
        (["--cause", "unit", "--tests", "--weights"], "psi: --weights and --cause do not go together"),
    ],
)
def test_one_sentence_says_what_to_do(folder: Path, options: list[str], said: str) -> None:
    ran = psi("apply", "psi-run", *options, "-o", "none.csv", folder=folder)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(said)
    assert len(ran.err.splitlines()) == 1
    assert not (folder / "none.csv").exists()


def test_the_test_file_itself_is_not_replaced_unless_that_is_said(folder: Path) -> None:
    ran = psi("apply", "psi-run", "--cause", "unit", "--tests", "-o", "test.csv", folder=folder)
    assert ran.code == 2
    assert ran.err.startswith("psi: test.csv is the test file itself: choose another name, or --overwrite")
