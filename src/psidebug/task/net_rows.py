"""Rows of a neural net: arrays of any dimension, datasets, texts; one flat table for Psi, batches for the net.

All of Psi works on tables of rows and columns. What a net takes is flattened into one (a picture of C × H × W numbers
is a row of C·H·W, token ids and their mask stand side by side), and given its shape back when the net is asked.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt

from psidebug.errors import ShapeMismatch, UnsupportedFeatures
from psidebug.task.tables import Table, as_table, off_device

LABEL_COLUMNS = ("labels", "label")


@dataclass(frozen=True)
class Input:
    """One argument of a net's ``forward``; the first positional one if it has no name."""

    name: str | None
    shape: tuple[int, ...]
    """Of one row."""
    kind: np.dtype[Any]

    @property
    def width(self) -> int:
        """Numbers in a row."""
        return prod(self.shape)


@dataclass(frozen=True)
class RowShape:
    """How a row of the flat table is taken apart into what the net takes; no inputs if rows are texts."""

    inputs: tuple[Input, ...] = ()

    @property
    def told(self) -> str:
        """Of one row, in words."""
        return " and ".join(" × ".join(map(str, each.shape)) for each in self.inputs) or "text"

    def batch(self, rows: Table, module: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Arguments of ``forward`` for these rows, where the module lives: floats in its type, whole numbers as given.

        Texts are one list of str.
        """
        import torch

        if not self.inputs:
            return (list(rows),), {}
        own = next(iter(module.parameters()))
        given: list[Any] = []
        start = 0
        for each in self.inputs:
            part = np.ascontiguousarray(rows[:, start : start + each.width], dtype=each.kind)
            start += each.width
            values = torch.from_numpy(part.reshape(len(part), *each.shape)).to(own.device)
            given.append(values.to(own.dtype) if values.is_floating_point() else values)
        named = {each.name: value for each, value in zip(self.inputs, given, strict=True) if each.name is not None}
        return tuple(value for each, value in zip(self.inputs, given, strict=True) if each.name is None), named


@dataclass(frozen=True, eq=False)
class NetRows:
    """Rows for a net: their flat table, how it is taken apart, and the labels that came with them, if any did."""

    table: Table
    shape: RowShape
    labels: npt.NDArray[Any] | None = None


def net_rows(features: Any, module: Any, *, name: str) -> NetRows:
    """From arrays, tensors, tables, texts, a mapping of arrays, a torch Dataset or a Hugging Face dataset."""
    _refuse_streams(features, name)
    if hasattr(features, "column_names") and hasattr(features, "with_format"):  # Hugging Face
        return _of_columns(features.with_format("numpy")[:], module, name)
    if isinstance(features, Mapping):
        return _of_columns(features, module, name)
    if _is_dataset(features):
        return _of_dataset(features, module, name)
    if nw.dependencies.is_into_dataframe(features):
        features = nw.from_native(features, eager_only=True).to_numpy()
    array = _array(features)
    if array is None or array.ndim < 2:
        return NetRows(as_table(features, name=name), RowShape())
    return _flattened([(None, array)], name)


def _refuse_streams(features: Any, name: str) -> None:
    """Refuse what holds rows but does not give them by number."""
    kind = type(features).__name__
    if isinstance(features, Mapping) and hasattr(features, "column_names"):
        splits = ", ".join(map(str, features))
        raise UnsupportedFeatures(f"{name} is a {kind} of the splits {splits}: give one of them.")
    if hasattr(features, "dataset") and hasattr(features, "batch_size"):
        raise UnsupportedFeatures(f"{name} is a {kind}: give its dataset, in the order of the labels (loader.dataset).")
    if hasattr(features, "__iter__") and not hasattr(features, "__len__"):
        raise UnsupportedFeatures(
            f"{name} is a {kind}, which can be read in one order only. Give rows that have numbers: an array, a list, "
            f"or a dataset with a length."
        )


def _is_dataset(features: Any) -> bool:
    """Whether it is a map-style torch Dataset: anything of rows that is no array and no list."""
    plain = isinstance(features, list | tuple | np.ndarray) or hasattr(features, "shape") or hasattr(features, "dtype")
    return not plain and hasattr(features, "__getitem__") and hasattr(features, "__len__")


def _of_dataset(dataset: Any, module: Any, name: str) -> NetRows:
    """Rows of (x, y), of x alone, or of mappings."""
    if len(dataset) == 0:
        raise UnsupportedFeatures(f"{name} has no rows.")
    items = [dataset[index] for index in range(len(dataset))]
    if isinstance(items[0], Mapping):
        return _of_columns({key: _stacked([each[key] for each in items], name) for key in items[0]}, module, name)
    labelled = isinstance(items[0], tuple | list)
    if labelled and len(items[0]) != 2:
        raise UnsupportedFeatures(
            f"{name} is a dataset whose rows have {len(items[0])} parts. Give one whose rows are (x, y), x, or "
            f"mappings from the names of the net's arguments to arrays."
        )
    labels = np.array([np.asarray(each[1]).item() for each in items]) if labelled else None
    rows = _flattened([(None, _stacked([each[0] if labelled else each for each in items], name))], name)
    return NetRows(rows.table, rows.shape, labels)


def _of_columns(columns: Mapping[str, Any], module: Any, name: str) -> NetRows:
    """The columns that ``forward`` takes; a column ``label`` or ``labels`` is the labels."""
    parameters = inspect.signature(module.forward).parameters
    anything = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters.values())
    taken: list[tuple[str | None, npt.NDArray[Any]]] = []
    for key, values in columns.items():
        if key in LABEL_COLUMNS or not (anything or key in parameters):
            continue
        if (array := _array(values)) is not None:
            taken.append((key, array))
        elif key in parameters and _is_ragged(values):
            raise UnsupportedFeatures(f"the rows of {key} in {name} differ in length: pad or cut them to one.")
    if not taken:
        raise UnsupportedFeatures(
            f"{name} has the columns {', '.join(map(str, columns))}, none of them numbers that the net takes "
            f"({', '.join(parameters)}). Name them as the arguments of its forward."
        )
    labels = next((_array(columns[key]) for key in LABEL_COLUMNS if key in columns), None)
    rows = _flattened(taken, name)
    return NetRows(rows.table, rows.shape, labels)


def _flattened(taken: list[tuple[str | None, npt.NDArray[Any]]], name: str) -> NetRows:
    """Side by side, in one type that holds them all."""
    if len({len(array) for _, array in taken}) > 1:
        raise ShapeMismatch(f"the columns of {name} differ in length: one entry per row in each.")
    inputs = tuple(Input(key, tuple(array.shape[1:]), array.dtype) for key, array in taken)
    flat = [array.reshape(len(array), -1) for _, array in taken]
    return NetRows(as_table(flat[0] if len(flat) == 1 else np.concatenate(flat, axis=1), name=name), RowShape(inputs))


def _is_ragged(values: Any) -> bool:
    """Whether each row holds numbers, but not equally many."""
    return any(not isinstance(each, str) and hasattr(each, "__len__") for each in values)


def _stacked(rows: list[Any], name: str) -> npt.NDArray[Any]:
    arrays = [np.asarray(off_device(each)) for each in rows]
    if len({array.shape for array in arrays}) > 1:
        raise UnsupportedFeatures(f"the rows of {name} differ in shape: pad or resize them to one.")
    return np.stack(arrays)


def _array(values: Any) -> npt.NDArray[Any] | None:
    """The numbers; None for what is none."""
    try:
        array = np.asarray(off_device(values))
    except (TypeError, ValueError):
        return None
    return array if array.dtype.kind in "biuf" else None
