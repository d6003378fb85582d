"""A diagnosis of training rows in blocks: files larger than memory, or a cluster's.

What few rows tell as well as many is asked of rows drawn by chance: which explanation is best, slices, other causes.
What concerns every row is a sum or a map over all: the fit, PS, how likely a label is wrong, the proof. Readings:

    1           what is odd, classes, the drawn rows
    2 … 4       Newton's steps to the fit of all rows, from that of the drawn rows
    1           effect, posterior and proposal of every label, written to a table of labels
    2 … 4       Newton's steps to the fit with the corrected labels
    1           the rows of the first suspects, to be shown

PS comes from the table of labels: a histogram of effects, a look-up.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy.special import expit

from psidebug import policy
from psidebug.blocks import Block, Blocks, ParquetBlocks, Sums, parquet_blocks, sums, top
from psidebug.diagnosis.block_learner import BlockLearner, Reader, proposed_effects
from psidebug.diagnosis.extent import extent_of
from psidebug.diagnosis.proof import compared
from psidebug.diagnosis.ranking import LEAST_SHARE_OF_THE_WAY
from psidebug.diagnosis.repair import Correction, best_of
from psidebug.errors import NoWorldWithout
from psidebug.evidence.drawn import of_block
from psidebug.evidence.hypotheses import Hypothesis
from psidebug.findings.effects import Verification
from psidebug.graybox.logistic.over_blocks import BlockFit
from psidebug.graybox.protocol import Floats
from psidebug.inference.histogram import EffectHistogram, SufficiencyTable, sufficiency_table
from psidebug.margins import by_class, is_wrong
from psidebug.store.manifest import ALL_LABELS
from psidebug.symptoms import log_loss_above_boundary
from psidebug.task.data import LabelledSet
from psidebug.task.labels import Codes
from psidebug.task.task import Task
from psidebug.timings import Tick

SHOWN = 2_000
"""Suspects of all rows that a run keeps with their features, to be shown and reviewed."""


@dataclass(frozen=True, eq=False)
class Judge:
    """What is said of the labels of a block: a function that travels to the rows."""

    reader: Reader
    fit: BlockFit
    pull: Floats
    task: Task
    """Of the drawn rows."""
    rules: tuple[Hypothesis, ...]
    """What p_wrong is by, and what would be corrected, if that is another; none where nothing is weighed."""
    accused: tuple[tuple[int, tuple[int, ...]], ...]
    """Of what would be corrected: the numbers of the slices that it calls mislabelled, each with the labels there."""
    classes: pa.Array
    count: int

    def __call__(self, block: Block) -> pa.Table:
        """Row, given and proposed label, likeliest label and confidence, correction (inside of the rows that are called
        mislabelled?), effect, p_wrong of every row."""
        rows = self.reader(block)
        other, effects = proposed_effects(rows, self.fit, self.pull)
        given, places = rows.codes, np.arange(len(block))
        likeliest, confidence, corrected = given, np.ones(len(block)), given
        p_wrong, inside = np.full(len(block), np.nan), np.zeros(len(block), dtype=bool)
        if self.rules:
            rules = self._of_block(block, given)
            said, inside = [each.posterior for each in rules], self._inside(rules[-1], given)
            p_wrong = 1.0 - said[0][places, given]
            others = said[0].copy()
            others[places, given] = -1.0
            other = others.argmax(axis=1)
            if self.rules[0].likely:
                likeliest, confidence = said[0].argmax(axis=1), said[0].max(axis=1)
            corrected = np.where(said[-1][places, given] < 0.5, said[-1].argmax(axis=1), given)
        labels = {"given": given, "proposed": other, "likeliest": likeliest, "corrected": corrected}
        return pa.table(
            {"row": block.rows}
            | {name: self.classes.take(pa.array(codes)) for name, codes in labels.items()}
            | {"confidence": confidence, "p_wrong": p_wrong, "effect": effects, "inside": inside}
        )

    def _of_block(self, block: Block, given: Codes) -> tuple[Hypothesis, ...]:
        """What the rules say of these rows; of the drawn ones, what was said without their own labels."""
        part = self.task.block(LabelledSet(self.reader.table(block), given), block.rows, self.count)
        low, high = np.searchsorted(self.task.rows, [block.start, block.start + len(block)])
        own, extended = self.task.rows[low:high] - block.start, of_block(self.rules, part)
        for rule, said in zip(self.rules, extended, strict=True):
            said.posterior[own] = rule.posterior[low:high]
        return extended

    def _inside(self, rule: Hypothesis, given: Codes) -> npt.NDArray[np.bool_]:
        """Which rows of a block are among those that are called mislabelled."""
        found = np.zeros(len(given), dtype=bool)
        for number, labels in self.accused:
            inside = rule.groups == number
            inside[rule.slices[number - 1].members] = True
            found |= inside & np.isin(given, labels)
        return found


def accused_labels(rule: Hypothesis, given: Codes) -> tuple[tuple[int, tuple[int, ...]], ...]:
    """The numbers of the slices that a rule accuses, and the labels that are wrong in each, by the drawn rows."""
    numbers = {id(each): number for number, each in enumerate(rule.slices, start=1)}
    return tuple(
        (numbers[id(each)], tuple(part.given for part in extent_of(each, rule, given).parts)) for each in rule.accused
    )


@dataclass(frozen=True, eq=False)
class OverBlocks:
    """What was found of all rows."""

    learner: BlockLearner
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
    learner: BlockLearner,
    task: Task,
    hypotheses: Sequence[Hypothesis],
    tried: Sequence[Correction],
    rate: float | None,
    folder: Path,
    tick: Tick,
) -> OverBlocks:
    """All labels, written to ``folder``; ``rate`` is stated, or else learned from p_wrong of all rows."""
    blocks, classes = learner.blocks, pa.array(list(task.encoding.classes))
    margins = learner.margins(task.test)
    bugs = np.flatnonzero(is_wrong(margins))
    line = log_loss_above_boundary(margins, bugs).linearised(margins) if len(bugs) else None
    free = learner.likelihood.free
    signed = by_class(np.zeros_like(margins) if line is None else line.weights, task.test.codes)
    pull = learner.fit.pull(learner.through(task.test.features), signed[:, task.encoding.size - free :])
    candidate = _candidate(tried) if hypotheses else None
    rules = tuple(hypotheses[:1])
    if candidate is not None and candidate.hypothesis is not hypotheses[0]:
        rules = (*rules, candidate.hypothesis)
    accused = () if candidate is None else accused_labels(candidate.hypothesis, task.train.codes)
    judge = Judge(learner.reader, learner.fit, pull, task, rules, accused, classes, len(blocks))
    tick("judging labels", 0, 1)
    judged = folder / "judged.parquet"
    blocks.write(judge, judged, [*learner.reader.features, learner.reader.label])
    written = parquet_blocks(judged)
    if rate is None:
        rate = policy.DEFAULT_RATE
        if hypotheses and hypotheses[0].likely:
            total = sums(written, partial(_summed, name="p_wrong"), ["p_wrong"])["sum"]
            rate = float(np.clip(total / len(blocks), policy.LEAST_RATE, policy.MOST_RATE))
    tick("inference", 0, 1)
    table, symptom = _sufficiency(written, rate, margins, bugs)
    correction, verified, inside = None, None, None
    if candidate is not None:
        changed = written.reduce(_changed, _stacked)
        if changed.num_rows:
            tick("retraining", 0, 1)
            codes = task.encoding.encode(changed.column("corrected").to_pylist(), where="corrected")
            start = learner.near(task, candidate.codes)
            again = learner.with_labels(changed.column("row").to_numpy(), codes, start)
            verified = _compared(learner, again, task, bugs, int(changed.num_rows))
            inside = int(changed.column("inside").to_numpy().sum()) if accused else None
            if verified.proved(accused=bool(candidate.hypothesis.accused)):
                correction = candidate
    labels = folder / ALL_LABELS
    written.write(partial(_finished, table=table, rate=rate, applied=correction is not None), labels)
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
    before: BlockLearner, after: BlockLearner, task: Task, bugs: npt.NDArray[np.intp], corrected: int
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
    own = block.table
    return pa.table(
        {
            "row": own.column("row"),
            "given": own.column("given"),
            "proposed": own.column("proposed"),
            "repaired": own.column("corrected" if applied else "given"),
            "likeliest": own.column("likeliest"),
            "confidence": own.column("confidence"),
            "p_wrong": p_wrong,
            "ps": ps,
        }
    )


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
