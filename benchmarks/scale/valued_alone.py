"""pyDVL and DataScope on the same files: ``python -m benchmarks.scale.valued_alone``.

Each values all rows for nearest neighbours over the test rows, in memory, by one thread, in a process and an
environment of its own. A process that takes longer than the limit is ended, and the method is not given more rows.
"""

from __future__ import annotations

import json
import resource
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import click
import numpy as np
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from sklearn.linear_model import LogisticRegression

from benchmarks.peers.contest import Contest
from benchmarks.peers.environment import home, interpreters, last_line, variables
from benchmarks.peers.valuation import PEERS
from benchmarks.scale.sizes import COLUMNS, made

METHODS = {peer.name: peer for peer in PEERS if peer.name in ("KNN-Shapley", "DataScope")}
LIMIT = 240
"""Seconds by the clock."""


def measured(folder: Path, method: str) -> dict[str, float]:
    """Seconds of the processor for loading and values, memory, and wrong labels among the first suspects."""
    begun = time.process_time()
    train = ds.dataset(sorted(map(str, folder.glob("train*.parquet")))).to_table()
    test = pq.read_table(folder / "test.parquet")
    (X, y), (X_test, y_test) = _numbers(train), _numbers(test)
    contest = Contest("logistic", LogisticRegression(), X, X_test, X, X_test, X, X_test, y, y_test, 2, 0)
    scores = METHODS[method].rank(contest).scores
    used = time.process_time() - begun
    wrong = (X[:, 0] > 1.0) & (y == 0)  # the slice that was mislabelled; some of its rows are right
    first = np.argsort(-scores, kind="stable")[: int(wrong.sum())]
    return {
        "seconds": used,
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3,
        "in_slice": float(wrong[first].mean()),
    }


def _numbers(table: Any) -> tuple[Any, Any]:
    return np.column_stack([table[name].to_numpy() for name in COLUMNS]), table["y"].to_numpy().astype(np.intp)


def ran(python: Path, folder: Path, method: str, limit: int) -> str:
    """What a process of its own says, or why it says nothing."""
    command = [str(python), "-m", "benchmarks.scale.valued_alone", "--folder", str(folder), "--method", method]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, env=variables(), check=False)
    except subprocess.TimeoutExpired:
        return f"ended after {limit} s"
    if done.returncode != 0:
        return f"failed: {last_line(done.stderr)}" if done.stderr else f"killed (code {done.returncode})"
    told = json.loads(done.stdout.splitlines()[-1])
    return f"{told['seconds']:.1f} s, {told['memory']:,.0f} MB, {told['in_slice']:.0%} of the first in the slice"


@click.command()
@click.option("--rows", multiple=True, type=int, default=(10**4, 10**5), show_default=True, help="Ascending.")
@click.option("--limit", default=LIMIT, show_default=True, help="Seconds for each.")
@click.option("--place", type=click.Path(path_type=Path), help="Of the environment; in the user's cache if left out.")
@click.option("--folder", type=click.Path(path_type=Path), hidden=True)
@click.option("--method", multiple=True, type=click.Choice(list(METHODS)), help="All if left out.")
def main(rows: tuple[int, ...], limit: int, place: Path | None, folder: Path | None, method: tuple[str, ...]) -> None:
    """Print a line for each method and number of rows."""
    if folder is not None:
        click.echo(json.dumps(measured(folder, method[0])))
        return
    packages = {name: METHODS[name].package or "" for name in method or METHODS}
    found, missing = interpreters(list(packages.values()), place or home())
    left = {name: package for name, package in packages.items() if package in found}
    for name in packages.keys() - left.keys():
        click.echo(f"{name}: {missing[packages[name]]}")
    for count in rows:
        with tempfile.TemporaryDirectory(prefix="psi-scale-") as files:
            made(Path(files), count)
            for name, package in dict(left).items():
                said = ran(found[package], Path(files), name, limit)
                click.echo(f"{count:>10,} rows, {name}: {said}")
                if " MB, " not in said:
                    del left[name]


if __name__ == "__main__":
    main()
