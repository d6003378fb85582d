"""What is said of the labels of a block: the rule that won among the drawn rows, and the gray box, as a map."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from psidebug.blocks import Block
from psidebug.diagnosis.block_columns import Columns
from psidebug.diagnosis.block_reader import Reader
from psidebug.diagnosis.extent import extent_of
from psidebug.diagnosis.learner_over_blocks import Moves
from psidebug.evidence.drawn import of_block
from psidebug.evidence.hypotheses import Hypothesis
from psidebug.task.data import LabelledSet
from psidebug.task.labels import Codes, array_of
from psidebug.task.tables import as_table
from psidebug.task.task import Task


@dataclass(frozen=True, eq=False)
class Judge:
    """What is said of the labels of a block: a function that travels to the rows."""

    reader: Reader
    beside: Columns
    """Ids and metadata."""
    moves: Moves | None
    """The gray box over blocks; None if the learner has none."""
    task: Task
    """Of the drawn rows."""
    rules: tuple[Hypothesis, ...]
    """What p_wrong is by, and what would be corrected, if that is another; none where nothing is weighed."""
    accused: tuple[tuple[int, tuple[int, ...]], ...]
    """Of what would be corrected: the numbers of the slices that it calls mislabelled, each with the labels there."""
    classes: pa.Array
    count: int

    def __call__(self, block: Block) -> pa.Table:
        """Row, id if there is one, given and proposed label, likeliest label and confidence, correction (inside of the
        rows that are called mislabelled?), effect, p_wrong of every row."""
        given, places = self.reader.codes(block), np.arange(len(block))
        other, effects = (given + 1) % len(self.classes), np.full(len(block), np.nan)
        if self.moves is not None:
            other, effects = self.moves(self.reader(block))
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
        ids = {} if self.beside.ids is None else {"id": block.table.column(self.beside.ids)}
        return pa.table(
            {"row": block.rows}
            | ids
            | {name: self.classes.take(pa.array(codes)) for name, codes in labels.items()}
            | {"confidence": confidence, "p_wrong": p_wrong, "effect": effects, "inside": inside}
        )

    def _of_block(self, block: Block, given: Codes) -> tuple[Hypothesis, ...]:
        """What the rules say of these rows; of the drawn ones, what was said without their own labels."""
        ids, metadata = self.beside.ids_of(block.table), self.beside.metadata_of(block.table)
        rows = block.rows if ids is None else array_of(ids)
        table = None if metadata is None else as_table(metadata, name="metadata")
        part = self.task.block(LabelledSet(self.reader.table(block), given), rows, self.count, metadata=table)
        drawn = self.task.data.whole.numbers
        low, high = np.searchsorted(drawn, [block.start, block.start + len(block)])
        own, extended = drawn[low:high] - block.start, of_block(self.rules, part)
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
