"""Inference: how exact, how fast, beside enumeration, sorting and one fit, all in one run.

Run ``python -m benchmarks.speed.inference`` (``--quick`` for a tenth of the work). Times are the best of three, ratios
are taken within the run. Results go to ``results/inference.csv``.
"""

from __future__ import annotations

import argparse
import time
import tracemalloc
from dataclasses import replace
from functools import partial

import numpy as np
import scipy
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from benchmarks import RESULTS
from benchmarks.lines import made_with, write
from benchmarks.speed.clock import best_of
from benchmarks.speed.logistic import one_hot_like
from psidebug.graybox.logistic import LogisticBox
from psidebug.inference.characteristic import invert
from psidebug.inference.closed_form import closed_form
from psidebug.inference.enumeration import enumeration
from psidebug.inference.linear import LinearSymptom
from psidebug.inference.linear_learner import LinearLearner
from psidebug.inference.sampling import sampling
from psidebug.inference.tilting import tilting
from psidebug.priors import noise
from psidebug.sufficiency import sufficiency
from psidebug.symptoms import at_least, log_loss_above_boundary, misclassified
from psidebug.task.task import Task
from tests.inference.tasks import random_linear_symptom  # the tests make the random tasks

Row = tuple[str, str, str]


def accuracy(tasks: int) -> list[Row]:
    rows = []
    for kind, goal in (("lattice", "≤ 1e-6"), ("real", "≤ 2e-3 or stated"), ("heavy", "≤ 2e-3 or stated")):
        rng = np.random.default_rng(100)
        worst, worst_inverted, beyond, inverted = 0.0, 0.0, 0, 0
        for number in range(tasks):
            symptom = random_linear_symptom(rng, kind=kind, most_labels=18 if number % 20 == 0 else 12)
            truth = enumeration(symptom.prior, symptom.margins, misclassified(0)).ps
            worst = max(worst, float(np.abs(closed_form(symptom).ps - truth).max()))
            if number % 10 == 0:  # the other path, which such small tasks would not take by themselves
                tails, error = invert(symptom).sufficiency(np.arange(symptom.prior.size))
                difference = np.abs(tails.sufficiency(symptom.prior.proposals) - truth)
                worst_inverted = max(worst_inverted, float(difference.max()))
                beyond += int((difference > error).any())
                inverted += 1
        rows.append(
            (f"closed_form against enumeration, {tasks} {kind} tasks: largest difference", f"{worst:.1e}", goal)
        )
        rows.append((f"the same, inversion forced: {kind}, largest difference", f"{worst_inverted:.1e}", ""))
        rows.append((f"the same, inversion forced: {kind}, tasks beyond stated error", f"{beyond} of {inverted}", "0"))
    return rows


def gaussian_symptom(size: int, rate: float, spread: float = 5.0) -> LinearSymptom:
    """Normal effects, and a threshold ``spread`` prior standard deviations away."""
    rng = np.random.default_rng(size)
    effects = np.zeros((size, 2))
    effects[:, 1] = rng.normal(size=size)
    return LinearSymptom(noise(np.zeros(size, dtype=np.intp), 2, rate), effects, spread * float(np.sqrt(size * rate)))


def _ps_anew(symptom: LinearSymptom) -> object:
    return closed_form(replace(symptom))  # a symptom keeps what was derived from it


def speed() -> list[Row]:
    rows, seconds = [], {}
    for size in (10_000, 100_000, 1_000_000):
        symptom = gaussian_symptom(size, 0.05)
        sort = best_of(5, partial(np.sort, symptom.effects[:, 1].copy()))
        seconds[size] = best_of(3, partial(_ps_anew, symptom))
        rows.append(
            (f"PS of {size:,} rows as a multiple of numpy.sort", f"{seconds[size] / sort:.1f}", "≤ 25 at 1,000,000")
        )
        rows.append((f"PS of {size:,} rows, seconds", f"{seconds[size]:.3f}", ""))
    growth = np.log(seconds[1_000_000] / seconds[10_000]) / np.log(100)
    rows.append(("growth exponent from 1e4 to 1e6 rows", f"{growth:.2f}", "≤ 1.1"))
    symptom = gaussian_symptom(1_000_000, 0.05)
    tracemalloc.start()
    closed_form(symptom)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    rows.append(("peak memory at 1,000,000 rows, bytes per row", f"{peak / 1e6:.0f}", "O(N)"))
    return rows


