"""Planted causes: plants, the run on a small table, results by hand, other tools, the page."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.causes import command, harness, rivals
from benchmarks.causes.harness import Cell, all_cells, planted_in
from benchmarks.causes.more import MORE, PAIRS, both
from benchmarks.causes.page import page_of
from benchmarks.causes.plants import PLANTS, Planted, labels_at_random, unit_in_test
from benchmarks.causes.results import Run, Runs, raised_by
from benchmarks.causes.rivals import Rival
from benchmarks.causes.tables import tables
from benchmarks.lines import read_lines

SMALL = "tumours"
CELLS = [
    Cell("nothing", SMALL, 0, "logistic"),
    Cell("unit_in_test", SMALL, 0, "logistic"),
    Cell("labels_at_random", SMALL, 0, "logistic"),
    Cell("test_labels_at_random", SMALL, 0, "logistic"),
    Cell("spelling+code_in_test", SMALL, 0, "logistic"),
    Cell("broken_characters", SMALL, 0, "logistic"),
    Cell("unit_in_test", "no such table", 0, "logistic"),
]


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("causes") / "causes.csv"
    harness.run(CELLS, out, tell=lambda line: None)
    return out


# ── plants ──


@pytest.mark.parametrize("name", [*PLANTS, *MORE, *PAIRS])
def test_the_same_is_planted_again_and_the_table_stays(name: str) -> None:
    whole = tables(SMALL, 3)
    before = whole.X_train.copy(), whole.y_train.copy(), whole.X_test.copy(), whole.y_test.copy()
    one, two = (harness.ALL[name](whole, np.random.default_rng(5), "logistic") for _ in range(2))
    assert (one.cause, one.column, one.skipped) == (two.cause, two.column, two.skipped)
    assert one.tables.X_train.equals(two.tables.X_train)
    assert one.tables.X_test.equals(two.tables.X_test)
    assert (one.tables.y_train == two.tables.y_train).all()
    assert whole.X_train.equals(before[0])
    assert (whole.y_train == before[1]).all()
    assert whole.X_test.equals(before[2])
    assert (whole.y_test == before[3]).all()


def test_wrong_labels_of_rows_that_are_there_often_are_known() -> None:
    planted = planted_in(Cell("duplicates_with_wrong_labels", SMALL, 0, "logistic"))
    assert planted.wrong_train is not None
    assert len(planted.wrong_train) == len(planted.tables.y_train)
    copies = planted.tables.X_train.duplicated(keep=False).to_numpy()
    assert planted.wrong_train.any()
    assert (copies[planted.wrong_train]).all()


def test_two_at_once_have_both_names() -> None:
    planted = both(unit_in_test, labels_at_random)(tables(SMALL, 0), np.random.default_rng(0), "logistic")
    assert planted.cause == "unit+training_labels"
    assert planted.column is not None
    assert planted.column.endswith("+")
    assert planted.wrong_train is not None
    assert planted.wrong_train.any()


def test_every_plant_is_measured_with_the_first_seed() -> None:
    found = all_cells([0, 1])
    assert {each.plant for each in found if each.seed == 0} == set(harness.ALL)
    assert {each.seed for each in found if each.validation} == {0}
    assert len(set(found)) == len(found)


# ── the run ──


def test_a_planted_unit_is_named_and_no_label_is_changed(measured: Path) -> None:
    runs = Runs.of(measured)
    (unit,) = runs.where(plant="unit_in_test").runs
    assert unit.first
    assert unit.right
    assert (unit["named"], unit["named_column"]) == ("unit", unit["expected_column"])
    assert unit["changed"] == "0"
    assert unit["error_before"] == unit["fits_labels"] == ""
    (clean,) = runs.where(plant="nothing").runs
    assert clean.others == 0 or not clean.right


def test_wrong_labels_are_counted_and_the_cost_is_compared(measured: Path) -> None:
    (run,) = Runs.of(measured).where(plant="labels_at_random").runs
    assert run.of_labels
    assert int(run["changed"]) == int(run["changed_right"]) + int(run["changed_wrong"])
    assert int(run["changed_wrong"]) <= int(run["wrong"])
    assert int(run["fits_labels"]) <= int(run["fits"])
    assert (run["error_before"] == "") == (int(run["changed"]) == 0)


def test_lines_come_once_and_failures_have_reasons(measured: Path) -> None:
    before = measured.read_bytes()
    harness.run(CELLS, measured, tell=print)
    assert measured.read_bytes() == before
    reasons = {line["plant"]: line["reason"] for line in read_lines(measured) if line["reason"]}
    assert reasons == {
        "broken_characters": "skipped: the table has no categories",
        "unit_in_test": "failed: KeyError: 'no such table'",
    }


# ── results by hand ──


def line(**values: str) -> dict[str, str]:
    usual = {"plant": "p", "table": "t", "seed": "0", "learner": "logistic", "validation": "0", "worse": ""}
    return usual | {"expected_column": "", "rows": "100", "changed_right": "0", "wrong": "0"} | values


def test_causes_are_compared_with_their_columns() -> None:
    one = Run(line(expected="unit", expected_column="age", all="unit:price 3.1*; unit:age 2.0"))
    assert one.named == [("unit", "price"), ("unit", "age")]
    assert (one.first, one.right, one.all_named, one.others) == (True, False, True, 0)
    either = Run(line(expected="swapped_columns", expected_column="a|b", all="swapped_columns:b 3.1*; leak:c 1.0"))
    assert (either.right, either.others) == (True, 1)
    two = Run(line(expected="unit+training_labels", expected_column="age+", all="training_labels: 9.0*; unit:age 1.0"))
    assert (two.first, two.right, two.all_named) == (True, True, True)
    assert not Run(two.line | {"all": "training_labels: 9.0*; unit:price 1.0"}).all_named
    none = Run(line(expected="none", all="none: 0.0"))
    assert (none.right, none.others) == (True, 0)
    assert Run(line(changed_right="2")).harm == pytest.approx(0.02)


# ── other tools and the page ──


def alarmed(planted: Planted, kind: str) -> list[str]:
    return ["always", "scale"] if planted.cause == "unit" else ["always"]


def broken(planted: Planted, kind: str) -> list[str]:
    raise ValueError("no rows\nmore of it")


def test_tools_are_counted_by_what_clean_data_raise_too(
    tmp_path: Path, measured: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = (
        Rival("alarm", "numpy", alarmed, {"always": ["training_labels"], "scale": ["unit"]}),
        Rival("broken", "numpy", broken, {}),
    )
    out = tmp_path / "rivals.csv"
    for _ in range(2):
        rivals.run(CELLS[:3], out, rivals=tools, tell=lambda line: None)
    assert len(read_lines(out)) == 6
    monkeypatch.setattr("benchmarks.causes.results.RIVALS", tools)
    monkeypatch.setattr("benchmarks.causes.page.RIVALS", tools)
    clean, unit, labels = raised_by("alarm", out)
    assert (clean.named, unit.named, labels.named) == (False, True, True)
    assert (unit.told_apart, labels.told_apart) == (True, False)
    assert (unit.others, labels.others) == (1, 0)
    page = page_of(measured, out, tmp_path / "none.csv", tmp_path / "none.csv")
    assert page.startswith("# Which cause is it?")
    assert f"| alarm {np.__version__} | 2 of 2 | 1 of 2 | 0.5 | 0 of 1 |" in page
    assert "- broken, 3 runs (nothing in tumours the first): failed: ValueError: no rows" in page
    assert "- unit_in_test, no such table, seed 0, logistic: failed: KeyError: 'no such table'" in page
    assert "1 runs could not be planted" in page


def test_the_command_writes_the_page(tmp_path: Path, measured: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "causes.csv"
    out.write_bytes(measured.read_bytes())
    monkeypatch.setattr(command, "cells", lambda *_: CELLS)
    monkeypatch.delenv("PSI_DATA", raising=False)
    said: list[str] = []
    command.bench_causes(quick=True, out=out, page=tmp_path / "docs" / "causes.md", tell=said.append)
    (left_out,) = said
    assert left_out.startswith("Wrong cells in real tables are left out")
    assert out.read_bytes() == measured.read_bytes()
    assert not (tmp_path / "causes_raha.csv").exists()
    assert (tmp_path / "docs" / "causes.md").read_text(encoding="utf-8").startswith("# Which cause is it?")


def test_where_both_sets_follow_the_look_of_their_rows_training_labels_are_not_simply_blamed() -> None:
    """280 and 140 rows of tumours, 16 wrong test labels: 19 right training labels were changed before."""
    line = harness.tried(Cell("test_labels_of_a_slice", SMALL, 1008, "logistic"), harness.measured)
    assert (line["named"], line["changed"]) == ("test_labels", 0)
