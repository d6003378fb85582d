"""``debug`` of training rows in blocks: drawn rows are diagnosed in memory, all rows over blocks, and both are told."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from psidebug import timings
from psidebug.blocks import blocks_of, names_of_columns, parquet_blocks, with_labels
from psidebug.diagnosis.as_findings import origin_of
from psidebug.diagnosis.block_columns import Columns, check_columns
from psidebug.diagnosis.block_reader import takes_numbers_alone
from psidebug.diagnosis.diagnosis import Diagnosis
from psidebug.diagnosis.find import find
from psidebug.diagnosis.first_reading import FirstReading, check_labelled, read_first
from psidebug.diagnosis.learner_over_blocks import check_weighted, kind_for, trained_by
from psidebug.diagnosis.over_blocks import over_blocks
from psidebug.diagnosis.session import Session
from psidebug.diagnosis.told_of_blocks import Large, told_of_all, told_of_drawn
from psidebug.errors import UnknownOption, UnreadableTable
from psidebug.findings.findings import Findings
from psidebug.progress import silent
from psidebug.spec import Effort, Spec
from psidebug.store import check_run_place, save_run
from psidebug.store.manifest import RUN_FILE
from psidebug.task import learner as learners
from psidebug.threads import few_threads, one_blas_thread
from psidebug.timings import Tick


class WithBytes:
    """Progress that also says how many bytes of the rows were read so far."""

    def __init__(self, tick: Tick) -> None:
        self._tick, self._stage = tick, "reading"

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Work goes on."""
        self._tick(stage, done, total)
        self._stage = stage

    def seen(self, count: int) -> None:
        """So many bytes were read."""
        self._tick(f"{self._stage} ({count / 1e6:,.0f} MB read)", 0, 1)


def check_options(**given: Any) -> None:
    """Refuse options that rows in blocks do not have, where one is given (not None)."""
    named = next((name for name, value in given.items() if value is not None), None)
    if named is not None:
        raise UnknownOption(
            f"{named}={given[named]!r:.40} is not for rows that are read in blocks, which take the default: leave it "
            f"out, or give fewer rows, in memory."
        )


def debug_blocks(
    model: Any,
    rows: Any,
    label: Any,
    X_test: Any,
    y_test: Any,
    *,
    X_validation: Any = None,
    y_validation: Any = None,
    features: Sequence[str] | None = None,
    ids: Any = None,
    weight: Any = None,
    metadata: Any = None,
    source: Mapping[str, Any] | None = None,
    prior: float | None = None,
    causes: Literal["all", "labels"] = "all",
    effort: Effort = "decide",
    seed: int = 0,
    again: str = "0",
    run: str | PathLike[str] | None = None,
    workers: int = 1,
    progress: Tick | None = None,
) -> Diagnosis:
    """See :func:`psidebug.debug`; ``features`` are the columns that the model takes, all others if left out.

    ``ids``, ``weight`` and ``metadata`` are names of columns, too; ``source`` is told by ``Diagnosis.described``.
    ``again`` is what to give as ``rng`` to repeat it. The run is written to ``run``, or else to a directory among the
    system's temporary ones, and loaded from there.
    """
    ranks_all = kind_for(model).ranks_all
    if effort == "rank" and not ranks_all:
        raise UnknownOption(
            f"effort='rank' is PS of every label, which over blocks LogisticRegression has and "
            f"{type(learners.final_step(model)).__name__} has not: leave it out."
        )
    tick = progress if isinstance(progress, WithBytes) else WithBytes(progress or silent)
    place = Path(tempfile.mkdtemp(prefix="psi-")) / "run" if run is None else Path(run)
    if not (place / RUN_FILE).exists():
        check_run_place(place, {})
    rows, label = with_labels(rows, label)
    tick("reading", 0, 1)
    blocks = blocks_of(rows, workers=workers, seen=tick.seen)
    kind = trained_by(model, blocks)
    columns = Columns.of(blocks, label, features, ids, weight, metadata)
    check_labelled(blocks, label)
    check_weighted(model, weight)
    blocks.check_place(place.absolute().parent)
    sets = _in_memory(columns, ("test", X_test, y_test), ("validation", X_validation, y_validation))
    with timings.stopwatch().watching("reading"), few_threads(0), one_blas_thread():
        first = read_first(blocks, columns, seed, complete=kind.needs_complete and takes_numbers_alone(model))
        large = Large(blocks, columns.with_dates(first.drawn), sets, dict(source or {}))
        spec = Spec(prior=prior, causes=causes, effort="rank" if effort == "rank" else "decide", seed=seed)
        found, session = _of_drawn(learners.fresh(model), large, first, spec, again, tick)
        check_run_place(place, found.origin.fingerprint)
        tick("fitting all rows", 0, 1)
        learner = kind.of(blocks, first, session.task, columns)
        with tempfile.TemporaryDirectory(dir=place.absolute().parent, prefix=".psi-", suffix=".partial") as folder:
            weighable = not found.changes and effort != "rank"
            said = over_blocks(
                learner,
                large.columns,
                session.task,
                session.hypotheses if weighable else (),
                session.tried if weighable else (),
                prior,
                found.labels.ps,
                Path(folder),
                tick,
            )
            tick("saving", 0, 1)
            told = told_of_all if kind.ranks_all else told_of_drawn
            findings, data = told(large, first, found, session, said)
            save_run(place, findings, data, spec, learners.fresh(model), all_labels=said.labels)
    return Diagnosis.load(place)


def _in_memory(columns: Columns, *given: tuple[str, Any, Any]) -> dict[str, Any]:
    """Test and validation sets as arguments of ``Task.of``: tables, or Parquet files that have the label, too."""
    made: dict[str, Any] = {}
    for name, features, labels in given:
        if isinstance(features, str | PathLike):
            blocks = parquet_blocks(features)
            column = labels if isinstance(labels, str) else columns.label
            check_columns(blocks, [column, *columns.features])
            check_labelled(blocks, column)
            table = pa.concat_tables(blocks.map(lambda block: block.table))
            features, labels = table.select(list(columns.features)), table.column(column).to_pylist()
        elif isinstance(labels, str):
            raise UnknownOption(f"y_{name} names a column: then X_{name} is the path of a Parquet file.")
        elif features is not None and not hasattr(features, "columns"):
            features = _named(features, columns.features, name)
        made |= {f"X_{name}": features, f"y_{name}": labels}
    return made


def _named(features: Any, columns: Sequence[str], name: str) -> pa.Table:
    """An array beside arrays of Dask, whose columns have no names either."""
    array = np.asarray(features)
    if array.ndim != 2 or names_of_columns(array) != list(columns):
        raise UnreadableTable(f"X_{name} needs the names of its columns, like the training rows: give a data frame.")
    return pa.table(dict(zip(columns, array.T, strict=True)))


def _of_drawn(
    model: Any, large: Large, first: FirstReading, spec: Spec, again: str, tick: Tick
) -> tuple[Findings, Session]:
    """The diagnosis of the drawn rows, in memory."""
    task = large.task(model, first, spec.seed)
    return find(task, spec, origin_of(task, again), tick, keep_rules=True)[0]
