"""What every gray box must hold, whatever its learner: each check takes a subject and fails if its promise is broken.

A promise that some box does not make is named in its entry, with the reason.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import spearmanr

from psidebug.graybox.choose import graybox_for
from psidebug.graybox.protocol import GrayBox, LinearGrayBox, coefficients_of
from psidebug.graybox.retrain import Retrain
from psidebug.graybox.surrogate import Surrogate
from psidebug.margins import loss_weights
from psidebug.task.task import Task

Floats = npt.NDArray[np.float64]
ROWS, POINTS = 240, 60
ORDER_OF_ROWS, NAMES_OF_CLASSES = "the order of rows", "the names of classes"


@dataclass(frozen=True)
class Entry:
    """A gray box in the suite: a learner that it knows, and what is asked of it beyond what is asked of all."""

    learner: Callable[..., Any]
    follows: float
    """Least rank correlation with retraining, over groups of twelve labels: see :func:`agreement`."""
    linear: bool = True
    adds_up: bool = True
    """False if margins are exact in every world and effects those of one label: several need not add up."""
    weighs: bool = True
    """Whether the learner takes sample weights."""
    knows_classes: bool = False
    """Whether the learner is made for a number of classes, as a net is."""
    depends_on: frozenset[str] = frozenset()
    """On what its answers depend though the data do not: see the entry for the reason."""


def data(classes: int) -> tuple[Floats, npt.NDArray[np.intp], Floats, npt.NDArray[np.intp]]:
    """Rows whose classes are curved in the features, and test rows."""
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(ROWS + POINTS, 5)), 2)
    z = 2.0 * X[:, 0] + X[:, 1] ** 2 + 0.7 * rng.normal(size=len(X))
    y = np.digitize(z, np.quantile(z, np.arange(1, classes) / classes))
    return X[:ROWS], y[:ROWS], X[ROWS:], y[ROWS:]


@dataclass(frozen=True, eq=False)
class Subject:
    """One gray box on one small task, with two classes or three, with weights or without."""

    name: str
    entry: Entry
    classes: int
    weighted: bool

    @property
    def weights(self) -> Floats | None:
        """Sample weights (N,)."""
        return np.random.default_rng(2).uniform(0.3, 3.0, size=ROWS) if self.weighted else None

    def learner(self) -> Any:
        """Unfitted."""
        return self.entry.learner(self.classes) if self.entry.knows_classes else self.entry.learner()

    @cached_property
    def task(self) -> Task:
        """The task."""
        return Task.of(self.learner(), *data(self.classes), sample_weight=self.weights)

    @cached_property
    def box(self) -> GrayBox:
        """The gray box of that name."""
        return graybox_for(self.task, self.name)

    @cached_property
    def worlds(self) -> npt.NDArray[np.intp]:
        """Worlds in which twelve labels have moved."""
        rng, given = np.random.default_rng(1), self.task.train.codes
        worlds = np.tile(given, (8, 1))
        for world in worlds:
            moved = rng.choice(ROWS, 12, replace=False)
            world[moved] = (world[moved] + rng.integers(1, self.classes, 12)) % self.classes
        return worlds


def is_what_its_name_says(subject: Subject) -> None:
    assert subject.box.name == subject.name
    assert isinstance(subject.box, LinearGrayBox) == subject.entry.linear


def given_world_is_the_learner_as_it_is(subject: Subject) -> None:
    task = subject.task
    own = task.margins(task.learner, task.test)
    assert own.shape == (POINTS, subject.classes - 1)
    np.testing.assert_allclose(subject.box.margins(task.train.codes[None])[0], own, rtol=1e-9, atol=1e-12)
    if isinstance(subject.box, LinearGrayBox):
        np.testing.assert_array_equal(subject.box.actual, own)


def other_worlds_are_others(subject: Subject) -> None:
    changes = subject.box.margins(subject.worlds) - subject.box.margins(subject.task.train.codes[None])
    assert np.isfinite(changes).all()
    assert (np.abs(changes).max(axis=(1, 2)) > 1e-3).all()


def worlds_are_answered_alike_alone_and_in_a_batch(subject: Subject) -> None:
    together = subject.box.margins(subject.worlds)
    alone = np.concatenate([subject.box.margins(world[None]) for world in subject.worlds])
    np.testing.assert_allclose(together, alone, rtol=1e-9, atol=1e-9)
    assert subject.box.margins(subject.worlds[:0]).shape == (0, POINTS, subject.classes - 1)


def points_are_a_choice_of_rows(subject: Subject) -> None:
    choice_of_points(subject.box, subject.worlds, np.array([7, 3, 50]))


def choice_of_points(
    box: GrayBox, worlds: npt.NDArray[np.intp], points: npt.NDArray[np.intp], *, precision: float = 1e-9
) -> None:
    """Asking for some points gives their margins; many worlds and few points may be solved from the points' side."""
    many = np.concatenate([worlds] * 8)
    for some in (worlds, many):
        whole = box.margins(some)[:, points]
        np.testing.assert_allclose(box.margins(some, points), whole, rtol=precision, atol=precision)


