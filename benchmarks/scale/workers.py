"""What more workers of a Dask cluster cost: the same Newton reading and the same PS pass by 1, 2 and 4 of them.

    python -m benchmarks.scale.workers --rows 2000000

Processor seconds are those of all workers together. Efficiency is one worker's processor seconds by those of all: the
part of the work that one worker would have had to do, too. The clock is given beside them; with fewer cores than
workers it cannot fall.
"""

from __future__ import annotations

import operator
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from psidebug.blocks import ROWS, Block, Blocks
from psidebug.graybox.logistic.likelihood import Separate
from psidebug.graybox.logistic.over_blocks import BlockFit, Rows, fit_over_blocks
from psidebug.inference.histogram import EffectHistogram
from psidebug.priors import Floats

COLUMNS = 20
FILES = 16
NAMES = [f"x{place}" for place in range(COLUMNS)]


@dataclass(frozen=True)
class Measured:
    """A pass by so many workers: seconds by the clock, and of all processors."""

    what: str
    workers: int
    rows: int
    clock: float
    processor: float


def efficiency(rows: int, workers: Sequence[int] = (1, 2, 4)) -> Iterator[Measured]:
    """A fit (per reading) and the histogram of effects, by each number of workers with one thread; the same answers."""
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    from psidebug.blocks.dask import DaskBlocks

    answers = []
    with tempfile.TemporaryDirectory() as folder:
        _write(Path(folder), rows)
        for count in workers:
            with (
                LocalCluster(n_workers=count, threads_per_worker=1, dashboard_address=":0") as cluster,
                Client(cluster) as client,
            ):
                blocks = DaskBlocks(dd.read_parquet(folder), client)
                for _ in range(2):  # the first imports what workers need
                    fit, clock, processor = _timed(client, partial(_fit, blocks))
                yield Measured("a Newton reading", count, rows, clock / fit.readings, processor / fit.readings)
                pull = np.ones_like(fit.theta)
                histogram, clock, processor = _timed(client, partial(_histogram, blocks, fit, pull))
                yield Measured("effects of all labels", count, rows, clock, processor)
                answers.append((fit.theta, histogram.counts))
    if not all(np.array_equal(one, other) for each in answers for one, other in zip(each, answers[0], strict=True)):
        raise AssertionError("the answers depend on the number of workers")


def _timed(client: Any, work: Callable[[], Any]) -> tuple[Any, float, float]:
    begun, used = time.perf_counter(), sum(client.run(time.process_time).values())
    made = work()
    return made, time.perf_counter() - begun, sum(client.run(time.process_time).values()) - used


def _write(folder: Path, rows: int) -> None:
    beta = np.linspace(-1.0, 1.0, COLUMNS)
    for number in range(FILES):
        rng = np.random.default_rng(number)
        x = rng.normal(size=(rows // FILES, COLUMNS))
        y = (x @ beta + rng.logistic(size=len(x)) > 0).astype(np.int64)
        columns = {name: x[:, place] for place, name in enumerate(NAMES)}
        pq.write_table(pa.table({**columns, "y": y}), folder / f"{number:03d}.parquet", row_group_size=8 * ROWS)


def _read(block: Block) -> Rows:
    return Rows(block.matrix(NAMES), block.column("y"), np.ones(len(block)))


def _fit(blocks: Blocks) -> BlockFit:
    return fit_over_blocks(
        blocks, _read, Separate(2, np.ones(2)), np.zeros((1, COLUMNS + 1)), 1.0, intercept=True, columns=[*NAMES, "y"]
    )


def _histogram(blocks: Blocks, fit: BlockFit, pull: Floats) -> EffectHistogram:
    made: EffectHistogram = blocks.reduce(partial(_counted, fit=fit, pull=pull), operator.add, [*NAMES, "y"])
    return made


def _counted(block: Block, fit: BlockFit, pull: Floats) -> EffectHistogram:
    rows = _read(block)
    return EffectHistogram.of(fit.effects(rows, pull)[np.arange(len(rows.codes)), 1 - rows.codes])


@click.command()
@click.option("--rows", default=2_000_000, show_default=True, help="Rows of 20 columns, in 16 Parquet files.")
def main(rows: int) -> None:
    """Print the table of docs/scale.md."""
    click.echo(f"{rows:,} rows x {COLUMNS} columns, {os.cpu_count()} cores")
    alone: dict[str, float] = {}
    for each in efficiency(rows):
        alone.setdefault(each.what, each.processor)
        click.echo(
            f"{each.what:22} {each.workers} workers: {each.clock:6.2f} s by the clock, {each.processor:6.2f} s of "
            f"processors, efficiency {alone[each.what] / each.processor:.2f}"
        )


if __name__ == "__main__":
    main()
