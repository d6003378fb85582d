"""``--tests``: test labels that are probably wrong are listed, exported, and put right in the test file alone."""

from __future__ import annotations

import io
import json
import shutil
from functools import partial
from pathlib import Path

import pandas as pd
import pytest
from rich.console import Console

from psidebug.cli.findings import as_data, show_next
from psidebug.report import write_report
from psidebug.review.verdict_store import open_store
from psidebug.review.verdicts import Verdict
from psidebug.store import load_run
from tests.cli.folder import psi
from tests.cli.json_page import KEYS
from tests.mislabelled_tests import CLEAN


@pytest.fixture
def folder(wrong_tests: Path, tmp_path: Path) -> Path:
    """A copy of one's own; the run knows the files of the first."""
    return Path(shutil.copytree(wrong_tests, tmp_path / "folder"))


def test_the_next_commands_go_from_the_review_to_a_test_file(wrong_tests: Path) -> None:
    told = io.StringIO()
    run = Path("psi-run")
    show_next(
        Console(file=told, width=200),
        load_run(wrong_tests / run),
        run=run,
        report=None,
        fixed="f.csv",
        fixed_test="fixed_test.csv",
    )
    lines = [line.split("  ")[1] for line in told.getvalue().splitlines() if "psi " in line]
    assert lines == [
        "psi report psi-run -o report.html",
        "psi review psi-run",
        "psi apply psi-run --tests --reviewed -o fixed_test.csv",
    ]


def test_they_are_listed_as_the_run_found_them(wrong_tests: Path) -> None:
    found = load_run(wrong_tests / "psi-run").suspect_tests
    told = json.loads(psi("suspects", "psi-run", "--tests", "--json", folder=wrong_tests).out)
    assert told["of"] == len(found) == len(told["suspects"])
    assert [each["row"] for each in told["suspects"]] == found["row"].tolist()
    first = psi("suspects", "psi-run", "--tests", "--top", "2", folder=wrong_tests)
    assert first.out.splitlines()[0].split() == ["row", "given", "proposed", "p_wrong", "why"]
    assert len(first.out.splitlines()) == 3
    assert json.loads(psi("suspects", "psi-run", "--json", folder=wrong_tests).out)["of"] == 0, "no training label is"


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_they_are_exported_with_the_columns_of_the_test_rows(folder: Path, kind: str) -> None:
    ran = psi("export", "psi-run", "--tests", "--format", kind, "-o", f"out.{kind}", folder=folder)
    assert ran.code == 0, ran.err
    reads = {"csv": pd.read_csv, "jsonl": partial(pd.read_json, lines=True, precise_float=True)}
    table = reads.get(kind, pd.read_parquet)(folder / f"out.{kind}")
    assert list(table.columns[:5]) == ["row", "given", "proposed", "p_wrong", "why"]
    own = pd.read_csv(folder / "test.csv").set_index("id").loc[table["row"]]
    for name in ("weight", "kind", "depot"):
        assert table[name].tolist() == own[name].tolist()
    assert table["given"].tolist() == own["label"].tolist()


def test_cleanlabs_table_has_every_test_row_and_no_quality_where_none_is_known(folder: Path) -> None:
    psi("export", "psi-run", "--tests", "--format", "cleanlab", "-o", "out.csv", folder=folder)
    table, tests = pd.read_csv(folder / "out.csv"), load_run(folder / "psi-run").findings.suspect_tests
    assert tests is not None
    assert len(table) == len(CLEAN.y_test)
    assert table["label_quality"].notna().sum() == len(tests.rows)
    assert table["is_label_issue"].sum() == (tests.p_wrong > 0.5).sum()


def test_label_studios_tasks_say_that_they_are_about_the_test_set(folder: Path) -> None:
    psi("export", "psi-run", "--tests", "--format", "label-studio", "--top", "3", "-o", "tasks.json", folder=folder)
    tasks = json.loads((folder / "tasks.json").read_text())
    assert {each["data"]["set"] for each in tasks} == {"test"}
    assert all(each["data"]["row"].startswith("test-") for each in tasks)
    assert (folder / "tasks.xml").exists()


