"""Numbers in a verdict agree with the tables, whatever is wrong with the task."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import get_args

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

import psidebug
from psidebug.causes.claim import Cause
from psidebug.cli.findings import as_data
from psidebug.diagnosis.causes import in_order
from psidebug.diagnosis.diagnosis import Diagnosis
from psidebug.findings.about_tests import error_without_suspects
from psidebug.report.summary import summarise
from tests.causes.rows import (
    Rows,
    at_random,
    by_bob,
    in_test_slice,
    in_training_slice,
    late_is_rare,
    learner,
    moved,
    parcels,
    some_of,
    swapped_in_summer,
    three_classes,
)


def in_another_unit(rows: Rows) -> Rows:
    return rows.with_column("test", "weight", rows.X_test["weight"] * 1000)


def with_codes(rows: Rows) -> Rows:
    hit = np.random.default_rng(0).random(len(rows.y_train)) < 0.3
    return rows.with_column("training", "weight", rows.X_train["weight"].where(~hit, -999.0))


def shuffled(rows: Rows) -> Rows:
    return rows.with_column("test", "weight", np.roll(rows.X_test["weight"].to_numpy(), 1))


def copied(rows: Rows) -> Rows:
    some = np.random.default_rng(0).choice(len(rows.y_train), 8, replace=False)
    return rows.taken("training", np.concatenate([np.arange(len(rows.y_train)), np.repeat(some, 30)]))


def spelled(rows: Rows) -> Rows:
    hit = (rows.y_train == "late") & (np.arange(len(rows.y_train)) % 3 == 0)
    return rows.with_labels("training", np.where(hit, "Late ", rows.y_train.astype(object)))


def both(one: Callable[[Rows], Rows], other: Callable[[Rows], Rows]) -> Callable[[Rows], Rows]:
    return lambda rows: other(one(rows))


def few(rows: Rows) -> Rows:
    return rows.taken("test", np.arange(20))


def one_sided(rows: Rows) -> Rows:
    hit = (rows.y_train == "late") & (np.random.default_rng(5).random(len(rows.y_train)) < 0.35)
    return rows.with_labels("training", moved(rows.y_train, hit))


def lost_bags(rows: Rows) -> Rows:
    rows = three_classes(rows)
    hit = (rows.X_train["kind"] == "bag").to_numpy() & (rows.y_train == "lost")
    return rows.with_labels("training", np.where(hit, "punctual", rows.y_train))


def of_three_at_random(rows: Rows) -> Rows:
    rows, rng = three_classes(rows), np.random.default_rng(5)
    hit, drawn = rng.random(len(rows.y_train)) < 0.2, rng.choice(["late", "lost", "punctual"], len(rows.y_train))
    return rows.with_labels("training", np.where(hit, drawn, rows.y_train))


def hardly_lost(rows: Rows) -> Rows:
    """Two test rows of a class; those of the others are as they were."""
    rows = some_of(three_classes(rows), "bag", 1.0, way="late")
    lost = np.flatnonzero(rows.y_test == "lost")[2:]
    return rows.taken("test", np.setdiff1d(np.arange(len(rows.y_test)), lost))


def too_noisy(rows: Rows) -> Rows:
    """In both sets nearly half of the labels are drawn by chance: nothing could be noticed."""
    return at_random("test", 0.45)(at_random("training", 0.45)(rows))


def plain(plant: Callable[[Rows], Rows]) -> Callable[[Rows], tuple[Rows, pd.DataFrame | None]]:
    return lambda rows: (plant(rows), None)


TASKS: dict[str, Callable[[Rows], tuple[Rows, pd.DataFrame | None]]] = {
    "clean": plain(lambda rows: rows),
    "training labels of a slice": plain(in_training_slice),
    "a quarter of a slice": plain(lambda rows: some_of(rows, "box", 0.25)),
    "half of a slice, one way": plain(lambda rows: some_of(rows, "bag", 0.5, way="late")),
    "all of a slice": plain(lambda rows: some_of(rows, "tube", 1.0)),
    "an annotator": by_bob,
    "swapped classes in summer": swapped_in_summer,
    "few wrong training labels": plain(at_random("training", 0.03)),
    "training labels here and there": plain(at_random("training")),
    "training labels of one class": plain(one_sided),
    "three classes, a slice": plain(lost_bags),
    "three classes, here and there": plain(of_three_at_random),
    "a class with two test rows": plain(hardly_lost),
    "test labels of a slice": plain(in_test_slice),
    "test labels here and there": plain(at_random("test")),
    "a unit": plain(in_another_unit),
    "a unit, and training labels": plain(both(at_random("training"), in_another_unit)),
    "a unit, and test labels": plain(both(in_test_slice, in_another_unit)),
    "codes": plain(with_codes),
    "a column that lost its rows": plain(shuffled),
    "copies": plain(copied),
    "copies, and test labels": plain(both(in_test_slice, copied)),
    "other shares": plain(late_is_rare),
    "another spelling": plain(spelled),
    "twenty test rows": plain(few),
    "twenty test rows, and a slice": plain(both(in_training_slice, few)),
    "forty test rows": plain(lambda rows: rows.taken("test", np.arange(40))),
    "too noisy": plain(too_noisy),
    "a unit, and few test rows": plain(both(in_another_unit, lambda rows: rows.taken("test", np.arange(80)))),
    "some bugs": plain(at_random("training")),
    "some bugs of a slice": plain(in_training_slice),
}
FORBIDDEN = r"(?<![\d.])0%|\bnan\b|\binf\b|\bnats?\b|gray box|newton|nothing can be said"


@dataclass(frozen=True, eq=False)
class Case:
    """A task with its diagnosis."""

    name: str
    rows: Rows
    metadata: pd.DataFrame | None
    wrong: npt.NDArray[np.intp]
    """Test rows that the model gets wrong."""
    asked: npt.NDArray[np.intp] | None
    found: Diagnosis

    @property
    def changed(self) -> npt.NDArray[np.bool_]:
        """Which training labels the correction changes; a class that is respelled is no correction."""
        return np.asarray(self.found.repaired_labels != self.rows.y_train) & (self.found.cause != "label_spelling")


OFTEN = (
    "clean", "training labels of a slice", "half of a slice, one way", "an annotator", "swapped classes in summer",
    "three classes, a slice", "test labels of a slice", "a unit, and training labels", "copies, and test labels",
    "twenty test rows", "forty test rows", "some bugs of a slice",
)  # fmt: skip
"""The others are run with the thorough tests."""


@pytest.fixture(
    scope="module",
    params=[pytest.param(each, marks=() if each in OFTEN else pytest.mark.thorough) for each in TASKS],
)
def case(request: pytest.FixtureRequest) -> Case:
    rows, metadata = TASKS[request.param](parcels(3, 350, 180))
    model = learner().fit(rows.X_train, rows.y_train)
    wrong = np.flatnonzero(model.predict(rows.X_test) != rows.y_test)
    asked = wrong[:3] if "some bugs" in request.param else None
    found = psidebug.debug(
        learner(), *rows.parts, bugs=asked, metadata=metadata, check_fidelity=False, rng=0
    )  # fmt: skip
    return Case(request.param, rows, metadata, wrong, asked, found)


def test_the_numbers_of_a_verdict_are_those_of_the_tables(case: Case) -> None:
    found, verdict = case.found, case.found.verdict
    points = [int(each) for each in re.findall(r"(\d+) test points? (?:is|are) misclassified", verdict)]
    left = int((found.task.predicted != found.task.test.codes).sum())
    assert points[0] == len(case.wrong)
    assert set(points[1:]) <= {left}, "after the repair"
    if case.asked is not None:
        assert f"of which {len(case.asked)} were asked about" in verdict

    corrected = int(case.changed.sum())
    told = [int(each) for each in re.findall(r"Correcting (\d+) labels?", verdict)]
    assert corrected == found.corrected
    assert told == ([corrected] if corrected else [])
    if corrected:
        assert corrected in found.explanations.loc[found.explanations["proved"], "corrected"].tolist()
    causes = found.causes
    assert found.cause == causes["cause"].iloc[0]
    assert set(causes["cause"]) <= set(get_args(Cause))
    assert causes["evidence"].is_monotonic_decreasing
    assert (causes["evidence"] >= 0).all()
    assert causes["share"].between(0, 1).all()
    if found.cause not in ("none", "cannot_say", "training_labels"):
        assert causes["said"].iloc[0] in verdict
    sure = len(found.suspect_tests)
    where = causes.loc[causes["cause"] == "test_labels", "where"].tolist()
    assert where == ([f"{sure} test labels"] if "test_labels" in set(causes["cause"]) else [])
    assert sure > 0 or not where
    for advice in causes.loc[causes["cause"] == "test_labels", "advice"]:
        assert str(error_without_suspects(found.found)) in advice, "the same figures as in JSON and on the page"


def test_how_many_labels_to_correct_is_one_number(case: Case) -> None:
    found, corrected = case.found, int(case.changed.sum())
    assert found.curve is not None
    assert found.curve.points[found.curve.chosen].corrected == corrected
    curve = found.threshold_curve
    assert curve.loc[curve["chosen"], "corrected"].tolist() == [corrected]
    summary = summarise(found.with_proof.found, found.data, bugs=0, rows=False)
    assert summary.curve is not None
    assert summary.curve["corrected"] == (summary.effect or {"corrected": 0})["corrected"] == corrected
    assert as_data(found)["corrected"] == corrected
    assert corrected <= len(found.order), "what is corrected is a suspect"
    assert set(np.flatnonzero(case.changed)) <= set(found.order.tolist())


def test_slices_say_how_many_of_their_rows_are_wrong(case: Case) -> None:
    found = case.found
    for line, one in zip(found.slices.itertuples(), found.findings.slices, strict=True):
        members = one.members(found.data)
        assert line.rows == len(members)
        assert f"of the {line.rows:,} rows with {line.condition}, labelled '{line.given}'" in line.said
        assert line.corrected <= line.rows
        assert line.suspects == line.corrected / line.rows > 0
        if one.proved:
            assert line.corrected == case.changed[members].sum()
            stated = re.match(r"about (\d+)%", line.said)
            share = int(stated[1]) / 100 if stated else 1.0
            assert found.p_wrong[members].mean() == pytest.approx(share, abs=0.005 if stated else 0.1)
            right = set(found.repaired_labels[members][case.changed[members]])
            assert set(re.findall(r"'(\w+)'", line.said.partition("should be")[2])) <= right
    proved = [one for one in found.findings.slices if one.proved]
    if proved:
        inside = np.unique(np.concatenate([one.members(found.data) for one in proved]))
        there = int(case.changed[inside].sum())
        said = re.findall(r"(\d+) of them in these rows", found.verdict)
        assert said == ([str(there)] if there < found.corrected else [])


def test_what_cannot_be_said_is_not_said(case: Case) -> None:
    found, few_rows = case.found, len(case.rows.y_test) < 30
    texts = [found.verdict, *found.explanations["explanation"], *found.causes["said"], *found.slices["said"]]
    for text in texts:
        assert not re.search(FORBIDDEN, text), text
    if few_rows or found.cause == "cannot_say":
        assert "not to blame" not in found.verdict
        assert "%" not in found.verdict.replace("10% of wrong labels would go unnoticed", "")
        assert not case.changed.any()
        assert len(found.slices) == 0
    if "not to blame" in found.verdict:
        assert not {"training_labels", "test_labels"} & set(found.causes["cause"])
        assert not case.changed.any()
    for note in found.notes:
        if "are not judged" in note:
            named = re.findall(r"'(\w+)'", note)
            before, after = np.asarray(case.rows.y_train)[case.changed], found.repaired_labels[case.changed]
            assert not set(named) & {*before, *after}


def test_cases_are_those_that_they_should_be(case: Case) -> None:
    verdict = case.found.verdict
    match case.name:
        case "an annotator":
            assert re.search(r"about \d+% of the 90 rows with annotator = bob are mislabelled, ", verdict)
            assert verdict.count("instead of") == 1
            assert "and the other way round" in verdict
            assert set(case.found.slices["condition"]) == {"annotator = bob"}
        case "swapped classes in summer":
            assert re.search(r"rows with day between [-\d]+ and [-\d]+ are mislabelled", verdict)
            assert "and the other way round" in verdict
        case "half of a slice, one way":
            assert re.search(r"about \d+% of the \d+ rows with kind = bag, labelled 'punctual'", verdict)
        case "too noisy" | "forty test rows":
            assert "it cannot be said whether labels are to blame" in verdict
        case "twenty test rows" | "twenty test rows, and a slice":
            assert "the test set is too small to say whether labels are to blame" in verdict
        case "clean":
            assert "The labels are probably not to blame" in verdict


def test_that_nothing_is_proved_is_not_told_as_if_nothing_were_wrong() -> None:
    """The verdict beside it may say that labels are probably wrong, and worth a look."""
    (none,) = in_order((), enough=True)
    assert none.said == "nothing is proved to be wrong with the rows, the labels or the learner"
