"""Numbers in a verdict agree with the tables, whatever is wrong with the task."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, get_args

import numpy as np
import pytest

import psidebug
from psidebug.causes.claim import Cause
from psidebug.findings.about_tests import error_without_suspects
from tests.causes.rows import Rows, at_random, in_test_slice, in_training_slice, late_is_rare, learner, parcels


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
    return rows.taken("test", np.arange(25))


TASKS: dict[str, tuple[Callable[[Rows], Rows], dict[str, Any]]] = {
    "clean": (lambda rows: rows, {}),
    "training labels of a slice": (in_training_slice, {}),
    "few wrong training labels": (at_random("training", 0.03), {}),
    "training labels here and there": (at_random("training"), {}),
    "test labels of a slice": (in_test_slice, {}),
    "test labels here and there": (at_random("test"), {}),
    "a unit": (in_another_unit, {}),
    "a unit, and training labels": (both(at_random("training"), in_another_unit), {}),
    "a unit, and test labels": (both(in_test_slice, in_another_unit), {}),
    "codes": (with_codes, {}),
    "a column that lost its rows": (shuffled, {}),
    "copies": (copied, {}),
    "copies, and test labels": (both(in_test_slice, copied), {}),
    "other shares": (late_is_rare, {}),
    "another spelling": (spelled, {}),
    "few test rows": (few, {}),
    "a unit, and few test rows": (both(in_another_unit, lambda rows: rows.taken("test", np.arange(80))), {}),
    "some bugs": (at_random("training"), {"bugs": [0, 1, 2]}),
}


@pytest.mark.parametrize("name", TASKS)
def test_the_numbers_of_a_verdict_are_those_of_the_tables(name: str) -> None:
    plant, options = TASKS[name]
    rows = plant(parcels(3, 350, 180))
    model = learner().fit(rows.X_train, rows.y_train)
    wrong = np.flatnonzero(model.predict(rows.X_test) != rows.y_test)
    asked: dict[str, Any] = {"bugs": wrong[: len(options["bugs"])]} if options else {}
    found = psidebug.debug(learner(), *rows.parts, check_fidelity=False, rng=0, **asked)
    verdict = found.verdict

    points = [int(each) for each in re.findall(r"(\d+) test points? (?:is|are) misclassified", verdict)]
    left = int((found.task.predicted != found.task.test.codes).sum())
    assert points[0] == len(wrong)
    assert set(points[1:]) <= {left}, "after the repair"
    if asked:
        assert f"of which {len(asked['bugs'])} were asked about" in verdict

    respelled = found.cause == "label_spelling"
    corrected = 0 if respelled else int((np.asarray(found.repaired_labels) != rows.y_train).sum())
    told = [int(each) for each in re.findall(r"Correcting (\d+) labels?", verdict)]
    assert corrected == found.corrected
    assert told == ([corrected] if corrected else [])
    if corrected:
        assert corrected in found.explanations.loc[found.explanations["proved"], "corrected"].tolist()

    assert not re.search(r"(?<!\d)0% of", verdict)
    assert not re.search(r"\bnan\b|\binf\b", verdict)
    if len(rows.y_test) < 30:
        assert "not to blame" not in verdict
    if "not to blame" in verdict:
        assert not {"training_labels", "test_labels"} & set(found.causes["cause"])
        assert corrected == 0

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
