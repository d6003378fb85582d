"""Other processes run what they are given, and nothing that lies in the current folder."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from sklearn import config_context, get_config

from psidebug.training.backends import Here, Processes, no_modules_of_the_folder

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


@pytest.mark.parametrize("before", [None, "yes"])
def test_of_several_threads_the_last_one_takes_the_variable_away(
    before: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    if before is not None:
        monkeypatch.setenv("PYTHONSAFEPATH", before)
    inside, done = threading.Event(), threading.Event()

    def other() -> None:
        with no_modules_of_the_folder():
            inside.set()
            done.wait(10)

    thread = threading.Thread(target=other)
    thread.start()
    inside.wait(10)
    with no_modules_of_the_folder():
        done.set()
        thread.join()
        assert os.environ["PYTHONSAFEPATH"] == "1"
    assert os.environ.get("PYTHONSAFEPATH") == before


def test_processes_have_the_configuration_of_scikit_learn() -> None:
    with config_context(transform_output="pandas"):
        assert [each["transform_output"] for each in Processes(2).map(get_config, [(), ()])] == ["pandas"] * 2


class Lost:
    """Travels, and cannot be unpacked where it arrives."""

    def __reduce__(self) -> Any:
        return _unpacked, (os.getpid(),)


def _unpacked(process: int) -> Lost:
    if process != os.getpid():
        raise ImportError("no such module here")
    return Lost()


def _twice(what: Any, number: int) -> int:
    return 2 * number


def test_what_cannot_be_unpacked_elsewhere_is_done_here() -> None:
    jobs = [(Lost(), 1), (Lost(), 2)]
    assert list(Processes(2).map(_twice, jobs)) == list(Here().map(_twice, jobs)) == [2, 4]


def _dies(process: int) -> int:
    if process != os.getpid():
        os._exit(1)  # as where memory runs out
    return 1


def test_the_work_of_a_process_that_dies_is_done_here() -> None:
    assert list(Processes(2).map(_dies, [(os.getpid(),)] * 2)) == [1, 1]
