"""One linear symptom needs no sampling: PS of every label exactly, to a stated tolerance.

Few labels: all sums are listed; or the likely ones, where few labels are likely to move. More: the characteristic
function of the tilted sum is inverted. Thousands of one rate, of two classes: PS depends on the effect alone, and is
looked up in a table. Very many of several rates: it is inverted for the rows near the top and for a sample of the
others; the rest take the O(N) saddle-point form, corrected by what the sample shows, and twice the largest deviation on
a second sample is the stated error.
"""

from __future__ import annotations

import numpy as np

from psidebug.inference.characteristic import Inversion, Rows, invert, last_return
from psidebug.inference.estimates import Estimates, Tails, exact_estimates
from psidebug.inference.histogram import (
    FEWEST_BINS,
    EffectHistogram,
    SufficiencyTable,
    sufficiency_of,
    sufficiency_table,
)
from psidebug.inference.linear import LinearSymptom, lattice_step
from psidebug.inference.listing import MOST_SUMS, all_sums, likely_sums
from psidebug.inference.tilted_prior import first_order_sufficiency, saddle_point
from psidebug.priors import Floats

MANY = 5_000
"""From so many labels on, a table by effects is made, if they are of two classes and one rate."""
MOST_ROWS = 100_000
"""Up to this many labels, each is inverted by its own factor; beyond, only the first and samples are."""
FEWEST_WRONG = 50
"""Labels that are wrong on average, at least: of fewer, sums take few values."""
SEEN = 512
"""Labels by whose effects it is seen that sums do not tie, about."""
COARSEST = 1e-3
"""Error of a table that is not taken."""
LINEAR = "the symptom is one linear constraint"
TOP = 2000
SAMPLE = 256
CURVE = 4096


def closed_form(symptom: LinearSymptom) -> Estimates:
    """PS of every label for φ: Σ_j c_j(w_j) < M."""
    rows = symptom.prior.size
    if (table := _table_of(symptom)) is not None:
        return _looked_up(symptom, table)
    if symptom.prior.worlds <= MOST_SUMS:
        tails, error = all_sums(symptom), np.zeros(rows)
        how = " on few labels; all its sums were listed"
    else:
        inversion = invert(symptom)
        listed = None if inversion.complete else likely_sums(symptom, saddle_point(symptom))
        if listed is not None:
            tails, error = listed
            how = "; the sums that matter were listed"
        elif rows <= MOST_ROWS or len(symptom.moves) > 1:
            tails, error = inversion.sufficiency(np.arange(rows))
            how = "; the characteristic function of its sum was inverted for every label"
        elif (alike := _alike(symptom)) is not None:
            first, member = alike
            some, error = inversion.sufficiency(first)
            tails, error = some.at(member), error[member]
            how = f"; its sum was inverted for each of {len(first)} kinds of label"
        else:
            tails, error = _mostly_saddle_point(inversion)
            how = f"; its sum was inverted for the first {TOP} labels, the others have the corrected saddle-point form"
    error = np.where(symptom.can_cause, error, 0.0)
    return exact_estimates(symptom.prior, tails, error=error, engine="closed_form", reason=f"{LINEAR}{how}")


