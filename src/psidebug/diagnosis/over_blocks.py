"""A diagnosis of training rows in blocks: files larger than memory, or a cluster's.

What few rows tell as well as many is asked of rows drawn by chance: which explanation is best, slices, other causes.
What concerns every row is a sum or a map over all: the fit, PS, how likely a label is wrong, the proof. Readings:

    1           what is odd, classes, the drawn rows
    2 … 4       Newton's steps to the fit of all rows, from that of the drawn rows
    1           effect, posterior and proposal of every label, written to a table of labels
    2 … 4       Newton's steps to the fit with the corrected labels
    1           the rows of the first suspects, to be shown

PS comes from the table of labels: a histogram of effects, a look-up. These are the readings of a logistic regression;
other learners are fitted and proved on all rows in their own way, and have PS of the drawn rows alone.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy.special import expit

from psidebug import policy
from psidebug.blocks import Block, Blocks, ParquetBlocks, Sums, parquet_blocks, sums, top
from psidebug.diagnosis.block_columns import Columns
from psidebug.diagnosis.judge_of_blocks import Judge, accused_labels
from psidebug.diagnosis.learner_over_blocks import LearnerOverBlocks
from psidebug.diagnosis.proof import compared
from psidebug.diagnosis.ranking import LEAST_SHARE_OF_THE_WAY
from psidebug.diagnosis.repair import Correction, best_of
from psidebug.errors import NoWorldWithout
from psidebug.evidence.hypotheses import Hypothesis
from psidebug.findings.effects import Verification
from psidebug.graybox.protocol import Floats
from psidebug.inference.histogram import EffectHistogram, SufficiencyTable, sufficiency_table
from psidebug.margins import by_class, is_wrong
from psidebug.store.manifest import ALL_LABELS
from psidebug.symptoms import log_loss_above_boundary
from psidebug.task.task import Task
from psidebug.timings import Tick

TOLD = ("given", "proposed", "repaired", "likeliest", "confidence", "p_wrong", "ps")
"""Columns of the table of all labels, after ``row``, and ``id`` if a column has ids."""
SHOWN = 2_000
"""Suspects of all rows that a run keeps with their features, to be shown and reviewed."""


@dataclass(frozen=True, eq=False)
class OverBlocks:
    """What was found of all rows."""

    learner: LearnerOverBlocks
    margins: Floats
    """Of the test set."""
    bugs: npt.NDArray[np.intp]
    table: SufficiencyTable | None
    """PS by effect; None if no label is a cause."""
    rate: float
    symptom: str
    labels: Path
    """Every label, as Parquet."""
    correction: Correction | None
    """Of the drawn rows, where it is proved by retraining on all."""
    verified: Verification | None
    """What retraining says of the correction that was tried."""
    inside: int | None
    """How many of its labels are in the rows that it calls mislabelled; None for scattered errors."""
    readings: int
    bytes_read: int


def over_blocks(
    learner: LearnerOverBlocks,
    columns: Columns,
    task: Task,
    hypotheses: Sequence[Hypothesis],
    tried: Sequence[Correction],
    rate: float | None,
    drawn_ps: Floats,
    folder: Path,
    tick: Tick,
) -> OverBlocks:
    """All labels, written to ``folder``; ``rate`` is stated, or else learned from p_wrong of all rows.

    PS is that of the drawn rows (``drawn_ps``) if the learner has no gray box over blocks, and of the others unknown.
    """
    blocks, classes = learner.blocks, pa.array(list(task.encoding.classes))
    margins = learner.margins(task.test)
    bugs = np.flatnonzero(is_wrong(margins))
    line = log_loss_above_boundary(margins, bugs).linearised(margins) if len(bugs) else None
    moves = learner.moves(
        task.test, by_class(np.zeros_like(margins) if line is None else line.weights, task.test.codes)
    )
    candidate = _candidate(tried) if hypotheses else None
    rules = tuple(hypotheses[:1])
    if candidate is not None and candidate.hypothesis is not hypotheses[0]:
        rules = (*rules, candidate.hypothesis)
    accused = () if candidate is None else accused_labels(candidate.hypothesis, task.train.codes)
    judge = Judge(learner.reader, columns, moves, task, rules, accused, classes, len(blocks))
    tick("judging labels", 0, 1)
    judged = folder / "judged.parquet"
    blocks.write(judge, judged, columns.all)
    written = parquet_blocks(judged)
    if rate is None:
        rate = policy.DEFAULT_RATE
        if hypotheses and hypotheses[0].likely:
            total = sums(written, partial(_summed, name="p_wrong"), ["p_wrong"])["sum"]
            rate = float(np.clip(total / len(blocks), policy.LEAST_RATE, policy.MOST_RATE))
    tick("inference", 0, 1)
    table, symptom = (None, "none") if moves is None else _sufficiency(written, rate, margins, bugs)
    correction, verified, inside = None, None, None
    if candidate is not None:
        changed = written.reduce(_changed, _stacked)
        if changed.num_rows:
            tick("retraining", 0, 1)
            codes = task.encoding.encode(changed.column("corrected").to_pylist(), where="corrected")
            again = learner.retrained(task, candidate.codes, changed.column("row").to_numpy(), codes)
            verified = _compared(learner, again, task, bugs, int(changed.num_rows))
            inside = int(changed.column("inside").to_numpy().sum()) if accused else None
            if verified.proved(accused=bool(candidate.hypothesis.accused)):
                correction = candidate
    labels = folder / ALL_LABELS
    finished = partial(_finished, table=table, rate=rate, applied=correction is not None)
    if moves is None:
        finished = partial(_of_sample, rows=task.data.whole.numbers, ps=drawn_ps, applied=correction is not None)
    written.write(finished, labels)
    shutil.rmtree(judged) if judged.is_dir() else judged.unlink()
    return OverBlocks(
        learner,
        margins,
        bugs,
        table,
        rate,
        symptom,
        labels,
        correction,
        verified,
        inside,
        blocks.readings,
        blocks.bytes_read,
    )


def _candidate(tried: Sequence[Correction]) -> Correction | None:
    """What to try on all rows: proved on the drawn ones, or else likely, since more rows may prove it."""
    likely = (each for each in tried if each.hypothesis.surplus > policy.LEAST_SURPLUS)
    return best_of(tried) or next(likely, None)


def _compared(
    before: LearnerOverBlocks, after: LearnerOverBlocks, task: Task, bugs: npt.NDArray[np.intp], corrected: int
) -> Verification:
    sets = (task.test, task.data.validation)
    old, new = ([None if each is None else learner.margins(each) for each in sets] for learner in (before, after))
    assert old[0] is not None
    assert new[0] is not None
    return compared((old[0], old[1]), (new[0], new[1]), bugs, corrected=corrected)


def _sufficiency(
    written: ParquetBlocks, rate: float, margins: Floats, bugs: npt.NDArray[np.intp]
) -> tuple[SufficiencyTable | None, str]:
    """PS for the default symptom; for half of the way, a quarter, … where no change of labels goes all of it."""
    if len(bugs) == 0:
        return None, "none"
    histogram, share = written.reduce(_counted, EffectHistogram.__add__, ["effect"]), 1.0
    while share >= LEAST_SHARE_OF_THE_WAY:
        phi = log_loss_above_boundary(margins, bugs, share)
        try:
            return sufficiency_table(histogram, rate, phi.linearised(margins).threshold), str(phi)
        except NoWorldWithout:
            share /= 2.0
    return None, str(log_loss_above_boundary(margins, bugs))


def _counted(block: Block) -> EffectHistogram:
    return EffectHistogram.of(block.column("effect"))


def _summed(block: Block, name: str) -> Sums:
    return {"sum": float(block.column(name).sum())}


def _changed(block: Block) -> pa.Table:
    moved = pa.compute.not_equal(block.table.column("given"), block.table.column("corrected"))
    return block.table.filter(moved).select(["row", "corrected", "inside"])


def _stacked(left: pa.Table, right: pa.Table) -> pa.Table:
    return pa.concat_tables([left, right])


def _finished(block: Block, table: SufficiencyTable | None, rate: float, applied: bool) -> pa.Table:
    """With PS, and p_wrong = P(Y ≠ y | ¬φ) = σ(log ε/(1-ε) + λc) where nothing was weighed."""
    effects, p_wrong = block.column("effect"), block.column("p_wrong")
    ps = np.zeros(len(block)) if table is None else table(effects)
    if np.isnan(p_wrong).any():
        p_wrong = expit(np.log(rate / (1.0 - rate)) + (0.0 if table is None else table.rate) * effects)
    return _labels(block, p_wrong, ps, applied=applied)


def _of_sample(block: Block, rows: npt.NDArray[np.int64], ps: Floats, applied: bool) -> pa.Table:
    """With PS of the drawn rows, and no PS of the others."""
    low, high = np.searchsorted(rows, [block.start, block.start + len(block)])
    known = np.full(len(block), np.nan)
    known[rows[low:high] - block.start] = ps[low:high]
    p_wrong = block.column("p_wrong")
    return _labels(block, *(pa.array(each, mask=np.isnan(each)) for each in (p_wrong, known)), applied=applied)


def _labels(block: Block, p_wrong: Any, ps: Any, *, applied: bool) -> pa.Table:
    """A block of the table of all labels."""
    own, ids = block.table, [name for name in ("id",) if name in block.table.column_names]
    named = ("row", *ids, "given", "proposed", "corrected" if applied else "given", "likeliest", "confidence")
    values = [*(own.column(name) for name in named), p_wrong, ps]
    return pa.table(values, names=["row", *ids, *TOLD])


def first_suspects(labels: Path, count: int = SHOWN) -> npt.NDArray[np.int64]:
    """Numbers of the rows whose labels are most likely wrong; of equals those of higher PS."""
    found = top(parquet_blocks(labels), _scored, count, by="score", columns=["row", "p_wrong", "ps"])
    return np.asarray(found.column("row").to_numpy())


def _scored(block: Block) -> pa.Table:
    return pa.table({"row": block.column("row"), "score": block.column("p_wrong") + 1e-9 * block.column("ps")})


def rows_of(blocks: Blocks, rows: npt.NDArray[np.int64], columns: Sequence[str]) -> pa.Table:
    """These rows, whose numbers ascend: one reading."""
    return blocks.reduce(partial(_taken, rows=rows), _stacked, list(columns))


def _taken(block: Block, rows: npt.NDArray[np.int64]) -> pa.Table:
    low, high = np.searchsorted(rows, [block.start, block.start + len(block)])
    return block.table.take(pa.array(rows[low:high] - block.start))
