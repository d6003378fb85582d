"""Which slices the contest weighs: searches propose them, each for another trace that wrong labels leave."""

from __future__ import annotations

from dataclasses import replace

from psidebug import policy
from psidebug.evidence.held_out import Floats
from psidebug.slices.conditions import Slice
from psidebug.slices.find import searchable, slices_by_label_share, slices_by_score
from psidebug.slices.in_time import slices_in_time
from psidebug.task.task import Task


def proposed(task: Task, p_wrong: Floats, log_p: Floats, effects: Floats | None) -> list[Slice]:
    """Slices by four searches: where training labels are not those of the test set, where scattered errors would be
    thickest, where labels have the largest effect, and when they were not those of other times.

    ``p_wrong`` (N,) is by scattered errors, ``log_p`` (N, K) are log P(k | x), ``effects`` (N,) what moving each label
    takes off the test loss.
    """
    came = task.as_it_came  # labels that were wrong and are settled still show where others are
    within = searchable(came)
    found = slices_by_label_share(came, most=policy.SLICES_LISTED)
    for scores in (p_wrong,) if effects is None else (p_wrong, effects):
        found += slices_by_score(came, scores, most=policy.SLICES_LISTED, within=within)
    found += slices_in_time(came, log_p, most=policy.SLICES_LISTED, within=within)
    if task.data.known is None:
        return found
    unsettled = [replace(each, members=each.members[~task.data.known[each.members]]) for each in found]
    return [each for each in unsettled if len(each.members)]
