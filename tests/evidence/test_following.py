"""Labels that follow the look of their row: against another optimiser, on labels of known shares, on other errors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pytest
from scipy.optimize import minimize
from scipy.special import expit, log_softmax
from sklearn.linear_model import LogisticRegression

from psidebug import policy
from psidebug.evidence.compete import compete
from psidebug.evidence.contest import Contest, scattered, scattered_jointly, with_repaired_labels
from psidebug.evidence.held_out import LabelPredictions
from psidebug.evidence.joint_fit import (
    GivenLabels,
    averaged_with_test_labels_alone,
    fit_by_class,
    fit_following,
    fit_none_wrong,
)
from psidebug.evidence.noise_rates import even_rates, fit_by_em
from psidebug.evidence.predictors import ON_REPAIRED, Predictors
from psidebug.task.task import Task
from psidebug.training.trainer import Trainer

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.intp]


@dataclass(eq=False)
class Looks:
    """True labels from one distribution over classes, looks from another; each has a predictor that knows it well."""

    seed: int
    train: int = 900
    test: int = 200
    size: int = 3

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)
        count = self.train + self.test
        logs = log_softmax(3.0 * self.rng.normal(size=(count, self.size)), axis=1)
        self.look = log_softmax(0.6 * logs + 2.0 * self.rng.normal(size=logs.shape), axis=1)[: self.train]
        truth = self._drawn(logs)
        self.truth, self.y_test = truth[: self.train], truth[self.train :]
        look_of_test = np.full((self.test, self.size), -np.log(self.size))
        self.predictions = [
            LabelPredictions("truth", logs[: self.train], logs[self.train :]),
            LabelPredictions("look", self.look, look_of_test),
        ]

    def _drawn(self, logs: Floats) -> Codes:
        drawn = (self.rng.random((len(logs), 1)) > np.exp(logs).cumsum(axis=1)).sum(axis=1)
        return np.asarray(np.minimum(drawn, self.size - 1))

    def following(self, share: float) -> Codes:
        """Labels of which this share follows the look of its row."""
        return np.where(self.rng.random(self.train) < share, self._drawn(self.look), self.truth)

    def at_random(self, share: float) -> Codes:
        other = (self.truth + self.rng.integers(1, self.size, self.train)) % self.size
        return np.where(self.rng.random(self.train) < share, other, self.truth)

    def labels(self, given: Codes) -> GivenLabels:
        return GivenLabels(given, np.arange(self.train)).looked_at(self.predictions)


@pytest.mark.parametrize("seed", range(3))
def test_no_other_share_and_rates_are_likelier(seed: int) -> None:
    """Two classes; likelihood and prior written anew, row by row, and a general optimiser from three starts."""
    rng = np.random.default_rng(seed)
    chance, look = expit(2.0 * rng.normal(size=300)), expit(2.0 * rng.normal(size=300))
    truth = rng.random(300) < chance
    given = np.where(rng.random(300) < 0.4, rng.random(300) < look, truth).astype(np.intp)
    probability, q = np.column_stack([1 - chance, chance]), np.where(given == 1, look, 1 - look)
    found = fit_by_em(probability, given, None, look=q, rounds=5_000)

    def log_likelihood(follow: float, wrong: Floats) -> float:
        rates = np.array([[1 - wrong[0], wrong[0]], [wrong[1], 1 - wrong[1]]])
        by_truth = (1 - chance) * rates[0, given] + chance * rates[1, given]
        return float(np.log((1 - follow) * by_truth + follow * q).sum())

    assert found.follow is not None
    assert found.log_likelihood == pytest.approx(
        log_likelihood(found.follow, np.array([found.rates[0, 1], found.rates[1, 0]])), abs=1e-6
    )
    # Rates are drawn towards even ones, whose rate is learned too: the likeliest without that is at most a little more.
    starts = [[0.1, 0.1, 0.1], [0.5, 0.05, 0.2], [0.8, 0.01, 0.01]]
    bounds = [(0.0, 0.999), (1e-6, 0.5), (1e-6, 0.5)]
    best = -min(minimize(lambda v: -log_likelihood(v[0], v[1:]), s, bounds=bounds).fun for s in starts)
    assert best - found.penalty - 1.0 < found.log_likelihood <= best + 1e-6


@pytest.mark.chance(1e-4)
@pytest.mark.parametrize("share", [0.5, 0.9])
def test_a_share_that_follows_the_look_is_noticed(share: float) -> None:
    """More likely than rates by class and than no error, by 7 nats and more in 24 draws.

    Of a half that follows, 1.3 to 1.5 times too many are stated to be wrong: q, which predicts the given labels best,
    also knows the truth where labels do, and what both explain the look gets. Of nine tenths it is 0.7 to 1.0 times.
    """
    for seed in range(3):
        drawn = Looks(seed)
        given = drawn.following(share)
        labels, wrong = drawn.labels(given), given != drawn.truth
        fit = fit_following(drawn.predictions, drawn.y_test, labels)
        others = (fit_none_wrong, fit_by_class)
        assert fit.surplus > max(each(drawn.predictions, drawn.y_test, labels).surplus for each in others)
        mean = averaged_with_test_labels_alone(fit, drawn.predictions, drawn.y_test, labels)
        stated = 1.0 - mean.noise.posterior[np.arange(drawn.train), given]
        assert 0.5 < stated.mean() / wrong.mean() < 1.8


@pytest.mark.parametrize("seed", range(4))
def test_errors_at_random_and_clean_labels_follow_no_look(seed: int) -> None:
    drawn = Looks(seed)
    for given, wrong in ((drawn.at_random(0.15), True), (drawn.truth, False)):
        labels = drawn.labels(given)
        right = fit_none_wrong(drawn.predictions, drawn.y_test, labels)
        by_class = fit_by_class(drawn.predictions, drawn.y_test, labels)
        following = fit_following(drawn.predictions, drawn.y_test, labels)
        assert following.surplus < (by_class.surplus if wrong else right.log_likelihood)


def test_the_prior_draws_rates_to_even_ones() -> None:
    """Where no label follows its look, SHRUNK labels of each class with even rates are added to those there are."""
    truth = np.repeat([0, 1], 500)
    given = truth.copy()
    given[500:650] = 0  # 30% of class 1, none of class 0
    found = fit_by_em(np.eye(2)[truth], given, None, look=np.full(1000, 1e-12), rounds=5_000)
    counts = np.array([[500.0, 0.0], [150.0, 350.0]])
    counts += np.where(np.eye(2) == 1, policy.RIGHT_PSEUDO_COUNT, policy.WRONG_PSEUDO_COUNT)
    counts += policy.SHRUNK * even_rates(2, 1.0 - float(np.trace(counts) / counts.sum()))
    np.testing.assert_allclose(found.rates, counts / counts.sum(axis=1, keepdims=True), atol=1e-4)
    assert found.penalty > 0


def blurred(seed: int, train: int = 800, test: int = 150) -> tuple[Task, Codes]:
    """A task in which most labels go by another direction than the truth: they are wrong between the two."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(train + test, 20))
    first, second = np.linalg.qr(rng.normal(size=(20, 2)))[0].T
    truth = (X @ first + 0.2 * rng.normal(size=len(X)) > 0).astype(np.intp)
    by_look = (X @ (first + 0.7 * second) + 0.2 * rng.normal(size=len(X)) > 0).astype(np.intp)
    given = np.where(rng.random(len(X)) < 0.9, by_look, truth)[:train]
    return Task.of(LogisticRegression(), X[:train], given, X[train:], truth[train:], seed=seed), truth[:train]


