"""Wrong cells in real tables, with tables made by hand: how they are read, tasks, the run, the section of the page."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks.causes import raha, rivals
from benchmarks.causes.harness import Cell
from benchmarks.causes.raha import IN_TEST, IN_TRAINING, NOTHING, TABLES
from benchmarks.causes.raha_page import alarms, named_columns, wrong_cells
from benchmarks.causes.results import Run
from benchmarks.causes.rivals import Rival
from benchmarks.lines import append_lines, read_lines
from psidebug.errors import InputError

ROWS = 240


@pytest.fixture
def beers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with two versions of a table in which strong beers are IPAs; the clean one spells a column otherwise."""
    rng = np.random.default_rng(0)
    abv = rng.uniform(0.04, 0.09, ROWS).round(3)
    clean = pd.DataFrame(
        {
            "style": np.where(abv + rng.normal(0, 0.005, ROWS) > 0.065, "Some IPA", "Lager"),
            "ounces": rng.choice(["12", "16"], ROWS),
            "abv": abv.astype(str),
            "ibu": np.where(rng.random(ROWS) < 0.4, "", rng.integers(10, 90, ROWS).astype(str)),
            "city": "Ulm",
            "state": rng.choice(["AL", "WI"], ROWS),
        }
    )
    dirty = clean.assign(ounces=clean["ounces"] + ".0 oz", ibu=clean["ibu"].replace("", "N/A"))
    written = {"clean": clean.rename(columns={"city": "City"}), "dirty": dirty}
    folder = tmp_path / "data" / "real" / "raha"
    folder.mkdir(parents=True)
    sources = {}
    for version, cells in written.items():
        path = folder / f"beers_{version}.csv"
        cells.to_csv(path, index=False)
        sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
        sources["beers", version] = replace(raha.SOURCES["beers", version], sha256=sha256)
    monkeypatch.setattr(raha, "SOURCES", sources)
    monkeypatch.setattr(raha, "TABLES", {name: TABLES[name] for name in ("beers", "beers_as_written")})
    monkeypatch.setenv("PSI_DATA", str(tmp_path / "data"))
    raha.versions.cache_clear()
    yield folder
    raha.versions.cache_clear()


# ── how tables are read ──


def texts(**columns: list[str | None]) -> pd.DataFrame:
    return pd.DataFrame(columns, dtype=object)


def test_times_in_another_form_are_missing_and_a_day_has_no_end() -> None:
    flights = texts(
        src=["x", "x", "x"],
        flight=["XY-1-AAA-BBB"] * 3,
        sched_arr_time=["7:10 p.m.", "11:55 p.m.", "05/06/2014 6:55 a.m."],
        act_arr_time=["7:20 p.m.", "12:15 a.m.", None],
    )
    read = TABLES["flights"].columns(flights)
    assert read.columns.tolist() == ["src", "airline", "origin", "destination", "sched_arr_time", "act_arr_time"]
    np.testing.assert_array_equal(read["sched_arr_time"], [1150, 1435, np.nan])
    np.testing.assert_array_equal(read["act_arr_time"], [1160, 15, np.nan])
    assert TABLES["flights"].label(flights[:2]).tolist() == ["on time", "late"]


def test_dates_pages_and_scores_are_numbers_or_missing() -> None:
    articles = texts(
        article_language=["ENG", "English", None, "fre"],
        article_jvolumn=["3", "-1", None, "4"],
        article_jissue=["1", "1", "1", "1"],
        article_jcreated_at=["3/9/18", "9/18/03", "1/88/01", None],
        article_pagination=["412-9", "Jun-88", None, "17"],
        author_list=['{"A","B"}', '{"A"}', '{"A"}', '{"A"}'],
        journal_title=["a", "b", "c", "d"],
        jounral_abbreviation=["a", "b", "c", "d"],
    )
    read = TABLES["rayyan"].columns(articles)
    np.testing.assert_array_equal(read["year"], [2018, 2003, np.nan, np.nan])
    np.testing.assert_array_equal(read["month"], [3, 9, np.nan, np.nan])
    np.testing.assert_array_equal(read["first_page"], [412, np.nan, np.nan, 17])
    np.testing.assert_array_equal(read["authors"], [2, 1, 1, 1])
    assert TABLES["rayyan"].label(articles).tolist() == ["English", "English", "not given", "another"]
    score = TABLES["hospital"].label(texts(score=["96%", "95%", "empty"]))
    assert score[:2].tolist() == ["high", "low"]
    assert score.isna().tolist() == [False, False, True]


# ── tasks ──


@pytest.mark.usefixtures("beers")
def test_one_set_is_dirty_and_the_labels_are_right() -> None:
    tasks = {name: raha.planted_in(Cell(name, "beers", 1, "logistic")).tables for name in raha.TASKS}
    clean = tasks[NOTHING]
    assert [len(each) for each in (clean.X_train, clean.X_test, clean.X_validation)] == [120, 72, 48]
    assert tasks[IN_TRAINING].X_train["ounces"].isna().all()
    assert tasks[IN_TRAINING].X_test.equals(clean.X_test)
    assert tasks[IN_TEST].X_test["ounces"].isna().all()
    assert tasks[IN_TEST].X_train.equals(clean.X_train)
    for each in tasks.values():
        assert (each.y_train == clean.y_train).all()
        assert each.X_validation.equals(clean.X_validation)
    assert raha.wrong_columns(Cell(IN_TEST, "beers", 1, "logistic")) == {"ounces": 1.0}
    assert raha.wrong_columns(Cell(NOTHING, "beers", 1, "logistic")) == {}


