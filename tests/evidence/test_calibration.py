"""Calibration: how far predictors are believed, on predictions whose worth is known."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax, logsumexp

from psidebug.evidence.calibration import Calibrated, calibrate
from psidebug.evidence.held_out import LabelPredictions
from psidebug.policy import BIAS_PRIOR, WEIGHT_PRIOR

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.intp]


def predicted(name: str, scores: Floats, *, train: int = 7) -> LabelPredictions:
    """The first rows are those of the training set."""
    logs = log_softmax(scores, axis=1)
    return LabelPredictions(name, logs[:train], logs[train:])


def simulated(seed: int, points: int, size: int) -> tuple[Floats, Codes, np.random.Generator]:
    """Scores, and labels drawn from their softmax; 7 training rows come before the test points."""
    rng = np.random.default_rng(seed)
    scores = 1.5 * rng.normal(size=(points + 7, size))
    labels = (rng.random((points + 7, 1)) > np.exp(log_softmax(scores, axis=1)).cumsum(axis=1)).sum(axis=1)
    return scores, np.minimum(labels, size - 1)[7:], rng


@pytest.mark.parametrize("size", [2, 3, 5])
def test_who_knows_is_believed_and_who_does_not_is_not(size: int) -> None:
    """3,000 points know a weight to within about 0.03; the prior of one point is far less."""
    scores, labels, rng = simulated(0, 3000, size)
    noise = rng.normal(size=scores.shape)
    found = calibrate([predicted("knows", scores), predicted("guesses", noise)], labels)
    assert found.weights[0] == pytest.approx(1.0, abs=0.1)
    assert found.weights[1] <= 0.1
    np.testing.assert_allclose(found.bias, 0.0, atol=0.15)


def test_noise_alone_is_not_used() -> None:
    rng = np.random.default_rng(1)
    found = calibrate([predicted("guesses", 2.0 * rng.normal(size=(3007, 2)))], rng.integers(0, 2, 3000))
    assert found.unused == ("guesses",)
    assert found.parameters == 1


@pytest.mark.parametrize("factor", [0.5, 2.0, 4.0])
def test_who_is_too_sure_is_tempered_and_who_is_too_timid_is_raised(factor: float) -> None:
    scores, labels, _ = simulated(2, 3000, 3)
    found = calibrate([predicted("sure", factor * scores)], labels)
    assert found.weights[0] == pytest.approx(1.0 / factor, rel=0.1)


def test_who_always_prefers_a_class_is_put_right() -> None:
    scores, labels, _ = simulated(3, 3000, 3)
    found = calibrate([predicted("leaning", scores + np.array([0.0, 1.0, -0.5]))], labels)
    np.testing.assert_allclose(found.bias, [0.0, -1.0, 0.5], atol=0.25)
    np.testing.assert_allclose(found.test, log_softmax(scores, axis=1)[7:], atol=0.4)


def test_log_probabilities_are_normalised_and_the_rule_is_the_same_for_training_rows() -> None:
    scores, labels, rng = simulated(4, 200, 3)
    predictions = [predicted("one", scores), predicted("two", scores + rng.normal(size=scores.shape))]
    found = calibrate(predictions, labels)
    assert (found.train.shape, found.test.shape) == ((7, 3), (200, 3))
    for logs, said in ((found.train, [o.train for o in predictions]), (found.test, [o.test for o in predictions])):
        np.testing.assert_allclose(np.exp(logs).sum(axis=1), 1.0)
        raw = np.exp(found.bias + found.weights[0] * said[0] + found.weights[1] * said[1])
        np.testing.assert_allclose(np.exp(logs), raw / raw.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("taught", [False, True])
@pytest.mark.parametrize(("seed", "size"), [(0, 2), (1, 2), (2, 3), (3, 3), (4, 5)])
def test_no_step_away_from_the_answer_is_better(seed: int, size: int, taught: bool) -> None:
    """The penalised likelihood, written anew, has slope 0 there, or rises where a weight is held at 0.

    Also where training labels teach that may be wrong, a third of them: then it is not convex.
    """
    scores, labels, rng = simulated(seed, 120, size)
    likelihood = 1.0 / 6 + 0.5 * np.eye(size)[rng.integers(0, size, 7)]
    predictions = [
        predicted("knows", scores + rng.normal(size=scores.shape)),
        predicted("guesses", rng.normal(size=scores.shape)),
        predicted("misleads", -scores),
    ]
    found = calibrate(predictions, labels, likelihood if taught else None)

    def loss(values: Floats) -> float:
        weights, bias = values[:3], np.array([0.0, *values[3:]])
        total = 0.5 * WEIGHT_PRIOR * sum((weights - 1 / 3) ** 2) + 0.5 * BIAS_PRIOR * sum(bias**2)
        for point, label in enumerate(labels):
            raw = bias + sum(w * each.test[point] for w, each in zip(weights, predictions, strict=True))
            total -= raw[label] - np.log(np.exp(raw).sum())
        for row in range(7 if taught else 0):
            raw = bias + sum(w * each.train[row] for w, each in zip(weights, predictions, strict=True))
            total -= np.log((likelihood[row] * np.exp(raw)).sum() / np.exp(raw).sum())
        return float(total)

    answer = np.concatenate([found.weights, found.bias[1:]])
    steps = 1e-4 * np.eye(len(answer))
    slopes = np.array([(loss(answer + step) - loss(answer - step)) / 2e-4 for step in steps])
    held = np.append(found.weights <= 1e-9, [False] * (size - 1))
    assert found.weights[2] == 0.0, "nobody is believed against what they say"
    assert np.all(slopes[held] >= -0.02)
    np.testing.assert_allclose(slopes[~held], 0.0, atol=0.01)


def test_it_ends_where_the_labels_teach_the_opposite_of_each_other() -> None:
    """Training labels that a predictor is always wrong about, many times the test labels: far from convex."""
    scores, labels, _ = simulated(6, 2000, 3)
    logs = log_softmax(4.0 * scores[7:], axis=1)
    teach = LabelPredictions("sure", logs[100:], logs[:100])
    likelihood = 1.0 - np.eye(3)[labels[100:]]
    found = calibrate([teach], labels[:100], likelihood)
    tried = [Calibrated(("sure",), np.array([a]), found.bias, logs, logs) for a in np.linspace(0.0, 2.0, 201)]
    totals = []
    for each in tried:
        train, test = each.applied_to([teach]).train, each.applied_to([teach]).test
        total = test[np.arange(100), labels[:100]].sum() + np.log((likelihood * np.exp(train)).sum(axis=1)).sum()
        totals.append(total - 0.5 * WEIGHT_PRIOR * float((each.weights[0] - 1.0) ** 2))
    assert found.weights[0] == pytest.approx(tried[int(np.argmax(totals))].weights[0], abs=0.01)


@pytest.mark.parametrize(("size", "count", "seed"), [(2, 5, 109), (2, 5, 229), (5, 8, 188), (5, 8, 206)])
def test_another_method_finds_nothing_better_nearby_where_rates_are_uneven(size: int, count: int, seed: int) -> None:
    """Five test labels, 1,500 training labels at rates that may be anything: far from convex, and weights end at 0."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(1505, size))
    labels = (truth + rng.gumbel(size=truth.shape)).argmax(axis=1)
    common = 2.0 * rng.normal(size=truth.shape)
    worth = rng.choice([-1.0, 0.0, 1.0, 5.0], size=count)
    logs = [log_softmax(each * truth + common + rng.normal(size=truth.shape), axis=1) for each in worth]
    rates = rng.dirichlet(np.full(size, 0.5), size=size)
    likelihood = np.concatenate([np.eye(size)[labels[:5]], rates[:, labels[5:]].T])
    prior = np.append(np.full(count, WEIGHT_PRIOR), np.full(size - 1, BIAS_PRIOR))
    mean = np.append(np.full(count, 1.0 / count), np.zeros(size - 1))

    def loss(v: Floats) -> tuple[float, Floats]:
        scores = np.append(0.0, v[count:]) + np.tensordot(v[:count], logs, axes=1)
        with np.errstate(divide="ignore"):
            taught = scores + np.log(likelihood)
        nats = (logsumexp(scores, axis=1) - logsumexp(taught, axis=1)).sum() + 0.5 * prior @ (v - mean) ** 2
        residual = np.exp(log_softmax(scores, axis=1)) - np.exp(log_softmax(taught, axis=1))
        slope = np.append([(residual * each).sum() for each in logs], residual.sum(axis=0)[1:])
        return float(nats), slope + prior * (v - mean)

    split = [LabelPredictions(f"{j}", each[5:], each[:5]) for j, each in enumerate(logs)]
    found = calibrate(split, labels[:5], likelihood[5:])
    answer = np.append(found.weights, found.bias[1:])
    bounds = [(0.0, None)] * count + [(None, None)] * (size - 1)
    on = minimize(loss, answer, jac=True, method="L-BFGS-B", bounds=bounds, options={"ftol": 1e-15, "maxiter": 2000})
    assert loss(answer)[0] <= on.fun + 1e-3