@pytest.mark.parametrize("seed", range(2))
def test_errors_that_follow_the_look_are_found_and_counted(seed: int) -> None:
    task, truth = blurred(seed)
    best = compete(Contest.of(task, Predictors.of(task, Trainer(task))), None, lambda *_: None)[0]
    wrong, p_wrong = task.train.codes != truth, best.p_wrong(task.train.codes)
    assert best.follow is not None
    assert best.likely
    assert p_wrong.mean() == pytest.approx(wrong.mean(), rel=1 / 3)
    assert ((p_wrong > 0.5) == wrong).mean() > 0.85


def test_the_learner_on_repaired_labels_never_sees_the_label_it_predicts() -> None:
    """Another true label of one row, surely, or of one test row, changes no prediction of the same fold."""
    task, _ = blurred(0)
    predictors = Predictors.of(task, Trainer(task))
    posterior = np.full((len(task.train), 2), 0.1)
    posterior[np.arange(len(task.train)), task.train.codes] = 0.9
    before = predictors.predict_from_repaired(posterior)
    posterior[7] = posterior[7, ::-1]
    after = predictors.predict_from_repaired(posterior)
    assert before is not None
    assert after is not None
    same = predictors.folds.train == predictors.folds.train[7]
    np.testing.assert_array_equal(before.train[same], after.train[same])
    assert not np.array_equal(before.train[~same], after.train[~same])


def test_it_stays_only_where_test_labels_gain_by_it(monkeypatch: pytest.MonkeyPatch) -> None:
    task, _ = blurred(1)
    contest = Contest.of(task, Predictors.of(task, Trainer(task)))
    first = scattered(contest)
    best, _ = scattered_jointly(contest, first)
    assert best.follow is not None
    again = with_repaired_labels(contest, best)
    assert ON_REPAIRED in again.calibrated.names
    lies = [np.log(np.where(np.eye(2)[each.codes] == 1, 0.001, 0.999)) for each in (task.train, task.test)]
    nothing = LabelPredictions(ON_REPAIRED, lies[0], lies[1])
    monkeypatch.setattr(Predictors, "predict_from_repaired", lambda *_: nothing)
    assert with_repaired_labels(contest, best) is best
    monkeypatch.setattr(Predictors, "predict_from_repaired", lambda *_: None)
    assert with_repaired_labels(contest, best) is best


def test_a_learner_without_weights_is_not_asked_again() -> None:
    from sklearn.neighbors import KNeighborsClassifier

    task, _ = blurred(0)
    other = Task.of(KNeighborsClassifier(), task.train.features, task.train.codes, task.test.features, task.test.codes)
    assert Predictors.of(other, Trainer(other)).predict_from_repaired(np.eye(2)[other.train.codes]) is None
