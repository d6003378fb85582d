"""Hypotheses compete: on labels drawn in a known way, the one that says how they were drawn has the most evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from scipy.special import log_softmax
from scipy.stats import chi2
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from psidebug.evidence import predictors
from psidebug.evidence.compete import compete, promise, promising
from psidebug.evidence.contest import (
    Contest,
    joint_surplus,
    mislabelled,
    predictions_without,
    scattered,
    scattered_jointly,
)
from psidebug.evidence.held_out import Folds, LabelPredictions
from psidebug.evidence.hypotheses import Hypothesis
from psidebug.evidence.joint_fit import GivenLabels, fit_by_class, fit_none_wrong
from psidebug.policy import RATE_ELSEWHERE
from psidebug.slices.conditions import Condition, Slice
from psidebug.task.task import Task
from psidebug.training.trainer import Trainer
from tests.chance import allowed

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]
GROUPS = 5


class Oracle:
    """In place of predictors: P(k | x) as the labels were drawn from, and what it was asked."""

    def __init__(self, train: Floats, test: Floats, *others: LabelPredictions) -> None:
        self._predictions = [LabelPredictions("oracle", train, test), *others]
        self.folds = Folds(np.arange(len(train)) % 3, np.arange(len(test)) % 3)
        self.excluded: list[Mask] = []
        self.dropped: list[str] = []

    def predict(self, excluded: Mask | None = None, slices: Sequence[Slice] = ()) -> list[LabelPredictions]:
        if excluded is not None:
            self.excluded.append(excluded)
        return [each for each in self._predictions if each.name not in self.dropped]

    def without(self, names: Sequence[str]) -> Oracle:
        self.dropped += names
        return self


class Drawn:
    """Labels from log P(k | x); the last column is a group that has nothing to do with them."""

    def __init__(self, seed: int, *, train: int = 500, test: int = 250, size: int = 2) -> None:
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(train + test, size))
        self.group = rng.integers(0, GROUPS, train + test)
        self.logs = log_softmax(2.5 * x, axis=1)
        y = (rng.random((train + test, 1)) > np.exp(self.logs).cumsum(axis=1)).sum(axis=1)
        y = np.minimum(y, size - 1)
        self.X, self.rng, self.count, self.size = np.column_stack([x, self.group]), rng, train, size
        self.truth, self.y_test = y[:train], y[train:]
        self.given = self.truth.copy()
        self.train_group = self.group[:train]

    def mislabel(self, group: int, label: int = 1) -> Drawn:
        self.given[self.train_group == group] = label
        return self

    def flip(self, share: float) -> Drawn:
        wrong = self.rng.random(self.count) < share
        self.given = np.where(wrong, (self.given + self.rng.integers(1, self.size, self.count)) % self.size, self.given)
        return self

    def dates(self) -> npt.NDArray[np.datetime64]:
        """Days of a year that have nothing to do with the labels."""
        return np.datetime64("2024-01-01") + self.rng.integers(0, 366, self.count)

    def task(self, model: Any = None, **options: Any) -> Task:
        n = self.count
        learner = GaussianNB() if model is None else model
        return Task.of(learner, self.X[:n], self.given, self.X[n:], self.y_test, **options)

    def slices(self, label: int = 1) -> list[Slice]:
        """All groups as suspects."""
        name = f"x{self.size}"
        return [
            Slice(
                (Condition(name, "=", (float(group),)),), label,
                np.flatnonzero((self.train_group == group) & (self.given == label)), 3.0, looked=20,
            )
            for group in range(GROUPS)
        ]  # fmt: skip

    def contest(self, *others: LabelPredictions, stated: Floats | None = None) -> tuple[Contest, Oracle]:
        oracle: Any = Oracle(self.logs[: self.count], self.logs[self.count :], *others)
        return Contest.of(self.task(), oracle, stated), oracle


def surplus(each: Hypothesis) -> float:
    return each.evidence - each.charge


def accused(contest: Contest, slices: list[Slice]) -> Hypothesis:
    return mislabelled(contest, slices, predictions_without(contest, slices))


def hypotheses(drawn: Drawn) -> tuple[Hypothesis, list[Hypothesis]]:
    contest, _ = drawn.contest()
    return scattered(contest), [accused(contest, [each]) for each in drawn.slices()]


# ── who wins ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("seed", range(5))
def test_a_mislabelled_slice_has_the_most_evidence(seed: int, size: int) -> None:
    drawn = Drawn(seed, size=size).mislabel(3)
    first, each = hypotheses(drawn)
    best = max(range(GROUPS), key=lambda group: surplus(each[group]))
    assert best == 3
    assert each[3].likely
    assert surplus(each[3]) > surplus(first)
    wrong = drawn.given != drawn.truth
    corrected = each[3].corrected(drawn.given)
    assert (corrected[wrong] == drawn.truth[wrong]).mean() > 0.7
    np.testing.assert_array_equal(np.flatnonzero(each[3].groups), np.flatnonzero(drawn.train_group == 3))


@pytest.mark.chance(1e-3)
@pytest.mark.parametrize("size", [2, 3])
def test_of_random_errors_scattered_ones_have_the_most_evidence(size: int, budget: float) -> None:
    """A slice that is the guiltier by chance is ahead in less than 1%: in none of 80 draws."""
    ahead = 0
    for seed in range(5):
        first, each = hypotheses(Drawn(seed, size=size).flip(0.2))
        assert first.likely
        ahead += max(map(surplus, each)) > surplus(first)
    assert ahead <= allowed(5, 0.01, budget)


@pytest.mark.chance(1e-4)
@pytest.mark.parametrize("seed", range(3))
def test_errors_of_one_side_are_scattered_too_and_their_rates_are_learned(seed: int) -> None:
    """One class recorded as the other in a quarter of the cases; 0.246 ± 0.031 over 40 draws: 0.13 is four of these."""
    drawn = Drawn(seed, train=1000)
    drawn.given[(drawn.truth == 1) & (drawn.rng.random(1000) < 0.25)] = 0
    first, each = hypotheses(drawn)
    assert first.likely
    assert surplus(first) > max(map(surplus, each))
    np.testing.assert_allclose(first.rates[0], [[1.0, 0.0], [0.25, 0.75]], atol=0.13)


@pytest.mark.chance(1.1e-3)
def test_of_clean_labels_nothing_is_likely(budget: float) -> None:
    """The charge covers the 95% point of what chance gains, and more: none of 100 draws gained more."""
    likely = 0
    for seed in range(20):
        first, each = hypotheses(Drawn(seed))
        likely += any(one.likely for one in [first, *each])
    assert likely <= allowed(20, 0.01, budget)


@pytest.fixture
def without_forest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forests are what takes time."""
    monkeypatch.setattr(predictors, "WIDEST", 0)


