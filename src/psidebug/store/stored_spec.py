"""A spec as plain data, with a table for a prior that is stated row by row, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from psidebug.display import display_of
from psidebug.priors import Prior
from psidebug.spec import NotKept, Spec, StatedPrior
from psidebug.store.values import Json, as_json, from_json, read_record, record_of
from psidebug.symptoms import And, LogLossAbove, Misclassified, Not, Or, Symptom
from psidebug.task.labels import Codes

SYMPTOMS: dict[str, type[Symptom]] = {each.__name__: each for each in (And, LogLossAbove, Misclassified, Not, Or)}
"""Those that can be saved."""


def spec_record(spec: Spec) -> Json:
    """The spec, without a prior that is stated row by row; of objects that cannot be saved, their names."""
    return {
        "symptom": spec.symptom if isinstance(spec.symptom, str) else _symptom_record(spec.symptom),
        "prior": _prior_record(spec.prior),
        "graybox": spec.graybox if isinstance(spec.graybox, str) else _named(spec.graybox),
        "engine": spec.engine if isinstance(spec.engine, str) else _named(spec.engine),
        "rounds": int(spec.rounds),
        "check_fidelity": bool(spec.check_fidelity),
        "causes": spec.causes,
        "effort": spec.effort,
        "display": record_of(spec.display),
        "seed": spec.seed,
    }


def prior_table(prior: StatedPrior) -> Any:
    """A prior that is stated row by row; None for any other."""
    if isinstance(prior, Prior):
        return matrix_table("moves", prior.moves)
    return pa.table({"rate": prior}) if isinstance(prior, np.ndarray) else None


def spec_of(record: Json, table: Any, given: Codes) -> Spec:
    """The spec that was stored; ``table`` is that of the prior, or None, and ``given`` the labels that it is about."""
    prior: StatedPrior = record["prior"]
    if table is not None and "moves" in table.column_names:
        prior = Prior(given, matrix_in(table))
    elif table is not None:
        prior = table["rate"].to_numpy()
    elif isinstance(record["prior"], Mapping):
        prior = {column: {from_json(value): rate for value, rate in rates} for column, rates in record["prior"].items()}
    options = {name: _option(record[name]) for name in ("symptom", "graybox", "engine")}
    same = {name: record[name] for name in ("rounds", "check_fidelity", "seed")}
    causes = record.get("causes", "labels")  # once the only question
    effort = record.get("effort", "prove")  # once everything was proved at once
    return Spec(prior=prior, display=display_of(record["display"]), causes=causes, effort=effort, **options, **same)


def matrix_table(name: str, matrix: Any) -> Any:
    """A matrix as a column of lists."""
    array = pa.FixedSizeListArray.from_arrays(pa.array(np.ascontiguousarray(matrix).ravel()), matrix.shape[1])
    return pa.table({name: array})


def matrix_in(table: Any) -> Any:
    """The matrix that such a column holds."""
    column = table.column(0).combine_chunks()
    return column.values.to_numpy().reshape(len(column), -1)


def _prior_record(prior: StatedPrior) -> Json:
    if isinstance(prior, Mapping):
        return {column: [[as_json(value), rate] for value, rate in rates.items()] for column, rates in prior.items()}
    return prior if isinstance(prior, float) else None


def _symptom_record(symptom: Symptom | NotKept) -> Json:
    parts = getattr(symptom, "parts", None) or [part for part in (getattr(symptom, "part", None),) if part is not None]
    inner = [_symptom_record(each) for each in parts]
    if type(symptom).__name__ not in SYMPTOMS or any("not kept" in each for each in inner):
        return _named(symptom)
    if inner:
        return {"kind": type(symptom).__name__, "parts": inner}
    return {"kind": type(symptom).__name__, **record_of(symptom)}


def _option(record: Json) -> Any:
    """A name, a symptom, or the stand-in for an object that was not saved."""
    if isinstance(record, str):
        return record
    if "not kept" in record:
        return NotKept(record["not kept"])
    kind = SYMPTOMS[record["kind"]]
    if "parts" in record:
        parts = tuple(map(_option, record["parts"]))
        return kind(parts[0] if kind is Not else parts)  # type: ignore[call-arg]
    return read_record(kind, record)


def _named(option: Any) -> Json:
    """The name of an object that cannot be saved."""
    if isinstance(option, NotKept):
        return {"not kept": option.what}
    return {"not kept": str(getattr(option, "name", None) or getattr(option, "__name__", type(option).__name__))}
