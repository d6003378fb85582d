"""The fixture in a pytest of its own, in another process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TESTS = """
from sklearn.linear_model import LogisticRegression
from tests.conftest import planted_rows

ROWS = planted_rows(train=400, test=200)
DATA = LogisticRegression(), ROWS.X_train, ROWS.y_train, ROWS.X_test, ROWS.y_test

def test_strict(psi_check):
    psi_check(*DATA)

def test_generous(psi_check):
    assert psi_check(*DATA, at_most=100, causes="labels").corrected > 20
"""


def ran(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    root = Path(__file__).parents[1]
    command = [sys.executable, "-m", "pytest", "-p", "psidebug.pytest_plugin", f"--rootdir={folder}", *arguments]
    environment = {
        "PYTHONPATH": f"{root / 'src'}:{root}",
        "OMP_NUM_THREADS": "1",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_it_fails_with_the_verdict_where_more_labels_are_wrong_than_allowed(tmp_path: Path) -> None:
    (tmp_path / "test_labels.py").write_text(TESTS)
    done = ran(tmp_path, "-q")
    assert done.returncode == pytest.ExitCode.TESTS_FAILED, done.stdout + done.stderr
    assert "1 failed, 1 passed" in done.stdout
    assert "labels are proved wrong, 0 allowed." in done.stdout
    assert "the best explanation is" in done.stdout
    assert "pytest_plugin.py" not in done.stdout, "no traceback into Psi"


def test_it_costs_nothing_where_it_is_not_used(tmp_path: Path) -> None:
    """pytest itself loads none of these."""
    (tmp_path / "test_light.py").write_text(
        "import sys\n\ndef test_light():\n    assert not {'numpy', 'sklearn', 'pyarrow', 'rich'} & sys.modules.keys()\n"
        "    assert 'psidebug.pytest_plugin' in sys.modules\n"
    )
    done = ran(tmp_path, "-q")
    assert done.returncode == 0, done.stdout + done.stderr