def silent(stage: str, done: int, total: int) -> None:
    pass


def competed(drawn: Drawn, model: Any, **options: Any) -> list[Hypothesis]:
    task = drawn.task(model, **options)
    return compete(Contest.of(task, predictors.Predictors.of(task, Trainer(task))), None, silent)


@pytest.mark.chance(1.1e-3)
@pytest.mark.usefixtures("without_forest")
def test_of_clean_labels_nothing_is_likely_whoever_is_asked(budget: float) -> None:
    """The whole of it, predictors trained and slices and dates searched for: none of 60 draws erred."""
    likely = 0
    for seed in range(20):
        drawn = Drawn(seed, train=200, test=100)
        likely += competed(drawn, LogisticRegression(), metadata=pd.DataFrame({"date": drawn.dates()}))[0].likely
    assert likely <= allowed(20, 0.01, budget)


@pytest.mark.usefixtures("without_forest")
def test_a_rule_that_held_for_some_months_is_found_with_its_dates() -> None:
    """Two months of twelve for one group of five: 30 wrong labels of 2,000, which no search sees that tries the range
    and the group one after the other."""
    drawn = Drawn(0, train=2000, test=600)
    dates = drawn.dates()
    inside = (dates >= np.datetime64("2024-06")) & (dates < np.datetime64("2024-08"))
    drawn.given[inside & (drawn.train_group == 2)] = 1
    best = competed(drawn, LogisticRegression(), metadata=pd.DataFrame({"date": dates}))[0]
    assert best.likely
    assert [each.condition for each in best.slices] == ["date between 2024-06 and 2024-07 and x2 = 2"]
    wrong = drawn.given != drawn.truth
    assert best.p_wrong(drawn.given)[wrong].mean() > 10 * best.p_wrong(drawn.given)[~wrong].mean()


