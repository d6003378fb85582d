"""The paper's workflow on small data: what must hold of any order, and that the page says what was measured."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from benchmarks.lines import append, read
from benchmarks.paper.cells import CELLS, Cell
from benchmarks.paper.evaluation import Line, flipped, measure
from benchmarks.paper.page import page
from benchmarks.paper.steps import STEPS
from psidebug.datasets import BENCHMARKS

SMALL = Cell("breast_cancer", "logistic", "systematic", 0.0, (0.0, 0.0, 0.0), 0, 0.0)


@pytest.fixture(scope="module")
def lines() -> list[Line]:
    return list(measure(SMALL, 1000))


def _of(lines: list[Line], step: str, bugs: str) -> Line:
    return next(line for line in lines if (line.step, line.bugs) == (step, bugs))


@pytest.mark.thorough
def test_psi_finds_systematic_errors_where_the_method_as_printed_does_not(lines: list[Line]) -> None:
    printed, ours = _of(lines, "paper", "new"), _of(lines, "psi", "new")
    assert ours.p_at_n is not None
    assert ours.p_at_n > (printed.p_at_n or 0.0) + 0.3


def test_the_correction_that_psi_chooses_lowers_the_validation_error(lines: list[Line]) -> None:
    ours = _of(lines, "psi", "all")
    assert ours.error_repaired is not None
    assert ours.error_clean <= ours.error_repaired + 0.03
    assert ours.error_repaired < ours.error_noisy - 0.03


def test_new_bugs_are_some_of_all_bugs(lines: list[Line]) -> None:
    assert 0 < _of(lines, "psi", "new").bug_count <= _of(lines, "psi", "all").bug_count


def test_every_step_is_measured_for_the_bugs_it_is_meant_for(lines: list[Line]) -> None:
    assert {(line.step, line.bugs) for line in lines} == {(step.name, kind) for step in STEPS for kind in step.bugs}


def test_flipping_the_wrong_rows_gives_the_clean_labels() -> None:
    data = BENCHMARKS["breast_cancer"](1000)
    np.testing.assert_array_equal(flipped(data, np.flatnonzero(data.wrong)), data.clean)


def test_lines_come_back_from_their_file(lines: list[Line], tmp_path: Path) -> None:
    append(tmp_path / "lines.csv", lines[:2])
    append(tmp_path / "lines.csv", lines[2:])
    found = read(tmp_path / "lines.csv")
    assert len(found) == len(lines)
    for line, back in zip(lines, found, strict=True):
        for name, value in asdict(line).items():
            expected = None if value == "" else value
            assert back[name] == (pytest.approx(value, rel=1e-4) if isinstance(value, float) else expected)
    assert read(tmp_path / "nothing.csv") == []


def test_the_page_has_our_numbers_beside_the_printed_ones_and_marks_what_was_missed(lines: list[Line]) -> None:
    cell = CELLS[2]  # income, logistic regression: printed 0.70, our goal 0.93
    measured = [asdict(line) | {"data": cell.data, "learner": cell.learner} for line in lines]
    for line in measured:
        line["p_at_n"] = 0.5 if line["step"] == "psi" else 0.25
        line["error_noisy"], line["error_repaired"] = 0.2, 0.3
    text = page(measured, pictures=False)
    assert "| income logistic | 0.70 | 0.50 | **0.50** |" in text
    assert "0.19 → 0.25 → 0.23" in text
    assert "worse than before in 1 of 1 runs (income logistic, seed 1000: 0.2000 → 0.3000)" in text
    for line in measured:
        line["p_at_n"], line["error_repaired"] = 0.95, 0.1
    text = page(measured, pictures=False)
    assert "| 0.95 | 0.95 |" in text
    assert "worse than before in 0 of 1 runs." in text
