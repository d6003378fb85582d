"""What the documentation shows is run, and what it points to is there."""

from __future__ import annotations

import pkgutil
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "benchmarks" / "README.md"])


def blocks(page: str, language: str) -> list[str]:
    """Fenced blocks of one language; of no language where that is empty."""
    parts = (ROOT / page).read_text(encoding="utf-8").split("```")[1::2]
    return [text for opening, _, text in (part.partition("\n") for part in parts) if opening == language]


def test_the_readmes_library_example_repairs_the_model(capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = blocks("README.md", "python")
    assert len(example.strip().splitlines()) <= 22
    names: dict[str, Any] = {}
    exec(compile(example, "README.md", "exec"), names)
    printed = capsys.readouterr().out
    verdict = " ".join(
        (ROOT / "README.md").read_text(encoding="utf-8").split("It prints\n\n```\n")[1].split("```")[0].split()
    )
    assert verdict in printed
    errors = dict(zip(*(names["diagnosis"].repairs[name] for name in ("repair", "error")), strict=True))
    assert errors["relabelled"] < 0.06 < 0.2 < errors["as given"]
    assert 1 - names["model"].score(names["X_test"], names["y_test"]) < 0.06


def test_the_readmes_command_runs(tmp_path: Path) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    command = text.split("<!-- example: command -->\n```sh\n")[1].split("```")[0].strip()
    program, *arguments = shlex.split(command)
    assert program == "psi"
    done = subprocess.run(
        [sys.executable, "-c", "from psidebug.cli import main; main()", *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "digit = 4" in done.stdout
    assert (tmp_path / "demo.html").exists()


def test_how_it_works_can_be_followed(capsys: pytest.CaptureFixture[str]) -> None:
    page = "docs/how_it_works.md"
    names: dict[str, Any] = {}
    for number, block in enumerate(blocks(page, "python"), start=1):
        exec(compile(block, f"{page}, block {number}", "exec"), names)
    printed = capsys.readouterr().out
    assert blocks(page, "")[0].strip() in printed, "the program is not printed as the page shows it"
    (correlation,) = re.findall(r"correlation with retraining (\S+)", printed)
    assert float(correlation) > 0.99
    assert "33 worlds passed both" in printed


def test_the_page_about_annotators_can_be_followed(capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = blocks("docs/annotators.md", "python")
    names: dict[str, Any] = {}
    exec(compile(example, "docs/annotators.md", "exec"), names)
    first = names["diagnosis"].annotators.iloc[0]
    assert (first["annotator"], first["marks"], first["as"]) == ("dan", "malignant", "benign")
    assert len(names["diagnosis"].ask_again) > 0
    assert "p_wrong" in capsys.readouterr().out


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8")):
        if not target.startswith("http"):
            made = target.startswith("examples/")  # by the site, from the gallery
            assert (page.parent / ("gallery" if made else target)).exists(), target


def test_every_test_named_in_the_paper_map_exists() -> None:
    text = (ROOT / "docs/paper_map.md").read_text(encoding="utf-8")
    named = re.findall(r"`((?:tests|benchmarks)/[\w/.]+?)(?:::(\w+))?`", text)
    assert len(named) > 20
    for path, test in named:
        file = ROOT / path
        assert file.exists(), path
        assert not test or f"def {test}(" in file.read_text(encoding="utf-8"), test


def test_every_function_named_in_the_paper_map_exists() -> None:
    text = (ROOT / "docs/paper_map.md").read_text(encoding="utf-8")
    homes = "program|inference|symptoms|priors|graybox|diagnosis|task|sufficiency"
    named = re.findall(rf"`((?:{homes})\.[\w.]+)[`(]", text)
    assert len(named) > 20
    for name in named:
        assert pkgutil.resolve_name(f"psidebug.{name}") is not None


def test_the_votes_of_the_page_are_the_golden_ones() -> None:
    """The page's election and the golden test's are the same: 56 to 45 among 101."""
    names: dict[str, Any] = {}
    exec(blocks("docs/how_it_works.md", "python")[0], names)
    assert np.bincount(names["given"]).tolist() == [56, 45]
