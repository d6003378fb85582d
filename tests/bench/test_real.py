"""Measures of what is stated, rivals on planted errors, and the run: lines once, a page, a picture."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, f1_score

from benchmarks.lines import read_lines
from benchmarks.measures import average_precision, order_of
from benchmarks.real import calibrated, command, harness, rivals
from benchmarks.real.measures import calibration_error, f1, reliability, won_back
from benchmarks.real.results import Results, curves
from benchmarks.real.rivals import Finding, Rival, issues
from benchmarks.real.roster import CALIBRATED, JUDGE, PSI, RIVALS
from benchmarks.real.table import page_of
from benchmarks.real.tasks import RealTask
from psidebug.errors import InputError, UnknownOption
from tests.cli.folder import psi


def planted(seed: int = 0, *, rows: int = 400, trusted: int = 150) -> RealTask:
    """Three classes around three centres; most rows near the border of class 1 are called 1, as hard rows are."""
    rng = np.random.default_rng(seed)
    centres = np.array([[0.0, 2.0], [2.0, -1.0], [-2.0, -1.0]])
    y = rng.integers(3, size=rows + trusted + 500)
    X = centres[y] + rng.normal(size=(len(y), 2))
    distance = np.linalg.norm(X[:, None] - centres[None], axis=2)
    border = distance[:, 1] < distance.min(axis=1) + 2.0
    given = np.where(border & (rng.random(len(y)) < 0.8), 1, y)
    train, valid, test = np.split(np.arange(len(y)), [rows, rows + trusted])
    parts = (X[train], given[train], y[train], X[valid], y[valid], X[test], y[test])
    return RealTask("planted", seed, LogisticRegression(), *parts, size=3)


@pytest.fixture(scope="module")
def ground() -> harness.Ground:
    return harness.Ground.of(planted())


# ── measures ──


def test_measures_are_those_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    p = rng.random(500)
    wrong = rng.random(500) < p**2
    assert f1(p, wrong) == pytest.approx(f1_score(wrong, p > 0.5))
    assert average_precision(order_of(p), wrong) == pytest.approx(average_precision_score(wrong, p))
    assert f1(np.zeros(3), np.zeros(3, dtype=bool)) == 0.0


def test_the_reliability_curve_by_hand() -> None:
    p = np.array([0.0, 0.05, 0.1, 0.95, 1.0])
    wrong = np.array([False, True, False, True, True])
    assert reliability(p, wrong) == {0: (2, 0.025, 0.5), 1: (1, 0.1, 0.0), 9: (2, 0.975, 1.0)}
    assert calibration_error(p, wrong) == pytest.approx((2 * 0.475 + 0.1 + 2 * 0.025) / 5)
    assert calibration_error(wrong.astype(float), wrong) == 0.0


def test_won_back() -> None:
    assert won_back(0.1, 0.3, 0.15) == pytest.approx(0.75)
    assert won_back(0.1, 0.3, 0.35) == pytest.approx(-0.25)
    assert won_back(0.2, 0.2, 0.1) is None


# ── rivals ──


def test_issues_by_hand() -> None:
    """Thresholds are the means .7 (class 0) and .6 (class 1).

    Of the rows labelled 0, two count as 0 (.9, .9) and one as 1 (.3: p(1) = .7 ≥ .6). Of those labelled 1, one counts
    as 0 (p(0) = .8) and two as 1 (.8, .8). Both lines have as many counts as labels, so one row of each is an issue.
    """
    p0 = np.array([0.9, 0.9, 0.3, 0.8, 0.2, 0.2])
    p = np.column_stack([p0, 1 - p0])
    y = np.array([0, 0, 0, 1, 1, 1])
    assert issues(p, y).tolist() == [False, False, True, True, False, False]


def test_whole_numbers_keep_their_sum() -> None:
    """These are 1.4, 1.4, 1.2 → 1, 1, 1, of sum 3; the first largest remainder from the end goes up."""
    assert sum(rivals._rounded(np.array([1.4, 1.4, 1.2]))) == 4
    assert sum(rivals._rounded(np.array([1.6, 1.6, 0.8]))) == 4
    assert rivals._rounded(np.array([2.0, 1.3, 0.7])).tolist() == [2, 1, 1]


def test_the_labeller_believes_who_knows() -> None:
    """One opinion says the truth with probability .8, one says anything: the weights go to the first."""
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=300)
    said = np.where(rng.random(300) < 0.8, y, (y + rng.integers(1, 3, size=300)) % 3)
    knows = np.where(np.eye(3)[said] == 1, np.log(0.8), np.log(0.1))
    noise = np.log(rng.dirichlet(np.ones(3), 300))
    a, b = calibrated.calibrated(np.stack([knows, noise]), y)
    assert a[0] == pytest.approx(1.0, abs=0.2)
    assert a[1] < 0.15
    assert np.abs(b).max() < 0.5


def test_rates_are_those_of_the_labels() -> None:
    """Where the labeller is sure, W is its word; where it knows nothing, W is the given label."""
    sure = np.array([[0.999, 0.001]] * 50 + [[0.001, 0.999]] * 50)
    y = np.array([0] * 30 + [1] * 70)  # 20 of class 0 recorded as 1
    assert (calibrated.with_rates(sure, y).argmax(axis=1) == sure.argmax(axis=1)).all()
    nothing = np.full((100, 2), 0.5)
    assert (calibrated.with_rates(nothing, y).argmax(axis=1) == y).all()


@pytest.mark.parametrize("rival", RIVALS, ids=lambda rival: rival.name)
def test_every_method_finds_more_than_chance(rival: Rival, ground: harness.Ground) -> None:
    row, finding = harness.tried(rival, ground)
    assert "reason" not in row
    assert finding is not None
    assert row["ap"] > 1.5 * row["rate"]
    assert finding.p_wrong is not None
    assert (finding.p_wrong >= 0).all()
    assert (finding.p_wrong <= 1).all()
    assert 0 <= row["ece"] < 0.5


def test_the_calibrated_labeller_states_the_rate_and_repairs(ground: harness.Ground) -> None:
    row, finding = harness.tried(next(each for each in RIVALS if each.name == CALIBRATED), ground)
    assert finding is not None
    assert abs(row["stated"] - row["rate"]) < row["rate"] / 3
    assert row["after"] == row["relabelled"] <= row["given"]
    assert {"weighted", "trusted"} <= set(row)
    assert "model" not in row


def test_what_a_diagnosis_offers_later_is_measured_when_it_is_there(ground: harness.Ground) -> None:
    task = ground.task
    model = LogisticRegression().fit(task.X_test, task.y_test)
    weights = np.ones(len(task.given))
    row = harness.measured(Finding(weights, labels=task.clean, weights=weights, model=model), ground)
    assert row["relabelled"] == row["weighted"] == ground.clean
    assert row["after"] == row["model"] == harness.error(task, model)
    assert "stated" not in row


# ── the run ──


def failing(task: RealTask) -> Finding:
    raise ValueError("no rows\nmore of it")


def load_planted(name: str, seed: int) -> RealTask:
    """Tasks that are called as real ones are; one has no files."""
    if name == "semeval_majority":
        raise InputError("there is no file.")
    return planted(seed, rows=200, trusted=80)


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("measured") / "real.csv"
    names = ["youtube_majority", "semeval_majority", "mnist", "youtube_single"]
    methods = [each for each in RIVALS if each.name in (PSI, CALIBRATED, JUDGE)]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(harness, "load", load_planted)
        harness.run_real(names, [0], out, rivals=(*methods, Rival("broken", failing, "")), tell=lambda line: None)
    return out


@pytest.fixture
def results(measured: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the results, to be changed."""
    monkeypatch.setattr(harness, "load", load_planted)
    copied = shutil.copytree(measured.parent, tmp_path / "copied")
    return copied / measured.name


