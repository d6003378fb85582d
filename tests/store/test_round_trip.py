"""A diagnosis saved and loaded shows what it showed, whatever its tables, labels and ids are."""

from __future__ import annotations

import importlib.util
import json
import sys
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import polars.testing
import pyarrow as pa
import pytest

import psidebug
from psidebug.diagnosis.as_findings import best_of_each_slice
from psidebug.report import summarise
from tests.conftest import Planted, refit
from tests.store.conftest import CASES, debugged
from tests.store.sameness import assert_same_effect, assert_same_frame, assert_same_table


@dataclass(frozen=True)
class Saved:
    name: str
    diagnosis: psidebug.Diagnosis
    path: Path

    @property
    def run(self) -> psidebug.Diagnosis:
        return psidebug.Diagnosis.load(self.path)


@pytest.fixture(scope="module", params=list(CASES))
def saved(request: pytest.FixtureRequest, planted: Planted, tmp_path_factory: pytest.TempPathFactory) -> Saved:
    found = debugged(planted, **CASES[request.param](planted))
    path = tmp_path_factory.mktemp("runs") / "run"
    found.save(path)
    return Saved(request.param, found, path)


@pytest.mark.parametrize("name", ["suspects", "slices", "explanations", "threshold_curve"])
def test_the_tables_of_results(saved: Saved, name: str) -> None:
    live = getattr(saved.diagnosis, name)
    if live is None:
        assert getattr(saved.run, name) is None
    else:
        assert_same_frame(getattr(saved.run, name), live)


def test_what_is_told(saved: Saved) -> None:
    run, live = saved.run, saved.diagnosis
    assert run.verdict == live.verdict
    assert run.notes == live.notes
    assert run.settings == dict(live.settings)
    assert run.spec.seed == live.task.seed
    assert run.nothing_to_debug == live.nothing_to_debug
    assert run.corrected == live.corrected
    classes = run.findings.encoding.classes
    assert classes == live.task.encoding.classes
    assert [type(each) for each in classes] == [type(each) for each in live.task.encoding.classes]
    assert run.findings.origin == live.findings.origin
    assert run.findings.origin.created.endswith("+00:00")
    np.testing.assert_equal(
        None if run.fidelity is None else asdict(run.fidelity),
        None if live.fidelity is None else asdict(live.fidelity),
    )


def test_the_effects_of_corrections(saved: Saved) -> None:
    run, live = saved.run, saved.diagnosis
    assert (run.correction is None) == (live.correction is None)
    if run.correction is not None and live.correction is not None:
        assert run.correction.explanation == live.correction.explanation
        assert_same_effect(run.correction.verified, live.correction.verified)
    assert str(run.controls) == str(live.controls)
    assert (run.curve is None) == (live.curve is None)
    if run.curve is not None and live.curve is not None:
        assert (run.curve.minimum, run.curve.chosen, run.curve.reported) == (
            live.curve.minimum, live.curve.chosen, live.curve.reported,
        )  # fmt: skip
        np.testing.assert_array_equal(run.curve.wrong, live.curve.wrong)
        for one, other in zip(run.curve.points, live.curve.points, strict=True):
            assert (one.corrected, one.ps, one.p_wrong) == (other.corrected, other.ps, other.p_wrong)
            assert_same_effect(one.verified, other.verified)


def test_the_data(saved: Saved) -> None:
    run, task = saved.run.data, saved.diagnosis.task
    assert_same_table(run.train.features, task.train.features)
    assert_same_table(run.test.features, task.test.features)
    assert_same_table(run.metadata, task.data.metadata)
    np.testing.assert_array_equal(run.train.codes, task.train.codes)
    np.testing.assert_array_equal(saved.run.findings.predictions.bugs, task.bugs)
    assert run.rows.tolist() == task.rows.tolist()
    assert run.rows.dtype == task.rows.dtype
    np.testing.assert_equal(run.sample_weight, task.data.sample_weight)


def test_the_repaired_labels_are_of_the_kind_that_was_given(saved: Saved) -> None:
    one, other = saved.run.repaired_labels, saved.diagnosis.repaired_labels
    assert type(one) is type(other)
    if isinstance(other, pd.Series):
        pd.testing.assert_series_equal(one, other)
    elif isinstance(other, pl.Series):
        pl.testing.assert_series_equal(one, other)
    elif isinstance(other, pa.ChunkedArray):
        assert one.to_pylist() == other.to_pylist()
    else:
        assert one.dtype == other.dtype
        assert one.tolist() == other.tolist()


