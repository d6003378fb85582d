"""Other processes run what they are given, and nothing that lies in the current folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

JOBS = """
import math
from psidebug.training.backends import Processes
print(list(Processes(2).map(math.sqrt, [(0,), (1,), (4,)])))
"""


def test_processes_run_no_module_of_the_folder(tmp_path: Path) -> None:
    for name in ("joblib", "struct", "random"):
        (tmp_path / f"{name}.py").write_text("open('sprung', 'w').close()\nraise ImportError('sprung')\n")
    ran = subprocess.run([sys.executable, "-P", "-c", JOBS], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.stdout == "[0.0, 1.0, 2.0]\n", ran.stderr
    assert not (tmp_path / "sprung").exists()
    assert "PYTHONSAFEPATH" not in os.environ