def test_lines_come_once_and_make_a_page_and_a_picture(results: Path) -> None:
    lines = read_lines(results)
    assert len(lines) == 4 * 4
    reasons = {(line["task"], line["method"]): line["reason"] for line in lines if line["reason"]}
    assert reasons["youtube_majority", "broken"] == "failed: ValueError: no rows"
    assert reasons["semeval_majority", PSI] == "no such task: there is no file."
    before = results.read_bytes()
    harness.run_real(
        ["youtube_majority"], [0], results, rivals=[each for each in RIVALS if each.name == PSI], tell=print
    )
    assert results.read_bytes() == before
    command.write_page(results, results.parent / "real.md")
    page = (results.parent / "real.md").read_text(encoding="utf-8")
    assert page == page_of(results)
    assert page.startswith("# Psi on errors that nobody planted")
    assert "What was measured: seed 0 of one task." in page
    assert "| YouTube, rules |" in page
    assert "| MNIST, 15 wrong |" in page
    assert "| YouTube, one rule a row |" in page
    assert "- broken, youtube_majority, seed 0: failed: ValueError: no rows" in page
    assert (results.parent / "images" / "real.svg").read_text(encoding="utf-8").startswith("<svg")


def test_lines_are_forgotten_and_means_are_over_seeds(results: Path) -> None:
    harness.run_real(
        ["youtube_majority"], [1], results, rivals=[each for each in RIVALS if each.name == PSI], tell=print
    )
    found = Results.of(results)
    each = [float(x["ap"]) for x in found.lines if (x["task"], x["method"]) == ("youtube_majority", PSI)]
    assert len(each) == 2
    assert found.means("ap")["youtube_majority", PSI] == pytest.approx(np.mean(each))
    pooled = curves(harness.curve_of(results), ["youtube_majority"])
    assert sum(bin_.rows for bin_ in pooled[PSI].values()) == 2 * 200
    harness.forget(results, [PSI])
    assert PSI not in {line["method"] for line in read_lines(results)}
    assert PSI not in {line["method"] for line in read_lines(harness.curve_of(results))}


def test_a_goal_that_is_missed_is_bold(results: Path) -> None:
    text = results.read_text(encoding="utf-8").splitlines()
    head = text[0].split(",")
    changed = []
    for line in text[1:]:
        cells = line.split(",")
        if cells[:3] == ["youtube_majority", "0", PSI]:
            for name, value in {"ap": "0.1234", "stated": "0.0123", "relabelled": "0.9876"}.items():
                cells[head.index(name)] = value
        changed.append(",".join(cells))
    results.write_text("\n".join([text[0], *changed]) + "\n", encoding="utf-8")
    page = page_of(results)
    assert all(bold in page for bold in ("**0.123**", "**0.01**", "**0.988**"))


def test_tasks_by_name() -> None:
    assert command.chosen_tasks(["labelme_single", "extra", "labelme_worst"])[:2] == [
        "labelme_single",
        "labelme_single_100",
    ]
    with pytest.raises(UnknownOption, match="'sms' is none of the tasks: extra, labelme_single"):
        command.chosen_tasks(["sms"])
    ran = psi("bench", "real", "--tasks", "sms")
    assert ran.code == 2
    assert "'sms' is none of the tasks" in ran.err
