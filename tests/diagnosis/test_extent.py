"""How many labels an explanation calls wrong, and in which directions, in words."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from psidebug.diagnosis.extent import about, directions, extent_of
from psidebug.diagnosis.repair import told
from psidebug.diagnosis.verdict import notes_on_classes
from psidebug.evidence.hypotheses import Hypothesis
from psidebug.evidence.noise_rates import even_rates
from psidebug.slices.conditions import Condition, Slice
from psidebug.task.data import LabelledSet
from psidebug.task.labels import Encoding

ENCODING = Encoding(("high", "low", "mid"))
HIGH, LOW, MID = range(3)
WHO = Condition("who", "=", ("bob",)), Condition("age", ">", (30,))
Codes = npt.NDArray[np.intp]


def explained(given: list[int], truth: list[int], *slices: tuple[int, int, int], size: int = 3) -> tuple[Any, Any]:
    """A task with these labels, and the hypothesis that the true ones are others; slices are label, first, end."""
    codes, right = np.array(given), np.array(truth)
    groups = np.zeros(len(codes), dtype=np.intp)
    made = []
    for number, (label, first, end) in enumerate(slices, start=1):
        groups[first:end] = number
        rows = np.arange(first, end)
        made.append(Slice(WHO[number - 1 : number], label, rows[codes[first:end] == label], 3.0))
    rates = even_rates(size, 0.2)
    by = Hypothesis(
        tuple(made), SimpleNamespace(), groups, (rates, *[rates] * len(made)), np.eye(size)[right], 0.0, 0.0  # type: ignore[arg-type]
    )  # fmt: skip
    return SimpleNamespace(train=SimpleNamespace(codes=codes), encoding=ENCODING), by


def test_one_direction_has_its_label_and_its_share() -> None:
    task, by = explained([LOW] * 10 + [HIGH] * 10, [HIGH] * 3 + [LOW] * 7 + [HIGH] * 10, (LOW, 0, 15))
    assert (
        told(task, by)
        == "about 30% of the 10 rows with who = bob, labelled 'low', are mislabelled and should be 'high'"
    )
    extent = extent_of(by.slices[0], by, task.train.codes)
    assert (extent.corrected, extent.rows.tolist()) == (3, list(range(10)))
    assert told(task, by, kind="test ").startswith("about 30% of the 10 test rows with who = bob")


def test_nearly_all_and_several_classes() -> None:
    task, by = explained([LOW] * 10 + [HIGH] * 10, [HIGH] * 5 + [MID] * 5 + [HIGH] * 10, (LOW, 0, 10))
    assert told(task, by) == (
        "nearly all of the 10 rows with who = bob, labelled 'low', are mislabelled and should be 'high' or 'mid'"
    )


def test_classes_that_are_not_all_named_are_others() -> None:
    task, by = explained([LOW] * 16, [HIGH] * 4 + [MID] * 4 + [3] * 4 + [4] * 4, (LOW, 0, 16), size=5)
    task.encoding = Encoding(("high", "low", "mid", "none", "some"))
    assert told(task, by).endswith("are mislabelled and should be others, most often 'high'")


def test_both_directions_are_named_and_each_label_is_a_part() -> None:
    given, truth = [LOW] * 10 + [HIGH] * 10 + [MID] * 5, [HIGH] * 4 + [LOW] * 8 + [HIGH] * 8 + [MID] * 5
    task, by = explained(given, truth, (LOW, 0, 20))
    assert told(task, by) == (
        "about 30% of the 20 rows with who = bob are mislabelled, 'low' instead of 'high' and the other way round"
    )
    extent = extent_of(by.slices[0], by, task.train.codes)
    first, second = extent.of_each_part()
    assert (first.parts[0].given, first.corrected, second.parts[0].given, second.corrected) == (LOW, 4, HIGH, 2)
    assert np.isnan(second.parts[0].z), "nobody has searched for it"
    assert first.parts[0].z == 3.0


def test_a_direction_with_less_than_a_tenth_of_the_labels_is_not_named() -> None:
    given, truth = [LOW] * 30 + [HIGH] * 30, [HIGH] * 30 + [LOW] * 2 + [HIGH] * 28
    task, by = explained(given, truth, (LOW, 0, 60))
    assert told(task, by).endswith(
        "of the 30 rows with who = bob, labelled 'low', are mislabelled and should be 'high'"
    )


def test_a_slice_in_which_another_label_is_wrong_is_no_exception() -> None:
    given, truth = [LOW] * 10 + [HIGH] * 10, [LOW] * 10 + [LOW] * 10
    task, by = explained(given, truth, (LOW, 0, 20))
    assert by.excepted == by.slices
    assert "but not those" not in told(task, by)
    task, by = explained(given, given, (LOW, 0, 20))
    assert told(task, by).endswith("but not those with who = bob")


def test_two_slices_and_an_exception() -> None:
    given, truth = [LOW] * 20 + [HIGH] * 20, [HIGH] * 10 + [LOW] * 10 + [HIGH] * 20
    task, by = explained(given, truth, (LOW, 0, 20), (HIGH, 20, 40))
    assert told(task, by) == (
        "about 50% of the 20 rows with who = bob, labelled 'low', are mislabelled and should be 'high', "
        "but not those with age > 30"
    )
    _, both = explained(given, [HIGH] * 20 + [LOW] * 20, (LOW, 0, 20), (HIGH, 20, 40))
    assert told(task, both).split("; ")[1] == (
        "nearly all of the 20 rows with age > 30, labelled 'high', are mislabelled and should be 'low'"
    )


def test_scattered_errors_have_a_share_of_all_labels_and_the_most_frequent_direction() -> None:
    task, by = explained([LOW] * 10 + [HIGH] * 10, [HIGH] * 4 + [LOW] * 6 + [LOW] * 2 + [HIGH] * 8)
    assert told(task, by) == "labels are wrong here and there, about 30% of the 20", "the rates are even"
    uneven = replace(by, rates=(np.array([[0.9, 0.1, 0.0], [0.2, 0.8, 0.0], [0.0, 0.0, 1.0]]),))
    assert told(task, uneven).endswith("about 30% of the 20, most often 'low' instead of 'high'")
    assert told(task, replace(by, follow=0.3)).startswith(
        "labels are wrong where rows look like another class, about 30%"
    )
    assert told(task, uneven, kind="test ").startswith("test labels are wrong here and there")
    assert told(task, replace(by, posterior=np.eye(3)[task.train.codes])) == "no label is wrong"


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (0.0004, "less than 1%"),
        (0.0051, "about 1%"),
        (0.24, "about 24%"),
        (0.997, "more than 99%"),
        (1.0, "about 100%"),
    ],
)
def test_a_share_is_never_zero(share: float, words: str) -> None:
    assert about(share) == words


def test_many_directions_are_not_listed() -> None:
    pairs = [(HIGH, LOW), (HIGH, MID), (LOW, MID), (MID, LOW)]
    assert directions(pairs, ENCODING) == directions([], ENCODING) == "in many directions"
    assert directions(pairs[1:3], ENCODING) == "'high' instead of 'mid' or 'low' instead of 'mid'"


def test_labels_that_change_are_judged() -> None:
    given, test = np.array([HIGH, LOW, MID, MID]), np.array([HIGH] * 5 + [LOW] * 5)
    train, tested = LabelledSet(np.zeros((4, 1)), given), LabelledSet(np.zeros((10, 1)), test)
    task: Any = SimpleNamespace(train=train, test=tested, encoding=ENCODING)
    assert notes_on_classes(task, given) == ("too few test rows have the class 'mid': such labels are not judged",)
    assert notes_on_classes(task, np.array([HIGH, LOW, MID, LOW])) == ()