def test_the_predictions(saved: Saved) -> None:
    task, tests = saved.diagnosis.task, saved.run.findings.predictions
    np.testing.assert_array_equal(tests.bugs, task.bugs)
    np.testing.assert_array_equal(tests.labels, task.test.codes)
    np.testing.assert_array_equal(tests.before, task.predicted)
    best = saved.diagnosis.correction
    assert (tests.after is None) == (best is None)
    if best is not None:
        np.testing.assert_array_equal(tests.after, task.predict(refit(task, best.codes), task.test))


def test_conditions_find_the_same_rows_again(saved: Saved) -> None:
    found = best_of_each_slice(saved.diagnosis.task, saved.diagnosis.tried)
    slices = saved.run.findings.slices
    assert [each.conditions for each in slices] == [one.parts[0].conditions for one, _ in found]
    for each, (one, _) in zip(slices, found, strict=True):
        np.testing.assert_array_equal(each.members(saved.run.data), one.rows)


def test_a_report_of_a_saved_run_is_that_of_the_diagnosis(saved: Saved, tmp_path: Path) -> None:
    run, live = saved.run, saved.diagnosis
    told, again = (asdict(summarise(each.findings, each.data)) for each in (live, run))
    assert str(told) == str(again)
    run.report(tmp_path / "saved.html")
    live.report(tmp_path / "live.html")
    assert (tmp_path / "saved.html").read_text() == (tmp_path / "live.html").read_text()


def test_all_files_are_plain(saved: Saved) -> None:
    kinds = {path.suffix for path in saved.path.rglob("*") if path.is_file()}
    assert kinds == {".json", ".parquet", ".skops"}

    def strict(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    json.loads((saved.path / "run.json").read_text(encoding="ascii"), parse_constant=strict)


# ── causes ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_causes_of_a_bug_are_those_that_explain_tells(diagnosis: psidebug.Diagnosis, tmp_path: Path) -> None:
    diagnosis.save(tmp_path / "run")
    run = psidebug.Diagnosis.load(tmp_path / "run")
    task = diagnosis.task
    smallest = task.margins(task.learner, task.test).min(axis=1)
    explained = [each.test_row for each in run.explained()]
    assert explained == sorted(task.bugs.tolist(), key=lambda bug: smallest[bug])
    first, live = run.explained(1)[0], diagnosis.explain(explained[0]).causes.head(20)
    assert run.data.rows[first.positions].tolist() == live["row"].tolist()
    np.testing.assert_array_equal(np.stack([first.ps, first.low, first.high]), live[["ps", "ps_low", "ps_high"]].T)


def test_a_few_bugs_and_causes_are_kept(planted: Planted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("psidebug.diagnosis.explanation.BUGS_EXPLAINED", 2)
    monkeypatch.setattr("psidebug.diagnosis.explanation.CAUSES_KEPT", 3)
    debugged(planted).save(tmp_path / "run")
    assert [len(each.positions) for each in psidebug.Diagnosis.load(tmp_path / "run").explained()] == [3, 3]


class NotLinear:
    """A gray box that must not be asked: every answer would be a fit."""

    name = "not linear"

    def margins(self, worlds: Any, points: Any = None) -> Any:
        raise AssertionError("asked")


def test_a_gray_box_that_is_not_linear_is_not_asked_for_causes(diagnosis: psidebug.Diagnosis, tmp_path: Path) -> None:
    assert diagnosis.live is not None
    replace(diagnosis, live=replace(diagnosis.live, named_graybox=NotLinear())).save(tmp_path / "run")
    found = psidebug.Diagnosis.load(tmp_path / "run").findings
    assert len(found.predictions.bugs) > 0
    assert found.bug_causes == ()
    assert "'not linear' is not linear in the labels" in str(found.unexplained)


# ── a reader without the user's libraries ───────────────────────────────────────────────────────────────────────────


def test_without_the_users_library_results_come_as_pyarrow(
    diagnosis: psidebug.Diagnosis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    diagnosis.save(tmp_path / "run")
    live = diagnosis.suspects["row"].tolist()
    real = importlib.util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name, *rest: None if name == "pandas" else real(name, *rest))
    run = psidebug.Diagnosis.load(tmp_path / "run")
    assert isinstance(run.suspects, pa.Table)
    assert run.suspects["row"].to_pylist() == live
    assert isinstance(run.slices, pa.Table)
    assert "pandas" in sys.modules  # the library was there and was not asked
