"""Other processes run what they are given, and nothing that lies in the current folder."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn import config_context, get_config

from psidebug.training import backends
from psidebug.training.backends import Backend, Here, Lazily, Processes, WhenItPays, no_modules_of_the_folder

JOBS = """
import math
from psidebug.training.backends import Processes
print(list(Processes(2).map(math.sqrt, [0, 1, 4])))
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


@pytest.mark.thorough
def test_processes_have_the_configuration_of_scikit_learn() -> None:
    with config_context(transform_output="pandas"):
        assert list(Processes(2).map(_option, ["transform_output"] * 2)) == ["pandas"] * 2


def _option(name: str) -> Any:
    return get_config()[name]


class Lost:
    """Travels, and cannot be unpacked where it arrives."""

    def __reduce__(self) -> Any:
        return _unpacked, (os.getpid(),)


def _unpacked(process: int) -> Lost:
    if process != os.getpid():
        raise ImportError("no such module here")
    return Lost()


def _twice(job: tuple[Any, int]) -> int:
    return 2 * job[1]


def test_what_cannot_be_unpacked_elsewhere_is_done_here() -> None:
    jobs = [(Lost(), 1), (Lost(), 2)]
    assert list(Processes(2).map(_twice, jobs)) == list(Here().map(_twice, jobs)) == [2, 4]


def _dies(process: int) -> int:
    if process != os.getpid():
        os._exit(1)  # as where memory runs out
    return 1


@pytest.mark.thorough
def test_the_work_of_a_process_that_dies_is_done_here() -> None:
    assert list(Processes(2).map(_dies, [os.getpid()] * 2)) == [1, 1]


def _lock_from(process: int) -> tuple[bool, Any]:
    return process == os.getpid(), threading.Lock()


@pytest.mark.thorough
def test_what_cannot_come_back_is_done_here() -> None:
    answers = list(Processes(2).map(_lock_from, [os.getpid()] * 20))
    assert [at_home for at_home, _ in answers] == [True] * 20


def _process(_: Any) -> int:
    return os.getpid()


@pytest.mark.thorough
def test_who_configures_joblib_does_not_decide_where_fits_run() -> None:
    with joblib.parallel_config(backend="threading"):
        assert os.getpid() not in set(Processes(2).map(_process, range(4)))


def _processes(_: Any) -> set[int]:
    return {os.getpid(), *Processes(2).map(_process, range(4))}


def test_a_worker_starts_no_workers() -> None:
    assert [len(each) for each in Processes(2).map(_processes, range(2))] == [1, 1]


FORKED = """
import multiprocessing, os
from psidebug.training.backends import Processes

def process(_): return os.getpid()

def in_a_fork(): print(set(Processes(2).map(process, range(3))) == {os.getpid()})

if __name__ == "__main__":
    assert os.getpid() not in set(Processes(2).map(process, range(3)))
    fork = multiprocessing.get_context("fork").Process(target=in_a_fork)
    fork.start()
    fork.join(60)
    fork.kill()
"""


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no forks")
def test_a_fork_does_not_wait_for_the_workers_of_its_parent(tmp_path: Path) -> None:
    (tmp_path / "forked.py").write_text(FORKED)
    done = subprocess.run([sys.executable, tmp_path / "forked.py"], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n", done.stderr


@pytest.mark.parametrize("backend", [Here(), WhenItPays()])
def test_here_a_job_is_made_when_its_turn_has_come(backend: Backend) -> None:
    told: list[str] = []

    def made(number: int) -> int:
        told.append(f"made {number}")
        return number

    def done(number: int) -> None:
        told.append(f"done {number}")

    list(backend.map(done, Lazily(made, range(3))))
    assert told == ["made 0", "done 0", "made 1", "done 1", "made 2", "done 2"]


@pytest.fixture
def spread(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many jobs went to processes, which are as many as two, whenever there are two jobs that are measured."""
    counts: list[int] = []

    class Watched(Processes):
        def map(self, function: Callable[[Any], Any], jobs: Iterable[Any]) -> Iterator[Any]:
            some = list(jobs)
            counts.append(len(some))
            return super().map(function, some)

    monkeypatch.setattr(backends, "Processes", Watched)
    monkeypatch.setattr(backends, "WORTH_STARTING", 0.0)
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "2")
    return counts


@pytest.mark.parametrize("draw", [np.random.random, random.random])
def test_what_draws_from_a_generator_of_the_whole_process_stays_here(
    draw: Callable[[], float], spread: list[int]
) -> None:
    answers = WhenItPays().map(lambda _: draw(), range(4))
    assert len(set(answers)) == 4
    assert not spread


def test_what_was_not_done_elsewhere_is_not_sent_again(spread: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "_is_worker", lambda: True)  # so that no process takes anything
    backend = WhenItPays()
    for _ in range(2):
        assert set(backend.map(_process, range(3))) == {os.getpid()}
    assert spread == [2]


class Clock:
    """Says that every job takes weeks here; other processes have their own."""

    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        self.now += 1e6
        return self.now


def test_what_a_job_takes_elsewhere_counts_too(spread: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "time", Clock())
    monkeypatch.setattr(backends, "WORTH_STARTING", 1.5e6)
    backend = WhenItPays()
    list(backend.map(_process, range(3)))
    assert spread == [2], "the first job took weeks"
    list(backend.map(_process, range(2)))
    assert spread == [2], "elsewhere they took next to nothing"


class Kind:
    """Jobs of a kind of their own."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def __call__(self, _: Any) -> int:
        return os.getpid()


def test_what_one_kind_of_jobs_takes_says_nothing_of_another(spread: list[int]) -> None:
    backend = WhenItPays()
    list(backend.map(Kind("slow"), range(1)))
    list(backend.map(Kind("other"), range(2)))
    assert not spread
    list(backend.map(Kind("slow"), range(2)))
    assert spread == [2]
