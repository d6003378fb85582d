"""``debug`` of training rows in blocks: drawn rows are diagnosed in memory, all rows over blocks, and both are told."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from psidebug import timings
from psidebug.blocks import Blocks, blocks_of, names_of_columns, parquet_blocks, with_labels
from psidebug.diagnosis.as_findings import origin_of, predictions_of
from psidebug.diagnosis.block_learner import BlockLearner, check_learner, takes_numbers_alone
from psidebug.diagnosis.causes import in_order
from psidebug.diagnosis.diagnosis import Diagnosis
from psidebug.diagnosis.find import find
from psidebug.diagnosis.first_reading import FirstReading, check_columns, read_first
from psidebug.diagnosis.over_blocks import OverBlocks, first_suspects, over_blocks, rows_of
from psidebug.diagnosis.session import Session
from psidebug.diagnosis.verdict import RANKED, cannot_say, only_ranked, verdict, with_causes
from psidebug.errors import UnknownOption, UnreadableTable
from psidebug.findings.findings import Findings, LabelFindings, VerifiedCorrection
from psidebug.margins import predicted_by
from psidebug.priors import noise
from psidebug.progress import silent
from psidebug.spec import Effort, Spec
from psidebug.store import check_run_place, save_run
from psidebug.store.manifest import ALL_LABELS, RUN_FILE
from psidebug.task import learner as learners
from psidebug.task.data import Data
from psidebug.task.task import Task
from psidebug.threads import few_threads
from psidebug.timings import Tick
from psidebug.training.trainer import one_blas_thread

TOLD = ("given", "proposed", "repaired", "likeliest", "confidence", "p_wrong", "ps")
"""Columns of the table of all labels, after ``row``."""


@dataclass(frozen=True, eq=False)
class Large:
    """Rows in blocks, which of their columns are what, and the sets in memory beside them."""

    blocks: Blocks
    label: str
    features: tuple[str, ...]
    sets: dict[str, Any]
    """X_test, y_test, X_validation and y_validation."""


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
    prior: float | None = None,
    causes: Literal["all", "labels"] = "all",
    effort: Effort = "decide",
    seed: int = 0,
    again: str = "0",
    run: str | PathLike[str] | None = None,
    workers: int = 1,
    progress: Tick | None = None,
) -> Diagnosis:
    """See :func:`psidebug.debug`; ``features`` are the columns that the model takes, all but the label if left out.

    ``again`` is what to give as ``rng`` to repeat it. The run is written to ``run``, or else to a directory among the
    system's temporary ones, and loaded from there.
    """
    check_learner(model)
    tick = progress or silent
    place = Path(tempfile.mkdtemp(prefix="psi-")) / "run" if run is None else Path(run)
    if not (place / RUN_FILE).exists():
        check_run_place(place, {})
    rows, label = with_labels(rows, label)
    tick("reading", 0, 1)
    blocks = blocks_of(rows, workers=workers, seen=_bytes_told(tick))
    columns = tuple(features or (name for name in blocks.schema.names if name != label))
    check_columns(blocks, label, columns)
    blocks.check_place(place.absolute().parent)
    sets = _in_memory(columns, label, ("test", X_test, y_test), ("validation", X_validation, y_validation))
    large = Large(blocks, label, columns, sets)
    with timings.stopwatch().watching("reading"), few_threads(0), one_blas_thread():
        first = read_first(blocks, label, columns, seed, complete=takes_numbers_alone(model))
        spec = Spec(prior=prior, causes=causes, effort="rank" if effort == "rank" else "decide", seed=seed)
        found, session = _of_drawn(learners.fresh(model), large, first, spec, again, tick)
        check_run_place(place, found.origin.fingerprint)
        tick("fitting all rows", 0, 1)
        learner = BlockLearner.of(blocks, first, session.task, columns, label)
        with tempfile.TemporaryDirectory(dir=place.absolute().parent, prefix=".psi-", suffix=".partial") as folder:
            weighable = not found.changes and effort != "rank"
            said = over_blocks(
                learner,
                session.task,
                session.hypotheses if weighable else (),
                session.tried if weighable else (),
                prior,
                Path(folder),
                tick,
            )
            tick("saving", 0, 1)
            findings, data = _told(large, first, found, session, said)
            save_run(place, findings, data, spec, learners.fresh(model))
            said.labels.chmod(0o700 if said.labels.is_dir() else 0o600)  # like the other files of a run
            said.labels.replace(place / ALL_LABELS)
    return Diagnosis.load(place)


def _bytes_told(tick: Tick) -> Any:
    return lambda count: tick(f"reading ({count / 1e6:,.0f} MB read)", 0, 1)


def _in_memory(columns: Sequence[str], label: str, *given: tuple[str, Any, Any]) -> dict[str, Any]:
    """Test and validation sets as arguments of ``Task.of``: tables, or Parquet files that have the label, too."""
    made: dict[str, Any] = {}
    for name, features, labels in given:
        if isinstance(features, str | PathLike):
            blocks = parquet_blocks(features)
            column = labels if isinstance(labels, str) else label
            check_columns(blocks, column, columns)
            table = pa.concat_tables(blocks.map(lambda block: block.table))
            features, labels = table.select(list(columns)), table.column(column).to_pylist()
        elif isinstance(labels, str):
            raise UnknownOption(f"y_{name} names a column: then X_{name} is the path of a Parquet file.")
        elif features is not None and not hasattr(features, "columns"):
            features = _named(features, columns, name)
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
    rows = np.asarray(first.drawn.column("row").to_numpy())
    labels = first.drawn.column(large.label).to_pylist()
    task = Task.of(model, first.drawn.select(list(large.features)), labels, rows=rows, seed=spec.seed, **large.sets)
    return find(task, spec, origin_of(task, again), tick, keep_rules=True)[0]


def _told(
    large: Large, first: FirstReading, found: Findings, session: Session, said: OverBlocks
) -> tuple[Findings, Data]:
    """What is kept and shown: the drawn rows and the first suspects of all, each for as many rows as it stands for."""
    blocks, task, count = large.blocks, session.task, len(large.blocks)
    suspects = first_suspects(said.labels)
    kept = np.union1d(suspects, np.asarray(task.rows, dtype=np.int64))
    table = rows_of(blocks, kept, [*large.features, large.label])
    labels = rows_of(parquet_blocks(said.labels), kept, TOLD)
    others = ~np.isin(kept, suspects)
    weights = np.ones(len(kept))
    if others.any() and count > len(kept):
        weights[others] = (count - len(suspects)) / others.sum()
    data = Data.of(
        learners.fresh(task.learner),
        table.select(list(large.features)),
        table.column(large.label).to_pylist(),
        rows=kept,
        sample_weight=weights if count > len(kept) else None,
        **large.sets,
    )
    given, proposed, repaired, likeliest = (
        data.encoding.encode(labels.column(name).to_pylist(), where=name)
        for name in ("given", "proposed", "repaired", "likeliest")
    )
    ps, p_wrong, confidence = (np.asarray(labels.column(name).to_numpy()) for name in ("ps", "p_wrong", "confidence"))
    error = 0.0 if said.table is None else said.table.error
    suspected = np.flatnonzero(((ps > 0) & (p_wrong > 0)) | (p_wrong > 0.5))
    about = LabelFindings(
        rows=kept,
        given=given,
        proposed=proposed,
        repaired=repaired,
        ps=ps,
        ps_low=np.maximum(ps - error, 0.0),
        ps_high=np.minimum(ps + error, 1.0),
        p_wrong=p_wrong,
        likeliest=likeliest,
        confidence=confidence,
        order=suspected[np.lexsort((suspected, -ps[suspected], -p_wrong[suspected]))],
    )
    correction = None
    if said.correction is not None and said.verified is not None:
        own = next((each for each in found.slices if each.proved), None)
        correction = VerifiedCorrection(said.correction.explanation, about.repaired, said.verified, own, said.inside)
    whole = replace(task, predicted=predicted_by(said.margins, task.test.codes), bugs=said.bugs)
    findings = replace(
        found,
        labels=about,
        predictions=predictions_of(whole, None if correction is None else said.verified),
        correction=correction,
        prior=noise(about.given, data.encoding.size, said.rate),
        origin=replace(found.origin, came_fitted=True),
        settings={**found.settings, **_settings(large, said)},
        notes=(*found.notes, *_notes(task, count, len(kept))),
    )
    return replace(findings, **_decided(whole, session, findings, said, count)), data


def _settings(large: Large, said: OverBlocks) -> dict[str, str]:
    return {
        "noise rate": f"{said.rate:.4g}",
        "symptom": said.symptom,
        "gray box": "newton, over blocks",
        "engine": "histogram" if said.table is None else f"histogram (error below {said.table.error:.1e})",
        "rows": f"{len(large.blocks):,}",
        "readings": str(large.blocks.readings),
        "bytes read": f"{large.blocks.bytes_read:,}",
    }


def _notes(task: Task, count: int, kept: int) -> tuple[str, ...]:
    if count == len(task.train):
        return ()
    return (
        f"explanations, slices and other causes were weighed by {len(task.train):,} rows drawn from {count:,}, and "
        f"figures about them count drawn rows; the fit, PS, p_wrong, the correction and its proof are of all rows",
        f"this run keeps {kept:,} rows, the drawn ones and the first suspects, each with the weight of the rows that "
        f"it stands for: what is asked of it later is answered by these; every label is in {ALL_LABELS}",
    )


def _decided(task: Task, session: Session, findings: Findings, said: OverBlocks, count: int) -> dict[str, Any]:
    """Verdict and causes by the proof on all rows."""
    if findings.changes:
        more = " The labels of the rows that were not drawn are not judged before that is repaired."
        return {"verdict": f"{findings.verdict}{more if count > len(session.task.train) else ''}"}
    if findings.causes == (RANKED,):
        return {"verdict": only_ranked(task)}
    causes = findings.causes
    if findings.correction is None:
        left = tuple(each for each in causes if each.cause != "training_labels")
        causes = in_order(left or cannot_say(session.hypotheses), enough=bool(session.hypotheses))
    told = verdict(task, findings.correction, session.hypotheses)
    told = with_causes(task, task, replace(findings, verdict=told, causes=causes))
    if count > len(session.task.train):
        told += f" The explanation is by {len(session.task.train):,} drawn rows; all {count:,} were judged by it."
    return {"verdict": told, "causes": causes}
