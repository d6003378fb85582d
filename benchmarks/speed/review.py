"""The review app under load: 100,000 suspects, an hour of review, a hundred kills, and four servers at once.

Run ``python -m benchmarks.speed.review`` (``--quick`` for a tenth of it). The server is
``psi review`` itself, in a process of its own; times are those of whole requests on this machine. One review is what a
browser asks for: the row, similar rows, the queue, the verdict, and whether something has changed; a person makes about
one a second, so that 3,600 are an hour. Goals: first screen under 1 s, next item under 100 ms, memory flat. Results go
to ``results/review.csv``. Then a server is killed (SIGKILL) at a hundred random moments in the middle of 1,000 verdicts
and started again each time, and four servers on one run take 1,000 verdicts each at once: every verdict that was called
saved must be in the store, none twice, none refused; else this ends with an error. Results go to
``results/review_durability.csv``. ``--only load`` or ``--only durability`` measures one of the two.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import psidebug
from benchmarks import RESULTS
from benchmarks.lines import made_with, write
from psidebug.store import load_run
from tests.review.digits import save_digits
from tests.review.talking import Talk
from tests.review.test_killed import kill_often, write_together

BASE = 1_000
"""Rows of the diagnosis of which a large run is many copies."""


def table(rng: np.random.Generator, labels: Any) -> Any:
    return rng.normal(size=(len(labels), 40)) + 0.6 * labels[:, None] * (np.arange(40) < 5)


def texts(rng: np.random.Generator, labels: Any) -> Any:
    words = np.array([f"word{number}" for number in range(5_000)])
    frequency = 1.0 / np.arange(1, len(words) + 1)
    drawn = rng.choice(words, size=(len(labels), 80), p=frequency / frequency.sum())
    return [" ".join(row) + (" bad" if label else " fine") for row, label in zip(drawn, labels, strict=True)]


KINDS = {
    "table": (table, LogisticRegression()),
    "text": (texts, make_pipeline(CountVectorizer(), LogisticRegression(max_iter=1000))),
}


def make_run(kind: str, rows: int, place: Path) -> None:
    """A run with so many suspects: a diagnosis of a few rows, its files filled with copies of them."""
    rng = np.random.default_rng(0)
    make, model = KINDS[kind]
    truth = rng.random(2 * BASE) < 0.5
    X = make(rng, truth)
    wrong = (rng.random(BASE) < 0.15) & truth[:BASE]
    given = np.where(truth[:BASE] & ~wrong, "yes", "no")
    test = np.where(truth[BASE:], "yes", "no")
    psidebug.debug(model, X[:BASE], given, X[BASE:], test, check_fidelity=False, rng=0).save(place)
    record = json.loads((place / "run.json").read_text())
    copies = rows // BASE
    for name in ("train", "labels", "prior"):
        entry = record["files"].get(name)
        if entry is None:
            continue
        large = pa.concat_tables([pq.read_table(place / entry["path"])] * copies)
        if name == "labels":
            for column, values in (("row", np.arange(rows)), ("rank", rng.permutation(rows))):
                large = large.set_column(large.schema.get_field_index(column), column, pa.array(values))
        pq.write_table(large, place / entry["path"])
        entry["sha256"] = hashlib.sha256((place / entry["path"]).read_bytes()).hexdigest()
    (place / "run.json").write_text(json.dumps(record))
    assert len(load_run(place).order) == rows


def timed(talk: Talk, path: str, **said: Any) -> float:
    begin = time.perf_counter()
    answer = talk.say(path, **said) if said else talk.ask(path)
    assert answer.status == 200, answer.text
    return time.perf_counter() - begin


def memory(process: int) -> float:
    """Resident megabytes."""
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * 4096 / 1e6


def measure(kind: str, rows: int, reviews: int, place: Path) -> dict[str, Any]:
    make_run(kind, rows, place)
    begin = time.perf_counter()
    command = [str(Path(sys.executable).parent / "psi"), "review", str(place), "--no-browser"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert server.stdout is not None
    try:
        link = server.stdout.readline().strip()
        talk = Talk(int(link.split(":")[2].split("/")[0]))
        talk.enter(link)
        start = time.perf_counter() - begin
        first = timed(talk, "/")
        first_similar = timed(talk, "/similar?at=0")
        order = load_run(place).order.tolist()
        took: dict[str, list[float]] = {"item": [], "similar": [], "queue": [], "verdict": []}
        held = []
        for number, at in enumerate(order[:reviews]):
            took["item"].append(timed(talk, f"/item?at={at}"))
            took["similar"].append(timed(talk, f"/similar?at={at}"))
            took["verdict"].append(timed(talk, "/verdict", at=at, action=("correct", "keep")[number % 2]))
            took["queue"].append(timed(talk, f"/queue?at={at}"))
            timed(talk, "/changes")
            if number % (reviews // 10) == 0:
                held.append(memory(server.pid))
        bulk = timed(talk, "/bulk", filter={}, action="keep", expected=rows - reviews)
        after = timed(talk, f"/item?at={order[-1]}&state=all")
        return {
            "data": kind,
            "suspects": rows,
            "reviews": reviews,
            "start_s": round(start, 2),
            "first_screen_s": round(first, 3),
            "first_similar_s": round(first_similar, 2),
            **{f"{name}_ms": round(1e3 * float(np.median(took[name])), 1) for name in took},
            **{
                f"{name}_p99_ms": round(1e3 * float(np.quantile(took[name], 0.99)), 1)
                for name in ("item", "similar", "verdict")
            },
            "bulk_all_s": round(bulk, 2),
            "item_after_bulk_ms": round(1e3 * after, 1),
            "memory_begin_mb": round(held[1]),
            "memory_end_mb": round(held[-1]),
        }
    finally:
        server.terminate()
        server.wait()
        server.stdout.close()


def durability(kills: int, verdicts: int, directory: Path) -> list[dict[str, Any]]:
    """What a run went through, and how long it took; an error if a verdict is lost, twice or refused."""
    lines = []
    ways: tuple[tuple[str, int, Callable[[Path], tuple[int, int]]], ...] = (
        ("killed", 1, partial(kill_often, kills=kills, verdicts=verdicts)),
        ("at once", 4, partial(write_together, processes=4, verdicts=verdicts)),
    )
    for what, servers, go in ways:
        run = directory / what
        save_digits(run)
        begin = time.perf_counter()
        saved, stored = go(run)
        took = round(time.perf_counter() - begin, 1)
        line = {"what": what, "servers": servers, "kills": kills if what == "killed" else 0}
        lines.append(line | {"called_saved": saved, "stored": stored, "seconds": took})
        print(lines[-1], flush=True)
        shutil.rmtree(run)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", choices=("load", "durability"))
    asked = parser.parse_args()
    rows, reviews, kills, verdicts = (10_000, 200, 10, 100) if asked.quick else (100_000, 3_600, 100, 1_000)
    found: dict[str, list[dict[str, Any]]] = {}
    with tempfile.TemporaryDirectory() as directory:
        if asked.only != "durability":
            found["review.csv"] = []
            for kind in KINDS:
                found["review.csv"].append(measure(kind, rows, reviews, Path(directory) / kind))
                print(found["review.csv"][-1], flush=True)
        if asked.only != "load":
            found["review_durability.csv"] = durability(kills, verdicts, Path(directory))
    if not asked.quick:
        for name, lines in found.items():
            write(RESULTS / name, [line | made_with() | {"machine": platform.machine()} for line in lines])


if __name__ == "__main__":
    main()
