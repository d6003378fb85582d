"""Everything that :func:`psidebug.debug` needs, from files."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from psidebug.errors import InvalidAnnotations, LearnerMismatch, UnknownRow
from psidebug.intake.arrays import embeddings_of, probabilities_of
from psidebug.intake.mixed import NAMES, learner_for
from psidebug.intake.plan import Plan, plan_for
from psidebug.intake.read import read_table
from psidebug.intake.splits import Part, Roles, feature_names, ids_of, metadata_like, metadata_of, read_parts
from psidebug.intake.types import is_nested
from psidebug.models import COLUMNS
from psidebug.task.annotations import ANNOTATOR, LABEL, ROW
from psidebug.task.tables import as_table

File = str | PathLike[str]
MOST_NAMED = 6
"""Columns that a sentence names; a table may have 100,000."""
WHOLE = re.compile(r"-?[0-9]{1,18}")
"""A whole number that every reader of numbers takes."""


@dataclass(frozen=True, eq=False)
class Inputs:
    """A model and its data, and where they came from."""

    model: Any
    train: Part
    test: Part
    validation: Part | None
    roles: Roles
    features: tuple[str, ...]
    """Columns that the model sees, in order."""
    kept: tuple[str, ...]
    """Columns that Psi hides from it."""
    built: tuple[str, ...]
    """What was built, in a few lines; empty if a model was given."""
    source: Mapping[str, Any]
    """For the saved run: names of files and columns."""
    answers: Any = None
    """Of annotators, a table for ``debug``; None if no file was given."""
    embeddings: tuple[Any, Any] | None = None
    """Of training and test rows, in the place of columns."""
    probabilities: tuple[Any, Any] | None = None
    """What somebody's model says of training and test rows."""

    def arguments(self) -> dict[str, Any]:
        """The data as arguments of ``debug`` and ``Task.of``."""
        found: dict[str, Any] = {
            "model": self.model,
            "X_train": self._features(self.train, 0),
            "y_train": _array(self.train.labels),
            "X_test": self._features(self.test, 1),
            "y_test": _array(self.test.labels),
            "rows": ids_of(self.train, self.roles),
            "metadata": metadata_of(self.train, self.roles, self.kept),
        }
        if self.validation is not None:
            found["X_validation"] = self._features(self.validation, 2)
            found["y_validation"] = _array(self.validation.labels)
        if self.answers is not None:
            found["annotations"] = self.answers
        if self.probabilities is not None:
            found["pred_probs"], found["pred_probs_test"] = self.probabilities
        return found

    def about_test(self) -> dict[str, Any]:
        """Ids and metadata of the test file, for ``Diagnosis.described``."""
        metadata = metadata_like(self.test, metadata_of(self.train, self.roles, self.kept))
        return {
            "test_ids": ids_of(self.test, self.roles),
            "test_metadata": None if metadata is None else as_table(metadata, name="metadata"),
        }

    def _features(self, part: Part, place: int) -> Any:
        if not self.roles.learned:
            return None if self.embeddings is None else self.embeddings[place]
        table = part.columns(self.features)
        if _takes_texts(self.model):
            return np.array(["" if text is None else text for text in table.column(0).to_pylist()], dtype=object)
        return table


def inputs_from(
    train: File,
    test: File,
    validation: File | None,
    roles: Roles,
    *,
    called: str | None = None,
    learner: str = "logistic",
    model: Any = None,
    annotations: File | None = None,
    seed: int = 0,
    encoding: str | None = None,
    drop_unlabelled: bool = False,
    embeddings: tuple[Path, Path] | None = None,
    probabilities: tuple[Path, Path] | None = None,
) -> Inputs:
    """Read the files and, unless a model is given, build a learner for their columns.

    Where the roles say that columns are not learned from, there is no model: a logistic head on the embeddings, or on
    the probabilities, is the learner. Where the training file has a sample of rows, sentences are about what is
    ``called`` so.
    """
    parts = read_parts(
        train, test, validation, roles, called=called, encoding=encoding, drop_unlabelled=drop_unlabelled
    )
    table, names = parts[0].table, feature_names(parts[0].table, roles)
    planned = [name for name in names if roles.learned or not is_nested(table[name].type)]
    plan = plan_for(table.select(planned), texts=roles.texts, categories=roles.categories)
    vectors = None if embeddings is None else embeddings_of(embeddings, parts[:2])
    said = None if probabilities is None else probabilities_of(probabilities, parts[:2])
    features: tuple[str, ...] = ()
    built: tuple[str, ...] = ()
    if not roles.learned:
        made, built = None, (_head(vectors),)
    elif model is None:
        learnable = set(plan.features)
        features = tuple(name for name in names if name in learnable)
        if not features:
            why_not = "; ".join(f"{name}, {why}" for name, why in plan.kept[:MOST_NAMED])
            if len(plan.kept) > MOST_NAMED:
                why_not += f"; and {len(plan.kept) - MOST_NAMED:,} more"
            raise LearnerMismatch(f"no column of {parts[0].name} can be learned from: {why_not}.")
        made = learner_for(learner, plan, seed=seed)
        built = (f"{NAMES[learner]}, built for these columns", *plan.sentences())
    else:
        features, made = _features_of(model, names, plan, parts[0].name), model
    seen = set(features)
    kept = tuple(name for name in names if name not in seen)
    texts = [name for name in (features if roles.learned else kept) if name in plan.texts]
    source = {
        "train": Path(parts[0].name).name,
        **_place_of(train),
        "test": Path(parts[1].name).name,
        **{f"test_{name}": value for name, value in _place_of(test).items()},
        "validation": None if parts[2] is None else Path(parts[2].name).name,
        "label": roles.label,
        "id": roles.id,
        "columns": table.column_names,
        "test_columns": parts[1].table.column_names,
        "text": texts[0] if texts and not _takes_texts(made) else None,
        "image": roles.image,
        "ignored": list(roles.ignored),
        "encoding": encoding,
        "learner": "given" if model is not None else learner if roles.learned else "head",
        **{
            name: [Path(each).name for each in files]
            for name, files in (("embeddings", embeddings), ("probabilities", probabilities))
            if files is not None
        },
    }
    answers = None
    if annotations is not None:
        answers = _answers(annotations, roles, parts[0], encoding)
        source["annotations"] = Path(annotations).name
    return Inputs(made, *parts, roles, features, kept, built, source, answers, vectors, said)


