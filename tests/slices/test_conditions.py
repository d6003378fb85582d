"""Conditions: their words, their plain form, and that they mean the same rows wherever they are evaluated."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from psidebug.slices import atoms as module
from psidebug.slices import ranges
from psidebug.slices.atoms import Atoms, blocks_of, joined, stretches
from psidebug.slices.conditions import Condition, Home
from psidebug.slices.ranges import short_date, short_number
from psidebug.task.tables import as_table


def atoms_of(features: Any, metadata: Any, ids: Any, *, least: int) -> Atoms:
    """All conditions on the rows of one set."""
    blocks = [] if metadata is None else blocks_of(metadata, "metadata", least=least)
    return joined([*blocks, *blocks_of(features, "features", least=least), *stretches(ids, least=least)], len(ids))


COUNT = 300
RNG = np.random.default_rng(0)
NUMBERS = RNG.normal(size=COUNT)
COLUMNS: dict[str, list[Any]] = {
    "age": RNG.integers(18, 90, size=COUNT).tolist(),
    "few": RNG.integers(0, 5, size=COUNT).tolist(),
    "weight": [None if i % 7 == 0 else float(NUMBERS[i]) for i in range(COUNT)],
    "city": RNG.choice(["Lima", "Bonn", "São Paulo"], size=COUNT).tolist(),
    "member": RNG.choice([True, False], size=COUNT).tolist(),
    "holes": [None if i % 5 == 0 else "x" for i in range(COUNT)],
    "note": [f"Item {i} is {('fine', 'BROKEN', 'late')[i % 3]}, it's so" for i in range(COUNT)],
    "day": [None if i % 11 == 0 else date(2023, 1, 1) + timedelta(days=2 * i) for i in range(COUNT)],
    "time": [datetime(2024, 3, 1) + timedelta(hours=5 * i, seconds=i) for i in range(COUNT)],
    "constant": [1.5] * COUNT,
    "nothing": [None] * COUNT,
    "a = b and\n“c” | 3": RNG.integers(0, 3, size=COUNT).tolist(),
}


def sparse(dense_too: bool = True) -> Any:
    table = sp.random_array((COUNT, 40), density=0.1, rng=np.random.default_rng(1), format="lil")
    table[:, 3] = NUMBERS[:, None] if dense_too else 0.0
    return table.tocsr()


TABLES: dict[str, Any] = {
    "pandas": pd.DataFrame(COLUMNS),
    "pandas categorical": pd.DataFrame(COLUMNS).astype({"city": "category", "holes": "category"}),
    "pandas nullable": pd.DataFrame(COLUMNS).convert_dtypes(),
    "polars": pl.DataFrame({**COLUMNS, "nothing": pl.Series([None] * COUNT, dtype=pl.Float64)}),
    "pyarrow": pa.table({name: values for name, values in COLUMNS.items() if name != "nothing"}),
    "matrix": np.column_stack([NUMBERS, RNG.integers(0, 4, size=COUNT), np.where(NUMBERS > 1, np.nan, NUMBERS)]),
    "objects": np.array([[str(i % 4), i % 3, None if i % 6 else 2.5] for i in range(COUNT)], dtype=object),
    "booleans": RNG.random((COUNT, 3)) > 0.5,
    "dates": (np.datetime64("2020-01-01") + 3 * np.arange(2 * COUNT)).reshape(COUNT, 2),
    "sparse": sparse(),
    "texts": np.array(COLUMNS["note"], dtype=object),
    "int names": pd.DataFrame({0: COLUMNS["age"], 1: COLUMNS["city"]}),
    "time zones": pd.DataFrame({"at": pd.date_range("2024-01-01", periods=COUNT, freq="7h", tz="Europe/Berlin")}),
}


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("home", ["features", "metadata"])
def test_every_condition_evaluated_again_gives_the_rows_that_were_counted(name: str, home: Home) -> None:
    """The cells of the search and the plain form are two ways to the same rows; also after a trip through JSON."""
    table = as_table(TABLES[name], name="X_train")
    nothing = np.zeros((COUNT, 1))
    features, metadata = (table, None) if home == "features" else (nothing, table)
    atoms = atoms_of(features, metadata, np.arange(COUNT) * 10, least=3)
    homes: dict[Home, Any] = {home: table, "rows": np.arange(COUNT) * 10}
    assert len({condition.column for condition in atoms.conditions}) > 1
    assert len(set(atoms.conditions)) == len(atoms.conditions)
    for index, condition in enumerate(atoms.conditions):
        read = Condition(**json.loads(json.dumps(asdict(condition))))
        assert read == condition
        holds = read.holds(homes[condition.home])
        assert np.flatnonzero(holds).tolist() == np.flatnonzero(atoms.holds(index)).tolist(), str(condition)


@pytest.mark.parametrize("at_once", [1, 100_000])
@pytest.mark.parametrize("name", TABLES)
def test_the_tally_is_the_count_and_the_sum_over_the_rows(
    name: str, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many columns are counted at once, and also by the atoms of these rows alone."""
    monkeypatch.setattr(module, "AT_ONCE", at_once)
    atoms = atoms_of(as_table(TABLES[name], name="X_train"), None, np.arange(COUNT), least=3)
    scores = np.random.default_rng(3).normal(size=COUNT)
    rows = np.flatnonzero(np.arange(COUNT) % 3 != 1)
    n, total = atoms.tally(rows, scores)
    alone = atoms.at(rows)
    assert [each.tolist() for each in alone.tally(np.arange(len(rows)), scores[rows])] == [n.tolist(), total.tolist()]
    for index in range(len(atoms.conditions)):
        both = rows[atoms.holds(index)[rows]]
        assert rows[alone.holds(index)].tolist() == both.tolist()
        assert n[index] == len(both)
        assert total[index] == pytest.approx(scores[both].sum(), abs=1e-9)


