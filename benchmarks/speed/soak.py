"""Four reviewers on 100,000 suspects for as long as you like, and a server that is killed every minute.

Run ``python -m benchmarks.speed.soak --minutes 60``. Each reviewer is a browser of its own that asks for a row, similar
rows and the queue, and saves a verdict with a key of its own; what was not answered is sent again with the same key.
Meanwhile the model is retrained, again and again. At every ``--kill`` seconds the server gets SIGKILL and is started
again. In the end every verdict that was called saved must be in the store, once, and none that nobody sent; else this
ends with an error. Memory is that of each server at its end, after as many seconds: it must not grow from the first
one to the last. Results go to ``results/soak.csv`` if it lasts an hour or more. ``--rows`` and ``--no-retraining`` make
it smaller.
"""

from __future__ import annotations

import argparse
import http.client
import platform
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

from benchmarks import RESULTS
from benchmarks.lines import made_with, write
from benchmarks.speed.review import make_run, memory
from psidebug.review.verdict_store import open_store
from psidebug.store import load_run
from tests.review.talking import Talk

REVIEWERS = 4
LONG = 60.0
"""Minutes that are worth a line in the results."""


class Server:
    """``psi review`` in a process of its own, which is killed and started again."""

    def __init__(self, run: Path) -> None:
        self.run = run
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-m", "psidebug", "review", str(self.run), "--no-browser"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.links: list[str] = []
        threading.Thread(target=self._read, args=(self.process,), daemon=True).start()

    def _read(self, process: subprocess.Popen[str]) -> None:
        """A link lets one browser in; then the next one is told."""
        assert process.stdout is not None
        for line in process.stdout:
            self.links += [word for word in line.split() if word.startswith("http://")]

    def browser(self) -> Talk:
        """A browser that was let in; the links are handed out one by one."""
        while not self.links:
            time.sleep(0.05)
        link = self.links.pop(0)
        talk = Talk(int(link.split(":")[2].split("/")[0]))
        assert talk.enter(link).status == 200
        return talk

    def kill(self) -> float:
        """Its memory in the end, in MB."""
        held = memory(self.process.pid)
        self.process.kill()
        self.process.wait()
        return held


def review(name: int, talk: Talk, order: list[int], saved: list[int], until: float, pause: float) -> None:
    """Review row after row; ``saved`` has the numbers of what was called saved."""
    while time.monotonic() < until:
        number = len(saved)
        at = order[(number * REVIEWERS + name) % len(order)]
        try:
            for path in (f"/item?at={at}", f"/similar?at={at}", f"/queue?at={at}"):
                assert talk.ask(path).status == 200
            key = f"reviewer {name} {number:08d}"
            answer = talk.say("/verdict", at=at, action="keep", comment=key, key=key)
            assert answer.status == 200, answer.text
        except (OSError, http.client.HTTPException):
            return  # the server was killed
        saved.append(number)
        time.sleep(pause)


def soak(run: Path, *, minutes: float, kill: float, retraining: bool, pause: float) -> dict[str, object]:
    """Let them work; raises AssertionError if a verdict is lost or twice there."""
    order = load_run(run).order.tolist()
    saved: list[list[int]] = [[] for _ in range(REVIEWERS)]
    end, held, kills = time.monotonic() + 60 * minutes, list[float](), 0
    while time.monotonic() < end:
        server = Server(run)
        talks = [server.browser() for _ in range(REVIEWERS)]
        until = min(time.monotonic() + kill, end)
        workers = [
            threading.Thread(target=review, args=(name, talk, order, saved[name], until + 5, pause))
            for name, talk in enumerate(talks)
        ]
        for each in workers:
            each.start()
        while time.monotonic() < until:
            if retraining and not talks[0].ask("/changes").json["busy"]:
                talks[0].say("/begin", kind="retrain")
            time.sleep(1.0)
        held.append(server.kill())
        kills += 1
        for each in workers:
            each.join()
        print(f"kill {kills}: {sum(map(len, saved))} saved, {held[-1]:.0f} MB", flush=True)
    with open_store(run) as store:
        stored = Counter(each.comment for event in store.log() for each in event.verdicts)
        retrained = len(store.remarks("retrained"))
    called = {f"reviewer {name} {number:08d}" for name, each in enumerate(saved) for number in each}
    assert called <= stored.keys(), f"{len(called - stored.keys())} verdicts are lost"
    assert all(count == 1 for count in stored.values()), "a verdict is there twice"
    assert len(stored) - len(called) <= REVIEWERS * kills, "verdicts that nobody sent"
    return {
        "suspects": len(order),
        "reviewers": REVIEWERS,
        "minutes": minutes,
        "pause_s": pause,
        "kills": kills,
        "retrained": retrained,
        "called_saved": len(called),
        "stored": len(stored),
        "lost": 0,
        "memory_first_mb": round(held[0]),
        "memory_highest_mb": round(max(held)),
        "memory_last_mb": round(held[-1]),
    }


def main() -> None:
    """Print one line of figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--kill", type=float, default=60.0, help="seconds between kills")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--pause", type=float, default=0.0, help="seconds between the verdicts of one reviewer")
    parser.add_argument("--no-retraining", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        make_run("table", given.rows, Path(folder) / "run")
        asked = {"minutes": given.minutes, "kill": given.kill, "pause": given.pause}
        line = soak(Path(folder) / "run", retraining=not given.no_retraining, **asked)
    print(line)
    if given.minutes >= LONG:
        write(RESULTS / "soak.csv", [line | made_with() | {"machine": platform.machine()}])


if __name__ == "__main__":
    main()
