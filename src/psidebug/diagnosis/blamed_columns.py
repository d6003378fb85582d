"""Is it a column, not the labels? Then hardly anything speaks against the labels without it.

What speaks against them is asked of plain predictors, with the column and without: the user's learner is not trained
for that. A linear one alone is asked first: if it still says enough without the column, the column is not to blame.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property

from psidebug import policy
from psidebug.causes import one_column
from psidebug.causes.claim import Claim
from psidebug.causes.columns import both_sets
from psidebug.changes import Blank, InTurn
from psidebug.evidence.compete import evidence_by_plain_predictors, evidence_soon_found
from psidebug.evidence.drawn import MOST_WITHOUT_A_COLUMN, drawn_rows
from psidebug.evidence.hypotheses import Hypothesis
from psidebug.evidence.predictors import Predictors
from psidebug.evidence.which_set import mirrored
from psidebug.timings import Tick


def columns_to_blame(
    everyone: Predictors, of_train: Hypothesis, of_test: Hypothesis | None, unrepaired: Collection[str], tick: Tick
) -> list[Claim] | None:
    """Columns, if hardly anything speaks against labels without them: none new if it is those that are ``unrepaired``.

    None if labels are to blame all the same, or if they are not accused.
    """
    accused = of_train if of_test is None else of_test
    if not accused.likely:
        return None
    task, trainer, columns = everyone.task, everyone.trainer, both_sets(everyone.task.data)
    candidates = one_column.candidates(trainer, task, columns)
    if not candidates and not unrepaired:
        return None
    tick("columns", 0, 1)
    witnesses = [_Witnesses(everyone if of_test is None else everyone.of_mirrored(mirrored(task)), accused, tick)]
    if len(task.train) > MOST_WITHOUT_A_COLUMN:
        drawn = task.drawn(drawn_rows(task.data, MOST_WITHOUT_A_COLUMN, task.seed))
        some, part = Predictors.of(drawn, trainer), 1.0
        if of_test is None:
            part = len(drawn.train) / len(task.train)
        else:
            some = some.of_mirrored(mirrored(drawn))
        witnesses.insert(0, _Witnesses(some, accused, tick, part))

    def gone_without(names: Collection[str]) -> bool:
        return all(each.silent_without(names) for each in witnesses)

    if unrepaired and gone_without(unrepaired):
        return []
    for each in candidates:
        if gone_without([each.column.name]):
            return [one_column.claim_of(task.data, columns, each)]
    return None


@dataclass(eq=False)
class _Witnesses:
    """Predictors of the labels that are ``accused``, in all rows or in a ``part`` of them.

    A part is asked first, and a column that it blames is left out for all rows, too: of few rows chance can take away
    most of what speaks against their labels.
    """

    everyone: Predictors
    accused: Hypothesis
    tick: Tick
    part: float = 1.0

    @cached_property
    def evidence(self) -> float:
        """Nats against the labels, with all columns."""
        return evidence_by_plain_predictors(self.everyone, self.tick)

    def silent_without(self, names: Collection[str]) -> bool:
        """Whether hardly anything speaks against the labels without these columns."""
        slices, task = self.accused.slices, self.everyone.task
        may_be_left = policy.GONE_OF_SLICES if slices else policy.HARDLY_ANY
        blank = InTurn(tuple(Blank(name) for name in sorted(names)))
        without = Predictors.of(replace(task, data=blank.applied(task.data)), self.everyone.trainer)
        if evidence_soon_found(without, slices, names) > may_be_left * self.part * self.accused.evidence:
            return False
        return evidence_by_plain_predictors(without, self.tick) < may_be_left * self.evidence
