"""Every number that decides, and where it comes from.

Tolerances of solvers and limits of memory stay where they are used; here is what changes an answer. "Not measured"
means just that: the number was chosen by eye, and a better one wins when measured.
"""

from __future__ import annotations

import math

# ── what counts as proved ──

LEAST_Z_ACCUSED, LEAST_Z = 1.0, 2.0
"""Standard errors that the gain in test log likelihood must exceed: of a slice that likely evidence accuses, and of any
other choice of rows. Scattered corrections touch the whole model, and a learner that cannot use them gains by chance.
Decision 13, on seeds that no reported figure uses."""
MORE_BROKEN = 2.0
"""Standard errors by which broken test points may outnumber fixed ones: a better model of overlapping classes need not
make fewer errors on a few test points. Not measured."""


def proved(gain: float, gain_error: float, *, fixed: int, broken: int, accused: bool) -> bool:
    """Whether retraining proves a correction: the one meaning of the word, for debug, verify, review and exit codes.

    ``gain`` is the rise of the test log likelihood in nats and ``gain_error`` its standard error if there were none. Of
    b points broken and f fixed, b - f has the standard error √(b + f). ``accused`` says whether the rows are those that
    a likely explanation accuses as a slice: evidence that had no part in the retraining speaks for them already.
    """
    if broken - fixed > MORE_BROKEN * math.sqrt(broken + fixed):
        return False
    return gain > (LEAST_Z_ACCUSED if accused else LEAST_Z) * gain_error


REPRODUCED = 0.02
"""Share of test points that a fresh fit may classify otherwise before it counts as another model. Not measured."""

# ── what evidence there must be ──

LEAST_TEST_ROWS, LEAST_TEST_ROWS_OF_A_CLASS = 30, 3
"""Fewer test labels calibrate nothing: then PS ranks, and nothing is corrected. Of a class with fewer test rows nothing
is known, and its labels stay. Decision 13: with 20 test rows corrections did harm."""
CLASS_SHARES_DIFFER = 1e-6
"""A χ² test of class shares between training and test set below this is told in a note. Not measured."""

# ── which explanations are heard ──

SLICES_LISTED, SLICES_TRIED, MOST_SLICES = 8, 2, 3
"""Slices taken from each search; those of them for which predictors are trained anew; slices in one explanation.
Decision 13: the planted slice was the first of its search in 60 of 60 tasks. The limit of three was not measured."""
EQUAL_RATES = 1e-6
"""Noise rates that differ by a smaller part than this are told as one rate."""

# ── PS ──

DEFAULT_RATE = 0.05
"""The noise rate where none is stated or learned: the paper's order of magnitude. Not measured."""
LEAST_RATE, MOST_RATE = 0.005, 0.1
"""Bounds of the learned noise rate under which PS is taken: noise is low, as the paper has it. Not measured."""
LEAST_SHARE_OF_THE_WAY = 0.01
"""The smallest part of the way to the decision boundary that the default symptom asks for (decision 5)."""
WORTH_A_LOOK = 0.01
"""Where labels are wrong, one that is wrong with at least this probability is a suspect, whatever it causes."""

# ── how many to correct ──

CURVE_SHARES, CURVE_BLIND = (0.25, 0.5, 0.75, 1.0, 1.5), (0.01, 0.03, 0.1)
"""Points of the curve: shares of the number that the evidence says are wrong; of the rows where nothing says so."""

# ── one bug ──

MOST_SHARE_FOR_ONE_BUG = 0.25
"""No more than this share of the labels is corrected for one bug: beyond it, they describe another task."""
LONE_ROWS = 256
"""So many labels are moved one at a time in the gray box, where PS cannot order them."""
DISBELIEVED = 0.1
"""A test label to which the calibrated predictors give less than this probability may itself be wrong. Not measured."""
MANY_SHARE, MANY = 0.05, 10
"""A bug that takes more corrections than this share of the labels, and than this number, is hardly theirs. Measured on
slices: half of the bugs take many whether or not their own label is right, so it is told only beside other evidence."""
