"""The page that compares two runs: which corrections both have, against the runs' own labels."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import psidebug
from psidebug.report.comparison import comparison_page, corrections
from psidebug.store import Run, load_run

NASTY = "<script>alert(1)</script>"


def debugged(place: Path, least: float, *, rows: slice = slice(0, 300)) -> Run:
    """Rows with a large second number are called something else than they are."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    y = np.where(X[:, 0] + 0.1 * rng.normal(size=600) > 0, "yes", NASTY)
    given, ids = y[:300].copy(), np.array([f"row-{n}" for n in range(300)])
    given[(X[:300, 1] > least) & (given == "yes")] = NASTY
    psidebug.debug(
        LogisticRegression(), X[:300][rows], given[rows], X[300:], y[300:], rows=ids[rows], check_fidelity=False, rng=1
    ).save(place)
    return load_run(place)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Run]:
    place = tmp_path_factory.mktemp("runs")
    return debugged(place / "one", 0.2), debugged(place / "two", 0.7, rows=slice(0, 280))


def test_each_correction_is_in_one_run_or_in_both(runs: tuple[Run, Run]) -> None:
    found = corrections(*runs)
    changed = [
        {
            each.findings.labels.rows[at]: each.findings.encoding.classes[each.findings.labels.repaired[at]]
            for at in each.findings.labels.corrected
        }
        for each in runs
    ]
    assert all(len(each) > 20 for each in changed)
    shared = {*runs[0].findings.labels.rows.tolist()} & {*runs[1].findings.labels.rows.tolist()}
    one, two = ({row: label for row, label in each.items() if row in shared} for each in changed)
    assert {each.row for each in found.both} == {row for row in one if two.get(row) == one[row]}
    assert {each.row for each in found.otherwise} == {row for row in one if row in two and two[row] != one[row]}
    assert {each.row for each in found.first} == {*one} - {*two}
    assert {each.row for each in found.second} == {*two} - {*one}
    assert found.both
    assert found.first
    assert found.elsewhere == (len(changed[0]) - len(one), len(changed[1]) - len(two))


def test_the_page_says_what_both_have_and_escapes_what_it_shows(runs: tuple[Run, Run]) -> None:
    page = comparison_page(*runs, names=("one", NASTY))
    found = corrections(*runs)
    for title, rows in (("alike in both", found.both), ("in the first run only", found.first)):
        assert f"Corrected {title}: {len(rows)} row" in page
    for each in runs:
        assert each.correction is not None
        assert f"{each.correction.verified.rates['test_after']:.3f}</b>" in page
    assert NASTY not in page
    assert "<script" not in page
    assert re.search(r"script-src 'none'", page.replace("&#39;", "'"))


def test_a_run_beside_itself_has_everything_in_common(runs: tuple[Run, Run]) -> None:
    found = corrections(runs[0], runs[0])
    assert (found.otherwise, found.first, found.second, found.elsewhere) == ((), (), (), (0, 0))
    assert len(found.both) == runs[0].corrected