def _head(vectors: tuple[Any, Any] | None) -> str:
    """The learner where there is no model, in words."""
    if vectors is None:
        return "a logistic head on the logarithms of your probabilities"
    return f"a logistic head on your embeddings, {vectors[0].shape[1]:,} numbers for each row"


def _answers(path: File, roles: Roles, train: Part, encoding: str | None) -> Any:
    """What annotators said: a long table (id, annotator, label) or a wide one (id, then a column for each annotator).

    The id column is named as in the training file, or ``row``; so is the label column of a long table, or ``label``.
    Without an id column a wide table has the order of the training file. Ids and answers are written like the ids and
    labels of the training file.
    """
    known = [name for name in (roles.id, ROW) if name is not None]
    ids, labels = ids_of(train, roles), train.labels
    table = read_table(path, as_text=known, encoding=encoding)
    names = table.column_names
    own = next((name for name in known if name in names), None)
    answer = next((name for name in (roles.label, LABEL) if name in names), None)
    if ANNOTATOR in names and answer is not None and own is None:
        raise InvalidAnnotations(
            f"{path} has a column {ANNOTATOR!r} but none that names the row: call it {known[0]!r}, with the ids of the "
            f"training rows{'' if roles.id else ', or their positions from 0'}."
        )
    columns = {} if own is None else {ROW: _ids(table[own].to_pylist(), ids, path)}
    if ANNOTATOR in names and answer is not None:
        columns |= {ANNOTATOR: table[ANNOTATOR].to_pylist(), LABEL: _like(table[answer], labels)}
    else:
        columns |= {name: _like(table[name], labels) for name in names if name != own}
    return pa.table(columns)


def _ids(values: list[Any], ids: Sequence[Any] | None, path: File) -> list[Any]:
    """As numbers where those of the training file are; positions where it has none."""
    if ids is not None and not isinstance(ids[0], int):
        return values
    odd = next((each for each in values if isinstance(each, str) and not WHOLE.fullmatch(each)), None)
    if odd is not None:
        what = "its positions count from 0" if ids is None else f"ids are whole numbers, such as {ids[0]}"
        raise UnknownRow(f"{path} has the row {odd!r}, which is none of the training table: {what}.")
    return [int(each) if isinstance(each, str) else each for each in values]


def _like(column: Any, labels: Sequence[Any]) -> list[Any]:
    """As texts where the labels of the training file are."""
    values: list[Any] = column.to_pylist()
    if not isinstance(labels[0], str):
        return values
    return [each if each is None else str(each) for each in values]


def _place_of(file: File) -> dict[str, str]:
    """Path and sha256 of a file, to correct cells in the file itself; nothing for a stream."""
    path = Path(file)
    if str(path) == "-" or not path.is_file():
        return {}
    return {"path": str(path.absolute()), "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}


def _features_of(model: Any, names: tuple[str, ...], plan: Plan, file: str) -> tuple[str, ...]:
    """The columns that a given model takes: those it was fitted on, else all; one text column for a text model."""
    if _takes_texts(model):
        if len(plan.texts) != 1:
            raise LearnerMismatch(f"the model takes one text per row: name the text column of {file} by --text.")
        return plan.texts
    named = getattr(model, COLUMNS, ()) or getattr(model, "feature_names_in_", ())
    fitted = [str(name) for name in named]
    missing = [name for name in fitted if name not in names]
    if missing:
        raise LearnerMismatch(
            f"the model was fitted on the column {missing[0]!r}, which {file} does not have as a feature. Give the "
            f"table that it was fitted on."
        )
    return tuple(fitted) or names


def _takes_texts(model: Any) -> bool:
    """Whether the first step turns texts into words."""
    first = model.steps[0][1] if getattr(model, "steps", None) else model
    return hasattr(first, "build_analyzer")


def _array(labels: list[Any]) -> Any:
    return np.array(labels, dtype=object) if isinstance(labels[0], str) else np.array(labels)
