"""The GitHub Action: its script is run by bash as the action would, and its summary holds whatever the data say."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from psidebug.cli.job_summary import summary
from psidebug.store import load_run
from tests.cli.folder import fill, people, write_csv

ROOT = Path(__file__).parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))


def acted(folder: Path, **inputs: str) -> tuple[int, str, str]:
    """What the last step of the action does with these inputs: exit code, summary of the job, its log."""
    step = ACTION["runs"]["steps"][-1]
    values = {name: given.get("default", "") for name, given in ACTION["inputs"].items()} | inputs
    variables = {
        name: values[said.removeprefix("${{ inputs.").removesuffix(" }}")] for name, said in step["env"].items()
    }
    script = step["run"].strip('"').replace("$GITHUB_ACTION_PATH", str(ROOT))
    page = folder / "summary.md"
    paths = {"GITHUB_STEP_SUMMARY": str(page), "PSI_PYTHON_OF_ACTION": sys.executable, "PYTHONPATH": str(ROOT / "src")}
    ran = subprocess.run(
        ["bash", script], cwd=folder, env=os.environ | variables | paths, capture_output=True, text=True, check=False
    )
    return ran.returncode, page.read_text(encoding="utf-8"), ran.stderr


def test_wrong_labels_fail_the_job_and_its_page_says_why(tmp_path: Path) -> None:
    fill(tmp_path)
    given = {"train": "train.csv", "test": "test.csv", "label": "label", "options": "--id id --ignore source"}
    code, page, log = acted(tmp_path, **given)
    assert code == 1, log
    assert page.startswith("### Psi: ❌")
    assert "Pune" in page
    assert "| row | given | proposed | wrong |" in page
    assert load_run(tmp_path / "psi-run").findings.corrected > 0
    assert "is not a setting" not in log


def test_clean_labels_pass(tmp_path: Path) -> None:
    write_csv(tmp_path / "a train.csv", people(240, seed=1))
    write_csv(tmp_path / "test.csv", people(160, seed=2))
    code, page, log = acted(tmp_path, train="a train.csv", test="test.csv", label="label", options="--effort decide")
    assert code == 0, log
    assert page.startswith("### Psi: ✅")


def test_a_missing_file_is_said_and_is_no_verdict(tmp_path: Path) -> None:
    code, page, log = acted(tmp_path, train="nowhere.csv", test="test.csv", label="label")
    assert code == 2
    assert "could not" in page
    assert "nowhere.csv" in log


def test_no_module_of_the_checked_out_folder_runs(tmp_path: Path) -> None:
    for name in ("json", "click", "struct"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('sprung')")
    code, page, log = acted(tmp_path, train="nowhere.csv", test="test.csv", label="label")
    assert (code, "could not" in page) == (2, True)
    assert "sprung" not in log
    assert all(" -P " in step["run"] for step in ACTION["runs"]["steps"] if "python -" in step.get("run", ""))


def test_the_name_of_a_file_is_no_option(tmp_path: Path) -> None:
    code, _, log = acted(tmp_path, train="--trust-pickle", test="--version", label="--help")
    assert code == 2
    assert "there is no file --trust-pickle" in log


def test_what_the_data_say_is_no_command_to_the_runner(tmp_path: Path) -> None:
    fill(tmp_path)
    tokens = []
    for _ in range(2):
        code, _, log = acted(tmp_path, train="train.csv", test="test.csv", label="##[add-mask]e")
        assert code == 2
        first, *between, last = log.splitlines()
        assert first.startswith("::stop-commands::")
        assert last == f"::{first.removeprefix('::stop-commands::')}::"
        assert "##[add-mask]e" in " ".join(between)
        tokens.append(last)
    assert len(set(tokens)) == 2


def test_values_of_the_data_are_no_markup() -> None:
    odd: dict[str, Any] = {"row": 1, "given": "a|b\nc", "proposed": "<img src=x onerror=alert(1)>", "p_wrong": 0.987}
    answer = {
        "failed": True, "verdict": "[click](http://x) @everyone", "test_rows": 1, "bugs": 1, "corrected": 1,
        "cause": "training_labels", "slices": [], "suspects": [odd], "suspects_in_all": 1, "run": "psi-run",
    }  # fmt: skip
    page = summary(answer)
    assert "<img" not in page
    assert "[click](" not in page
    assert r"| 1 | a\|b c | &lt;img src=x onerror=alert(1)&gt; | 0.99 |" in page