def _table_of(symptom: LinearSymptom) -> SufficiencyTable | None:
    """PS by the effect alone; None unless labels are many, of two classes and one rate, and their sums do not tie.

    Labels that never move have no part in it.
    """
    prior, effects = symptom.prior, symptom.moves[0]
    if prior.size < MANY or len(symptom.moves) > 1:
        return None
    rate, moves = float(prior.rates.max()), prior.rates > 0
    if not (prior.rates[moves] == rate).all() or rate * np.count_nonzero(moves) < FEWEST_WRONG:
        return None
    effects = effects if moves.all() else effects[moves]
    some, histogram = effects[:: max(len(effects) // SEEN, 1)], EffectHistogram.of(effects)
    if lattice_step(some) is not None or np.count_nonzero(histogram.counts) < FEWEST_BINS:
        return None
    table = sufficiency_table(histogram, rate, symptom.threshold)
    wrong = table.wrong(table.rate * some)
    spreads = wrong * (1.0 - wrong) * (len(effects) / len(some))
    returns = last_return(some, spreads, table.rate, np.inf) > table.followed
    return None if returns or table.error > COARSEST else table


def _looked_up(symptom: LinearSymptom, table: SufficiencyTable) -> Estimates:
    """What the table says of every label."""
    prior, effects = symptom.prior, symptom.moves[0]
    log_ratios = table.log_ratio(effects)
    ps, nothing = sufficiency_of(effects, log_ratios), np.zeros(prior.size)
    error = np.where(effects > 0, table.error, 0.0)
    return Estimates(
        ps=ps,
        standard_error=nothing,
        low=np.maximum(ps - error, 0.0),
        high=np.minimum(ps + error, 1.0),
        p_wrong=np.where(prior.rates > 0, table.wrong(log_ratios), 0.0),
        proposed=prior.alternatives[0],
        effective_sample_size=np.full(prior.size, np.inf),
        log_p_without=table.log_p_without,
        engine="closed_form",
        reason=f"{LINEAR}; PS was looked up in a table by the effect of the label",
    )


def _alike(symptom: LinearSymptom) -> tuple[Rows, Rows] | None:
    """Labels with the same effect and rate have the same PS: the first of each kind, and the kind of each label.

    None where there are many kinds, as a few thousand labels show.
    """
    effects, rates = symptom.moves[0], symptom.prior.rates
    # the two in one number: effect + i rate
    kinds = effects if (rates == rates[0]).all() else effects + 1j * rates
    if len(np.unique(kinds[:4096])) > 512:
        return None
    _, first, member = np.unique(kinds, return_index=True, return_inverse=True)
    return (first, member) if len(first) <= TOP else None


def _mostly_saddle_point(inversion: Inversion) -> tuple[Tails, Floats]:
    """Two classes: tails exact for the rows of highest first-order PS, interpolated for the others, with their error.

    log(moved / kept) is λc to first order, and a smooth function of c beyond: what is beyond is measured on rows spread
    over the range of c, and interpolated. Half of the sample measures, half checks.
    """
    symptom, tilt = inversion.symptom, inversion.tilt
    first = first_order_sufficiency(symptom, tilt)
    order = np.argpartition(first, len(first) - TOP)
    top, rest = order[-TOP:], order[:-TOP]
    moves = symptom.moves[0, rest]
    spread = _spread(moves, 2 * SAMPLE)
    known, check = spread[::2], spread[1::2]
    measured, _ = inversion.sufficiency(rest[known])
    ratio = np.maximum(measured.moved[0], 1e-300) / np.maximum(measured.kept, 1e-300)
    beyond = _Curve(moves[known], np.log(ratio) - tilt.rate * moves[known])
    base = float(np.median(measured.kept))

    def interpolated(at: Rows | slice) -> Tails:
        log_ratio = tilt.rate * moves[at] + beyond(moves[at])
        return Tails(
            kept=np.full(len(log_ratio), base),
            moved=base * np.exp(log_ratio)[None],
            turned=np.where(moves[at] > 0, base * np.expm1(np.maximum(log_ratio, 0.0)), 0.0)[None],
            log_scale=tilt.log_norm - tilt.log_norms[rest[at]] - tilt.rate * symptom.threshold,
        )

    best, top_error = inversion.sufficiency(top)
    truth, truth_error = inversion.sufficiency(rest[check])
    proposals = symptom.prior.proposals[:, rest[check]]
    deviation = np.abs(interpolated(check).sufficiency(proposals) - truth.sufficiency(proposals)) + truth_error
    # the worst of a few hundred rows is not the worst of all: twice as much is stated
    error = np.full(len(first), 2.0 * float(deviation.max(initial=0.0)))
    error[top] = top_error
    merged = Tails(np.empty(len(first)), np.empty((1, len(first))), np.empty((1, len(first))), np.empty(len(first)))
    for rows, tails in ((top, best), (rest, interpolated(slice(None)))):
        merged.kept[rows], merged.log_scale[rows] = tails.kept, tails.log_scale
        merged.moved[:, rows], merged.turned[:, rows] = tails.moved, tails.turned
    return merged, error


class _Curve:
    """Linear interpolation between known values, read from an evenly spaced table: a bisection for each row is slow."""

    def __init__(self, at: Floats, values: Floats) -> None:
        self._start, self._step = float(at[0]), max(float(at[-1] - at[0]), 1e-300) / CURVE
        self._table = np.interp(self._start + self._step * np.arange(CURVE + 2), at, values)

    def __call__(self, at: Floats) -> Floats:
        place = np.clip((at - self._start) / self._step, 0.0, CURVE)
        left = place.astype(np.int32)
        place -= left
        return np.asarray(self._table[left] * (1.0 - place) + self._table[left + 1] * place)


def _spread(values: Floats, count: int) -> Rows:
    """Positions of about ``count`` values from smallest to largest, in increasing order and without repeats."""
    some = np.arange(0, len(values), max(len(values) // (16 * count), 1))
    some = np.unique(np.concatenate([some, [int(values.argmin()), int(values.argmax())]]))
    ordered = some[np.argsort(values[some], kind="stable")]
    chosen = ordered[np.unique(np.linspace(0, len(ordered) - 1, count).astype(np.intp))]
    return np.asarray(chosen[np.concatenate([[True], np.diff(values[chosen]) > 0])])
