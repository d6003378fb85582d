"""The benchmarks are a package of the checkout: ``psi bench`` finds them there, and the wheel does not have them."""

from __future__ import annotations

import os
import shutil
import subprocess
import tomllib
from pathlib import Path

import numpy as np
import pytest

from benchmarks import CHECKOUT, RESULTS
from benchmarks.lines import made_with, read_lines, write
from tests.cli.folder import PSI


def test_the_wheel_has_the_package_and_no_benchmarks() -> None:
    with (CHECKOUT / "pyproject.toml").open("rb") as file:
        built = tomllib.load(file)["tool"]["hatch"]["build"]
    assert built["targets"]["wheel"] == {"packages": ["src/psidebug"]}
    assert set(built) == {"targets"}, "nothing is added for all targets"
    assert not (CHECKOUT / "src" / "psidebug" / "bench").exists()


def test_the_measured_lines_are_there() -> None:
    assert {"paper.csv", "peers.csv"} <= {path.name for path in RESULTS.iterdir()}


def psi_of(home: Path, *arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the Psi of one home, in a process that sees nothing else of a checkout."""
    return subprocess.run(
        [*PSI, *arguments],
        env=os.environ | {"PYTHONPATH": str(home)},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_command_finds_them_from_any_folder(tmp_path: Path) -> None:
    """The table of the paper has no cell of these data: a page is made, and nothing is measured."""
    arguments = ("bench", "paper", "--quick", "--data", "breast_cancer", "-o", "out")
    ran = psi_of(CHECKOUT / "src", *arguments, folder=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert (tmp_path / "out" / "paper.md").read_text(encoding="utf-8").startswith("# The paper's evaluation, repeated")


def test_without_a_checkout_the_command_says_how_to_get_them(tmp_path: Path) -> None:
    """As from a wheel, and even in the folder of a checkout: what would be measured is not the code of that folder."""
    package = CHECKOUT / "src" / "psidebug"
    shutil.copytree(package, tmp_path / "psidebug", ignore=shutil.ignore_patterns("__pycache__", "static"))
    ran = psi_of(tmp_path, "bench", "speed", "--quick", folder=CHECKOUT)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.count("\n") == 1
    assert "clone the repository of Psi, and run pip install -e '.[bench]' in it" in ran.stderr


@pytest.mark.parametrize("name", sorted(path.name for path in RESULTS.glob("*.csv")))
def test_a_file_of_results_written_anew_is_the_same(name: str, tmp_path: Path) -> None:
    write(tmp_path / name, read_lines(RESULTS / name))
    assert (tmp_path / name).read_bytes() == (RESULTS / name).read_bytes()


def test_a_line_says_what_it_was_made_with() -> None:
    made = made_with(np)
    assert list(made) == ["date", "python", "numpy"]
    assert made["numpy"] == np.__version__
