"""The tutorial: every line of it is run, in a new folder, and prints what the page shows.

``python -m tests.docs.test_tutorial`` writes what is printed now into the page.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.datasets.conftest import real_data

__all__ = ["real_data"]  # a fixture: the files are there, or the test fails in CI
PAGE = Path(__file__).parents[2] / "docs" / "tutorial.md"
BLOCK = re.compile(r"```(python|console|text)\n(.*?)```", re.DOTALL)


def printed(code: list[str], folder: Path) -> str:
    """What a program prints, in a terminal of 90 columns, without the blanks at the ends of lines."""
    environment = os.environ | {"COLUMNS": "90", "NO_COLOR": "1"}
    done = subprocess.run(
        code, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    return "".join(f"{line.rstrip()}\n" for line in done.stdout.splitlines())


def followed(page: str, folder: Path) -> Iterator[tuple[str, str]]:
    """Every block of the page as it is, and as it would be if it were written now."""
    said = ""
    for block in BLOCK.finditer(page):
        kind, content = block.groups()
        if kind == "python":
            said = printed([sys.executable, "-c", content], folder)
            continue
        if kind == "console":
            said = ""
            for command in re.findall(r"^\$ psi (.*)$", content, re.MULTILINE):
                start = [sys.executable, "-c", "from psidebug.cli import main; main()"]
                said += f"$ psi {command}\n" + printed([*start, *command.split()], folder)
        yield block.group(), f"```{kind}\n{said}```"


@pytest.mark.thorough
@pytest.mark.usefixtures("real_data")
def test_the_tutorial_prints_what_it_shows(tmp_path: Path) -> None:
    page = PAGE.read_text(encoding="utf-8")
    blocks = list(followed(page, tmp_path))
    assert len(blocks) == page.count("```console\n") + page.count("```text\n") > 0
    for shown, now in blocks:
        assert now == shown, "run: python -m tests.docs.test_tutorial"
    errors = re.findall(r"trained on (\S+) +validation error ([\d.]+)", page)
    rates = {file: float(rate) for file, rate in errors}
    assert rates["fixed.csv"] < rates["train.csv"] - 0.05
    assert abs(rates["fixed.csv"] - rates["clean.csv"]) < 0.02
    assert rates["reviews_fixed.parquet"] < rates["reviews.parquet"] - 0.03


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as place:
        for shown, now in list(followed(text, Path(place))):
            text = text.replace(shown, now, 1)
    PAGE.write_text(text, encoding="utf-8")
