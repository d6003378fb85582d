"""What a diagnosis of rows in blocks tells: findings about the rows that a run keeps, and the verdict about all."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from psidebug.blocks import Blocks, parquet_blocks
from psidebug.diagnosis.as_findings import predictions_of
from psidebug.diagnosis.block_columns import Columns
from psidebug.diagnosis.causes import in_order
from psidebug.diagnosis.either_set import training_labels
from psidebug.diagnosis.first_reading import FirstReading
from psidebug.diagnosis.over_blocks import TOLD, OverBlocks, first_suspects, rows_of
from psidebug.diagnosis.repair import Correction
from psidebug.diagnosis.session import Session
from psidebug.diagnosis.verdict import RANKED, cannot_say, only_ranked, verdict, with_causes
from psidebug.findings.findings import Findings, LabelFindings, VerifiedCorrection
from psidebug.graybox.protocol import Floats
from psidebug.margins import predicted_by
from psidebug.priors import noise
from psidebug.store.manifest import ALL_LABELS
from psidebug.task import learner as learners
from psidebug.task.data import Data, Whole
from psidebug.task.task import Task


@dataclass(frozen=True, eq=False)
class Large:
    """Rows in blocks, which of their columns are what, and the sets in memory beside them."""

    blocks: Blocks
    columns: Columns
    sets: dict[str, Any]
    """X_test, y_test, X_validation and y_validation."""
    about: dict[str, Any] = field(default_factory=dict)
    """What else is known of where they came from."""

    def task(self, model: Any, first: FirstReading, seed: int) -> Task:
        """Of the drawn rows; it draws from them as from all."""
        numbers = np.asarray(first.drawn.column("row").to_numpy())
        task = Task.of(model, seed=seed, **self._arguments(first.drawn, self.names(first.drawn) or numbers))
        whole = Whole(numbers, np.array([first.counts[each] for each in task.encoding.classes]))
        return replace(task, data=replace(task.data, part_of=whole))

    def data(self, model: Any, table: pa.Table, rows: npt.NDArray[np.int64], weights: Floats | None = None) -> Data:
        """Of rows with these numbers, each for as many as its weight says."""
        given = self._arguments(table, self.names(table) or rows)
        if weights is not None:
            own = given["sample_weight"]
            given["sample_weight"] = weights if own is None else weights * own
        return Data.of(model, **given)

    def names(self, table: pa.Table) -> list[Any] | None:
        """Ids of these rows; None if they have none, or some name several."""
        ids = self.columns.ids_of(table)
        return None if ids is None or len(set(ids)) < len(ids) else ids

    def named(self, found: Findings, kept: pa.Table) -> Findings:
        """Findings that say where the rows came from, for what is written to look like them, and how they are named."""
        files = [str(path.absolute()) for path in self.blocks.paths]
        named = self.columns.ids is None or self.names(kept) is not None
        ids = self.columns.ids if named else None
        source = {"label": self.columns.label, "id": ids, **self.about, "files": files}
        twice = f"ids in {self.columns.ids!r} name several rows: rows are named by their numbers, from 0"
        notes = found.notes if named else (*found.notes, twice)
        return replace(found, notes=notes, origin=replace(found.origin, source=source))

    def _arguments(self, table: pa.Table, ids: Any) -> dict[str, Any]:
        return {
            "X_train": table.select(list(self.columns.features)),
            "y_train": table.column(self.columns.label).to_pylist(),
            "rows": ids,
            "sample_weight": self.columns.weights_of(table),
            "metadata": self.columns.metadata_of(table),
            **self.sets,
        }


def told_of_all(
    large: Large, first: FirstReading, found: Findings, session: Session, said: OverBlocks
) -> tuple[Findings, Data]:
    """What is kept and shown: the drawn rows and the first suspects of all, each for as many rows as it stands for."""
    blocks, task, count = large.blocks, session.task, len(large.blocks)
    suspects = first_suspects(said.labels)
    kept = np.union1d(suspects, task.data.whole.numbers)
    table = rows_of(blocks, kept, large.columns.all)
    labels = rows_of(parquet_blocks(said.labels), kept, TOLD)
    others = ~np.isin(kept, suspects)
    weights = np.ones(len(kept))
    if others.any() and count > len(kept):
        weights[others] = (count - len(suspects)) / others.sum()
    stand_for = weights if count > len(kept) else None
    data = large.data(learners.fresh(task.learner), table, kept, stand_for)
    given, proposed, repaired, likeliest = (
        data.encoding.encode(labels.column(name).to_pylist(), where=name)
        for name in ("given", "proposed", "repaired", "likeliest")
    )
    ps, p_wrong, confidence = (np.asarray(labels.column(name).to_numpy()) for name in ("ps", "p_wrong", "confidence"))
    error = 0.0 if said.table is None else said.table.error
    suspected = np.flatnonzero(((ps > 0) & (p_wrong > 0)) | (p_wrong > 0.5))
    about = LabelFindings(
        rows=data.rows,
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
    prior = noise(about.given, data.encoding.size, said.rate)
    told = {"noise rate": f"{said.rate:.4g}", "symptom": said.symptom, "gray box": "newton, over blocks"}
    told["engine"] = "histogram" if said.table is None else f"histogram (error below {said.table.error:.1e})"
    settings = {**found.settings, **told, **_settings(large)}
    notes = _notes(found, task, count, len(kept))
    known = replace(found, labels=about, prior=prior, settings=settings, notes=notes)
    known = large.named(known, table)
    return _by_all(known, session, said, count), data


def told_of_drawn(
    large: Large, first: FirstReading, found: Findings, session: Session, said: OverBlocks
) -> tuple[Findings, Data]:
    """The same of a learner without a gray box over blocks: the run keeps the drawn rows, which alone have PS."""
    task, count = session.task, len(large.blocks)
    numbers = task.data.whole.numbers
    labels = rows_of(parquet_blocks(said.labels), numbers, TOLD)
    data = large.data(learners.fresh(task.learner), first.drawn, numbers)
    repaired = data.encoding.encode(labels.column("repaired").to_pylist(), where="repaired")
    settings = {**found.settings, **_settings(large)}
    if "gray box" in settings and count > len(task.train):
        settings["gray box"] += ", of the drawn rows"
    notes = _notes(found, task, count, len(numbers), ps=False)
    labels_of_drawn = replace(found.labels, repaired=repaired)
    known = large.named(replace(found, labels=labels_of_drawn, settings=settings, notes=notes), first.drawn)
    return _by_all(known, session, said, count, ps=False), data


def _by_all(found: Findings, session: Session, said: OverBlocks, count: int, *, ps: bool = True) -> Findings:
    """With the correction, its proof and the verdict of all rows."""
    task, correction, proved = session.task, None, None
    if said.correction is not None and said.verified is not None:
        proved = replace(said.correction, verified=said.verified)
        own = next((each for each in found.slices if each.proved), None)
        correction = VerifiedCorrection(
            said.correction.explanation, found.labels.repaired, said.verified, own, said.inside
        )
    whole = replace(task, predicted=predicted_by(said.margins, task.test.codes), bugs=said.bugs)
    findings = replace(
        found,
        predictions=predictions_of(whole, None if correction is None else said.verified),
        correction=correction,
        origin=replace(found.origin, came_fitted=True),
    )
    return replace(findings, **_decided(whole, session, findings, proved, count, ps=ps))


def _settings(large: Large) -> dict[str, str]:
    return {
        "rows": f"{len(large.blocks):,}",
        "readings": str(large.blocks.readings),
        "bytes read": f"{large.blocks.bytes_read:,}",
    }


def _notes(found: Findings, task: Task, count: int, kept: int, *, ps: bool = True) -> tuple[str, ...]:
    if count == len(task.train):
        return found.notes
    of_drawn, of_all = ("", "PS, ") if ps else (", PS", "")
    which = "the drawn ones and the first suspects, each with the weight of the rows that it stands for"
    return (
        *found.notes,
        f"explanations, slices{of_drawn} and other causes were weighed by {len(task.train):,} rows drawn from "
        f"{count:,}, and figures about them count drawn rows; the fit, {of_all}p_wrong, the correction and its proof "
        f"are of all rows",
        f"this run keeps {kept:,} rows, {which if ps else 'the drawn ones'}: what is asked of it later is answered by "
        f"these; every label is in {ALL_LABELS}",
    )


def _decided(
    task: Task, session: Session, findings: Findings, proved: Correction | None, count: int, *, ps: bool
) -> dict[str, Any]:
    """Verdict and causes by the proof on all rows, of the correction that is ``proved`` by it."""
    if findings.changes:
        more = " The labels of the rows that were not drawn are not judged before that is repaired."
        return {"verdict": f"{findings.verdict}{more if count > len(session.task.train) else ''}"}
    if findings.causes == (RANKED,):
        return {"verdict": only_ranked(task)}
    left = [each for each in findings.causes if each.where and each.cause != "training_labels"]
    if (accused := training_labels(session.task, proved, None, session.hypotheses)) is not None:
        left.append(accused)
    causes = in_order(tuple(left) or cannot_say(session.hypotheses), enough=bool(session.hypotheses))
    told = verdict(task, findings.correction, session.hypotheses)
    told = with_causes(task, task, replace(findings, verdict=told, causes=causes))
    if count > len(session.task.train):
        told += f" The explanation is by {len(session.task.train):,} drawn rows; all {count:,} were judged by it."
        told += "" if ps else " PS is of the drawn rows alone."
    return {"verdict": told, "causes": causes}
