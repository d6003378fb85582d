"""Columns of text that are dates, by all files together; Python's own datetime says which day it is."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

import pytest

from psidebug.intake import Roles, inputs_from
from psidebug.intake.inputs import Inputs

DAYS = [datetime(2021, 1 + month % 12, 1 + (7 * month) % 28, 10, 20, 30) for month in range(24)]
EARLY = [day for day in DAYS if day.day <= 12]


def write(path: Path, texts: list[str | None], kind: str) -> Path:
    lines = [{"when": text, "x": place % 5, "label": "ab"[place % 3 == 0]} for place, text in enumerate(texts)]
    if kind == "jsonl":
        path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    else:
        cells = ["{when},{x},{label}".format(**line | {"when": line["when"] or ""}) for line in lines]
        path.write_text("\n".join(["when,x,label", *cells]), encoding="utf-8")
    return path


def read(folder: Path, train: list[str | None], test: list[str | None], kind: str = "csv") -> Inputs:
    first, second = (write(folder / f"{name}.{kind}", texts, kind) for name, texts in (("a", train), ("b", test)))
    return inputs_from(first, second, None, Roles("label"))


def is_dated(inputs: Inputs) -> bool:
    return "dates (day, month, weekday, hour): when" in inputs.built


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
@pytest.mark.parametrize(
    "form",
    [
        "%Y-%m-%d", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%S.250Z", "%Y-%m-%dT%H:%M:%S+00:00", "%Y/%m/%d", "%d.%m.%Y",
        "%d/%m/%Y", "%m/%d/%Y", "%m-%d-%Y", "%m/%d/%Y %H:%M", "%d/%m/%Y %H:%M:%S",
    ],
)  # fmt: skip
def test_dates_are_dates_however_they_are_written(tmp_path: Path, form: str, kind: str) -> None:
    """The test file alone would not say which is the month."""
    found = read(tmp_path, [None, *(f"{day:{form}}" for day in DAYS)], [f"{day:{form}}" for day in EARLY], kind)
    assert is_dated(found)
    for part, days in ((found.train, DAYS), (found.test, EARLY)):
        values = [value for value in part.table["when"].to_pylist() if value is not None]
        assert [(value.year, value.month, value.day) for value in values] == [
            (day.year, day.month, day.day) for day in days
        ]
        if "%H" in form:
            assert {value.hour for value in values} == {10}


@pytest.mark.parametrize(
    "train",
    [
        [f"{day:%d/%m/%Y}" for day in EARLY] * 3,
        [*(f"{day:%d/%m/%Y}" for day in DAYS), "13/13/2021"],
        [*(f"{day:%Y-%m-%d}" for day in DAYS), "2021-02-30"],
        [*(f"{day:%d/%m/%Y}" for day in DAYS), "soon"],
        [f"{day:%d/%m/%y}" for day in DAYS],
        [*(f"{day:%d/%m/%Y}" for day in DAYS), *(f"{day:%m/%d/%Y}" for day in DAYS)],
    ],
    ids=["either order", "no such month", "no such day", "a word", "two digits", "both orders"],
)
def test_what_cannot_be_read_one_way_stays_as_it_is(tmp_path: Path, train: list[str | None]) -> None:
    found = read(tmp_path, train, train[:8])
    assert not is_dated(found)
    assert found.train.table["when"].to_pylist() == train


def test_a_value_in_the_test_file_that_is_no_date_leaves_both_as_they_are(tmp_path: Path) -> None:
    train = [f"{day:%m/%d/%Y}" for day in DAYS]
    found = read(tmp_path, [*train], ["never", *train[:5]])
    assert not is_dated(found)
    assert found.test.table["when"].to_pylist()[0] == "never"
