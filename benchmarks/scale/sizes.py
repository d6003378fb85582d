"""Time and memory by number of rows: ``python -m benchmarks.scale.sizes FOLDER ROWS`` measures one and prints JSON.

Rows are 20 normal columns in Parquet files of a million rows; labels are logistic in them, and a slice of them is
mislabelled. Every size is measured in a process of its own; seconds are processor seconds of one thread.
"""

from __future__ import annotations

import json
import resource
import shutil
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.linear_model import LogisticRegression

from psidebug import policy
from psidebug.blocks import Block, parquet_blocks, sums
from psidebug.diagnosis.block_learner import proposed_effects
from psidebug.diagnosis.block_reader import Reader
from psidebug.diagnosis.debug_blocks import debug_blocks
from psidebug.graybox.logistic.likelihood import Separate
from psidebug.graybox.logistic.over_blocks import BlockFit, _sums_at, fit_over_blocks
from psidebug.inference.histogram import EffectHistogram, SufficiencyTable, sufficiency_table
from psidebug.margins import by_class, is_wrong, margins_of
from psidebug.symptoms import log_loss_above_boundary

COLUMNS = [f"x{j}" for j in range(20)]
PART = 10**6
TESTED = 1_000
NARROW = 5 * 10**7
"""From so many rows on numbers are of single precision, and stored as they are: half of the disk."""


def made(folder: Path, rows: int) -> None:
    """Training files and a test file."""
    weights = np.random.default_rng(7).normal(size=len(COLUMNS)) / 2
    for part, start in enumerate(range(0, rows, PART)):
        path = folder / f"train{part:04d}.parquet"
        _table(min(PART, rows - start), weights, 100 + part, path, wrong=True, narrow=rows >= NARROW)
    _table(TESTED, weights, 8, folder / "test.parquet", wrong=False)


def _table(rows: int, weights: Any, seed: int, path: Path, *, wrong: bool, narrow: bool = False) -> None:
    rng = np.random.default_rng(seed)
    x: Any = rng.normal(size=(rows, len(COLUMNS))).astype(np.float32 if narrow else np.float64)
    y = (x @ weights + rng.logistic(size=rows) > 0).astype(np.int8)
    if wrong:
        y[(x[:, 0] > 1.0) & (y == 1)] = 0
    table = pa.table({name: x[:, j] for j, name in enumerate(COLUMNS)} | {"y": y})
    pq.write_table(table, path, use_dictionary=not narrow, compression="none" if narrow else "snappy")


def measured(folder: Path) -> dict[str, float]:
    """One Newton pass, PS of every label, and a whole decision."""
    blocks, test = parquet_blocks(folder / "train*.parquet"), pq.read_table(folder / "test.parquet")
    reader = Reader(tuple(COLUMNS), "y", {0: 0, 1: 1}, ())
    likelihood = Separate(2, np.ones(2))
    told: dict[str, float] = {"rows": len(blocks), "bytes": sum(path.stat().st_size for path in blocks.paths)}
    features, right = np.column_stack([test[name].to_numpy() for name in COLUMNS]), test["y"].to_numpy().astype(np.intp)
    fit = fit_over_blocks(blocks, reader, likelihood, np.zeros((1, 21)), 1.0, intercept=True)
    begun = time.process_time()
    sums(blocks, partial(_sums_at, read=reader, likelihood=likelihood, theta=fit.theta, intercept=True))
    told["newton_pass"] = time.process_time() - begun
    begun = time.process_time()
    scores = fit.scores(features)
    margins = margins_of(np.column_stack([np.zeros(len(scores)), scores]), right)
    line = log_loss_above_boundary(margins, np.flatnonzero(is_wrong(margins))).linearised(margins)
    pull = fit.pull(features, by_class(line.weights, right)[:, 1:])
    with tempfile.TemporaryDirectory(dir=folder) as place:
        effects = Path(place) / "effects.parquet"
        blocks.write(partial(_effects, reader=reader, fit=fit, pull=pull), effects)
        written = parquet_blocks(effects)
        histogram = written.reduce(_counted, EffectHistogram.__add__)
        table = sufficiency_table(histogram, policy.DEFAULT_RATE, line.threshold)
        written.write(partial(_ps, table=table), Path(place) / "ps.parquet")
    told["ps"] = time.process_time() - begun
    told["ps_error"] = table.error
    told["memory_ps"] = _peak()
    begun, wall = time.process_time(), time.perf_counter()
    shutil.rmtree(folder / "run", ignore_errors=True)
    found = debug_blocks(
        LogisticRegression(), folder / "train*.parquet", "y", folder / "test.parquet", "y", run=folder / "run"
    )
    told["decision"], told["decision_wall"] = time.process_time() - begun, time.perf_counter() - wall
    told |= {"readings": int(found.settings["readings"]), "corrected": found.corrected, "memory": _peak()}
    return told


def _effects(block: Block, reader: Reader, fit: BlockFit, pull: Any) -> pa.Table:
    return pa.table({"effect": proposed_effects(reader(block), fit, pull)[1]})


def _counted(block: Block) -> EffectHistogram:
    return EffectHistogram.of(block.column("effect"))


def _ps(block: Block, table: SufficiencyTable) -> pa.Table:
    return pa.table({"ps": table(block.column("effect"))})


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


if __name__ == "__main__":
    where, count = Path(sys.argv[1]), int(sys.argv[2])
    where.mkdir(parents=True, exist_ok=True)
    made(where, count)
    print(json.dumps(measured(where)))
