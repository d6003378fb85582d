"""How rows are shown to a person: which part is a picture, which is the text to read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import narwhals as nw
import numpy as np

from psidebug.errors import UnknownOption
from psidebug.task.tables import Table, is_frame, is_missing

LARGEST_SIDE = 4096
"""Pixels; a picture that is larger is a mistake in its shape."""


@dataclass(frozen=True)
class Display:
    """How the rows of a task are shown; by default as tables."""

    images: tuple[int, ...] | str | None = None
    """(height, width) or (height, width, 3): a row of numbers is itself a picture of this shape; or the name of a
    column of the features or metadata that holds arrays, or paths of image files."""
    text: str | None = None
    """Name of the column that a person reads; rows that are texts by themselves need none."""


def display_for(images: Any, text: Any, *, features: Table, metadata: Table | None) -> Display:
    """A display that fits these tables; raises :class:`UnknownOption` for one that does not."""
    if text is not None:
        _column(text, "text", features, metadata)
    if images is None or isinstance(images, str):
        if images is not None:
            _check_pictures(images, _column(images, "images", features, metadata))
        return Display(images, text)
    return Display(_shape(images, features), text)


def display_of(record: Mapping[str, Any] | None) -> Display:
    """The display that a saved run names; that of an older run is the default."""
    if record is None:
        return Display()
    images = record.get("images")
    return Display(tuple(images) if isinstance(images, list) else images, record.get("text"))


def _shape(images: Any, features: Table) -> tuple[int, ...]:
    try:
        shape = tuple(int(side) for side in images)
        whole = all(side == given for side, given in zip(shape, images, strict=True))
    except (TypeError, ValueError):
        raise UnknownOption(f"images takes a shape such as (8, 8), or the name of a column, not {images!r}.") from None
    whole = whole and len(shape) in (2, 3) and shape[2:] in ((), (3,))
    if not whole or min(shape) < 1 or max(shape) > LARGEST_SIDE:
        raise UnknownOption(f"images={images!r} is not a picture shape: give (height, width) or (height, width, 3).")
    pixels = int(np.prod(shape))
    if len(features.shape) != 2 or features.shape[1] != pixels:
        found = "text" if len(features.shape) == 1 else f"{features.shape[1]} columns"
        raise UnknownOption(
            f"images={shape} means that every row is a picture of {pixels} numbers, but X_train has {found}. "
            f"Give the shape of these rows, or the name of a column that holds pictures."
        )
    return shape


def _column(name: Any, option: str, features: Table, metadata: Table | None) -> list[Any]:
    """The values of a column of the features or metadata."""
    known: list[str] = []
    for table in (features, metadata):
        if table is not None and is_frame(table):
            frame = nw.from_native(table, eager_only=True)
            known += frame.columns
            if name in frame.columns:
                return list(frame[name].to_list())
    there = f"there are {', '.join(map(str, known[:8]))}" if known else "the data have no named columns"
    raise UnknownOption(f"{option}={name!r} is no column of the features or metadata: {there}.")


def pixels_of(value: Any) -> Any:
    """A picture as one array; from Parquet it comes as an array of arrays."""
    if isinstance(value, np.ndarray) and value.dtype == object:
        value = [pixels_of(each) for each in value]
    return np.asarray(value)


def _check_pictures(name: str, values: list[Any]) -> None:
    """Every value is a path, an array of pixels, or missing."""
    for value in values:
        if is_missing(value) or isinstance(value, str | PurePath):
            continue
        try:
            pixels = pixels_of(value)
        except ValueError:
            break
        if pixels.dtype.kind not in "biuf" or pixels.ndim not in (2, 3):
            break
    else:
        return
    raise UnknownOption(
        f"the column {name!r} holds no pictures: its values must be paths of image files, or arrays of height × width "
        f"(× 3) numbers."
    )
