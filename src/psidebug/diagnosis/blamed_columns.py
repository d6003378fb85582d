"""Is it a column, not the labels? Then hardly anything speaks against the labels without it.

What speaks against them is asked of plain predictors, with the column and without: the user's learner is not trained
for that. A linear one alone is asked first: if it still says enough without the column, the column is not to blame.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

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
    may_be_left = policy.GONE_OF_SLICES if accused.slices else policy.HARDLY_ANY
    limit, part = MOST_WITHOUT_A_COLUMN, 1.0
    if len(task.train) > limit:
        everyone = Predictors.of(task.drawn(drawn_rows(task.data, limit, task.seed)), trainer)
        part = 1.0 if of_test is not None else len(everyone.task.train) / len(task.train)
    suspected = everyone if of_test is None else everyone.of_mirrored(mirrored(everyone.task))
    evidence: float | None = None

    def gone_without(names: Collection[str]) -> bool:
        nonlocal evidence
        blank = InTurn(tuple(Blank(name) for name in sorted(names)))
        without = replace(suspected.task, data=blank.applied(suspected.task.data))
        others = Predictors.of(without, trainer)
        if evidence_soon_found(others, accused.slices, names) > may_be_left * part * accused.evidence:
            return False
        if evidence is None:
            evidence = evidence_by_plain_predictors(suspected, tick)
        return evidence_by_plain_predictors(others, tick) < may_be_left * evidence

    if unrepaired and gone_without(unrepaired):
        return []
    for each in candidates:
        if gone_without([each.column.name]):
            return [one_column.claim_of(task.data, columns, each)]
    return None
