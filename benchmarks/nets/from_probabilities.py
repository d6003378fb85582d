"""Human label errors from a net's probabilities alone: Psi without a model, beside confident learning.

CIFAR-10N, aggregate of three workers' labels; the probabilities are those of the best of five nets, out of fold. Some
rows, drawn at random, are trusted: their right labels are Psi's test labels. All others are judged. Confident learning
has no use for trusted rows; it is asked about all rows, and counted on the same ones as Psi.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from sklearn.metrics import average_precision_score, f1_score

import psidebug
from benchmarks.nets.line import Line
from benchmarks.real.loaders import Codes, Floats, cifar10n
from benchmarks.real.rivals import issues

TRUSTED = (1_000, 100)
NAME = "CIFAR-10N, {:,} trusted"
ERRORS = "human"


def human_lines(trusted: int, seed: int) -> Iterator[Line]:
    """Average precision, and F1 of the labels that Psi corrects, of those with p_wrong ≥ ½, and of issues."""
    nets, given, right = cifar10n()
    p = max(nets.values(), key=lambda each: float((each.argmax(axis=1) == given).mean()))
    p = p / p.sum(axis=1, keepdims=True)
    order = np.random.default_rng(seed).permutation(len(given))
    tests, rows = order[:trusted], np.sort(order[trusted:])
    begun = time.process_time()
    found = psidebug.debug(
        None, None, given[rows], None, right[tests], pred_probs=p[rows], pred_probs_test=p[tests], rng=seed
    )
    spent = time.process_time() - begun
    wrong, p_wrong = given[rows] != right[rows], found.p_wrong

    def line(measure: str, method: str, value: float, seconds: float = 0.0) -> Line:
        return Line(NAME.format(trusted), ERRORS, seed, measure, method, float(value), seconds)

    unsure = _unsure(p, given)[rows]
    yield line("average precision", "Psi", average_precision_score(wrong, p_wrong), spent)
    yield line("average precision", "confident learning", average_precision_score(wrong, unsure))
    yield line("F1", "Psi, corrected", f1_score(wrong, np.asarray(found.repaired_labels) != given[rows]))
    yield line("F1", "Psi, probably wrong", f1_score(wrong, p_wrong >= 0.5))
    yield line("F1", "confident learning", f1_score(wrong, issues(p, given)[rows]))
    yield line("stated rate ÷ rate", "Psi", p_wrong.mean() / wrong.mean())


def _unsure(p: Floats, given: Codes) -> Floats:
    """1 - p_i(y_i), the order of confident learning."""
    return np.asarray(1.0 - p[np.arange(len(given)), given])
