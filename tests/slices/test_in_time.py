"""Labels that were made by another rule for some time: which ranges and conditions are found, and by what number."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier

from psidebug.slices.binned import Binned
from psidebug.slices.conditions import Slice
from psidebug.slices.in_time import RATES, Periods, slices_in_time
from psidebug.task.columns import column_of
from psidebug.task.task import Task

Floats = npt.NDArray[np.float64]
COUNT = 2000
P = 0.3
"""Of label 1, whatever the row is like."""


class Year:
    """Rows of a year, with labels that follow P but where a test changes them."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        days = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 366, COUNT), unit="D")
        self.metadata = pd.DataFrame({"date": days, "source": rng.choice(["a", "b"], COUNT)})
        self.X = pd.DataFrame({"city": rng.choice(["Bonn", "Lima", "Oslo"], COUNT), "age": rng.integers(20, 70, COUNT)})
        self.labels = (rng.random(COUNT) < P).astype(int)
        self.rng = rng

    def months(self, first: int, last: int) -> npt.NDArray[np.bool_]:
        return np.asarray(self.metadata["date"].dt.month.between(first, last))

    def lives_in(self, city: str) -> npt.NDArray[np.bool_]:
        return np.asarray(self.X["city"] == city)

    @property
    def task(self) -> Task:
        ids = [f"r{row}" for row in range(COUNT)]
        model = DummyClassifier(strategy="prior")
        return Task.of(
            model, self.X, self.labels, self.X[:50], self.labels[:50], metadata=self.metadata, rows=ids
        )  # fmt: skip

    def found(self, p: float | Floats = P) -> list[Slice]:
        task, of_one = self.task, np.broadcast_to(p, COUNT)
        log_p = np.log(np.column_stack([1.0 - of_one, of_one]))
        return slices_in_time(task, log_p, most=4, within=Binned.of(task))


def joined(found: list[Slice]) -> list[Slice]:
    return [each for each in found if len(each.conditions) == 2]


@pytest.mark.parametrize(("label", "city"), [(0, "Lima"), (1, "Oslo")])
def test_a_rule_of_two_months_for_one_city_is_found_and_told_in_months(label: int, city: str) -> None:
    year = Year(label)
    year.labels[year.lives_in(city) & year.months(9, 10)] = label
    first = joined(year.found())[0]
    assert first.condition == f"date between 2024-09 and 2024-10 and city = {city}"
    assert first.given == label
    np.testing.assert_array_equal(
        first.members, np.flatnonzero(year.lives_in(city) & year.months(9, 10) & (year.labels == label))
    )


def test_z_is_made_of_the_nats_that_a_rate_gains_inside() -> None:
    """Outside nothing gains, so that nothing is taken off; all labels inside are 1, and the highest rate is best."""
    year = Year(2)
    inside = year.lives_in("Lima") & year.months(9, 10)
    year.labels[inside] = 1
    nats = inside.sum() * np.log(P + max(RATES) * (1.0 - P)) - inside.sum() * np.log(P)
    assert joined(year.found())[0].z == pytest.approx(np.sqrt(2.0 * nats))


def test_what_predictors_get_wrong_at_all_times_is_no_change() -> None:
    """Of Lima all labels are 1, which nobody predicted: without other times as witnesses its z would be above 30."""
    year = Year(3)
    year.labels[year.lives_in("Lima")] = 1
    of_lima = [each for each in joined(year.found()) if "Lima" in each.condition]
    assert all(each.z < 5.0 for each in of_lima)


def test_labels_that_are_flipped_both_ways_for_a_month_need_no_further_condition() -> None:
    year = Year(4)
    p = year.rng.choice([0.05, 0.95], COUNT)
    year.labels = (year.rng.random(COUNT) < p).astype(int)
    flipped = year.months(2, 2) & (year.rng.random(COUNT) < 0.5)
    year.labels[flipped] = 1 - year.labels[flipped]
    first = year.found(p)[0]
    assert first.condition == "date = 2024-02"


def test_a_range_is_charged_with_ranges_and_a_range_with_a_condition_with_both() -> None:
    found = Year(5).found()
    alone = {each.looked for each in found if len(each.conditions) == 1}
    both = {each.looked for each in joined(found)}
    assert len(alone) == len(both) == 1
    assert max(alone) * 50 < max(both)


def test_without_dates_there_is_nothing_to_scan() -> None:
    year = Year(6)
    year.metadata = year.metadata.drop(columns="date")
    assert year.found() == []


def test_a_further_condition_is_never_another_one_on_the_date() -> None:
    year = Year(7)
    year.labels[year.months(9, 10)] = 1
    assert all(each.columns.count("date") == 1 for each in year.found())


@pytest.mark.parametrize("span", ["366D", "3650D", "30h", "3D"])
def test_the_condition_holds_for_the_rows_of_its_periods_and_for_no_others(span: str) -> None:
    """Also where a date is missing; ranges at both ends, in the middle, and of one period."""
    rng = np.random.default_rng(8)
    dates: Any = pd.Series(pd.Timestamp("2024-01-01") + pd.Timedelta(span) * rng.random(300)).dt.floor("h")
    dates[:5] = pd.NaT
    frame = pd.DataFrame({"date": dates})
    periods = Periods.of(column_of(frame, "date"), "metadata", np.arange(300))
    assert periods is not None
    end = len(periods) - 1
    for first, last in [(0, 2), (end - 1, end), (2, 4), (3, 3)]:
        held = (periods.of_row >= first) & (periods.of_row <= last)
        np.testing.assert_array_equal(periods.condition(first, last).holds(frame), held)
