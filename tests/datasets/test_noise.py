"""Planted errors: as many as said, where said, and the words and the condition tell the same."""

from __future__ import annotations

import numpy as np
import pytest

from psidebug.datasets.noise import Fault, marked_demographic, marked_range, marked_word, one_sided, plant, scattered
from psidebug.errors import InputError, UnknownOption
from psidebug.slices.conditions import Condition
from psidebug.task.tables import frame_like

CLASSES = ("no", "yes")


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.mark.chance(1e-5)
@pytest.mark.parametrize("classes", [("a", "b"), ("a", "b", "c", "d")])
def test_scattered_errors_are_other_classes_all_equally_often(classes: tuple[str, ...]) -> None:
    clean = np.repeat(np.arange(len(classes)), 30_000)
    given, planted = scattered(clean, classes, rng())
    assert (given != clean).sum() == 3000 * len(classes)
    assert set(given.tolist()) == set(range(len(classes)))
    moved = (given - clean)[given != clean] % len(classes)
    share = np.bincount(moved, minlength=len(classes))[1:] / len(moved)
    # 12,000 moves over three classes: four standard deviations are 0.017.
    np.testing.assert_allclose(share, 1 / (len(classes) - 1), atol=0.02)
    assert str(planted) == "10% of the labels, at random, are moved to another class"
    assert planted.fault is None


def test_one_sided_errors_are_class_1_marked_0() -> None:
    clean = np.repeat([0, 1, 2], [50, 40, 10])
    given, planted = one_sided(clean, ("a", "b", "c"), rng())
    changed = given != clean
    assert changed.sum() == 12
    assert set(clean[changed].tolist()) == {1}
    assert set(given[changed].tolist()) == {0}
    assert str(planted) == "30% of class b, at random, are marked a"


def test_a_fault_marks_every_row_that_meets_its_condition() -> None:
    X = np.arange(10.0)[:, None]
    clean = np.array([0, 1] * 5)
    fault = Fault(Condition("x0", ">", (6.0,)), 0)
    given, planted = plant("systematic", clean, CLASSES, rng=rng(), table=X, fault=lambda: fault)
    assert given.tolist() == [0, 1, 0, 1, 0, 1, 0, 0, 0, 0]
    assert clean.tolist() == [0, 1] * 5, "the right labels stay as they were"
    assert planted.fault == fault
    assert str(planted) == "every row with x0 > 6 is marked no"


def test_no_noise_looks_for_no_fault_and_an_unknown_kind_is_told() -> None:
    clean = np.array([0, 1])

    def fault() -> Fault:
        raise AssertionError("not asked for")

    given, planted = plant("none", clean, CLASSES, rng=rng(), table=clean, fault=fault)
    assert given.tolist() == [0, 1]
    assert str(planted) == "nothing"
    with pytest.raises(UnknownOption, match="systematic, random, one_sided, none, not 'slice'"):
        plant("slice", clean, CLASSES, rng=rng(), table=clean, fault=fault)  # type: ignore[arg-type]


def test_the_word_is_one_that_changes_a_tenth_of_the_labels() -> None:
    clean = np.repeat([0, 1], 100)
    texts = np.array([f"film number{row} " for row in range(200)], dtype=object)
    texts[100:120] += "Superb."  # 20 positive ones: 10% of the labels
    texts[:20] += "dreadful"  # in as many, but marking them negative changes nothing
    texts[100:130] += "nice"
    for seed in range(5):
        found = marked_word(texts, clean, np.random.default_rng(seed))
        assert found == Fault(Condition("text", "contains", ("superb",)), 0)


def test_the_demographic_has_about_a_tenth_of_the_rows() -> None:
    table = frame_like(
        {
            "age": np.repeat([20.0, 40.0], [10, 90]),  # as large, but no category
            "city": np.repeat(["Oslo", "Lima", "Rome"], [10, 30, 60]),
            "sex": np.repeat(["f", "m"], 50),
        },
        None,
    )
    assert marked_demographic(table, np.zeros(100, dtype=np.intp), rng()) == Fault(Condition("city", "=", ("Oslo",)), 1)


def test_the_range_changes_a_tenth_of_the_labels_in_at_most_three_tenths_of_the_rows() -> None:
    clean = np.array([0, 1] * 100)
    narrow = np.arange(200.0)  # the upper 40 have 20 of class 1
    wide = np.where(clean == 1, narrow - 200.0, narrow)  # class 1 is below all of class 0
    tied = np.repeat([0.0, 1.0], 100)  # half of the rows or none
    X = np.column_stack([wide, tied, narrow])
    for seed in range(5):
        fault = marked_range(X, clean, np.random.default_rng(seed))
        assert fault.condition.column == "x2"
        assert (clean[fault.condition.holds(X)] == 1).sum() == 20
        assert fault.marked == 0
    with pytest.raises(InputError, match="Choose another seed"):
        marked_range(X[:, :2], clean, rng())
