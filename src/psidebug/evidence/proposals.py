"""Which slices the contest weighs: searches propose them, each for another trace that wrong labels leave."""

from __future__ import annotations

from dataclasses import replace

from psidebug import policy
from psidebug.evidence.held_out import Floats, Mask
from psidebug.evidence.noise_rates import fit_rates
from psidebug.slices.binned import Binned
from psidebug.slices.conditions import Slice
from psidebug.slices.find import slices_by_label_share, slices_by_score
from psidebug.slices.in_time import at_any_time, slices_in_time
from psidebug.task.task import Task


def proposed(task: Task, within: Binned, p_wrong: Floats, log_p: Floats, effects: Floats | None) -> list[Slice]:
    """Slices by four searches: where training labels are not those of the test set, where scattered errors would be
    thickest, where labels have the largest effect, and when they were not those of other times.

    ``p_wrong`` (N,) is by scattered errors, ``log_p`` (N, K) are log P(k | x), ``effects`` (N,) what moving each label
    takes off the test loss.
    """
    came = task.as_it_came  # labels that were wrong and are settled still show where others are
    found = slices_by_label_share(came, most=policy.SLICES_LISTED, within=within)
    for scores in (p_wrong,) if effects is None else (p_wrong, effects):
        found += slices_by_score(came, scores, most=policy.SLICES_LISTED, within=within)
    in_time = slices_in_time(came, log_p, most=policy.SLICES_LISTED, within=within)
    found += [each for each in in_time if changed(came, log_p, each)]
    if task.data.known is None:
        return found
    unsettled = [replace(each, members=each.members[~task.data.known[each.members]]) for each in found]
    return [each for each in unsettled if len(each.members)]


def changed(task: Task, log_p: Floats, found: Slice) -> bool:
    """Whether labels were made otherwise in a range of dates than at other times, by more than choosing it gains.

    Rows S inside the range and T outside, which meet the same condition, have noise rates each of their own, or the
    same ones: with L the log likelihood less the charge of the rates, L(S) + L(T) - L(S ∪ T) must exceed the charge of
    the slice. Where predictors know little about such rows they are wrong at all times, and nothing has changed.
    """
    codes, anyone = task.train.codes, at_any_time(task, found)
    inside = anyone & found.everyone(task)

    def worth(rows: Mask) -> float:
        noise = fit_rates(log_p[rows], codes[rows])
        return noise.log_likelihood - noise.charge

    outside = anyone & ~inside
    return bool(outside.any()) and worth(inside) + worth(outside) - worth(anyone) > found.charge