def census_like(rows: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    X = one_hot_like(rng, rows=rows, width=107)
    weights = np.random.default_rng(5).normal(size=X.shape[1]) * 0.6
    return X, (X @ weights + rng.logistic(size=rows) > 0.5).astype(int)


def beside_one_fit() -> list[Row]:
    rng = np.random.default_rng(7)
    X, y = census_like(6500, rng)
    given = y[:4000].copy()
    given[(X[:4000, 6] + X[:4000, 7] + X[:4000, 8]) > 0] = 1
    fit = best_of(5, lambda: LogisticRegression(max_iter=1000).fit(X[:4000], given))
    model = LogisticRegression(max_iter=1000).fit(X[:4000], given)
    task = Task.of(model, X[:4000], given, X[4000:], y[4000:])
    box = LogisticBox(task)
    prior = noise(task.train.codes, 2, 0.05)
    line = log_loss_above_boundary(box.actual, task.bugs).linearised(box.actual)
    effects = box.effects(line.weights)
    closed = best_of(5, lambda: closed_form(LinearSymptom(prior, effects, line.threshold)))
    rows = [("PS of 4,000 rows as a multiple of one fit of 4,000 × 107", f"{closed / fit:.2f}", "< 1")]
    bugs = task.bugs[:500].tolist()
    for share in (0.9, 0.5):
        symptom = at_least(int(share * len(bugs)), bugs)
        start = time.perf_counter()
        found = sufficiency(box, prior, symptom, engine="tilting", rng=np.random.default_rng(0))
        spent = time.perf_counter() - start
        name = f"tilting, {share:.0%} of {len(bugs)} watched points wrong (log P = {found.log_p_without:.1f})"
        rows.append((f"{name}: fits", f"{spent / fit:.0f}", "≤ 50"))
        worth = float(np.median(found.effective_sample_size))
        rows.append((f"{name}: median effective sample size", f"{worth:.0f}", "≥ 500"))
    return rows


def coverage(runs: int) -> list[Row]:
    """Do the sampled 95% intervals cover the closed form at N = 4,000, one label a run; and how often is each asked?"""
    size, rate = 4000, 0.002
    rng = np.random.default_rng(3)
    effects = np.zeros((size, 2))
    effects[:, 1] = rng.gamma(2.0, 0.5, size)
    prior = noise(np.zeros(size, dtype=np.intp), 2, rate)
    symptom = LinearSymptom(prior, effects, 12.0)
    coefficients = np.zeros((2, 1, 1, size))
    coefficients[1, 0, 0] = effects[:, 1]
    learner = LinearLearner(prior.given, np.array([[-12.0]]), coefficients)
    truth = closed_form(symptom)
    tilted_covered = plain_covered = 0
    for run in range(runs):
        i = (run * 19) % size
        tilted = tilting(prior, learner, misclassified(0), rng=np.random.default_rng(run), effective=300)
        tilted_covered += bool(tilted.low[i] <= truth.ps[i] <= tilted.high[i])
        plain = sampling(prior, learner, misclassified(0), worlds=1000, rng=np.random.default_rng(run))
        plain_covered += bool(plain.low[i] <= truth.ps[i] <= plain.high[i])
    # Figure psi, for one label: worlds with Y_i ≠ y_i are asked about, those without the symptom a second time.
    gone = np.exp(truth.log_p_without) * truth.p_wrong / prior.rates
    accepted = truth.ps * (1 - truth.ps) / np.maximum(tilted.standard_error, 1e-12) ** 2
    needed = float((accepted * (1 / gone + 1)).sum())
    budget = f"≥ {int(0.89 * runs)} (P < 1e-3)"
    return [
        (f"tilting covers the closed form, N = 4,000, of {runs}", f"{tilted_covered}", budget),
        (f"sampling covers the closed form, N = 4,000, of {runs}", f"{plain_covered}", budget),
        (
            "learner evaluations of figure psi over those of tilting, at equal standard error, all labels",
            f"{needed / tilted.learner_calls:.0f}",
            "≥ 1000",
        ),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    with threadpool_limits(1):
        rows = [
            *speed(),
            *beside_one_fit(),
            *accuracy(100 if quick else 1000),
            *coverage(20 if quick else 200),
        ]
    for name, value, goal in rows:
        print(f"{name:100s} {value:>12s}   {goal}")
    if not quick:
        lines = [{"measure": name, "value": value, "goal": goal} | made_with(np, scipy) for name, value, goal in rows]
        write(RESULTS / "inference.csv", lines)


if __name__ == "__main__":
    main()
