"""Digests of what a run was made from: the same values give the same digest in every data-frame library."""

from __future__ import annotations

import hashlib
import platform
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache, cached_property
from importlib.metadata import version
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as kinds

from psidebug.store.stored import stored
from psidebug.store.values import TAGGED
from psidebug.task import learner as learners
from psidebug.task.data import LabelledSet
from psidebug.task.tables import is_frame, take
from psidebug.task.task import Task

SKETCHED = 256
"""Rows of each set that are sketched, and columns of a data frame, each of which takes a while."""
ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


class Fingerprint(Mapping[str, str]):
    """What a task is made from: digests of both sets and of the row ids, and the learner as text.

    They are taken when one of them is first read: a digest of a million rows takes longer than to fit them, and who
    looks at suspects needs none. It is of the data as they are then, which are those that a run is saved with.
    """

    def __init__(self, task: Task) -> None:
        self._digests_of: Callable[[], dict[str, str]] | None = lambda: fingerprint_of(task)

    @cached_property
    def _digests(self) -> dict[str, str]:
        assert self._digests_of is not None
        found, self._digests_of = self._digests_of(), None  # which holds the task
        return found

    def __getitem__(self, name: str) -> str:
        return self._digests[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._digests)

    def __len__(self) -> int:
        return len(self._digests)

    def __repr__(self) -> str:
        return repr(self._digests)

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (self._digests,)


def fingerprint_of(task: Task) -> dict[str, str]:
    """Digests of the training and the test set (features and labels) and of the row ids; the learner as text."""
    return {
        "train": _set_digest(task, task.train),
        "test": _set_digest(task, task.test),
        "rows": _ids_digest(task.rows),
        "learner": learner_text(task.learner, seed=task.seed),
    }


def versions() -> dict[str, str]:
    """Of Python and of the libraries that the figures depend on."""
    named = {name: _version(name) for name in ("numpy", "scipy", "scikit-learn", "pyarrow")}
    return {"python": platform.python_version(), **named}


_version = cache(version)  # read from a file, as a text in the form of a mail: a millisecond each


def learner_text(learner: Any, *, seed: int) -> str:
    """Class and parameters as text, without memory addresses, so that it is the same in every process.

    A ``random_state`` that Psi set to the seed of the task, because the user gave none, counts as None.
    """
    name = f"{type(learner).__module__}.{type(learner).__qualname__}"
    parameters = learner.get_params(deep=True) if hasattr(learner, "get_params") else {}
    told = ", ".join(f"{key}={_parameter_text(value)}" for key, value in sorted(parameters.items()))
    open_seed = re.compile(rf"random_state=({seed}\b|'deprecated')")
    return f"{name}({open_seed.sub('random_state=None', told)})"


def _parameter_text(value: Any) -> str:
    """Parts of a pipeline by their class: their own parameters are listed by themselves."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_parameter_text, value))}]"
    if hasattr(value, "get_params"):
        return type(learners.final_step(value)).__qualname__
    return ADDRESS.sub("", repr(value))


def sketch_of(task: Task) -> str:
    """A digest of a few rows and columns of each set: whether features were changed in place is soon seen by these."""
    digest = hashlib.sha256()
    for part in filter(None, (task.train, task.test, task.data.validation)):
        rows, features = _spread(len(part)), part.features
        if is_frame(features):
            frame = nw.from_native(features, eager_only=True)
            digest.update("\n".join(map(repr, frame.columns)).encode("utf-8", "backslashreplace"))
            features = frame[:, _spread(frame.shape[1]).tolist()].to_native()  # names need not be texts
        some = LabelledSet(take(features, rows), part.codes[rows])
        plain = isinstance(some.features, np.ndarray) and some.features.dtype.kind in "fiub"
        digest.update(np.ascontiguousarray(some.features).tobytes() if plain else _set_digest(task, some).encode())
    return digest.hexdigest()


def _spread(count: int) -> npt.NDArray[np.intp]:
    """At most ``SKETCHED`` of so many places."""
    return np.unique(np.linspace(0, count - 1, SKETCHED).astype(np.intp))


def _set_digest(task: Task, part: LabelledSet) -> str:
    digest = hashlib.sha256()
    table, form = stored(part.features)
    digest.update(repr((table.num_rows, form.get("shape"))).encode())
    for index in range(table.num_columns):
        field = table.schema.field(index)
        digest.update(field.name.encode())
        _add_column(digest, table.column(index), tagged=field.metadata == TAGGED)
    classes = list(map(repr, task.encoding.decode(np.arange(task.encoding.size)).tolist()))
    digest.update("\n".join(classes).encode("utf-8", "backslashreplace"))
    digest.update(part.codes.astype("<i8").tobytes())
    return digest.hexdigest()


def _ids_digest(rows: npt.NDArray[Any]) -> str:
    """Whole numbers as they are: a text for each of a million takes as long as a fit."""
    if rows.dtype.kind in "iu" or all(type(each) is int for each in rows):
        return hashlib.sha256(b"whole numbers" + rows.astype("<i8").tobytes()).hexdigest()
    return hashlib.sha256("\n".join(map(repr, rows.tolist())).encode("utf-8", "backslashreplace")).hexdigest()


def _add_column(digest: Any, column: Any, *, tagged: bool) -> None:
    kind = column.type
    if kinds.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if kinds.is_timestamp(kind) or kinds.is_date(kind):  # libraries differ in the unit, and formats in having days
        column, kind = column.cast(pa.timestamp("us"), safe=False).cast(pa.int64()), pa.int64()
    if kinds.is_boolean(kind) or kinds.is_integer(kind) or kinds.is_floating(kind):
        numbers = pc.fill_null(column.cast(pa.float64(), safe=False), np.nan).to_numpy() + 0.0  # -0 is 0
        numbers[np.isnan(numbers)] = np.nan
        digest.update(numbers.tobytes())
    else:
        values = column.to_pylist()
        digest.update(repr(tagged).encode() if tagged else b"")
        digest.update("\n".join(map(repr, values)).encode("utf-8", "backslashreplace"))