@pytest.mark.usefixtures("without_forest")
@pytest.mark.parametrize("seed", range(3))
def test_two_mislabelled_slices_are_both_found(seed: int) -> None:
    best = competed(Drawn(seed, train=800, test=400).mislabel(0, 1).mislabel(4, 0), LogisticRegression())[0]
    assert best.likely
    assert len(best.slices) == 2
    inside = best.groups > 0
    for group in (0, 4):
        assert inside[Drawn(seed, train=800, test=400).train_group == group].mean() > 0.9
    assert {each.given for each in best.slices} == {0, 1}


@pytest.mark.usefixtures("without_forest")
def test_a_mislabelled_slice_is_found_by_searching_and_listed_first() -> None:
    found = competed(Drawn(1, train=600, test=300).mislabel(2), LogisticRegression())
    assert [surplus(each) for each in found] == sorted(map(surplus, found), reverse=True)
    (told,) = found[0].slices
    assert told.columns == ("x2",)
    members = Drawn(1, train=600, test=300).train_group == 2
    np.testing.assert_array_equal(found[0].groups == 1, members)


# ── how they are weighed ────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("size", [2, 4])
def test_the_charges_are_as_documented(size: int) -> None:
    """log(looked) for each slice, ½ χ²_p N/M for the calibration, and for the rates of a group of n rows:

    log 2 for their kind, and ½ log n if they are even; else ½ log n + log K (K-1) for each that is above 0.01.
    """
    drawn = Drawn(0, size=size).mislabel(1)
    contest, _ = drawn.contest()
    first = scattered(contest)
    parameters = first.calibrated.parameters
    assert parameters == 1 + (size - 1)
    calibration = 0.5 * chi2.ppf(0.95, parameters) * 500 / 250

    def for_rates(rates: npt.NDArray[np.float64], rows: int) -> float:
        wrong = rates[~np.eye(size, dtype=bool)]
        if np.ptp(wrong) < 1e-12 and wrong.max() != RATE_ELSEWHERE / (size - 1):
            return float(np.log(2) + 0.5 * np.log(rows))
        used = sum(rates[a, b] > 0.01 for a in range(size) for b in range(size) if a != b)
        return float(np.log(2) + used * (0.5 * np.log(rows) + np.log(size * (size - 1))))

    assert first.charge == pytest.approx(calibration + for_rates(first.rates[0], 500))
    slices = drawn.slices()
    one, two = accused(contest, slices[1:2]), accused(contest, slices[1:3])
    counts = np.bincount(drawn.train_group, minlength=GROUPS)
    inside, other = counts[1], counts[2]
    assert one.charge == pytest.approx(
        calibration + np.log(20) + for_rates(one.rates[0], 500 - inside) + for_rates(one.rates[1], inside), rel=1e-9
    )
    assert two.charge == pytest.approx(
        calibration
        + 2 * np.log(20)
        + for_rates(two.rates[0], 500 - inside - other)
        + for_rates(two.rates[1], inside)
        + for_rates(two.rates[2], other),
        rel=1e-9,
    )


def test_the_evidence_is_what_is_gained_on_labels_that_are_right() -> None:
    drawn = Drawn(2).mislabel(1)
    contest, _ = drawn.contest()
    first, guilty = scattered(contest), accused(contest, drawn.slices()[1:2])
    right = sum(first.calibrated.train[i, y] for i, y in enumerate(drawn.given))
    right += sum(first.calibrated.test[t, y] for t, y in enumerate(drawn.y_test))
    for each in (first, guilty):
        total = sum(each.calibrated.test[t, y] for t, y in enumerate(drawn.y_test))
        for i, y in enumerate(drawn.given):
            rates = each.rates[each.groups[i]]
            total += np.log(sum(np.exp(each.calibrated.train[i, k]) * rates[k, y] for k in range(2)))
        assert each.evidence == pytest.approx(total - right)
        assert each.likely == (each.evidence > each.charge)


def test_p_wrong_and_corrections_by_hand() -> None:
    posterior = np.array([[0.2, 0.5, 0.3], [0.4, 0.35, 0.25], [0.5, 0.5, 0.0]])
    nothing: Any = None
    told = Hypothesis((), nothing, np.zeros(3, dtype=np.intp), (), posterior, 1.0, 2.0)
    given = np.array([0, 1, 0])
    np.testing.assert_allclose(told.p_wrong(given), [0.8, 0.65, 0.5])
    np.testing.assert_array_equal(told.corrected(given), [1, 0, 0])
    assert not told.likely


