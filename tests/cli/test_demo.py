"""The command line: the demo tells the planted cause, and every mistake is one sentence and an exit code."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

import psidebug
from tests.cli.folder import PSI
from tests.cli.processes import psi


def test_the_version() -> None:
    ran = psi("--version")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, f"psi, version {psidebug.__version__}\n", "")


@pytest.mark.parametrize("asked", [(), ("--help",), ("-h",), ("demo", "--help")])
def test_help_has_an_example(asked: tuple[str, ...]) -> None:
    ran = psi(*asked)
    assert ran.returncode == 0
    assert ran.stdout.startswith("Usage: psi")
    assert "Example: psi demo" in ran.stdout
    assert ran.stderr == ""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["dmeo"], "No such command 'dmeo'"),
        (["demo", "--sed", "1"], "No such option '--sed'"),
        (["--nonsense"], "No such option '--nonsense'"),
        (["demo", "--seed", "many"], "'many' is not a valid integer"),
        (["demo", "--seed", "-1"], "-1 is not in the range"),
        (["demo", "--report"], "Option '--report' requires an argument"),
        (["demo", "extra"], "unexpected extra argument"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(arguments: list[str], said: str) -> None:
    ran = psi(*arguments)
    assert ran.returncode == 2
    assert ran.stdout == ""
    assert said in ran.stderr
    assert ran.stderr.startswith("psi: ")
    assert ran.stderr.count("\n") == 1
    assert "See 'psi" in ran.stderr


@pytest.mark.parametrize("place", ["missing/demo.html", "file/demo.html", "."])
def test_a_report_that_cannot_be_written_is_told_before_the_work(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("")
    ran = psi("demo", "--report", str(tmp_path / place))
    assert ran.returncode == 2
    assert ran.stdout == "", "told before anything was done"
    assert ran.stderr.count("\n") == 1
    assert "Traceback" not in ran.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file"]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo") / "[demo].html"


@pytest.fixture(scope="module", params=[0, pytest.param(2, marks=pytest.mark.thorough)])
def demo(request: pytest.FixtureRequest, report: Path) -> subprocess.CompletedProcess[str]:
    return psi("demo", "--seed", str(request.param), "--report", str(report))


def test_the_demo_finds_the_planted_cause(demo: subprocess.CompletedProcess[str], report: Path) -> None:
    assert (demo.returncode, demo.stderr) == (0, "")
    assert "rows with digit = 4, labelled 'odd'" in " ".join(demo.stdout.split())
    assert "said odd" in demo.stdout
    before, after = map(float, re.findall(r"error on the test digits +([\d.]+) → ([\d.]+)", demo.stdout)[0])
    assert after < before - 0.04
    before, after = map(float, re.findall(r"validation digits +([\d.]+) → ([\d.]+)", demo.stdout)[0])
    assert after < before - 0.04
    right = re.findall(r"(\d+) of 900 training labels are now right", demo.stdout)
    assert int(right[0]) >= 880
    assert "[demo].html" in demo.stdout
    assert "digit = 4" in report.read_text(encoding="utf-8")
    assert [path.name for path in report.parent.iterdir()] == ["[demo].html"]


@pytest.mark.thorough
def test_threads_and_the_terminals_letters_change_nothing_but_the_letters(tmp_path: Path) -> None:
    many = psi("demo")
    few = psi("demo", OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", PYTHONIOENCODING="ascii")
    assert (few.returncode, few.stderr) == (0, "")
    assert few.stdout == many.stdout.encode("ascii", "replace").decode()


def started(*arguments: str) -> subprocess.Popen[str]:
    """The command, once it has begun to speak."""
    running = subprocess.Popen(
        [*PSI, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    )
    assert running.stdout is not None
    while "The data" not in running.stdout.readline():
        assert running.poll() is None
    return running


def test_an_interrupt_is_exit_code_130_and_one_sentence(tmp_path: Path) -> None:
    running = started("demo", "--report", str(tmp_path / "demo.html"))
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=60)
    assert running.returncode == 130
    assert err.strip() == "psi: interrupted; nothing was left half-written"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("wait", [0.1, 0.6])
def test_a_killed_demo_leaves_no_half_page(tmp_path: Path, wait: float) -> None:
    report = tmp_path / "demo.html"
    report.write_text("the page of last week")
    running = started("demo", "--report", str(report))
    time.sleep(wait)
    running.send_signal(signal.SIGKILL)
    running.communicate(timeout=60)
    page = report.read_text(encoding="utf-8")
    assert page == "the page of last week" or page.rstrip().endswith("</html>")


def test_it_ends_with_three_commands_to_try_next(demo: subprocess.CompletedProcess[str]) -> None:
    told = demo.stdout.partition("Now with your own data")[2]
    own = [line for line in told.splitlines() if "[demo].html" not in line]  # the name of a folder may be long
    assert max(map(len, own)) <= 80, "no line is broken in a narrow terminal"
    commands = re.findall(r"^ *psi (\w+)", told, flags=re.MULTILINE)
    assert commands == ["debug", "review", "report"]
    for name in commands:
        assert psi(name, "--help").returncode == 0