def test_labels_that_may_be_wrong_teach_as_far_as_they_are_believed() -> None:
    """At even rates with one half wrong they say nothing; with none wrong they are test labels like the others."""
    scores, labels, rng = simulated(3, 300, 2)
    scores = scores[7:]
    said = [scores + rng.normal(size=scores.shape), scores + 3.0 * rng.normal(size=scores.shape)]
    logs = [log_softmax(each, axis=1) for each in said]
    split = [LabelPredictions(f"{j}", each[60:], each[:60]) for j, each in enumerate(logs)]
    alone, whole = (
        calibrate(
            [LabelPredictions(each.name, each.train, logs[j][: len(codes)]) for j, each in enumerate(split)], codes
        )
        for codes in (labels[:60], labels)
    )
    for likelihood, expected in ((np.full((240, 2), 0.5), alone), (np.eye(2)[labels[60:]], whole)):
        found = calibrate(split, labels[:60], likelihood)
        np.testing.assert_allclose(found.weights, expected.weights, atol=1e-3)
        np.testing.assert_allclose(found.bias, expected.bias, atol=1e-3)


def test_the_numbers_that_were_learned_are_counted() -> None:
    nothing = np.zeros((0, 4))
    found = Calibrated(("a", "b", "c"), np.array([0.5, 0.05, 0.0]), np.zeros(4), nothing, nothing)
    assert found.unused == ("b", "c")
    assert found.parameters == 1 + 3


def test_a_class_that_the_test_set_lacks_is_possible_still() -> None:
    scores, labels, _ = simulated(5, 100, 3)
    found = calibrate([predicted("knows", scores)], np.where(labels == 2, 0, labels))
    assert np.isfinite(found.train).all()
    assert np.exp(found.test[:, 2]).mean() < 0.1
