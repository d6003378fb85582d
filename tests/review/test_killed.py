"""The server, killed in the middle of the work: what it called saved is there, once; and several servers at once."""

from __future__ import annotations

import contextlib
import http.client
import multiprocessing
import random
import shutil
import signal
import threading
import time
from pathlib import Path
from typing import Any

import psidebug
from psidebug.review.serve import prepare
from psidebug.review.verdict_store import open_store
from tests.review.talking import Talk

ROWS = 900
"""Of the run; verdict number n is on row n mod 900."""


def serve(run: Path, says: Any) -> None:
    """A whole server, as ``psi review`` starts it."""
    served = prepare(run, psidebug.Diagnosis.load, reviewer="ann")
    says.send(served.link)
    served.run()


def started(run: Path) -> tuple[Any, Talk]:
    """A server in a process of its own, and a browser that was let in."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.review.test_killed"])
    hears, says = context.Pipe(duplex=False)
    server = context.Process(target=serve, args=(run, says))
    server.start()
    link = hears.recv()
    talk = Talk(int(link.split(":")[2].split("/")[0]))
    assert talk.enter(link).status == 200
    return server, talk


def decide_on(talk: Talk, verdicts: int, saved: list[int], name: str = "verdict") -> None:
    """A browser that sends verdict after verdict, each with a key of its own, and hears that they are saved.

    What was not answered is sent again by the next one, with the same key.
    """
    with contextlib.suppress(OSError, http.client.HTTPException):
        for number in range(len(saved), verdicts):
            answer = talk.say("/verdict", at=number % ROWS, action="keep", comment=name, key=f"{name} {number:04d}")
            assert answer.status == 200, answer.text
            saved.append(number)


def stored(run: Path) -> list[tuple[str, int]]:
    """Every verdict in the store: its comment, and its row."""
    with open_store(run) as store:
        return [(each.comment, each.position) for event in store.log() for each in event.verdicts]


def kill_often(run: Path, *, kills: int, verdicts: int) -> tuple[int, int]:
    """Send so many verdicts, kill the server at so many random moments in the middle, and look into the store then.

    Whatever was called saved must be there, once, in its order. One more may be there, which was stored and not said,
    and is sent again. Returns how many were called saved, and how many are stored.
    """
    chance = random.Random(0)
    expected = [("verdict", number % ROWS) for number in range(verdicts)]
    saved: list[int] = []
    for moment in sorted(chance.sample(range(1, verdicts), kills)):
        server, talk = started(run)
        browser = threading.Thread(target=decide_on, args=(talk, verdicts, saved))
        browser.start()
        while len(saved) < moment and browser.is_alive():
            time.sleep(0.0005)
        time.sleep(chance.uniform(0.0, 0.02))
        server.kill()
        server.join()
        browser.join()
        assert server.exitcode == -signal.SIGKILL
        assert saved == list(range(len(saved)))
        assert stored(run) in (expected[: len(saved)], expected[: len(saved) + 1])
    server, talk = started(run)
    decide_on(talk, verdicts, saved)
    server.kill()
    server.join()
    assert len(saved) == verdicts
    assert stored(run) == expected
    return len(saved), len(stored(run))


def write_together(run: Path, *, processes: int, verdicts: int) -> tuple[int, int]:
    """So many servers on one run, each with a browser that sends so many verdicts: none is lost, twice or refused.

    Returns how many were called saved, and how many are stored.
    """
    servers = [started(run) for _ in range(processes)]
    saved: list[list[int]] = [[] for _ in servers]
    browsers = [
        threading.Thread(target=decide_on, args=(talk, verdicts, saved[place], f"browser {place}"))
        for place, (_, talk) in enumerate(servers)
    ]
    for each in browsers:
        each.start()
    for each in browsers:
        each.join()
    for server, _ in servers:
        server.kill()
        server.join()
    assert [len(each) for each in saved] == [verdicts] * processes
    expected = [(f"browser {place}", number % ROWS) for place in range(processes) for number in range(verdicts)]
    assert sorted(stored(run)) == sorted(expected)
    return sum(map(len, saved)), len(stored(run))


def test_a_server_that_is_killed_keeps_what_it_called_saved(digits_saved: Path, in_memory: Path) -> None:
    """A few times here; ``benchmarks/speed/review.py`` does it a hundred times in the middle of a thousand verdicts."""
    kill_often(Path(shutil.copytree(digits_saved, in_memory / "run")), kills=8, verdicts=80)


def test_servers_at_once_lose_nothing(digits_saved: Path, in_memory: Path) -> None:
    """Four with a thousand verdicts each in the benchmark."""
    write_together(Path(shutil.copytree(digits_saved, in_memory / "run")), processes=3, verdicts=40)
