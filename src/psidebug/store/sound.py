"""Whether the parts of a run fit each other: digests tell damage, but whoever forges a run forges its digests, too.

Everything that is later used as a place, a class, a share or a length is checked here, once, when the run is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from psidebug.findings.effects import ErrorRate, Floats, Mask, Verification
from psidebug.findings.findings import Findings, FoundSlice
from psidebug.task.data import Data

SLACK = 1e-6
"""How far a probability may be beyond 0 or 1, by rounding."""


def numbers_in(table: Any, name: str) -> Floats:
    """A column of numbers; NaN where there is none."""
    return np.asarray(table[name].to_numpy().astype(np.float64, casting="safe" if len(table) else "unsafe"))


def shares_in(table: Any, name: str) -> Floats:
    """A column of probabilities, or NaN."""
    shares = numbers_in(table, name)
    _check(not ((shares < -SLACK) | (shares > 1.0 + SLACK)).any(), f"{name} is no share")
    return shares


def flags_in(table: Any, name: str) -> Mask:
    """A column of true and false."""
    flags = table[name].to_numpy()
    _check(flags.dtype == np.bool_ or not len(flags), f"{name} is not true or false")
    return np.asarray(flags, dtype=np.bool_)


def places_in(table: Any, name: str, count: int) -> npt.NDArray[np.intp]:
    """A column of positions below ``count``."""
    return places_below(table[name].to_numpy(), count, name)


def places_below(given: Any, count: int, name: str) -> npt.NDArray[np.intp]:
    """Positions, if they are below ``count``."""
    places = np.asarray(given)
    _check(places.ndim == 1 and (not len(places) or places.dtype.kind in "iu"), f"{name} are no positions")
    places = places.astype(np.intp)
    _check(not len(places) or 0 <= places.min() <= places.max() < count, f"{name} has positions that are not there")
    return np.asarray(places)


def check_findings(found: Findings) -> None:
    """Raise :class:`ValueError` if a part of the findings does not fit the others."""
    labels, tests, classes = found.labels, found.predictions, found.encoding.size
    _check(found.prior.moves.shape == (len(labels.given), classes), "the prior is of other labels")
    _check(
        found.test_probabilities is None or found.test_probabilities.shape == (len(tests.labels), classes), "chances"
    )
    for each in (*found.slices, *([] if found.correction is None else [found.correction.slice])):
        _check_slice(each, classes)
    effects = [] if found.correction is None else [found.correction.verified]
    if found.controls is not None:
        effects += [each for each in (found.controls.at_random, found.controls.highest_loss) if each is not None]
    if found.curve is not None:
        count = len(found.curve.points)
        _check(0 <= found.curve.minimum < count and 0 <= found.curve.chosen < count, "the curve has no such point")
        effects += [each.verified for each in found.curve.points]
    for effect in effects:
        _check_effect(effect)
    _check_rates(rate for each in found.repairs for rate in (each.error, each.validation))
    if found.suspect_tests is not None:
        suspects = found.suspect_tests
        places_below(suspects.rows, len(tests.labels), "suspect tests")
        places_below(suspects.proposed, classes, "proposed")
        lengths = {len(suspects.rows), len(suspects.proposed), len(suspects.p_wrong), len(suspects.why)}
        _check(len(lengths) == 1, "suspect tests are not told in full")
        _check(all(isinstance(why, str) for why in suspects.why), "why is no text")
    for change in (*found.changes, *(each.change for each in found.causes)):
        _check_change(change, len(labels.given), len(tests.labels), classes)


def check_data(data: Data, found: Findings) -> None:
    """Raise :class:`ValueError` if the rows are not those that the findings are about."""
    rows, tests = len(found.labels.given), len(found.predictions.labels)
    sets = {"train": (data.train.features, rows), "test": (data.test.features, tests)}
    sets |= {"metadata": (data.metadata, rows), "test_metadata": (data.test_metadata, tests)}
    if data.validation is not None:
        sets["validation"] = (data.validation.features, len(data.validation.codes))
    if data.opinion is not None:
        sets |= {"opinion": (data.opinion.train, rows), "test_opinion": (data.opinion.test, tests)}
    for name, (table, count) in sets.items():
        _check(table is None or table.shape[0] == count, f"{name} has other rows")
    widths = {data.train.features.shape[1:], data.test.features.shape[1:]}
    if data.validation is not None:
        widths.add(data.validation.features.shape[1:])
    _check(len(widths) == 1, "the sets have other columns")


def check_all_labels(path: Path, classes: Sequence[Any]) -> None:
    """Raise :class:`ValueError`, or pyarrow's error, if a table of every label has other rows, or what is no class."""
    known, done = pa.array(list(classes)), 0
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(columns=["row", "given", "repaired"], use_threads=False):
            batch.validate(full=True)
            rows = batch.column("row").to_numpy()
            _check(np.array_equal(rows, np.arange(done, done + len(rows))), "rows are not by number")
            for name in ("given", "repaired"):
                labels = pc.is_in(batch.column(name).cast(known.type), value_set=known)
                _check(pc.all(labels, min_count=0).as_py(), f"{name} has what is no class")
            done += len(rows)
    _check(done > 0, "there are no labels")


def _check_slice(found: FoundSlice | None, classes: int) -> None:
    if found is None:
        return
    _check(0 <= found.given < classes, "a slice has a label that is no class")
    for each in found.conditions:
        needed = {"missing": 0, "between": 2}.get(each.operator, 1)
        _check(len(each.values) >= needed, f"a condition on {each.column} has no value")
        _check(all(isinstance(value, str | int | float) for value in each.values), "a condition has no plain value")


def _check_effect(effect: Verification) -> None:
    _check_rates((effect.test_before, effect.test_after, effect.validation_before, effect.validation_after))


def _check_rates(rates: Iterable[ErrorRate | None]) -> None:
    for rate in rates:
        _check(rate is None or (0 <= rate.wrong <= rate.of and 0 < rate.of < 2**63), "an error rate is none")


def _check_change(change: Any, rows: int, tests: int, classes: int) -> None:
    for name, value in {} if change is None else vars(change).items():
        if name == "rows" and value is not None:
            places_below(value, tests if getattr(change, "test", False) else rows, name)
        elif name == "codes":
            places_below(value, classes, name)
        elif name in ("column", "one", "other"):
            _check(isinstance(value, str), f"{name} is no text")
        elif name in ("test", "validation"):
            _check(isinstance(value, bool), f"{name} is not true or false")
        elif name in ("factor", "fill"):
            _check(isinstance(value, int | float), f"{name} is no number")


def _check(holds: bool | np.bool_, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)