def test_a_promise_is_what_rates_of_its_own_gain_less_its_charge() -> None:
    drawn = Drawn(3).mislabel(2)
    contest, _ = drawn.contest()
    first = scattered(contest)
    promises = [promise(contest, each, first) for each in drawn.slices()]
    assert int(np.argmax(promises)) == 2
    innocent = promises[:2] + promises[3:]
    assert promises[2] > 10 + max(innocent), "others gain a little: the guilty slice raises the rates of all"
    assert max(innocent) < 3
    whole = Slice((Condition("x2", "≤", (9.0,)),), 1, np.arange(500), 1.0)
    nobody = Slice((Condition("x2", ">", (9.0,)),), 1, np.arange(0), 1.0)
    assert promise(contest, whole, first) == promise(contest, nobody, first) == -np.inf
    best = accused(contest, drawn.slices()[2:3])
    assert promise(contest, drawn.slices()[2], best) < 0, "it has rates of its own already"


@pytest.mark.chance(1e-4)
@pytest.mark.parametrize("seed", range(3))
def test_scattered_errors_are_weighed_by_training_labels_too(seed: int) -> None:
    """With 40 test points the rate is learned better, and the posterior is that of its calibration and rates.

    The rate that is found is 0.147 ± 0.016: 0.07 is four of these.
    """
    drawn = Drawn(seed, train=1500, test=40).flip(0.15)
    contest, _ = drawn.contest()
    first = scattered(contest)
    found, _ = scattered_jointly(contest, first)
    assert found is not first
    assert abs(found.rates[0][0, 1] - 0.15) < 0.07
    joint = np.exp(found.calibrated.train) * found.rates[0][:, drawn.given].T
    np.testing.assert_allclose(found.posterior, joint / joint.sum(axis=1, keepdims=True), atol=1e-9)
    assert found.likely
    assert surplus(found) >= surplus(first)


@pytest.mark.parametrize("seed", range(4))
def test_a_row_that_is_surely_right_changes_nothing_when_a_person_says_so(seed: int) -> None:
    """Also not the kind of rates: what is uncertain about the calibration has been weighed."""
    drawn = Drawn(seed, train=1500, test=60)
    wrong = (drawn.truth == 1) & (drawn.rng.random(1500) < 0.15)
    drawn.given = np.where(wrong, 0, drawn.truth)
    contest, _ = drawn.contest()
    found, _ = scattered_jointly(contest, scattered(contest))
    assert found.rates[0][1, 0] > 3 * found.rates[0][0, 1]
    known = np.full(1500, -1)
    surest = int(found.p_wrong(drawn.given).argmin())
    known[surest] = drawn.given[surest]
    again = found.after_review(drawn.given, known)
    np.testing.assert_allclose(again.rates[0], found.rates[0], atol=0.01)
    np.testing.assert_allclose(again.posterior, found.posterior, atol=0.02)


def test_where_neither_is_likely_the_joint_fit_ranks_if_it_gains_a_little() -> None:
    """Eight per cent of 150 labels wrong, 40 test points: too little to tell, for two of three draws by one nat."""
    seen = set()
    for seed in (0, 3, 5, 6, 19, 33):
        drawn = Drawn(seed, train=150, test=40).flip(0.08)
        contest, _ = drawn.contest()
        first = scattered(contest)
        found, _ = scattered_jointly(contest, first)
        everything = GivenLabels(drawn.given, np.arange(150))
        predictions = [LabelPredictions("oracle", drawn.logs[:150], drawn.logs[150:])]
        right, wrong = (fit(predictions, drawn.y_test, everything) for fit in (fit_none_wrong, fit_by_class))
        gain = wrong.log_likelihood - right.log_likelihood
        assert not found.likely
        assert gain < wrong.noise.charge
        assert (found is first) == (gain <= 1.0)
        if found is not first:
            np.testing.assert_allclose(found.posterior, wrong.noise.posterior, atol=1e-6)
            assert surplus(found) == pytest.approx(max(surplus(first), gain - wrong.noise.charge), abs=1e-6)
        seen.add(found is first)
    assert seen == {True, False}


def test_of_clean_labels_and_of_a_stated_prior_there_is_no_joint_fit() -> None:
    for seed in range(5):
        contest, _ = Drawn(seed).contest()
        first = scattered(contest)
        assert scattered_jointly(contest, first) == (first, None)
    drawn = Drawn(0).flip(0.2)
    contest, _ = drawn.contest(stated=stated_for(drawn, np.full(500, 0.2)))
    first = scattered(contest)
    assert scattered_jointly(contest, first) == (first, None)


