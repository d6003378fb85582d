"""Every test that chance can fail says how often, by its marker ``chance``; all of them together say too.

Seeds are fixed, so a test that passes goes on passing; but whoever changes how numbers are drawn draws anew, and is
not to be stopped by chance then. Nothing is retried.
"""

from __future__ import annotations

import re

import pytest
from scipy.stats import binom

from tests.chance import allowed
from tests.conftest import COLLECTED, Budgeted

WHOLE_SUITE = 0.02
"""P(some test fails though nothing is wrong), at most: the sum of all budgets."""
ONE_TEST = 0.005
TALKS_OF_CHANCE = re.compile(r"false alarm|budget:|standard errors? of|\b(of|in) (the )?[\d,]+ (draws|runs)\b", re.I)


@pytest.fixture
def collected(request: pytest.FixtureRequest) -> list[Budgeted]:
    """Every test that this run has found, the ones that it does not choose included."""
    return request.config.stash[COLLECTED]


def test_the_whole_suite_gives_a_false_alarm_in_less_than_two_percent(collected: list[Budgeted]) -> None:
    budgets = {each.name: each.budget for each in collected if each.budget is not None}
    assert sum(budgets.values()) < WHOLE_SUITE, budgets
    assert all(0 < budget <= ONE_TEST for budget in budgets.values()), budgets


def test_who_talks_of_chance_states_a_budget(collected: list[Budgeted]) -> None:
    own = re.compile(r"test_budget\.py")
    assert [
        each.name
        for each in collected
        if each.budget is None and TALKS_OF_CHANCE.search(each.says) and not own.search(each.name)
    ] == []


def test_everything_in_this_folder_states_one(collected: list[Budgeted]) -> None:
    here = [each for each in collected if "statistical/" in each.name and "test_budget.py" not in each.name]
    assert [each.name for each in here if each.budget is None] == []


def test_nothing_is_retried(request: pytest.FixtureRequest) -> None:
    for plugin in ("rerunfailures", "flaky"):
        assert not request.config.pluginmanager.hasplugin(plugin)


@pytest.mark.parametrize(("draws", "rate", "budget"), [(20, 0.05, 1e-3), (200, 0.01, 1e-2), (5, 0.01, 1e-3)])
def test_the_allowance_is_the_smallest_within_the_budget(draws: int, rate: float, budget: float) -> None:
    most = allowed(draws, rate, budget)
    assert binom.sf(most, draws, rate) <= budget < binom.sf(most - 1, draws, rate)