def effects_add_up_to_margins(subject: Subject) -> None:
    if isinstance(subject.box, LinearGrayBox) and subject.entry.adds_up:
        effects_of_worlds(subject.box, subject.task, subject.worlds)


def effects_that_do_not_add_up_are_those_of_single_labels(subject: Subject) -> None:
    """And margins are then those of retraining, to the last digits."""
    if not isinstance(subject.box, LinearGrayBox) or subject.entry.adds_up:
        return
    given, rows, weights = subject.task.train.codes, np.arange(0, ROWS, 4), loss_weights(subject.box.actual)
    worlds = np.tile(given, (len(rows), 1))
    worlds[np.arange(len(rows)), rows] = (given[rows] + 1) % subject.classes
    moved = ((subject.box.margins(worlds) - subject.box.actual) * weights).sum(axis=(1, 2))
    effects = subject.box.effects(weights)
    assert np.all(effects[np.arange(ROWS), given] == 0)
    said = effects[rows, worlds[np.arange(len(rows)), rows]]
    assert spearmanr(said, moved).statistic > 0.98
    assert 0.9 < (said @ moved) / (said @ said) < 1.1
    real = Retrain(subject.task, workers=1).margins(subject.worlds)
    np.testing.assert_allclose(subject.box.margins(subject.worlds), real, rtol=1e-6, atol=1e-6)


def effects_of_worlds(box: LinearGrayBox, task: Task, worlds: npt.NDArray[np.intp], *, precision: float = 1e-8) -> None:
    """Σ_tr u_tr (m_tr(w) - m_tr) is the sum of the effects of the labels that differ; a given label has none."""
    weights = np.random.default_rng(3).normal(size=box.actual.shape)
    effects, everyone = box.effects(weights), np.arange(len(task.train))
    assert effects.shape == (len(task.train), task.encoding.size)
    assert np.abs(effects).max() > 0
    assert np.all(effects[everyone, task.train.codes] == 0)
    added = np.array([effects[everyone, world].sum() for world in worlds])
    moved = ((box.margins(worlds) - box.actual) * weights).sum(axis=(1, 2))
    np.testing.assert_allclose(added, moved, rtol=precision, atol=precision * np.abs(added).max())


def effects_are_linear_in_the_weights(subject: Subject) -> None:
    if isinstance(subject.box, LinearGrayBox):
        one, other = np.random.default_rng(4).normal(size=(2, *subject.box.actual.shape))
        parts = 2.0 * subject.box.effects(one) - subject.box.effects(other)
        whole = subject.box.effects(2.0 * one - other)
        np.testing.assert_allclose(parts, whole, rtol=1e-7, atol=1e-9 * np.abs(whole).max())


def effects_are_remembered_and_cannot_be_spoilt(subject: Subject) -> None:
    if isinstance(subject.box, LinearGrayBox):
        weights = loss_weights(subject.box.actual)
        first = subject.box.effects(weights)
        weights_again = weights.copy()
        weights[:] = 7.0  # what is remembered are the numbers, not the array that they came in
        np.testing.assert_array_equal(subject.box.effects(weights_again), first)
        assert not np.array_equal(subject.box.effects(weights), first)
        if not isinstance(subject.box, Surrogate):  # whose answer is a new array, made from one that is kept
            assert not first.flags.writeable


