"""The learner is the cause if others do far better on the same rows, in both sets."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from psidebug.causes import capacity
from psidebug.evidence.held_out import LabelPredictions
from psidebug.evidence.predictors import FOREST, LINEAR, OWN
from psidebug.task.data import Data
from tests.causes.rows import SEEDS, parcels


def sure(codes: npt.NDArray[np.intp], probability: float) -> npt.NDArray[np.float64]:
    """Log probabilities of two classes, with this one for the right label."""
    right = np.eye(2)[codes]
    return np.asarray(np.log(np.where(right > 0, probability, 1 - probability)))


def said(data: Data, name: str, train: float, test: float) -> LabelPredictions:
    return LabelPredictions(name, sure(data.train.codes, train), sure(data.test.codes, test))


@pytest.mark.parametrize("other", [FOREST, LINEAR])
def test_another_learner_that_does_far_better_is_named_with_its_losses(other: str) -> None:
    data = parcels(0).data
    (found,) = capacity.claims(data, [said(data, OWN, 0.55, 0.55), said(data, other, 0.9, 0.8)])
    assert found.cause == "capacity"
    assert other in found.said
    assert f"{-np.log(0.8):.2f}" in found.said
    assert f"{-np.log(0.55):.2f}" in found.said
    assert found.strength == pytest.approx(len(data.test) * np.log(0.8 / 0.55))
    assert found.changes == ()


@pytest.mark.parametrize(
    ("own", "forest"),
    [((0.8, 0.8), (0.8, 0.8)), ((0.8, 0.8), (0.83, 0.83)), ((0.9, 0.9), (0.6, 0.6)),
     ((0.6, 0.8), (0.9, 0.8)), ((0.8, 0.6), (0.8, 0.9))],
)  # fmt: skip
def test_it_must_do_far_better_in_both_sets(own: tuple[float, float], forest: tuple[float, float]) -> None:
    """Where it does in one set only, the labels of the other may be wrong."""
    for seed in SEEDS:
        data = parcels(seed).data
        assert capacity.claims(data, [said(data, OWN, *own), said(data, FOREST, *forest)]) == []


def test_without_the_learner_or_another_nothing_is_said() -> None:
    data = parcels(0).data
    assert capacity.claims(data, []) == []
    assert capacity.claims(data, [said(data, OWN, 0.5, 0.5)]) == []
    assert capacity.claims(data, [said(data, FOREST, 0.9, 0.9)]) == []
