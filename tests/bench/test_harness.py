"""The run: what is written, what is not measured twice, and what is said where a method cannot run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.lines import append_lines, read_lines
from benchmarks.peers import command, grid, speed
from benchmarks.peers.contest import Finding, Peer
from benchmarks.peers.grid import Cell
from benchmarks.peers.harness import FIELDS, FOUND, Ground, forget, judged, measure, run_peers
from benchmarks.peers.roster import named
from benchmarks.peers.table import page_of
from psidebug.datasets import Benchmark
from psidebug.errors import PsiError, UnknownOption

LOSS, JUDGE = named("training loss"), named("judge of the test set")
CELL = Cell("breast_cancer", "logistic", "systematic", "all", False, 1000)


def failing(contest: object) -> Finding:
    raise ValueError("no rows\nmore of it")


def test_lines_come_once_and_say_why_a_method_is_missing(tmp_path: Path) -> None:
    out = tmp_path / "results" / "peers.csv"
    absent = Peer("absent", LOSS.rank, "", package="no_such_module")
    broken = Peer("broken", failing, "")
    slow = Peer("slow", LOSS.rank, "", seconds=lambda contest, one_fit: 1e6)
    few = Peer("few", LOSS.rank, "", most_rows=10)
    trees = replace(LOSS, name="trees only", learners=("boosting",))
    peers = (LOSS, JUDGE, absent, broken, slow, few, trees)
    said: list[str] = []
    run_peers([CELL], out, peers=peers, absences={"no_such_module": "it does not install"}, tell=said.append)
    first = out.read_text(encoding="utf-8")
    lines = {line["method"]: line for line in read_lines(out)}
    assert {name: line["reason"] for name, line in lines.items()} == {
        LOSS.name: "",
        JUDGE.name: "",
        "absent": "it does not install",
        "broken": "failed: ValueError: no rows",
        "slow": "too slow: about 1000000 s expected",
        "few": "too slow beyond 10 rows",
    }
    assert 0 < float(lines[LOSS.name]["ap"]) < float(lines[JUDGE.name]["ap"]) <= 1
    assert lines[LOSS.name]["auto"] == ""
    assert float(lines[JUDGE.name]["auto"]) < float(lines[JUDGE.name]["noisy"])
    run_peers([CELL], out, peers=peers, tell=said.append)
    assert out.read_text(encoding="utf-8") == first
    assert len(said) == 1
    forget(out, [LOSS.name])
    assert {line["method"] for line in read_lines(out)} == {*lines} - {LOSS.name}
    run_peers([CELL], out, peers=peers, tell=said.append)
    assert {line["method"] for line in read_lines(out)} == {*lines}


def test_where_nothing_is_wrong_only_choices_are_measured(tmp_path: Path) -> None:
    out = tmp_path / "peers.csv"
    run_peers([replace(CELL, noise="none")], out, peers=(LOSS, JUDGE), tell=lambda line: None)
    (line,) = read_lines(out)
    assert (line["method"], line["n"], line["ap"], line["top_n"]) == (JUDGE.name, "0", "", "")
    assert line["clean"] == line["noisy"]
    assert line["auto"] != ""


def test_a_perfect_finding_wins_everything_back(one_slice: tuple[Benchmark, Ground]) -> None:
    data, ground = one_slice
    row = judged(Finding(data.wrong.astype(float), labels=data.clean), ground)
    assert (row["ap"], row["p_at_n"], row["n"]) == (1.0, 1.0, data.wrong.sum())
    assert row["top_n"] == row["auto"] == row["clean"]
    assert row["changed"] == data.wrong.sum()
    dropped = judged(Finding(data.wrong.astype(float), kept=~data.wrong), ground)
    assert dropped["changed"] == data.wrong.sum()
    assert dropped["auto"] < dropped["noisy"]


def test_a_label_of_many_classes_moves_to_the_likeliest_other() -> None:
    cell = replace(CELL, data="ten_digits", noise="random")
    data = cell.benchmark()
    ground = Ground.of(data, cell.contest(data))
    assert (ground.moved != data.given).all()
    assert np.mean(ground.moved[data.wrong] == data.clean[data.wrong]) > 0.8
    assert measure(Peer("two classes", LOSS.rank, "", most_classes=2), ground) == {"reason": "for 2 classes only"}


def test_wrong_test_labels_leave_the_training_rows_as_they_are() -> None:
    data = CELL.benchmark()
    right, wrong = (replace(CELL, wrong_test=flag).contest(data) for flag in (False, True))
    np.testing.assert_array_equal(right.given, wrong.given)
    assert (right.y_test != wrong.y_test).sum() == round(0.05 * len(data.y_test))


def test_the_grid_has_what_matters_first() -> None:
    cells = grid.cells()
    assert len(set(cells)) == len(cells)
    first = cells[: 8 * 3 * 4 * 2 * 2]
    assert {cell.seed for cell in first} == {0, 1, 2}
    assert {cell.test for cell in first} == {"all", "100"}
    assert not any(cell.wrong_test for cell in first)
    assert {cell.data for cell in first} == set(grid.DATA)
    assert not any(cell.data == "breast_cancer" and cell.test == "400" for cell in cells)


@pytest.mark.parametrize(("data", "tests"), [(["iris"], []), ([], ["some"])])
def test_a_wrong_name_is_said_before_anything_is_done(data: list[str], tests: list[str], tmp_path: Path) -> None:
    with pytest.raises(UnknownOption, match=r"iris|some"):
        command.bench_peers(out=tmp_path / "peers.csv", place=tmp_path / "nowhere", data=data, tests=tests)
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_stops_early_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (tmp_path / "sitecustomize.py").write_text("import os; os._exit(3)", encoding="utf-8")
    with pytest.raises(PsiError, match="exit code 3"):
        command.bench_peers(quick=True, out=tmp_path / "peers.csv", install=False, place=tmp_path / "nowhere")


def test_speed_is_rows_per_second(tmp_path: Path) -> None:
    out = tmp_path / "speed.csv"
    few = Peer("few", LOSS.rank, "", most_rows=10)
    speed.run_speed(out, sizes=(500,), peers=(LOSS, few), tell=lambda line: None)
    lines = [line for line in read_lines(out) if line["learner"] == "logistic"]
    assert [line["reason"] for line in lines] == ["", "too slow beyond 10 rows"]
    assert float(lines[0]["rows_per_second"]) == pytest.approx(500 / float(lines[0]["seconds"]), rel=1e-2)
    before = out.read_text(encoding="utf-8")
    speed.run_speed(out, sizes=(500,), peers=(LOSS, few), tell=lambda line: None)
    assert out.read_text(encoding="utf-8") == before


def line_of(method: str, ap: float, *, auto: float | None = None, **values: object) -> dict[str, object]:
    task = {"data": "linear", "learner": "logistic", "noise": "random", "test": "all", "wrong_test": 0, "seed": 0}
    errors = {"n": 10, "clean": 0.1, "noisy": 0.2, "top_n": 0.15, "fits": 3.0, "seconds": 1.0}
    return task | {"method": method, "version": "0", "ap": ap, "p_at_n": ap, "auto": auto} | errors | values


def test_the_page_is_honest_where_psi_is_behind(tmp_path: Path) -> None:
    out = tmp_path / "peers.csv"
    lines = [line_of("Psi", 0.90, auto=0.25), line_of(JUDGE.name, 0.93, auto=0.12)]
    lines += [line_of("Psi", 0.92, data="odd_even", auto=0.12), line_of(JUDGE.name, 0.93, data="odd_even", auto=0.2)]
    lines += [line_of("Psi", 0.94, seed=1, auto=0.25), line_of(JUDGE.name, 0.99, seed=1, auto=0.12)]
    lines.append({**line_of("cleanlab", 0.5), "ap": None, "reason": "cleanlab is not installed"})
    append_lines(out, lines, FIELDS)
    made = page_of(out, tmp_path / "none.csv", {})
    assert "| Psi | **0.920** | 0.920 | 0.92 |" in made  # means over seeds: 0.92 against 0.96, and 0.92 against 0.93
    assert f"| {JUDGE.name} | *0.960* | *0.930* |" in made
    assert "in 1 of the 2 columns" in made
    assert "| logistic, random, linear | 0.100 | 0.200 | **0.250** |" in made
    assert "- cleanlab: cleanlab is not installed; everywhere." in made


def test_the_page_has_the_detection_curves_of_methods_that_ran_everywhere(tmp_path: Path) -> None:
    out = tmp_path / "peers.csv"
    found = dict(zip(FOUND, (0.1, 0.4, 0.7, 0.9), strict=True))
    lines = [line_of("Psi", 0.9, **found), line_of("Psi", 0.7, data="odd_even", **dict.fromkeys(FOUND, 0.5))]
    append_lines(out, [*lines, line_of(JUDGE.name, 0.9, **found)], FIELDS)
    made = page_of(out, tmp_path / "none.csv", {}).split("## Found after")[1].split("## Fewer")[0]
    assert "| Psi | 0.80 | 0.30 | 0.45 | 0.60 | 0.70 |" in made  # means of two data sets
    assert JUDGE.name not in made, "it was measured on one of them"
