"""Which rows to ask again, and whom.

An answer of annotator j on row i says b together with truth k with probability Σ_g P(k, g | answers) C_j(b | g). What
it is worth is the information I(k; b) in nats that it brings about the true label, beyond the answers that are there. A
row that deceives everybody gains little from one more answer, though its label is uncertain.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import entr

from psidebug import policy
from psidebug.evidence.annotators import Annotated
from psidebug.evidence.held_out import Floats, Mask, Rows

MOST_ASKED = 200
"""Rows that are looked at, the most uncertain ones: a limit on what is listed."""


@dataclass(frozen=True, eq=False)
class Questions:
    """Rows to ask again (n,), the most worth it first."""

    rows: Rows
    annotators: Rows
    """Whom: who is likeliest right about the classes that the row may have, and has not answered it."""
    right: Floats
    """How likely he is right."""
    gain: Floats
    """Nats that his answer is expected to tell about the true label."""


def ask_again(annotated: Annotated, settled: Mask | None = None) -> Questions:
    """The questions that are worth most, at most ``MOST_ASKED``; ``settled`` rows (N,) are not asked.

    Only annotators who have given ``policy.LEAST_ANSWERS`` answers are asked.
    """
    fit, answers = annotated.fit, annotated.annotations
    uncertain = entr(fit.posterior).sum(axis=1)
    if settled is not None:
        uncertain = np.where(settled, 0.0, uncertain)
    rows = np.argsort(-uncertain, kind="stable")[:MOST_ASKED]
    rows = rows[uncertain[rows] > 0]
    able = np.flatnonzero(np.bincount(answers.annotators) >= policy.LEAST_ANSWERS)
    if not len(rows) or not len(able):
        return Questions(*(np.empty(0, dtype=np.intp),) * 2, *(np.empty(0),) * 2)
    joint = fit.truth_and_look(rows)  # (n, k, g)
    right = np.einsum("nkg,jgk->nj", joint, fit.confusions[able])
    right[_has_answered(annotated, rows)[:, able]] = -1.0
    best = right.argmax(axis=1)
    unasked = right[np.arange(len(rows)), best] >= 0  # everybody has answered the others
    rows, whom, joint, right = rows[unasked], able[best[unasked]], joint[unasked], right[unasked, best[unasked]]
    gain = _information(np.einsum("nkg,ngb->nkb", joint, fit.confusions[whom]))
    order = np.lexsort((rows, -gain))[: int((gain >= policy.WORTH_ASKING).sum())]
    return Questions(rows[order], whom[order], right[order], gain[order])


def _has_answered(annotated: Annotated, rows: Rows) -> Mask:
    """Which annotators have answered which of these rows, (n, J)."""
    answers, place = annotated.annotations, np.full(annotated.annotations.count, -1)
    place[rows] = np.arange(len(rows))
    own = place[answers.rows] >= 0
    found = np.zeros((len(rows), len(answers.names)), dtype=bool)
    found[place[answers.rows[own]], answers.annotators[own]] = True
    return found


def _information(joint: Floats) -> Floats:
    """I(k; b) in nats for P(k, b) (n, K, K): H(k) + H(b) - H(k, b)."""
    alone = entr(joint.sum(axis=2)).sum(axis=1) + entr(joint.sum(axis=1)).sum(axis=1)
    return np.asarray(np.maximum(alone - entr(joint).sum(axis=(1, 2)), 0.0))
