"""Each peer that is written here, against something known: retraining, a double loop over the formula, or by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, softmax
from sklearn.linear_model import LogisticRegression

from benchmarks.measures import average_precision, order_of
from benchmarks.peers import baselines, boostin, duti, influence, psi, rain
from benchmarks.peers.contest import Contest, Floats
from benchmarks.peers.harness import Ground
from benchmarks.peers.roster import PEERS, named
from psidebug.datasets import Benchmark, ten_digits
from psidebug.graybox.trees.adapters import profile_of
from psidebug.graybox.trees.profile import Profile
from psidebug.task import learner as learners
from tests.bench.conftest import rank_correlation, small


def precise(contest: Contest) -> Contest:
    return replace(contest, model=LogisticRegression(solver="newton-cholesky", tol=1e-10))


def lightened(contest: Contest, row: int, points: np.ndarray) -> tuple[float, float]:
    """By how much the loss of these points falls, and the row's own rises, per unit of weight taken from the row.

    By retraining with a thousandth less of it: the derivative that influence functions are.
    """
    taken = 1e-3

    def losses(weight: float) -> tuple[float, float]:
        weights = np.ones(len(contest))
        weights[row] = weight
        fitted = learners.refit(contest.estimator, contest.X_train, contest.given, seed=0, sample_weight=weights)
        on_test = -np.log(contest.belief(fitted, contest.X_test, contest.y_test))[points].sum()
        own = -np.log(contest.belief(fitted, contest.X_train[[row]], contest.given[[row]]))[0]
        return float(on_test), float(own)

    (before, own), (after, own_after) = losses(1.0), losses(1.0 - taken)
    return (before - after) / taken, (own_after - own) / taken


def test_influence_is_what_retraining_with_less_of_the_row_does() -> None:
    contest = precise(small("logistic"))
    everything = np.ones(contest.points, dtype=bool)
    wrong = contest.fit().predict(contest.X_test) != contest.y_test
    assert 0 < wrong.sum() < contest.points
    rows = list(range(0, len(contest), 8))
    exact = np.array([[*lightened(contest, row, everything), lightened(contest, row, wrong)[0]] for row in rows])
    found = [
        influence.all_points(contest).scores,
        influence.of_itself(contest),
        influence.misclassified(contest).scores,
    ]
    np.testing.assert_allclose(np.array(found).T[rows], exact, rtol=0.01, atol=1e-4)


@pytest.mark.thorough
def test_influence_of_many_classes() -> None:
    contest = precise(Contest.of(ten_digits(1000), "logistic", seed=1000))
    everything = np.ones(contest.points, dtype=bool)
    rows = [57, 500]
    exact = [lightened(contest, row, everything)[0] for row in rows]
    np.testing.assert_allclose(influence.all_points(contest).scores[rows], exact, rtol=0.02, atol=1e-3)


def boostin_by_loops(profile: Profile, y_test: np.ndarray, *, curved: bool) -> Floats:
    """The formula of the paper, read off row by row and point by point."""
    columns, n = profile.columns, len(profile.given)
    f = np.repeat(profile.start.value[:, None], n, axis=1)
    f_test = np.repeat(profile.start.value[:, None], len(y_test), axis=1)
    scores = np.zeros(n)
    for trees in profile.rounds:
        p, p_test = (expit(each) if columns == 1 else softmax(each, axis=0) for each in (f, f_test))
        for tree in trees:
            c = tree.column
            one = 1 if columns == 1 else c
            g, g_test = p[c] - (profile.given == one), p_test[c] - (y_test == one)
            h = p[c] * (1 - p[c]) * (1.0 if columns == 1 else columns / (columns - 1))
            for i in range(n):
                mates = [j for j in range(n) if tree.train[j] == tree.train[i]]
                H = sum(h[j] for j in mates)
                theta = -sum(g[j] for j in mates) / H if curved else 0.0
                for t in range(len(y_test)):
                    if tree.test[t] == tree.train[i]:
                        scores[i] -= g_test[t] * tree.rate * (g[i] + h[i] * theta) / H
            f[c] += tree.values[tree.train]
            f_test[c] += tree.values[tree.test]
    return scores


@pytest.mark.parametrize("curved", [True, False])
def test_boostin_is_its_formula(curved: bool) -> None:
    contest = small("boosting", rows=60, points=12)
    contest.model.set_params(n_estimators=6, num_leaves=4, min_child_samples=5)
    profile = profile_of(contest.task(contest.fit()))
    assert sum(1 for tree in profile.trees if not tree.fixed) == 6
    expected = boostin_by_loops(profile, contest.y_test, curved=curved)
    np.testing.assert_allclose(boostin.all_points(contest, curved=curved).scores, expected, rtol=1e-5, atol=1e-8)


def test_boostin_of_many_classes_is_its_formula() -> None:
    data = ten_digits(1000)
    whole = Contest.of(data, "boosting", seed=1000)
    few = np.flatnonzero(data.given < 3)[:90]
    points = np.flatnonzero(data.y_test < 3)[:10]
    contest = Contest(
        kind="boosting",
        model=whole.model.set_params(n_estimators=2, num_leaves=4, min_child_samples=5),
        train=whole.X_train[few],
        test=whole.X_test[points],
        X_train=whole.X_train[few],
        X_test=whole.X_test[points],
        near_train=whole.near_train[few],
        near_test=whole.near_test[points],
        given=data.given[few],
        y_test=data.y_test[points],
        size=3,
        seed=0,
    )
    profile = profile_of(contest.task(contest.fit()))
    expected = boostin_by_loops(profile, contest.y_test, curved=True)
    assert np.abs(expected).max() > 1e-3
    np.testing.assert_allclose(boostin.all_points(contest).scores, expected, rtol=1e-4, atol=1e-7)


def test_duti_follows_its_gradient() -> None:
    """The bilevel gradient against differences of the outer problem, the inner fit done anew."""
    problem = duti._Bilevel(small("logistic", rows=50, points=30))
    rng = np.random.default_rng(0)
    delta = rng.uniform(0.2, 0.8, 50)
    _, gradient = problem.value(delta, 0.3)
    for row in range(0, 50, 7):
        step = np.zeros(50)
        step[row] = 1e-3
        numeric = (problem.value(delta + step, 0.3)[0] - problem.value(delta - step, 0.3)[0]) / 2e-3
        assert gradient[row] == pytest.approx(numeric, rel=2e-2, abs=1e-4)


@pytest.mark.thorough
def test_duti_and_rain_find_a_slice(one_slice: tuple[Benchmark, Ground]) -> None:
    data, ground = one_slice
    doubted = average_precision(order_of(baselines.training_loss(ground.contest).scores), data.wrong) or 0.0
    for rank in (duti.rank, rain.rank):
        found = average_precision(order_of(rank(ground.contest).scores), data.wrong) or 0.0
        assert found > doubted + 0.3


def test_rain_deletes_what_it_ranks_first(one_slice: tuple[Benchmark, Ground]) -> None:
    found = rain.rank(one_slice[1].contest)
    assert found.kept is not None
    gone = int((~found.kept).sum())
    assert gone > 0
    assert not found.kept[order_of(found.scores)[:gone]].any()


def test_the_judge_by_hand() -> None:
    contest = small("logistic")
    judged = baselines.judge(contest)
    p = contest.estimator.fit(contest.X_test, contest.y_test).predict_proba(contest.X_train)
    belief = np.array([p[row, label] for row, label in enumerate(contest.given)])
    np.testing.assert_allclose(judged.scores, -np.log(belief))
    assert judged.labels is not None
    np.testing.assert_array_equal(judged.labels, np.where(belief < 0.5, 1 - contest.given, contest.given))
    assert 0 < (judged.labels != contest.given).sum() < len(contest)


def test_exact_flips_by_hand() -> None:
    contest = small("logistic", rows=40)
    scores = baselines.exact_flips(contest).scores
    labels = contest.given.copy()
    labels[7] = 1 - labels[7]
    losses = [
        -np.log(contest.belief(contest.fit(each), contest.X_test, contest.y_test)).mean()
        for each in (contest.given, labels)
    ]
    assert scores[7] == pytest.approx(losses[0] - losses[1])


def test_self_influence_of_trees_is_boostin_on_the_row_itself() -> None:
    contest = small("boosting", rows=60, points=12)
    own = baselines.self_influence(contest).scores
    assert (own > -1e-12).mean() > 0.9  # a row is nearly always its own support
    assert rank_correlation(own, baselines.training_loss(contest).scores) > 0.8


def test_psi_ranks_its_order_first_and_every_row_once(one_slice: tuple[Benchmark, Ground]) -> None:
    found = psi.rank(one_slice[1].contest)
    assert len(found.scores) == len(one_slice[1].contest)
    assert np.isfinite(found.scores).all()
    assert found.labels is not None
    assert (found.labels != one_slice[1].contest.given).any()


def test_names_are_told_apart() -> None:
    assert len({peer.name for peer in PEERS}) == len(PEERS)
    assert named("Psi") is PEERS[0]
