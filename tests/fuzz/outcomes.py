"""What became of every mutated file, seen from outside of the process that opened it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from psidebug import debug
from psidebug.store import save_run
from psidebug.store.manifest import ALL_LABELS
from tests.conftest import planted_rows

ROOT = Path(__file__).parents[2]


@dataclass
class Outcomes:
    """Of one kind of file."""

    counts: Counter[str] = field(default_factory=Counter)
    """Answers and sentences."""
    bad: list[tuple[int, str]] = field(default_factory=list)
    """Numbers of mutations, and what they did: a traceback, a signal, a hang."""

    def note(self, number: int, outcome: str) -> None:
        """Take in one."""
        if outcome in ("answer", "sentence"):
            self.counts[outcome] += 1
        else:
            self.bad.append((number, outcome))


def good_run(folder: Path) -> Path:
    """A run with a correction, controls, a curve, a validation set and a table of all labels, to be changed."""
    import pandas as pd
    from sklearn.linear_model import LogisticRegression

    rows = planted_rows()
    metadata = pd.DataFrame({"by": ["ann", None] * 60, "when": pd.date_range("2024-01-01", periods=120)})
    more = {"X_validation": rows.X_test[:30], "y_validation": rows.y_test[:30], "metadata": metadata}
    found = debug(
        LogisticRegression(), rows.X_train, rows.y_train, rows.X_test, rows.y_test, effort="prove", rng=0, **more
    )
    labels = found.found.labels
    given, repaired = (found.found.encoding.decode(each).tolist() for each in (labels.given, labels.repaired))
    every = pa.table({"row": range(len(given)), "given": given, "repaired": repaired})
    pq.write_table(every, folder / ALL_LABELS)
    save_run(folder / "good", found.found, found.data, found.spec, found.task.learner, all_labels=folder / ALL_LABELS)
    return folder / "good"


def outcomes(run: Path, count: int, *, kinds: Sequence[str], first: int = 0) -> dict[str, Outcomes]:
    """Of mutations ``first`` … ``count`` of these kinds, where 0 is the good file.

    A process that died is followed by another, which goes on after the file that killed it.
    """
    found: dict[str, Outcomes] = {name: Outcomes() for name in kinds}
    places = [(name, number) for name in kinds for number in range(first, count + 1)]
    while places:
        ran = subprocess.run(
            [sys.executable, "-m", "tests.fuzz.child", str(run)],
            input=json.dumps(places),
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        lines = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("[")]
        done = [line for line in lines if len(line) == 3]
        for name, number, outcome in done:
            found[name].note(number, outcome)
        places = places[len(done) :]
        if ran.returncode:
            if len(lines) != 2 * len(done) + 1:
                raise AssertionError(f"the fuzzer itself failed: {ran.stderr[-3000:]}")
            (name, number), places = places[0], places[1:]
            what = "hang" if "Timeout" in ran.stderr else f"exit {ran.returncode}"
            found[name].note(number, f"{what}: {ran.stderr[-1500:]}")
    return found
