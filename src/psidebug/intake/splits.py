"""Training, test and validation tables: the roles of their columns, checked and compared with each other."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from os import PathLike
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as kinds

from psidebug.errors import DuplicateIds, InputError, LabelError, MissingLabels, ShapeMismatch, SingleClass
from psidebug.intake.read import read_table
from psidebug.intake.types import is_date, is_nested, is_number, with_dates

MOST_CLASSES = 1000
"""A column with more values than this is no label."""
MOST_NAMED = 8
"""Missing columns that a sentence names."""


@dataclass(frozen=True)
class Roles:
    """Which column is what; every other one is a feature, if columns are learned from at all."""

    label: str
    id: str | None = None
    texts: tuple[str, ...] = ()
    image: str | None = None
    ignored: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    learned: bool = True
    """Whether the other columns are features; else they are there for slices and to be shown."""


@dataclass(frozen=True, eq=False)
class Part:
    """One file: its name, its whole table, and its labels as Python values."""

    name: str
    table: Any
    labels: list[Any]
    places: tuple[int, ...] | None = None
    """Of its rows in the file, from 0; None if it has all of them."""

    left_out: int = 0
    """Rows of the file without a label."""

    def columns(self, names: Sequence[str]) -> Any:
        """These columns, in this order."""
        return self.table.select(list(names))


def read_parts(
    train: str | PathLike[str],
    test: str | PathLike[str],
    validation: str | PathLike[str] | None,
    roles: Roles,
    *,
    called: str | None = None,
    encoding: str | None = None,
    drop_unlabelled: bool = False,
) -> tuple[Part, Part, Part | None]:
    """The files, checked: the roles name columns, labels are classes, and all have the features of the first.

    ``drop_unlabelled`` leaves out rows without a label; the others keep their numbers.
    """
    given = [str(path) for path in (train, test, validation) if path is not None]
    if given.count("-") > 1:
        raise InputError("only one table can come from stdin: give the others as files.")
    written = (*(() if roles.id is None else (roles.id,)), *roles.categories)
    tables = [_as_categories(read_table(path, as_text=written, encoding=encoding), roles) for path in given]
    names = ["stdin" if each == "-" else each for each in given]
    names[0] = called or names[0]
    _check_roles(tables[0], names[0], roles)
    for table, name in zip(tables, names, strict=True):
        if roles.label not in table.column_names:
            raise _lacks(table, name, roles.label, "the label")
    apart = {roles.label, roles.id, roles.image, *roles.texts, *roles.categories}
    tables = with_dates(tables, [name for name in tables[0].column_names if name not in apart])
    tables = _labels_alike(tables, roles.label)
    first = tables[0]
    features = feature_names(first, roles) if roles.learned else ()
    for name in features:
        if is_nested(first[name].type):
            raise InputError(
                f"column {name!r} of {names[0]} holds {_kind_name(first[name].type)}, which no learner here takes. "
                f"Split it into several columns, or leave it out with --ignore {_quoted(name)}."
            )
    others = [_alike(first, names[0], table, name, features) for table, name in zip(tables[1:], names[1:], strict=True)]
    labelled = zip(names, [first, *others], strict=True)
    parts = [_part(name, table, roles.label, drop_unlabelled) for name, table in labelled]
    _check_classes(parts[0], roles.label)
    return parts[0], parts[1], parts[2] if len(parts) > 2 else None


def feature_names(table: Any, roles: Roles) -> tuple[str, ...]:
    """The columns that have no other role."""
    apart = {roles.label, roles.id, roles.image, *roles.ignored}
    return tuple(name for name in table.column_names if name not in apart)


def ids_of(part: Part, roles: Roles) -> list[Any] | None:
    """The ids of the rows: whole numbers where all are written as such, else texts; None if no column has them.

    Where rows were left out, they are then the places in the file, and not None.
    """
    if roles.id is None or roles.id not in part.table.column_names:
        return None if part.places is None else list(part.places)
    column = part.table[roles.id]
    if is_nested(column.type):
        raise InputError(
            f"column {roles.id!r} of {part.name} holds {_kind_name(column.type)}, which are no ids. Name a column of "
            f"numbers or texts by --id, or leave --id out."
        )
    if column.null_count:
        first = column.to_pylist().index(None)
        raise InputError(
            f"{part.name} has no id in {column.null_count} rows, first in row {first} (from 0). Fill "
            f"column {roles.id!r}."
        )
    if kinds.is_string(column.type) and pc.all(pc.match_substring_regex(column, r"^(0|-?[1-9]\d{0,17})$")).as_py():
        column = column.cast(pa.int64())
    values: list[Any] = column.to_pylist()
    if len(set(values)) < len(values):
        twice = Counter(values).most_common(1)[0][0]
        raise DuplicateIds(
            f"{part.name} has the id {twice!r} in several rows. Make {roles.id!r} unique, or leave --id out."
        )
    return values


def metadata_of(part: Part, roles: Roles, kept: tuple[str, ...]) -> Any | None:
    """Columns that the learner never sees, for slices and to show rows; None if there are none."""
    named = [name for name in (roles.id, *roles.ignored, *kept) if name is not None]
    names = [name for name in named if not is_nested(part.table[name].type)]
    names += [] if roles.image is None else [roles.image]
    return part.columns(names) if names else None


def metadata_like(part: Part, metadata: Any | None) -> Any | None:
    """The columns of the training metadata from another file, null where it lacks one; None if it lacks them all."""
    names = [] if metadata is None else metadata.column_names
    having = set(part.table.column_names)
    if not having & set(names):
        return None
    empty = pa.nulls(part.table.num_rows)
    return pa.table({name: part.table[name] if name in having else empty for name in names})


def _check_roles(table: Any, name: str, roles: Roles) -> None:
    named = [("the label", roles.label), ("the id", roles.id), ("the image", roles.image)]
    named += [("a text", each) for each in roles.texts] + [("ignored", each) for each in roles.ignored]
    named += [("a category", each) for each in roles.categories]
    for role, column in named:
        if column is not None and column not in table.column_names:
            raise _lacks(table, name, column, role)
    columns = [column for _, column in named if column is not None]
    twice = [each for each in columns if columns.count(each) > 1]
    if twice:
        raise InputError(
            f"column {twice[0]!r} has two roles. Name it once among label, id, text, category, image and ignored."
        )
    if roles.learned and not feature_names(table, roles):
        shown = "" if roles.image is None else f": pictures, as in {roles.image!r}, are shown but not learned from"
        wanted = "features" if roles.image is None else "numbers that describe them, such as embeddings, as columns"
        raise InputError(f"{name} has no column left to learn from{shown}. Give it {wanted} as well as the label.")


def _lacks(table: Any, name: str, column: str, role: str) -> InputError:
    several = [part.strip() for part in column.split(",")]
    flag = {"a text": "--text", "ignored": "--ignore", "a category": "--category"}.get(role)
    if flag is not None and len(several) > 1 and all(part in table.column_names for part in several):
        repeated = " ".join(f"{flag} {_quoted(part)}" for part in several)
        return InputError(f"{name} has no column {column!r}. Name one column at a time: {repeated}.")
    near = get_close_matches(column, table.column_names, n=3)
    shown = near or table.column_names[:8]
    more = ", …" if not near and len(table.column_names) > 8 else ""
    return InputError(
        f"{name} has no column {column!r} ({role}); {'near ones' if near else 'its columns'} are "
        f"{', '.join(map(repr, shown))}{more}."
    )


def _labels_alike(tables: list[Any], label: str) -> list[Any]:
    """Labels of one type: as text where the files differ, and where they are dates."""
    types = [table[label].type for table in tables]
    if is_nested(types[0]):
        raise LabelError(f"the label column {label!r} holds {_kind_name(types[0])}. Give one class per row.")
    if all(map(is_number, types)) or (len(set(types)) == 1 and not is_date(types[0])):
        return tables
    texts = [table[label].cast(pa.string()) for table in tables]
    places = [table.column_names.index(label) for table in tables]
    return [table.set_column(place, label, text) for table, place, text in zip(tables, places, texts, strict=True)]


def _as_categories(table: Any, roles: Roles) -> Any:
    """The table with these columns as text, also where its format says that they are numbers."""
    for name in roles.categories:
        if name in table.column_names and not is_nested(table[name].type):
            place = table.column_names.index(name)
            table = table.set_column(place, name, table[name].cast(pa.string()))
    return table


def _part(name: str, table: Any, label: str, drop_unlabelled: bool) -> Part:
    """The rows of a file, or those that have a label."""
    if not drop_unlabelled:
        return Part(name, table, _labels(table, name, label))
    has = pc.invert(pc.is_null(table[label], nan_is_null=True))
    places = tuple(np.flatnonzero(has.to_numpy()).tolist())
    if not places:
        raise MissingLabels(f"{name} has no label in any row. Name the label column by --label.")
    if len(places) == table.num_rows:
        return Part(name, table, _labels(table, name, label))
    table = table.filter(has).combine_chunks()
    return Part(name, table, _labels(table, name, label), places, len(has) - len(places))


def _labels(table: Any, name: str, label: str) -> list[Any]:
    column = table[label]
    values: list[Any] = column.to_pylist()
    absent = [row for row, value in enumerate(values) if value is None or value != value]
    if absent:
        raise MissingLabels(
            f"{name} has no label in {len(absent):,} of its {len(values):,} rows, first in row {absent[0]} (from 0). "
            f"Label these rows in column {label!r}, or add --drop-unlabelled to leave them out."
        )
    endless = [row for row, value in enumerate(values) if isinstance(value, float) and math.isinf(value)]
    if endless:
        raise LabelError(f"{name} has infinity for a label in row {endless[0]} (from 0). Correct column {label!r}.")
    if is_number(column.type) and all(float(value).is_integer() for value in values):
        return [int(value) for value in values]
    return values


def _check_classes(train: Part, label: str) -> None:
    classes, rows = len(set(train.labels)), len(train.labels)
    if classes == 1:
        where = "its only row" if rows == 1 else f"all of its {rows:,} rows"
        raise SingleClass(f"{train.name} has the label {train.labels[0]!r} in {where}. A classifier needs two classes.")
    if classes > MOST_CLASSES or (classes > 20 and classes > rows / 2):
        raise LabelError(
            f"column {label!r} of {train.name} has {classes:,} different values in {rows:,} rows, so it is no label. "
            f"Name the label column by --label."
        )


def _alike(first: Any, first_name: str, table: Any, name: str, features: tuple[str, ...]) -> Any:
    """The table with the features of the first, cast to its types; raises if they differ."""
    columns = dict(zip(table.column_names, table.columns, strict=True))
    missing = [each for each in features if each not in columns]
    if missing:
        shown, them = missing[:MOST_NAMED], "it" if len(missing) == 1 else "them"
        more = f" and {len(missing) - len(shown)} more" if len(missing) > len(shown) else ""
        raise ShapeMismatch(
            f"{name} lacks the column{'s' if len(missing) > 1 else ''} {' and '.join(map(repr, shown))}{more} of "
            f"{first_name}. Add {them}, or hide {them} from the model: "
            f"{' '.join(f'--ignore {_quoted(each)}' for each in missing)}."
        )
    for each in features:
        column, wanted = columns[each], first[each].type
        has = column.type
        if wanted == has or (is_number(wanted) and is_number(has)) or (is_date(wanted) and is_date(has)):
            continue
        try:
            if not (kinds.is_string(wanted) or column.null_count == table.num_rows):
                raise pa.ArrowInvalid("of another kind")
            columns[each] = column.cast(wanted)
        except pa.ArrowException:
            raise ShapeMismatch(
                f"column {each!r} holds {_kind_name(wanted)} in {first_name} but {_kind_name(has)} in {name}. Use "
                f"one type, or hide it from the model with --ignore {_quoted(each)}."
            ) from None
    return pa.table(columns)


def _kind_name(kind: Any) -> str:
    names = {
        "numbers": is_number(kind),
        "dates": is_date(kind),
        "true and false": kinds.is_boolean(kind),
        "records": kinds.is_struct(kind) or kinds.is_map(kind),
        "lists": kinds.is_nested(kind),
        "bytes": is_nested(kind),
    }
    return next((name for name, fits in names.items() if fits), "text")


def _quoted(name: str) -> str:
    return name if name.isidentifier() else repr(name)