@pytest.mark.parametrize("seed", range(4))
def test_beside_scattered_errors_a_slice_must_explain_more_by_the_same_joint_fit(seed: int) -> None:
    for guilty in (False, True):
        drawn = Drawn(seed, train=1500, test=150).flip(0.1)
        if guilty:
            drawn.mislabel(3)
        contest, _ = drawn.contest()
        _, bar = scattered_jointly(contest, scattered(contest))
        without = [(each, predictions_without(contest, [each])) for each in drawn.slices()]
        confirmed = [
            bar is None or joint_surplus(contest, mislabelled(contest, [each], made), made) > bar
            for each, made in without
        ]
        if guilty:
            assert confirmed[3]
        else:
            assert not any(confirmed)


# ── who is trained ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_predictors_never_learn_from_the_slices_that_are_accused() -> None:
    drawn = Drawn(0).mislabel(1)
    contest, oracle = drawn.contest()
    accused(contest, drawn.slices()[1:3])
    assert len(oracle.excluded) == 1
    np.testing.assert_array_equal(oracle.excluded[0], np.isin(drawn.train_group, [1, 2]))


def test_without_most_rows_or_a_class_nothing_could_be_learned() -> None:
    drawn = Drawn(0)
    contest, oracle = drawn.contest()
    most = Slice((Condition("x2", ">", (0.0,)),), 1, np.flatnonzero(drawn.train_group > 0), 1.0)
    rest_of_one_class = Drawn(0)
    rest_of_one_class.given[rest_of_one_class.train_group > 2] = 0
    lone = Slice((Condition("x2", "≤", (2.0,)),), 1, np.flatnonzero(drawn.train_group <= 2), 1.0)
    accused(contest, [most])
    other, other_oracle = rest_of_one_class.contest()
    accused(other, [lone])
    assert oracle.excluded == other_oracle.excluded == []


def test_who_counts_for_nothing_is_not_trained_again() -> None:
    drawn = Drawn(0, test=2000)
    noise = log_softmax(2.0 * np.random.default_rng(9).normal(size=(2500, 2)), axis=1)
    _, oracle = drawn.contest(LabelPredictions("guesses", noise[:500], noise[500:]))
    assert oracle.dropped == ["guesses"]


# ── what a user states, and what a person has seen ──────────────────────────────────────────────────────────────────


def stated_for(drawn: Drawn, rates: Floats) -> Floats:
    moves = np.repeat(rates[:, None], drawn.size, axis=1) / (drawn.size - 1)
    moves[np.arange(drawn.count), drawn.given] = 1.0 - rates
    return moves


def test_with_a_stated_prior_the_posterior_is_bayes_rule_row_by_row() -> None:
    """P(k | x) P(k | y) / P(k), normalised: prediction and prior are two witnesses of one true label."""
    drawn = Drawn(4).flip(0.1)
    moves = stated_for(drawn, np.linspace(0.01, 0.4, 500))
    contest, _ = drawn.contest(stated=moves)
    found = scattered(contest)
    said = np.exp(found.calibrated.train)
    for i in (0, 100, 499):
        joint = said[i] * moves[i] / said.mean(axis=0)
        np.testing.assert_allclose(found.posterior[i], joint / joint.sum(), rtol=1e-6)


def test_rows_that_cannot_be_wrong_are_right_under_every_explanation() -> None:
    drawn = Drawn(5).mislabel(1)
    sure = np.arange(500) % 2 == 0
    contest, _ = drawn.contest(stated=stated_for(drawn, np.where(sure, 0.0, 0.2)))
    first = scattered(contest)
    guilty = accused(contest, drawn.slices()[1:2])
    free = ~sure & (drawn.given != drawn.truth)
    assert (guilty.corrected(drawn.given)[free] == drawn.truth[free]).mean() > 0.7
    for each in (first, guilty):
        np.testing.assert_array_equal(each.p_wrong(drawn.given)[sure], 0.0)


