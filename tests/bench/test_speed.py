"""Speed: cases, one process per measurement, lines that come once, goals by hand, the page. No test asserts a time."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks import CHECKOUT
from benchmarks.lines import append_lines, read_lines
from benchmarks.peers import environment
from benchmarks.speed import alone, command, run
from benchmarks.speed.cases import SIZES, Case, cases, load, save, size_of
from benchmarks.speed.goals import DECIDE, RANK, goals
from benchmarks.speed.methods import EFFORTS, FIT, FOLDS, METHODS, RIVALS, Method, method_named
from benchmarks.speed.page import page_of
from benchmarks.speed.picture import STYLES
from benchmarks.speed.results import Results
from psidebug.errors import UnknownOption

TINY = Case("logistic", 120)
FITTED = method_named(FIT)


def quiet(line: str) -> None:
    pass


# ── the cases ──


def test_the_grid_has_all_sizes_once_and_the_small_ones_first() -> None:
    grid = cases()
    assert len(set(grid)) == len(grid) == 23
    usual = [case for case in grid if case.usual]
    assert [case.rows for case in usual if case.learner == "logistic"] == list(SIZES)
    assert [case.rows for case in usual if case.learner == "boosting"] == list(SIZES[:-1])
    others = {("200", 2), ("text", 2), ("20", 10), ("curved", 2)}
    assert {(case.form, case.classes) for case in grid if not case.usual} == others
    assert {case.rows for case in cases(quick=True)} == {SIZES[0]}


def test_cases_are_chosen_by_name() -> None:
    chosen = cases(patterns=["logistic-*-20-2", "*-text-*"])
    assert {case.form for case in chosen} == {"20", "text"}
    assert all(case.learner == "logistic" or case.form == "text" for case in chosen)
    with pytest.raises(UnknownOption, match="'iris' is none of the cases: logistic-1000-20-2"):
        cases(patterns=["iris"])


@pytest.mark.parametrize(
    "case",
    [TINY, replace(TINY, form="text"), replace(TINY, form="curved", rows=2_000), replace(TINY, classes=10, form="200")],
)
def test_a_case_has_one_slice_of_wrong_labels_and_comes_back_from_its_files(case: Case, tmp_path: Path) -> None:
    points = case.rows // 3
    parts = case.parts(points=points)
    assert parts["X_train"].shape[0] == len(parts["given"]) == case.rows
    assert parts["X_test"].shape[0] == len(parts["y_test"]) == points
    assert set(np.unique(parts["given"])) <= set(range(case.classes))
    assert np.mean(parts["given"] == 0) > np.mean(parts["y_test"] == 0)
    save(parts, tmp_path)
    again = load(tmp_path)
    assert size_of(again) == size_of(parts) > 0
    for name, values in parts.items():
        first, second = (each.toarray() if sp.issparse(each) else each for each in (values, again[name]))
        np.testing.assert_array_equal(first, second)


# ── one measurement ──


@pytest.mark.parametrize("name", [FIT, FOLDS, "influence, all test points"])
def test_a_process_tells_time_memory_and_versions(name: str, tmp_path: Path) -> None:
    save(TINY.parts(points=60), tmp_path)
    line = run.alone(TINY, method_named(name), tmp_path, python=Path(sys.executable))
    assert line.get("reason") is None
    assert {"processor_seconds", "seconds", "memory_mb", "data_mb"} <= set(line)
    assert (line["numpy"], line["package"]) == (np.__version__, "")
    assert line.get("fits") == {FIT: 1, FOLDS: 5}.get(name)


def test_a_process_that_takes_too_long_is_stopped_and_a_failing_one_says_why(tmp_path: Path) -> None:
    save(TINY.parts(points=60), tmp_path)
    slow = run.alone(TINY, FITTED, tmp_path, python=Path(sys.executable), limit=0.01)
    assert slow == {"reason": "took more than 0 s"}
    lost = run.alone(TINY, FITTED, tmp_path / "nowhere", python=Path(sys.executable))
    assert lost["reason"].startswith("failed: the process ended with 1: FileNotFoundError")


def test_a_failure_inside_a_method_is_a_reason(tmp_path: Path) -> None:
    def fails(contest: object) -> dict[str, Any]:
        raise ValueError("no rows\nmore of it")

    save(TINY.parts(points=60), tmp_path)
    line = alone.measured(Method("broken", fails), TINY, tmp_path)
    assert line["reason"] == "failed: ValueError: no rows"


def test_only_neighbours_get_dense_columns_of_one_scale() -> None:
    parts = replace(TINY, form="text").parts(points=40)
    assert alone.contest_of(TINY, parts, FITTED).near_train is parts["X_train"]
    assert not sp.issparse(alone.contest_of(TINY, parts, method_named("DataScope")).near_train)
    scaled = alone.contest_of(TINY, TINY.parts(points=40), method_named("KNN-Shapley")).near_train
    np.testing.assert_allclose(scaled.std(axis=0), 1.0)


def test_psi_is_one_call_at_each_effort_and_tells_its_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    import pandas as pd

    class Found:
        settings: dict[str, str] = {"fits": "7"}  # noqa: RUF012
        timings = pd.DataFrame({"stage": ["fit"], "seconds": [0.5]})

    def debug(*task: object, rng: int, effort: str = "decide") -> Found:
        asked.append(effort)
        return Found()

    asked: list[str] = []
    monkeypatch.setattr("psidebug.debug", debug)
    methods = [method_named(f"Psi, {effort}") for effort in EFFORTS]
    assert [method.refusal(TINY) for method in methods] == ["", "", ""]
    contest = alone.contest_of(TINY, TINY.parts(points=40), methods[0])
    assert methods[0].work(contest) == {"fits": 7, "stages": [{"stage": "fit", "seconds": 0.5}]}
    assert asked == ["rank"]
    monkeypatch.setattr("psidebug.debug", lambda *task, rng: Found())
    assert [bool(method.refusal(TINY)) for method in methods] == [True, True, False]


# ── the run ──


def measured_by_hand(monkeypatch: pytest.MonkeyPatch, **answers: Any) -> list[tuple[str, str]]:
    """Answers in place of processes; returns what was asked."""
    asked: list[tuple[str, str]] = []

    def answer(case: Case, method: Method, folder: Path, **options: Any) -> dict[str, Any]:
        asked.append((case.name, method.name))
        usual = {"processor_seconds": case.rows / 1e4, "seconds": 1.0, "memory_mb": 3.0, "data_mb": 2.0}
        return {**answers.get(method.name.split(",")[0].replace("-", "_"), usual)}

    monkeypatch.setattr(run, "alone", answer)
    return asked


def test_lines_come_once_and_nothing_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = {"stage": "fit", "seconds": 0.5, "fits": 1}
    psi = {"processor_seconds": 2.0, "fits": 9, "stages": [stage]}
    asked = measured_by_hand(monkeypatch, Psi=psi, DataScope={"reason": "took more than 5 s"})
    monkeypatch.setattr("benchmarks.speed.methods.has_effort", lambda: True)
    out = tmp_path / "results" / "speed.csv"
    grid = [TINY, Case("boosting", 120), Case("logistic", 150)]
    absences = {"cleanlab": "cleanlab does not install"}
    run.run_speed(grid, out, absences=absences, tell=quiet)
    lines = {(line["learner"], line["rows"], line["method"]): line for line in read_lines(out)}
    assert len(lines) == len(grid) * len(METHODS)
    assert lines["logistic", "120", "cleanlab"]["reason"] == "cleanlab does not install"
    assert lines["logistic", "120", "BoostIn, all test points"]["reason"] == "for boosted trees only"
    assert lines["logistic", "150", "DataScope"]["reason"] == "not tried: 120 rows took too long"
    assert lines["boosting", "120", "DataScope"]["reason"] == "took more than 5 s"
    assert lines["boosting", "120", "KNN-Shapley"]["processor_seconds"] == "0.012"
    assert ("boosting-120-20-2", "KNN-Shapley") not in asked, "it never uses the learner"
    assert len(read_lines(run.stages_of(out))) == len(grid) * len(EFFORTS)
    before, count = out.read_text(encoding="utf-8"), len(asked)
    run.run_speed(grid, out, absences=absences, tell=quiet)
    assert (out.read_text(encoding="utf-8"), len(asked)) == (before, count)
    run.forget(out, ["Psi"], grid[:1])
    assert len(read_lines(out)) == len(grid) * len(METHODS) - len(EFFORTS), "other cases would not be measured anew"
    assert len(read_lines(run.stages_of(out))) == (len(grid) - 1) * len(EFFORTS)
    run.forget(out, ["Psi"], grid)
    assert len(read_lines(out)) == len(grid) * (len(METHODS) - len(EFFORTS))
    assert read_lines(run.stages_of(out)) == []
    run.run_speed(grid, out, absences=absences, tell=quiet)
    assert len(asked) == count + 2 * len(grid) * len(EFFORTS), "each is measured twice"


def test_the_faster_of_two_processes_counts_and_what_takes_long_is_done_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers: Iterator[dict[str, Any]]
    answers = iter([{"processor_seconds": 3.0}, {"processor_seconds": 2.0}, {"processor_seconds": 31.0}])
    monkeypatch.setattr(run, "alone", lambda *asked, **options: next(answers))
    here = Path(sys.executable)
    assert run.fastest(TINY, FITTED, tmp_path, python=here)["processor_seconds"] == 2.0
    assert run.fastest(TINY, FITTED, tmp_path, python=here)["processor_seconds"] == 31.0
    answers = iter([{"processor_seconds": 3.0}, {"reason": "took more than 5 s"}, {"reason": "failed"}])
    assert run.fastest(TINY, FITTED, tmp_path, python=here) == {"processor_seconds": 3.0}
    assert run.fastest(TINY, FITTED, tmp_path, python=here) == {"reason": "failed"}


def test_commits_are_told_with_what_was_measured_by_each(tmp_path: Path) -> None:
    case, out = Case("logistic", 10_000), tmp_path / "speed.csv"
    by: dict[str, dict[str, Any]] = {FIT: {"commit": "bbb"}, "DataScope": {"commit": "aaa"}}
    results_of(out, *((case, name, {"processor_seconds": 1.0} | more) for name, more in by.items()))
    assert "commit bbb (one fit); commit aaa (DataScope)" in page_of(out)


def test_a_page_says_when_the_machine_was_busy(tmp_path: Path) -> None:
    case = Case("logistic", 10_000)
    for name, wall, busy in (("quiet", 2.2, False), ("busy", 9.0, True)):
        seconds = {"processor_seconds": 2.0, "seconds": wall}
        results_of(tmp_path / name, (case, FIT, seconds | {"seconds": 2.0}), (case, DECIDE, seconds))
        assert ("took 4.5 times their processor time" in page_of(tmp_path / name)) == busy
        assert ("was busy" in page_of(tmp_path / name)) == busy


def test_the_command_measures_the_smallest_cases_and_writes_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured_by_hand(monkeypatch)
    nothing = {name: f"{name} is not installed" for name in ("cleanlab", "pydvl", "datascope")}
    monkeypatch.setattr(environment, "interpreters", lambda *asked, **options: ({}, nothing))
    out, page = tmp_path / "speed.csv", tmp_path / "docs" / "speed.md"
    command.bench_speed(quick=True, out=out, page=page, tell=quiet)
    text = page.read_text(encoding="utf-8")
    assert "- cleanlab: cleanlab is not installed (logistic regression, 1,000 rows; boosted trees, 1,000 rows)." in text
    assert "<svg" in (page.parent / "images" / "speed.svg").read_text(encoding="utf-8")
    with pytest.raises(UnknownOption, match="'psy' is none of the methods"):
        command.bench_speed(out=out, again=["psy"], tell=quiet)


def test_without_installing_only_modules_that_are_there_have_an_interpreter(tmp_path: Path) -> None:
    found, reasons = environment.interpreters(["catboost", "pydvl"], tmp_path / "nowhere", install=False)
    assert set(found) | set(reasons) == {"catboost", "pydvl"}
    assert not set(found) & set(reasons)
    assert list(tmp_path.iterdir()) == []


# ── what it says ──


def results_of(path: Path, *values: tuple[Case, str, dict[str, Any]]) -> Results:
    for case, method, measures in values:
        named = {"learner": case.learner, "rows": case.rows, "columns": case.form, "classes": case.classes}
        append_lines(path, [named | {"method": method, "version": "0"} | measures], run.FIELDS)
    return Results.of(path)


def test_ratios_growth_and_goals_by_hand(tmp_path: Path) -> None:
    ten, fifty, million = (Case("logistic", rows) for rows in (10_000, 50_000, 1_000_000))
    trees = Case("boosting", 10_000)
    results = results_of(
        tmp_path / "speed.csv",
        *((case, FIT, {"processor_seconds": case.rows / 1e5}) for case in (ten, fifty, million)),
        (ten, FOLDS, {"processor_seconds": 0.4}),
        (fifty, FOLDS, {"processor_seconds": 2.0}),
        (ten, DECIDE, {"processor_seconds": 1.9}),
        (fifty, DECIDE, {"processor_seconds": 9.0}),
        (million, DECIDE, {"processor_seconds": 100.0, "memory_mb": 500.0, "data_mb": 160.0}),
        (ten, RANK, {"processor_seconds": 0.1}),
        (fifty, RANK, {"processor_seconds": 1.0}),
        (ten, "DataScope", {"processor_seconds": 5.0}),
        (ten, "cleanlab", {"processor_seconds": 0.5}),
        (trees, DECIDE, {"processor_seconds": 3.0, "fits": 9}),
        (trees, FOLDS, {"processor_seconds": 2.0}),
    )
    assert results.growth("logistic", FIT) == pytest.approx(1.0)
    assert results.growth("boosting", DECIDE) is None
    assert results.rows_per_second(ten, "DataScope") == 2_000
    assert results.fastest_rival(ten) == ("DataScope", 2_000), "cleanlab uses no test points"
    found = {(goal.what, goal.where): goal for goal in goals(results)}
    told = {place: (goal.measured, goal.met) for place, goal in found.items() if goal.met is not None}
    assert told["decision, seconds", "logistic regression, 10,000 rows"] == (1.9, True)
    assert told["decision ÷ five folds", "logistic regression, 50,000 rows"] == (4.5, False)
    assert told["decision ÷ five folds", "boosted trees, 10,000 rows"] == (1.5, True)
    assert told["decision ÷ one fit", "logistic regression, 1,000,000 rows"] == (10.0, True)
    assert told["extra memory of a decision ÷ data", "logistic regression, 1,000,000 rows"] == (3.125, False)
    assert told["ranking ÷ one fit", "all cases"] == (2.0, False)
    assert found["ranking ÷ one fit", "all cases"].note == "the worst of 2: logistic regression, 50,000 rows"
    assert told["ranking ÷ five folds", "all cases"] == (0.5, True)
    assert told["fits of a decision", "boosted trees, all cases"] == (9, False)
    page = page_of(tmp_path / "speed.csv")
    assert "| decision ÷ five folds | logistic regression, 50,000 rows | 4 | 4.5 | **missed** |  |" in page
    assert "| decision ÷ five folds | boosted trees, 50,000 rows | 1.5 | – | not measured |  |" in page


def test_every_method_has_a_line_in_the_picture() -> None:
    assert list(STYLES) == [method.name for method in METHODS]
    assert set(RIVALS) < set(STYLES)


def test_the_page_of_the_documentation_is_that_of_the_lines() -> None:
    kept = CHECKOUT / "docs" / "speed.md"
    assert kept.read_text(encoding="utf-8") == page_of(command.RESULTS), "run: psi bench speed (see benchmarks/README)"