def coefficients_are_effects_of_single_margins(subject: Subject) -> None:
    if isinstance(subject.box, LinearGrayBox):
        points = np.array([5, 2])
        table = coefficients_of(subject.box, points)
        assert table.shape == (subject.classes, 2, subject.classes - 1, ROWS)
        for place, point in enumerate(points):
            unit = np.zeros_like(subject.box.actual)
            unit[point, -1] = 1.0
            expected = subject.box.effects(unit).T
            np.testing.assert_allclose(table[:, place, -1], expected, rtol=1e-7, atol=1e-9 * np.abs(table).max())


def rows_in_another_order_are_the_same_rows(subject: Subject) -> None:
    """The same fitted learner, its training rows in another order."""
    if ORDER_OF_ROWS in subject.entry.depends_on:
        return
    order = np.random.default_rng(5).permutation(ROWS)
    X, y, X_test, y_test = data(subject.classes)
    weights = None if subject.weights is None else subject.weights[order]
    other = Task.of(subject.task.learner, X[order], y[order], X_test, y_test, sample_weight=weights)
    margins = graybox_for(other, subject.name).margins(subject.worlds[:, order])
    np.testing.assert_allclose(margins, subject.box.margins(subject.worlds), rtol=1e-5, atol=1e-6)


def classes_under_other_names_are_the_same_classes(subject: Subject) -> None:
    """Class k is called K-1-k, so that the codes, and the rivals, are turned round."""
    if NAMES_OF_CLASSES in subject.entry.depends_on:
        return
    X, y, X_test, y_test = data(subject.classes)
    last = subject.classes - 1
    other = Task.of(subject.learner(), X, last - y, X_test, last - y_test, sample_weight=subject.weights)
    margins = graybox_for(other, subject.name).margins(last - subject.worlds)[:, :, ::-1]
    np.testing.assert_allclose(margins, subject.box.margins(subject.worlds), rtol=1e-4, atol=1e-5)


def travels_to_another_process(subject: Subject) -> None:
    there = pickle.loads(pickle.dumps(subject.box))
    np.testing.assert_array_equal(there.margins(subject.worlds[:2]), subject.box.margins(subject.worlds[:2]))
    assert there.name == subject.name


def notes_are_sentences(subject: Subject) -> None:
    notes = getattr(subject.box, "notes", ())
    assert isinstance(notes, tuple)
    assert all(isinstance(note, str) and note for note in notes)


def follows_retraining(subject: Subject) -> None:
    assert (found := agreement(subject)) >= subject.entry.follows, f"{found:.3f}"


def agreement(subject: Subject, rows: npt.NDArray[np.intp] | slice = slice(None)) -> float:
    """Rank correlation with retraining of all margins, each about its mean over the worlds.

    About the mean, since random flips pull all margins towards 0, which even the gray box of other ``rows`` knows.
    """
    real = Retrain(subject.task, workers=1).margins(subject.worlds)
    given, moved = subject.task.train.codes, subject.worlds - subject.task.train.codes
    said = subject.box.margins((given + moved[:, rows]) % subject.classes)
    return float(spearmanr((said - said.mean(axis=0)).ravel(), (real - real.mean(axis=0)).ravel()).statistic)


CHECKS: tuple[Callable[[Subject], None], ...] = (
    is_what_its_name_says,
    given_world_is_the_learner_as_it_is,
    other_worlds_are_others,
    worlds_are_answered_alike_alone_and_in_a_batch,
    points_are_a_choice_of_rows,
    effects_add_up_to_margins,
    effects_that_do_not_add_up_are_those_of_single_labels,
    effects_are_linear_in_the_weights,
    effects_are_remembered_and_cannot_be_spoilt,
    coefficients_are_effects_of_single_margins,
    rows_in_another_order_are_the_same_rows,
    classes_under_other_names_are_the_same_classes,
    travels_to_another_process,
    notes_are_sentences,
    follows_retraining,
)