def test_what_a_person_has_said_is_known_and_moves_the_others() -> None:
    drawn = Drawn(6).mislabel(1)
    contest, _ = drawn.contest()
    guilty = accused(contest, drawn.slices()[1:2])
    own = drawn.train_group == 1
    doubted = np.flatnonzero(own & (guilty.p_wrong(drawn.given) > 0.5))
    known = np.full(500, -1)
    known[doubted[::2]] = drawn.given[doubted[::2]]
    after = guilty.after_review(drawn.given, known)
    np.testing.assert_array_equal(after.p_wrong(drawn.given)[doubted[::2]], 0.0)
    assert np.all(after.p_wrong(drawn.given)[doubted[1::2]] < guilty.p_wrong(drawn.given)[doubted[1::2]])
    assert after.rates[1][0, 1] < guilty.rates[1][0, 1], "fewer of them are wrong than it seemed"
    np.testing.assert_array_equal(after.posterior[~own], guilty.posterior[~own])


def test_a_stated_prior_stays_when_a_person_has_spoken() -> None:
    drawn = Drawn(7).flip(0.1)
    sure = np.arange(500) >= 450
    contest, _ = drawn.contest(stated=stated_for(drawn, np.where(sure, 0.0, 0.1)))
    found = scattered(contest)
    known = np.full(500, -1)
    known[3], known[460] = 1 - drawn.given[3], 1 - drawn.given[460]
    after = found.after_review(drawn.given, known).p_wrong(drawn.given)
    assert after[3] == after[460] == 1.0, "a person's word counts more"
    others = np.setdiff1d(np.arange(500), [3, 460])
    np.testing.assert_array_equal(after[others], found.p_wrong(drawn.given)[others])


def test_a_slice_is_told_without_a_condition_that_explains_nothing() -> None:
    """Group 2 errs both ways; the search came with one label of it, and with half of its rows."""
    for seed in range(3):
        drawn = Drawn(seed, train=1500, test=500)
        wrong = (drawn.train_group == 2) & (drawn.rng.random(1500) < 0.4)
        drawn.given = np.where(wrong, 1 - drawn.given, drawn.given)
        contest, _ = drawn.contest()
        needless, first = Condition("x0", "≤", (0.5,)), scattered(contest)
        whole = drawn.slices()[2]
        half = replace(whole, conditions=(*whole.conditions, needless))
        half = replace(half, members=np.flatnonzero(half.everyone(contest.task) & (drawn.given == 1)))
        (told,) = promising(contest, first, [half])
        assert told.conditions == whole.conditions
        np.testing.assert_array_equal(told.members, whole.members)
        assert len(promising(contest, first, [half, whole, drawn.slices(0)[2]])) == 1, "these are one"
        assert surplus(accused(contest, [told])) > surplus(accused(contest, [half]))


def test_a_condition_that_tells_wrong_rows_from_right_ones_stays() -> None:
    drawn = Drawn(0, train=1500, test=500)
    low = drawn.X[:1500, 0] <= 0.5
    drawn.given[(drawn.train_group == 2) & low] = 1
    contest, _ = drawn.contest()
    conditions = (*drawn.slices()[2].conditions, Condition("x0", "≤", (0.5,)))
    members = np.flatnonzero((drawn.train_group == 2) & low & (drawn.given == 1))
    (told,) = promising(contest, scattered(contest), [Slice(conditions, 1, members, 3.0, looked=20)])
    assert told.conditions == conditions


def test_what_would_not_be_noticed() -> None:
    """What a tenth of wrong labels would gain, label by label, and columns that say nothing."""
    contest, _ = Drawn(0).contest()
    best, gain = scattered(contest), 0.0
    for each in np.exp(best.calibrated.train):
        for label, right in enumerate(each):
            noisy = 0.9 * right + 0.1 * (1.0 - right)
            gain += noisy * np.log(noisy / each[label])
    assert gain > best.charge
    assert best.noticeable
    assert replace(best, charge=gain - 0.01).noticeable
    assert not replace(best, charge=gain + 0.01).noticeable
    flat = replace(best.calibrated, train=np.full_like(best.calibrated.train, np.log(0.5)))
    assert not replace(best, calibrated=flat).noticeable
    third = np.full((500, 1), np.log(1e-6))
    more = replace(best.calibrated, train=np.hstack([flat.train, third]))
    possible = np.tile([True, True, False], (500, 1))
    assert replace(best, calibrated=more).noticeable, "wrong labels of a class that hardly any row looks like"
    assert not replace(best, calibrated=more, possible=possible).noticeable, "such labels are not judged"
    assert not replace(best, possible=np.eye(2, dtype=bool)[contest.labels.codes]).noticeable
