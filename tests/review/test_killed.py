"""The server, killed in the middle of the work: what it called saved is there, once."""

from __future__ import annotations

import contextlib
import http.client
import multiprocessing
import random
import shutil
import threading
import time
from pathlib import Path
from typing import Any

from psidebug.review.serve import prepare
from psidebug.review.store import open_store
from tests.review.talking import Talk

KILLS, VERDICTS = 8, 1000


def serve(run: Path, says: Any) -> None:
    """A whole server, as ``psi review`` starts it."""
    served = prepare(run, reviewer="ann")
    says.send(served.link)
    served.run()


def judge_on(talk: Talk, first: int, saved: list[int]) -> None:
    """A browser that sends verdict after verdict, each with a key of its own, and hears that they are saved."""
    with contextlib.suppress(OSError, http.client.HTTPException):
        for number in range(first, VERDICTS):
            answer = talk.say("/verdict", at=number % 900, action="keep", key=f"verdict {number:04d}")
            assert answer.status == 200
            saved.append(number)


def test_a_server_that_is_killed_keeps_what_it_called_saved(digits_saved: Path, in_memory: Path) -> None:
    """A few times here; ``benchmarks/speed/review.py`` does it a hundred times."""
    assert kill_often(Path(shutil.copytree(digits_saved, in_memory / "run")), KILLS) >= KILLS


def kill_often(run: Path, kills: int) -> int:
    """Kill the server at random moments, look into the store each time, and return how many verdicts were saved."""
    chance = random.Random(0)
    saved: list[int] = []
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.review.test_killed"])
    for _ in range(kills):
        hears, says = context.Pipe(duplex=False)
        server = context.Process(target=serve, args=(run, says))
        server.start()
        link = hears.recv()
        talk = Talk(int(link.split(":")[2].split("/")[0]))
        assert talk.enter(link).status == 200
        browser = threading.Thread(target=judge_on, args=(talk, len(saved), saved))
        enough = len(saved) + chance.randrange(1, 12)
        browser.start()
        while len(saved) < enough:
            time.sleep(0.001)
        time.sleep(chance.uniform(0.0, 0.02))
        server.kill()
        server.join()
        browser.join()
        with open_store(run) as store:
            stored = [each.position for event in store.log() for each in event.verdicts]
        assert saved == list(range(len(saved)))
        expected = [number % 900 for number in range(len(saved) + 1)]
        assert stored in (expected, expected[:-1]), "one more may be stored than was said, and is sent again"
    return len(saved)
