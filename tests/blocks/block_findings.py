"""What a diagnosis asks of training rows, pass by pass, for a logistic regression and a slice of wrong labels."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from psidebug.blocks import ROWS, Block, Blocks, drawn, top
from psidebug.graybox.logistic.likelihood import Separate
from psidebug.graybox.logistic.over_blocks import BlockFit, Reader, Rows, fit_over_blocks
from psidebug.inference.histogram import EffectHistogram, SufficiencyTable, sufficiency_table
from psidebug.priors import Floats

NAMES = ["a", "b", "c", "d"]
RATE = 0.05
FIRST = 200


def mislabelled_rows(count: int = 3 * ROWS + 777) -> tuple[pa.Table, Floats, Floats]:
    """Training rows of which a third of those with d > 1 have a wrong label, and test rows with their labels."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(count + 500, 4))
    y = (x @ [1.0, -1.0, 0.5, 1.0] + rng.logistic(size=len(x)) > 0).astype(np.int64)
    wrong = (x[:count, 3] > 1.0) & (rng.uniform(size=count) < 1 / 3)
    given = np.where(wrong, 1 - y[:count], y[:count])
    table = pa.table({**{name: x[:count, place] for place, name in enumerate(NAMES)}, "y": given})
    return table, x[count:], y[count:].astype(np.float64)


def read(block: Block) -> Rows:
    return Rows(block.matrix(NAMES), block.column("y"), np.ones(len(block)))


@dataclass(frozen=True, eq=False)
class BlockFindings:
    fit: BlockFit
    threshold: float
    histogram: EffectHistogram
    ps: SufficiencyTable
    suspects: pa.Table
    sample: pa.Table

    def same_bits(self, other: BlockFindings) -> None:
        np.testing.assert_array_equal(self.fit.theta, other.fit.theta)
        assert self.threshold == other.threshold
        for name in ("counts", "sums", "squares"):
            np.testing.assert_array_equal(getattr(self.histogram, name), getattr(other.histogram, name))
        np.testing.assert_array_equal(self.ps.beyond, other.ps.beyond)
        assert self.suspects.equals(other.suspects)
        assert self.sample.equals(other.sample)


def findings_of(blocks: Blocks, test: Floats, truth: Floats, written: Path, reader: Reader = read) -> BlockFindings:
    """φ: the margins of the wrong predictions of the test rows are below 0 in sum."""
    start = np.zeros((1, len(NAMES) + 1))
    fit = fit_over_blocks(blocks, reader, Separate(2, np.ones(2)), start, 1.0, intercept=True)
    margins = (2.0 * truth - 1.0) * fit.scores(test)[:, 0]
    wrong = margins < 0
    pull = fit.pull(test, ((2.0 * truth - 1.0) * wrong)[:, None])
    histogram = blocks.reduce(partial(_counted, fit=fit, pull=pull, reader=reader), operator.add)
    threshold = -float(margins[wrong].sum())
    ps = sufficiency_table(histogram, RATE, threshold)
    scored = partial(_scored, fit=fit, pull=pull, ps=ps, reader=reader)
    suspects = top(blocks, scored, FIRST, by="ps")
    blocks.write(scored, written)
    return BlockFindings(fit, threshold, histogram, ps, suspects, drawn(blocks, 300, 7, ["a", "y"]))


def moves(block: Block, fit: BlockFit, pull: Floats, reader: Reader = read) -> Floats:
    """c of each label: what moving it to the other class adds."""
    rows = reader(block)
    return fit.effects(rows, pull)[np.arange(len(rows.codes)), 1 - rows.codes]


def _counted(block: Block, fit: BlockFit, pull: Floats, reader: Reader) -> EffectHistogram:
    return EffectHistogram.of(moves(block, fit, pull, reader))


def _scored(block: Block, fit: BlockFit, pull: Floats, ps: SufficiencyTable, reader: Reader) -> pa.Table:
    c = moves(block, fit, pull, reader)
    return pa.table({"row": block.rows, "ps": ps(c), "effect": c})
