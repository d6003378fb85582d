"""``psi bench nets``: nets trained together are those that are trained alone, and changes are what they say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from benchmarks.nets.measured import MOVED, SORTS, _changes
from benchmarks.nets.tasks import NetTask, task_of


def small_digits() -> NetTask:
    task = task_of("digits", 0)
    return replace(
        task,
        X_train=task.X_train[:160],
        truth=task.truth[:160],
        X_test=task.X_test[:20],
        y_test=task.y_test[:20],
        epochs=2,
    )


def test_nets_trained_together_are_those_trained_alone() -> None:
    task = small_digits()
    worlds = np.stack([task.truth, (task.truth + 1) % 10])
    together = task.scores_after(worlds, 5)
    for world, scores in zip(worlds, together, strict=True):
        net, _ = task.trained(world, 5)
        with torch.no_grad():
            alone = net(torch.from_numpy(task.X_test)).double().numpy()
        np.testing.assert_allclose(scores, alone, atol=1e-4)
    assert np.abs(together[0] - together[1]).max() > 0.05


@pytest.mark.parametrize("sort", SORTS)
def test_changes_are_what_they_say(sort: str) -> None:
    task = small_digits()
    task = replace(task, truth=np.repeat(np.arange(10), 200))
    given = np.where(np.arange(2_000) % 5 == 0, (task.truth + 3) % 10, task.truth)
    worlds = _changes(sort, given, task, 5, np.random.default_rng(0))
    moved = worlds != given
    assert (moved.sum(axis=1) == MOVED).all()
    classes = [len(set(given[each])) for each in moved]
    assert (max(classes) == 1) == (sort == "one class")
    assert all((world == task.truth)[each].all() for world, each in zip(worlds, moved, strict=True)) == (
        sort == "corrected"
    )