def test_only_the_asked_label_cells_of_the_test_file_change(wrong_tests: Path, tmp_path: Path) -> None:
    run = load_run(wrong_tests / "psi-run")
    ran = psi("apply", "psi-run", "--tests", "--top", "4", "-o", str(tmp_path / "fixed.csv"), folder=wrong_tests)
    assert "4 of 180 test labels corrected" in ran.err
    before, after = ((place).read_text().splitlines() for place in (wrong_tests / "test.csv", tmp_path / "fixed.csv"))
    changed = [place for place, (one, other) in enumerate(zip(before, after, strict=True)) if one != other]
    assert run.findings.suspect_tests is not None
    assert changed == sorted(place + 1 for place in run.findings.suspect_tests.rows[:4].tolist())
    assert all(after[place] == before[place].replace("punctual", "late") for place in changed)


def test_from_the_runs_copy_the_table_is_the_same_but_for_its_labels(folder: Path) -> None:
    ran = psi("apply", "psi-run", "--tests", "--top", "4", "--trace", "-o", "fixed.parquet", folder=folder)
    assert "test.csv is CSV, not Parquet" in ran.err
    table, own = pd.read_parquet(folder / "fixed.parquet"), pd.read_csv(folder / "test.csv")
    assert list(table.columns) == [*own.columns, "given", "corrected", "verdict", "reviewer", "time"]
    assert table["corrected"].sum() == 4
    pd.testing.assert_frame_equal(table[own.columns].drop(columns="label"), own.drop(columns="label"))


def test_a_test_file_that_has_changed_is_told_and_is_not_called_training_file(folder: Path, wrong_tests: Path) -> None:
    record = json.loads((folder / "psi-run" / "run.json").read_text())
    assert str(wrong_tests / "test.csv") in json.dumps(record)
    (folder / "psi-run" / "run.json").write_text(json.dumps(record).replace(str(wrong_tests), str(folder)))
    (folder / "test.csv").write_text((folder / "test.csv").read_text() + "\n")
    ran = psi("apply", "psi-run", "--tests", "--top", "1", "-o", "fixed.csv", folder=folder)
    assert ran.code == 0, ran.err
    assert f"the test file {folder / 'test.csv'} has changed" in ran.err


def test_what_people_decided_is_applied_and_training_labels_are_not(folder: Path) -> None:
    with open_store(folder / "psi-run") as store:
        store.record([Verdict(5, "test-005", "correct", "late", part="test")], reviewer="ann")
        store.record([Verdict(6, "test-006", "skip", part="test")], reviewer="ann")
    ran = psi("apply", "psi-run", "--tests", "--reviewed", "--trace", "-o", "fixed.csv", folder=folder)
    assert "1 of 180 test labels corrected" in ran.err
    table = pd.read_csv(folder / "fixed.csv").set_index("id")
    assert table["label"]["test-005"] == "late"
    assert table["verdict"].dropna().to_dict() == {"test-005": "correct", "test-006": "skip"}
    training = psi("apply", "psi-run", "--reviewed", "-o", "train-fixed.csv", folder=folder)
    assert training.code == 2
    assert "nobody has decided anything yet" in training.err, "a verdict on a test label is none on a training label"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "which test labels? Give --reviewed"),
        (["--reviewed"], "nobody has decided on a test label yet"),
        (["--top", "3", "--weights"], "--weights is about the training data"),
        (["--top", "3", "--cause", "unit"], "--top and --cause do not go together"),
        (["--verified"], "--verified is about the training data"),
    ],
    ids=str,
)
def test_what_cannot_be_asked_of_test_labels(wrong_tests: Path, options: list[str], said: str) -> None:
    ran = psi("apply", "psi-run", "--tests", *options, "-o", "fixed.csv", folder=wrong_tests)
    assert ran.code == 2
    assert said in ran.err
    assert not (wrong_tests / "fixed.csv").exists()


def test_the_test_file_itself_is_not_replaced_unless_asked(wrong_tests: Path) -> None:
    before = (wrong_tests / "test.csv").read_bytes()
    ran = psi("apply", "psi-run", "--tests", "--top", "1", "-o", "test.csv", folder=wrong_tests)
    assert ran.code == 2
    assert "test.csv is the test file itself" in ran.err
    assert (wrong_tests / "test.csv").read_bytes() == before


def test_the_page_of_a_run_without_training_suspects_says_the_errors(wrong_tests: Path, tmp_path: Path) -> None:
    run = load_run(wrong_tests / "psi-run")
    write_report(run.findings, run.data, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "33 of 54 errors on the test set are on 35 labels that are probably wrong" in page
    assert "How many to correct" not in page, "there is no suspect to correct"
    told = as_data(run)["suspect_tests_error"]
    assert told.keys() == KEYS["debug, suspect_tests_error"]
    assert (told["errors"], told["on_suspects"], round(told["as_given"], 3)) == (54, 33, 0.3)
