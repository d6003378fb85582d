"""Ctrl-C at random moments of ``psi debug``: exit code 130, one sentence, and nothing half-written is left.

Ten moments here; ``PSI_INTERRUPTS=100`` takes a hundred.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from psidebug.store import load_run
from tests.cli.folder import fill

MOMENTS = int(os.environ.get("PSI_INTERRUPTS", "10"))
ROOT = Path(__file__).parents[2]
READY = "import os; from psidebug.cli import main; os.write(1, b'ready'); main()"
ARGUMENTS = ("debug", "train.csv", "test.csv", "--label", "label", "--id", "id", "-o", "run", "--report", "page.html")


def interrupted(folder: Path, after: float | None) -> tuple[int, str, float]:
    """Exit code, what was said on stderr and the seconds it took, with Ctrl-C after so many seconds, if any."""
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    with subprocess.Popen(
        [sys.executable, "-c", READY, *ARGUMENTS],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={name: value for name, value in os.environ.items() if name != "PSI_INTERRUPTS"} | {"PYTHONPATH": paths},
    ) as process:
        assert process.stdout is not None
        assert process.stdout.read(len("ready")) == "ready"
        begun = time.perf_counter()
        if after is not None:
            time.sleep(after)  # the moment itself
            process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=300)
        code = process.returncode
        if code == -signal.SIGINT and not said:  # Python itself was ending, all was done: a shell says 130
            code = 130
        return code, said, time.perf_counter() - begun


@pytest.mark.thorough
def test_ctrl_c_at_any_moment_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "whole").mkdir()
    code, said, took = interrupted(fill(tmp_path / "whole"), None)
    assert code == 0, said
    chance, codes = random.Random(0), []
    for moment in range(MOMENTS):
        folder = tmp_path / f"moment {moment}"
        folder.mkdir()
        before = {each.name for each in fill(folder).iterdir()}
        code, said, _ = interrupted(folder, chance.uniform(0.0, took))
        left = {each.name for each in folder.iterdir()} - before
        codes.append(code)
        assert code in (0, 130), (code, said)  # 0: it was done before
        assert "Traceback" not in said
        assert left <= {"run", "page.html"}, left
        if "run" in left:  # saved whole, before the page or what is printed
            assert load_run(folder / "run").verdict
            assert not [each for each in (folder / "run").iterdir() if each.name.startswith(".")]
    assert 130 in codes