@pytest.mark.usefixtures("beers")
def test_as_written_a_code_is_a_wrong_cell_where_the_clean_one_is_empty() -> None:
    cell = Cell(IN_TRAINING, "beers_as_written", 0, "logistic")
    coded = raha.planted_in(cell).tables.X_train["ibu"] == "N/A"
    assert 0 < coded.mean() < 1
    assert raha.wrong_columns(cell) == {"ounces": 1.0, "ibu": pytest.approx(coded.mean())}


# ── the run ──


@pytest.mark.usefixtures("beers")
def test_a_wrong_column_is_named_and_lines_come_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(raha, "TABLES", {"beers": TABLES["beers"]})
    out = tmp_path / "causes_raha.csv"
    said: list[str] = []
    for _ in range(2):
        raha.run_raha(out, seeds=[0], learners=["logistic"], tell=said.append)
    lines = {line["plant"]: Run(line) for line in read_lines(out)}
    assert len(said) == len(lines) == 3
    assert not any(each["reason"] for each in lines.values())
    assert named_columns(lines[IN_TEST], checks=False) == {"ounces"}
    assert lines[IN_TEST]["checks"] == "outside training:ounces; constant columns:city"
    assert lines[NOTHING]["wrong_columns"] == ""
    section = "\n".join(wrong_cells(out, tmp_path / "none.csv"))
    assert "| beers | 120 / 72 | an IPA, or another beer | ounces 100% |" in section


def test_a_damaged_table_is_no_result(beers: Path, tmp_path: Path) -> None:
    (beers / "beers_dirty.csv").write_text("style\nLager\n", encoding="utf-8")
    with pytest.raises(InputError, match="its sha256 differs"):
        raha.run_raha(tmp_path / "causes_raha.csv")
    assert not (tmp_path / "causes_raha.csv").exists()


def test_without_the_tables_one_line_says_so(beers: Path, tmp_path: Path) -> None:
    (beers / "beers_clean.csv").unlink()
    said: list[str] = []
    raha.run_raha(tmp_path / "causes_raha.csv", tell=said.append)
    assert said == [
        "Wrong cells in real tables are left out: set PSI_DATA to a folder that has real/raha/beers_clean.csv "
        f"({raha.HOME})."
    ]


# ── results by hand ──


def line(plant: str, **values: str) -> dict[str, str]:
    usual = {"plant": plant, "table": "beers", "seed": "0", "learner": "logistic", "validation": "0", "rows": "100"}
    usual |= {"version": "0", "tests": "50", "wrong_columns": "ounces 1.000; abv 0.250", "checks": "", "error": "0.2"}
    return usual | {"changed_right": "0", "worse": "", "reason": "", "commit": "abc"} | values


def test_other_causes_name_no_wrong_column() -> None:
    one = Run(line(IN_TEST, all="unit:abv 3.1*; leak:city 2.0; training_labels: 1.0", checks="outside training:ounces"))
    assert named_columns(one, checks=False) == {"abv"}
    assert named_columns(one, checks=True) == {"abv", "ounces"}
    assert alarms(one) == ["leak", "training_labels"]
    assert alarms(Run(line(NOTHING, wrong_columns="", all="cannot_say: 0.0"))) == []
    assert alarms(Run(line(NOTHING, wrong_columns="", all="unit:abv 1.0"))) == ["unit"]


def test_the_section_counts_runs_and_failures(tmp_path: Path) -> None:
    out, tools = tmp_path / "causes_raha.csv", tmp_path / "rivals.csv"
    assert "Not measured yet." in wrong_cells(out, tools)
    lines = [
        line(IN_TEST, all="unit:abv 3.1*; training_labels: 1.0", changed_right="2", error="0.3"),
        line(IN_TEST, seed="1", all="none: 0.0", checks="outside training:ounces"),
        line(NOTHING, wrong_columns="", all="none: 0.0"),
        line(NOTHING, seed="1", all="", reason="failed: ValueError: no rows"),
    ]
    append_lines(out, lines, list(lines[0]))
    section = "\n".join(wrong_cells(out, tools))
    assert "Here: 3 runs, of seeds 0 and 1. They are of Psi as of commit abc;" in section
    first = "`unit:abv` 1, `none` 1"
    assert f"| beers | test | 0.200 | 0.250 | {first} | 1 of 2 | 2 of 2 | 0.5 | 2.0% |" in section
    assert "named by a cause in 1 of 2 dirty tasks, and it is the first one in 1 of 2" in section
    assert "more than 1% of them in 1 of 3" in section
    assert "- beers, dirty_test: `training_labels` with logistic in 1 of 2 runs" in section
    assert "- beers, nothing, seed 1, logistic: failed: ValueError: no rows" in section
    assert "Datalab" not in section


@pytest.mark.usefixtures("beers")
def test_another_tool_gets_the_same_tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = Rival("Datalab", "numpy", lambda planted, kind: [f"test null {len(planted.tables.X_test)}"], {})
    monkeypatch.setattr(rivals, "RIVALS", (tool,))
    out = tmp_path / "rivals.csv"
    rivals.main(["--raha", "--tables", "beers", "--out", str(out)])
    assert {each["plant"] for each in read_lines(out)} == set(raha.TASKS)
    assert {each["raised"] for each in read_lines(out)} == {"test null 72"}
