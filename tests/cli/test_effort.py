"""``psi debug --effort``, ``--full`` and ``--timings``; what is shown early, and only where somebody watches."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from psidebug.store import load_run
from tests.cli.folder import PSI, Ran, psi
from tests.cli.json_page import KEYS

DEBUG = ("debug", "train.csv", "test.csv", "--label", "label", "--id", "id")
EARLY = "First suspects by PS, not yet weighed"


def test_the_decision_is_told_with_its_fits_and_without_the_proof(folder: Path) -> None:
    ran = psi(*DEBUG, folder=folder)
    assert (ran.code, ran.err) == (0, "")
    run = load_run(folder / "psi-run")
    assert f"Fits of the learner for the decision: {run.settings['fits']}." in ran.out
    assert run.correction is not None
    assert (run.curve, run.controls, run.fidelity) == (None, None, None)
    assert "How far to trust PS" not in ran.out


@pytest.mark.parametrize("option", [["--full"], ["--effort", "prove"]])
def test_the_proof_is_told_if_asked_for(folder: Path, option: list[str]) -> None:
    ran = psi(*DEBUG, *option, folder=folder)
    run = load_run(folder / "psi-run")
    assert run.spec.effort == "prove"
    assert run.curve is not None
    assert run.controls is not None
    said = " ".join(ran.out.split())
    assert str(run.fidelity) in said
    assert "as many at random" in said
    for point in run.curve.points:
        assert re.search(rf"^ +{point.corrected} +{point.verified.test_after.rate:.3f}", ran.out, re.MULTILINE)


def test_with_the_report_the_run_keeps_what_the_page_shows(debugged: tuple[Path, Ran]) -> None:
    run = load_run(debugged[0] / "psi-run")
    assert run.spec.effort == "decide"
    assert run.curve is not None
    assert run.fidelity is not None


def test_the_page_of_a_run_that_was_only_decided_measures_the_rest(folder: Path, debugged: tuple[Path, Ran]) -> None:
    options = ("--validation", "validation.csv", "--ignore", "source")
    assert psi(*DEBUG, *options, folder=folder).code == 0
    assert psi("report", "psi-run", "-o", "page.html", folder=folder).code == 0
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert "Not measured." not in page
    measured = str(load_run(debugged[0] / "psi-run").fidelity).replace("'", "&#39;")
    assert measured in page
    assert load_run(folder / "psi-run").fidelity is None, "the run stays as it is"


def test_ranking(folder: Path) -> None:
    ran = psi(*DEBUG, "--effort", "rank", folder=folder)
    assert (ran.code, ran.err) == (0, "")
    said = " ".join(ran.out.split())
    assert "ranked by PS" in said
    assert 'The effort "decide" weighs' in said
    assert "Fits of the learner for the decision: 1." in said
    assert "Top suspects" in said
    run = load_run(folder / "psi-run")
    assert run.correction is None
    assert psi("report", "psi-run", "-o", "page.html", folder=folder).code == 0
    assert "No correction was tried." in (folder / "page.html").read_text(encoding="utf-8")


def test_slices_of_labels_that_were_only_ranked_were_not_looked_for(folder: Path) -> None:
    assert psi(*DEBUG, "--effort", "rank", "-o", "ranked", folder=folder).code == 0
    ran = psi("slices", "ranked", folder=folder)
    assert "not looked for, with --effort rank" in ran.out


def test_what_does_not_go_together_is_refused(folder: Path) -> None:
    ran = psi(*DEBUG, "--full", "--effort", "rank", folder=folder)
    assert ran.code == 2
    assert "--full and --effort rank do not go together" in " ".join(ran.err.split())
    ran = psi(*DEBUG, "--fail-above", "3", "--effort", "rank", folder=folder)
    assert ran.code == 2
    assert "--effort rank proves none" in " ".join(ran.err.split())
    ran = psi(*DEBUG, "--effort", "much", folder=folder)
    assert ran.code == 2
    assert all(each in ran.err for each in ("rank", "decide", "prove"))


def test_timings_are_a_table_and_in_the_json(folder: Path) -> None:
    ran = psi(*DEBUG, "--timings", folder=folder)
    stages = re.findall(r"^  (\S.*?) +[\d.]+ +[\d.]+ +(\d+) +[\d–]+ *$", ran.out, re.MULTILINE)
    names = [name for name, _ in stages]
    assert names[0] == "reading"
    assert names[-1] == "total"
    assert {"the model's fit", "gray box", "evidence", "retraining", "saving"} <= {*names}
    assert "repairs" not in names, "they are part of the proof"
    assert int(dict(stages)["total"]) == sum(int(fits) for _, fits in stages[:-1])
    found = json.loads(psi(*DEBUG, "--timings", "--full", "--json", folder=folder).out)
    assert found["timings"][-1]["stage"] == "total"
    assert {*found["timings"][0]} == KEYS["debug, each of timings"]
    assert {*found} - {"timings"} == KEYS["debug"]
    assert {*found["proof"]} == KEYS["debug, proof"]
    assert found["proof"]["curve"][0]["corrected"] == 0
    assert all(found["proof"].values())


WATCHED = """
import os, pty, sys
sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such terminals")
@pytest.mark.parametrize(("option", "early"), [([], True), (["-q"], False), (["--json"], False)])
def test_first_suspects_are_shown_to_who_watches_before_the_verdict(
    folder: Path, option: list[str], early: bool
) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", WATCHED, *PSI, *DEBUG, *option],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "100"},
    )
    assert ran.returncode == 0, ran.stderr
    assert (EARLY in ran.stdout) == early
    if early:
        assert ran.stdout.index(EARLY) < ran.stdout.index("Verdict")


def test_nothing_is_shown_early_where_nobody_watches(debugged: tuple[Path, Ran]) -> None:
    assert EARLY not in debugged[1].out + debugged[1].err
