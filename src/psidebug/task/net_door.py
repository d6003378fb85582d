"""The door for nets: a torch module or a skorch classifier, and rows of any shape, become a learner and tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from psidebug import timings
from psidebug.errors import LearnerMismatch, ShapeMismatch, UnknownOption
from psidebug.task.labels import compressed
from psidebug.task.net_rows import net_rows
from psidebug.task.nets import Activations, Floats, Head, Train, WholeNet, is_module, last_linear

USUAL_FITS = 6
"""Trainings of all layers: with the labels as they are, and with those of the corrections that the head proves."""
SETS = ("train", "test", "validation")


@dataclass(frozen=True, eq=False)
class OpenedNet:
    """A net as Psi works with it."""

    learner: Pipeline
    """The activations, and the head as it came."""
    whole: WholeNet | None
    """All layers, where there is a way to train them."""
    data: dict[str, Any]
    """X and y of the sets, by the names of ``debug``'s arguments, as flat tables."""


def is_net(model: Any) -> bool:
    """Whether it is a torch module, or a skorch classifier."""
    return is_module(model) or _is_skorch(model)


def opened(
    model: Any, data: dict[str, Any], train: Train | None, *, seed: int = 0, fits: int | None = None
) -> OpenedNet:
    """Look at what a net takes and gives; ``data`` are X and y by name, ``train`` the user's own way to train a net.

    It is trained ``fits`` times at most; None is :data:`USUAL_FITS`.
    """
    if fits is not None and (not isinstance(fits, int) or isinstance(fits, bool) or fits < 0):
        raise UnknownOption(f"fits takes a whole number from 0, the most trainings of the net, not {fits!r}.")
    skorched = model if _is_skorch(model) else None
    if skorched is not None and train is None:
        train = _trained_by(skorched, data["X_train"])
    if skorched is not None and not getattr(skorched, "history_", None):
        timings.count_fit()
        skorched = _seeded(lambda: clone(skorched).fit(data["X_train"], _as_numbers(data["y_train"])), seed)
    module = model if skorched is None else skorched.module_
    if train is not None and not callable(train):
        raise UnknownOption(f"train takes a function train(labels, weights) that returns a trained net, not {train!r}.")
    tables = dict(data)
    shapes = {}
    for kind in SETS:
        if (features := data.get(f"X_{kind}")) is None:
            continue
        rows = net_rows(features, module, name=f"X_{kind}")
        tables[f"X_{kind}"], shapes[kind] = rows.table, rows.shape
        if data.get(f"y_{kind}") is None:
            tables[f"y_{kind}"] = rows.labels
    shape = shapes["train"]
    for kind, other in shapes.items():
        if [each.shape for each in other.inputs] != [each.shape for each in shape.inputs]:
            raise ShapeMismatch(
                f"rows of X_{kind} have the shape {other.told}, those of X_train {shape.told}: give the same."
            )
    layer = last_linear(module, shape, tables["X_train"][:2])
    classes, outputs = _classes(layer.weight.shape[0], tables["y_train"], type(module).__name__)
    activations = Activations(module, shape, layer, outputs)
    head = Head.of(activations, classes, tables["X_train"])
    most = USUAL_FITS if fits is None else fits
    whole = None if train is None else WholeNet(train, shape, classes, outputs, most)
    return OpenedNet(Pipeline([("activations", activations), ("head", head)]), whole, tables)


def _is_skorch(model: Any) -> bool:
    return any(kind.__module__.startswith("skorch.") and kind.__name__ == "NeuralNet" for kind in type(model).__mro__)


def _trained_by(skorched: Any, X: Any) -> Train:
    """skorch's own ``fit`` on the training rows, of a fresh copy."""

    def train(labels: npt.NDArray[Any], weights: Floats | None) -> Any:
        if weights is not None:
            raise ValueError("skorch takes no sample_weight; give train=")
        return clone(skorched).fit(X, _as_numbers(labels))

    return train


def _as_numbers(labels: Any) -> Any:
    """Labels as skorch takes them: texts by their place in sorted order, which is that of the net's scores."""
    values, places = compressed(labels, name="y_train")
    if not values or not all(isinstance(value, str) for value in values):
        return labels
    return np.argsort(np.argsort(np.array(values)))[places].astype(np.int64)


def _seeded(fit: Any, seed: int) -> Any:
    import torch

    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return fit()


def _classes(size: int, labels: Any, name: str) -> tuple[npt.NDArray[Any], npt.NDArray[np.intp]]:
    """The classes, and which of the net's scores are theirs: 0 … K-1 if labels are such, else the labels sorted.

    Scores that no training label names are left out: nothing could be said about their class.
    """
    values, _ = compressed(labels, name="y_train")
    classes = max(size, 2)
    if all(isinstance(value, int) and not isinstance(value, bool) and 0 <= value < classes for value in values):
        there = np.array(sorted(values), dtype=np.intp)  # type: ignore[type-var]
        return (there, there) if 1 < len(there) < size else (np.arange(classes), np.arange(size))
    if len(values) == classes and len({type(value) for value in values}) == 1:
        return np.array(sorted(values)), np.arange(size)  # type: ignore[type-var]
    raise LearnerMismatch(
        f"{name} gives {size} scores but y_train has {len(values)} different labels. Give the places of its "
        f"outputs, 0 to {classes - 1}, as labels."
    )