def told(table: Any) -> set[str]:
    return {
        str(each) for each in atoms_of(as_table(table, name="X"), None, np.array(["id"] * COUNT), least=3).conditions
    }


def test_what_conditions_there_are() -> None:
    found = told(TABLES["pandas"])
    assert {"city = Lima", "member = True", "few = 3", "few ≤ 2", "few > 2", "few between 1 and 3"} <= found
    assert {"weight missing", "day missing", "holes missing", "holes = x"} <= found
    assert {'"broken" in note', '"fine" in note', "day = 2023", "day = 2023-05", "time = 2024-04"} <= found
    assert any(each.startswith("age between ") for each in found)
    assert any(each.startswith("day ≤ 2023-") for each in found)
    assert "nothing missing" in found
    assert not any(each.startswith("note =") for each in found), "no two notes are the same"
    assert not any("nan" in each or "None" in each for each in found)
    assert "age = 30" not in found, "a number with many values is cut into ranges"


def test_frequent_values_of_a_column_with_many() -> None:
    names = [f"name{i}" for i in range(COUNT)]
    names[:20] = ["Smith, John"] * 20
    found = told(pd.DataFrame({"name": names}))
    assert "name = Smith, John" in found
    assert not any(each.startswith("name = name") for each in found)


def test_numbers_with_up_to_fifty_values_may_be_codes() -> None:
    assert "annotator = 17" in told(pd.DataFrame({"annotator": np.arange(COUNT) % 40}))
    assert "x = 0.5" in told(pd.DataFrame({"x": np.arange(COUNT) % 50 / 4}))
    assert "x = 0.5" not in told(pd.DataFrame({"x": np.arange(COUNT) % 51 / 4}))


def test_row_ids_make_stretches_at_every_scale() -> None:
    ids = np.random.default_rng(4).permutation(640) + 1000
    atoms = atoms_of(np.zeros((640, 1)), None, ids, least=3)
    words = {str(each): index for index, each in enumerate(atoms.conditions)}
    assert {
        "row 1000 to 1319",
        "row 1160 to 1479",
        "row 1000 to 1159",
        "row 1000 to 1079",
        "row 1040 to 1119",
        "row 1000 to 1019",
    } <= words.keys()
    assert sorted(ids[atoms.holds(words["row 1040 to 1119"])]) == list(range(1040, 1120))
    assert not atoms_of(np.zeros((640, 1)), None, ids.astype(str), least=3).conditions, "names have no order to trust"


def test_many_columns_are_cut_less_finely() -> None:
    many = atoms_of(np.random.default_rng(0).normal(size=(100, 800)), None, np.arange(100).astype(str), least=3)
    assert 800 * 10 <= len(many.conditions) <= 20_000
    few = atoms_of(np.random.default_rng(0).normal(size=(100, 1)), None, np.arange(100).astype(str), least=3)
    assert len(few.conditions) == 20 * 21 // 2 - 1, "all ranges of 19 cuts, but for the one with everything"


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        (Condition("age", ">", (30,)), "age > 30"),
        (Condition("age", "≤", (30.0,)), "age ≤ 30"),
        (Condition("v", "=", (-0.0,)), "v = 0"),
        (Condition("v", "between", (0.25, 1e-7)), "v between 0.25 and 1e-07"),
        (Condition("row", "between", (1200, 1399), "rows"), "row 1200 to 1399"),
        (Condition("city", "=", ("",)), "city = ''"),
        (Condition("city", "=", ("x" * 1000,)), f"city = {'x' * 60}…"),
        (Condition("city", "missing"), "city missing"),
        (Condition("text", "contains", ("shows",)), '"shows" in text'),
        (Condition("x3", "≠", (0,)), "x3 ≠ 0"),
    ],
)
def test_the_words_of_a_condition(condition: Condition, words: str) -> None:
    assert str(condition) == words


def test_a_date_means_all_of_its_month_or_day() -> None:
    table = pd.DataFrame({"at": pd.to_datetime(["2024-02-29 23:59", "2024-03-31 23:59", "2024-04-01 00:00", None])})

    def holds(operator: Any, *values: str) -> list[bool]:
        return [bool(each) for each in Condition("at", operator, values).holds(table)]

    assert holds("≤", "2024-03") == [True, True, False, False]
    assert holds(">", "2024-03") == [False, False, True, False]
    assert holds("=", "2024-03-31") == [False, True, False, False]
    assert holds("between", "2024-03-31", "2024-04") == [False, True, True, False]
    assert holds("missing") == [False, False, False, True]


def test_words_are_whole_and_lower_case() -> None:
    texts = as_table(["It SHOWS.", "showstopper", "show", "what shows-off", "", "1shows"], name="X_test")
    assert Condition("text", "contains", ("shows",)).holds(texts).tolist() == [True, False, False, True, False, False]


def test_values_of_another_kind_than_in_training_meet_no_condition() -> None:
    other = pd.DataFrame({"age": ["31", None, [1]], "city": [1, "Lima", None]})
    assert Condition("age", ">", (30,)).holds(other).tolist() == [False, False, False]
    assert Condition("city", "=", ("Lima",)).holds(other).tolist() == [False, True, False]
    dates = pd.DataFrame({"age": pd.to_datetime(["2024-03-01", None])})
    for condition in (("=", (30,)), (">", (30,)), (">", (-2.5,)), ("=", ("Lima",)), ("between", (1, 2)), ("≠", (0,))):
        assert Condition("age", *condition).holds(dates).tolist() == [False, False], str(condition)


@pytest.mark.parametrize(
    ("values", "held"),
    [
        (["2024-02-28", "2024-03-31", None, "2024-04-01"], [True, True, False, False]),
        (["28.02.2024", "31.03.2024", None, "01.04.2024"], [True, True, False, False]),
        (["2024-02-28", "soon", None, "2024-04-01"], [False] * 4),
        ([20240228, 20240331, None, 20240401], [False] * 4),
    ],
)
def test_a_range_of_dates_holds_in_texts_that_are_dates(values: list[Any], held: list[bool]) -> None:
    """A file read with dates, another without."""
    table = pd.DataFrame({"when": values})
    assert Condition("when", "≤", ("2024-03",)).holds(table).tolist() == held
    assert Condition("when", "between", ("2023", "2024-03")).holds(table).tolist() == held


FINITE = st.floats(allow_nan=False, allow_infinity=False, width=64)


@settings(derandomize=True, max_examples=300, deadline=None)
@given(FINITE, FINITE)
def test_a_cut_lies_between_the_values_it_tells_apart(inside: float, outside: float) -> None:
    assume(inside != outside)
    t = short_number(inside, outside)
    assert inside <= t < outside or outside < t <= inside
    assert short_number(inside, outside) == float(f"{t!r}")


@pytest.mark.parametrize(
    ("inside", "outside", "cut"),
    [(37, 38, 37), (2015, 2016, 2015), (0.51324, 0.5178, 0.516), (0.513, 0.9, 0.7), (-3.0, -2.0, -3.0), (29.6, 31, 30)],
)
def test_a_cut_has_few_digits(inside: float, outside: float, cut: float) -> None:
    assert short_number(inside, outside) == cut


@pytest.mark.parametrize(
    ("value", "other", "written"),
    [
        ("2024-03-05T10:11", "2025-01-01T00:00", "2024"),
        ("2024-03-05T10:11", "2024-04-01T00:00", "2024-03"),
        ("2024-03-05T10:11", "2024-03-05T10:12", "2024-03-05T10:11"),
    ],
)
def test_a_date_is_written_no_finer_than_needed(value: str, other: str, written: str) -> None:
    assert short_date(np.datetime64(value), [np.datetime64(other)]) == written


def test_conditions_are_written_when_they_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of thousands of ranges a few are told: finding their ends in few digits took longer than counting."""
    written: list[float] = []

    def writing(inside: float, outside: float) -> float:
        written.append(inside)
        return short_number(inside, outside)

    monkeypatch.setattr(ranges, "short_number", writing)
    atoms = atoms_of(NUMBERS[:, None], None, np.empty(COUNT, dtype=object), least=3)
    assert len(atoms.conditions) > 100
    assert len(written) <= 2
    assert atoms.conditions[5] is atoms.conditions[5]
