"""Checks before the diagnosis: what is planted is told, with its numbers, and clean data have nothing to tell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import psidebug
from psidebug import datasets, policy
from psidebug.causes import duplicates
from psidebug.checks import Check, checks_of
from psidebug.checks import rows as rows_module
from psidebug.checks.number_texts import number_texts
from psidebug.checks.rows import different
from psidebug.checks.useless import numbers_the_rows
from psidebug.datasets import DESIGNS
from psidebug.slices.conditions import Condition
from psidebug.task.data import Data
from tests.conftest import Planted
from tests.datasets.conftest import real_data

__all__ = ["real_data"]  # a fixture
Floats = npt.NDArray[np.float64]


def rows(count: int, seed: int = 0, width: int = 4) -> Floats:
    return np.random.default_rng(seed).normal(size=(count, width))


def data_of(X: Any, Z: Any, y: Any = None, z: Any = None, **more: Any) -> Data:
    """Labels that alternate, unless others are given."""
    labels = [np.arange(len(each) if isinstance(each, list) else each.shape[0]) % 2 for each in (X, Z)]
    model = LogisticRegression()
    return Data.of(model, X, labels[0] if y is None else y, Z, labels[1] if z is None else z, **more)


def told(data: Data) -> dict[str, str]:
    return {check.name: check.sentence for check in checks_of(data)}


FORMS: dict[str, Callable[[Floats], Any]] = {
    "numpy": np.asarray,
    "float32": lambda X: X.astype(np.float32),
    "objects": lambda X: X.astype(object),
    "pandas": lambda X: pd.DataFrame(X, columns=[*"abcd"]),
    "polars": lambda X: pl.DataFrame(X, schema=[*"abcd"]),
    "pyarrow": lambda X: pa.table(dict(zip("abcd", X.T, strict=True))),
    "categories": lambda X: pd.DataFrame(X.round(2).astype(str), columns=[*"abcd"]).astype("category"),
    "words": lambda X: pl.DataFrame(X.round(2).astype(str), schema=[*"abcd"]),
    "texts": lambda X: [" ".join(map(str, row)) for row in X],
    "sparse": lambda X: sp.csr_array(X * (np.abs(X) > 0.1)),
}


@pytest.mark.parametrize("form", FORMS)
def test_rows_of_both_sets_are_counted_in_every_kind_of_table(form: str) -> None:
    X, Z = rows(200), rows(100, seed=1)
    Z[:30] = X[50:80]
    seen = told(data_of(FORMS[form](X), FORMS[form](Z)))
    assert seen["overlapping rows"].startswith("30 of 100 test rows are also training rows")
    assert "overlapping rows" not in told(data_of(FORMS[form](X), FORMS[form](rows(100, seed=1))))


@pytest.mark.parametrize("form", FORMS)
def test_copies_with_different_labels_are_counted_in_every_kind_of_table(form: str) -> None:
    X = rows(200)
    X[100:104] = X[:4]
    y = np.arange(200) % 2
    y[100:104] = [1, 0, 0, 1]  # the first two contradict rows 0 and 1
    seen = told(
        data_of(FORMS[form](X), FORMS[form](rows(100, seed=1)), np.where(np.arange(200) < 4, [0, 1, 0, 1] * 50, y))
    )
    assert seen["contradicting duplicates"].startswith("4 training rows have an equal row with another label")
    agreeing = np.where(np.arange(200) < 100, y, np.roll(y, 100))
    assert "contradicting duplicates" not in told(data_of(FORMS[form](X), FORMS[form](rows(100, seed=1)), agreeing))


def test_rows_that_are_alike_by_chance_are_not_told() -> None:
    """Two columns of few values: most rows have a twin, with any label, and no test row is a copy."""
    rng = np.random.default_rng(0)
    X, Z = (np.column_stack([rng.integers(4, size=200), rng.integers(3, size=200)]) for _ in range(2))
    assert told(data_of(X, Z)) == {}


def test_minus_zero_and_missing_numbers_are_equal_to_themselves() -> None:
    X, Z = rows(100), rows(50, seed=1)
    X[:20, 0], X[20:40, 1] = 0.0, np.nan
    Z[:40] = X[:40]
    Z[:20, 0] = -0.0
    assert told(data_of(X, Z))["overlapping rows"].startswith("40 of 50")


def test_large_whole_numbers_are_told_apart() -> None:
    """2**60 + 1 is 2**60 as a floating-point number."""
    X = np.column_stack([2**60 + 2 * np.arange(100), np.zeros(100, dtype=np.int64)])
    assert "overlapping rows" not in told(data_of(X, X + np.array([1, 0])))


def test_classes_that_differ_in_spelling_are_told_with_their_rows() -> None:
    y = np.array(["yes", "no"] * 90 + ["Yes", "yes "] * 10, dtype=object)
    seen = told(data_of(rows(200), rows(100, seed=1), y, ["yes", "no"] * 50))
    assert seen["spelling of classes"].startswith(
        "The classes 'Yes' (10 rows) and 'yes' (90 rows) and 'yes ' (10 rows)"
    )


def test_1_and_01_are_one_number() -> None:
    y = np.array(["1", "01", "2", "2"] * 50, dtype=object)
    seen = told(data_of(rows(200), rows(100, seed=1), y, ["1", "2"] * 50))
    assert seen["spelling of classes"].startswith("The classes '01' (50 rows) and '1' (50 rows)")


@pytest.mark.parametrize("classes", [["a", "A"], ["Aa", "AA"], ["north", "south"], [0, 1]])
def test_letters_and_other_names_may_be_classes_of_their_own(classes: list[Any]) -> None:
    assert told(data_of(rows(200), rows(100, seed=1), classes * 100, classes * 50)) == {}


def test_a_column_in_other_units_is_told_with_its_range() -> None:
    X, Z = (pd.DataFrame(rows(200, seed), columns=[*"abcd"]).abs() for seed in range(2))
    Z["c"] = Z["c"] * 1000 + 10
    Z["b"] = X["b"].max() + 1
    X["d"] = X["d"].round(1).clip(0.1, 2.5)
    Z["d"] = 2.6
    X.loc[0, "c"] = np.nan
    sentence = told(data_of(X, Z))["outside training"]
    top = f"{X['b'].min():g} to {X['b'].max():g}"
    assert sentence.startswith(
        f"100% of the test values of 'b' (and most of 2 more columns) are outside of the range of training, {top}"
    )


def test_values_that_are_new_and_dates_that_are_later_are_told() -> None:
    days = pd.date_range("2024-01-01", periods=200)
    X = pd.DataFrame({"a": rows(200)[:, 0], "town": ["Lima", "Oslo"] * 100, "day": days})
    Z = pd.DataFrame({"a": rows(200, 1)[:, 0], "town": ["Lima", "OSLO", "Bonn", "Rome"] * 50, "day": days})
    assert told(data_of(X, Z))["outside training"].startswith(
        "75% of the test values of 'town' are not among the 2 values"
    )
    Z["town"], Z["day"] = X["town"], days + pd.Timedelta(days=150)
    assert (
        "'day' are outside of the range of training, 2024-01-01 to 2024-07-18"
        in told(data_of(X, Z))["outside training"]
    )


def test_a_sparse_column_out_of_range_is_told() -> None:
    X, Z = (sp.random_array((100, 30), density=0.2, format="csr", rng=seed) for seed in range(2))
    assert told(data_of(X, Z)) == {}
    shifted = Z.toarray()
    shifted[:60, 7] = 5.0
    assert told(data_of(X, sp.csr_array(shifted)))["outside training"].startswith("60% of the test values of 'x7'")


def test_class_shares_are_told_if_they_differ_by_more_than_chance_and_by_more_than_a_little() -> None:
    def shares(train: float, test: float, count: int) -> dict[str, str]:
        y, z = (np.where(np.arange(count) < share * count, "high", "low") for share in (train, test))
        return told(data_of(rows(count), rows(count, seed=1), y, z))

    assert shares(0.4, 0.25, 1000)["class shares"].startswith(
        "40% of the training labels but 25% of the test labels are 'high'"
    )
    assert shares(0.4, 0.35, 100) == {}
    assert shares(0.505, 0.49, 80_000) == {}


def test_ids_and_constants_are_told() -> None:
    X = pd.DataFrame(rows(200), columns=[*"abcd"])
    X["key"], X["code"], X["one"], X["none"] = [f"k{3 * place}" for place in range(200)], range(1000, 1200), "x", None
    Z = X.copy()
    Z[[*"abcd"]] = rows(200, seed=1)
    Z["key"], Z["code"] = [f"k{3 * place + 1}" for place in range(200)], range(2000, 2200)
    seen = told(data_of(X, Z))
    assert seen["id-like columns"].startswith(
        "2 columns, such as 'key', have another value in nearly every training row"
    )
    assert seen["constant columns"].startswith("2 columns, such as 'one', have one value in all training rows")
    assert "outside training" not in seen, "new ids are no wonder"


def test_titles_of_several_words_are_no_ids() -> None:
    X, Z = (
        pd.DataFrame({"a": rows(100, seed)[:, 0], "t": [f"title {seed} {n}" for n in range(100)]}) for seed in (0, 1)
    )
    assert told(data_of(X, Z)) == {}


def test_constant_pixels_are_no_wonder() -> None:
    X, Z = rows(100, width=64), rows(100, seed=1, width=64)
    X[:, :5] = Z[:, :5] = 0.0
    assert told(data_of(X, Z)) == {}
    assert "constant columns" in told(data_of(X[:, :10], Z[:, :10]))


@pytest.mark.parametrize(
    ("texts", "shown"),
    [
        (["02/01/2020", "03/04/2020"], "02/01/2020"),
        (["2020-01-01"] * 39 + ["soon"], "soon"),
        (["2020-02-30"], "2020-02-30"),
    ],
    ids=["either order", "a word", "no such day"],
)
def test_dates_that_cannot_be_read_are_told(texts: list[str], shown: str) -> None:
    metadata = pd.DataFrame({"when": (texts * 200)[:200]})
    seen = told(data_of(rows(200), rows(100, seed=1), metadata=metadata))
    assert seen["dates as text"].startswith(
        f"The metadata column 'when' looks like dates but cannot be read in one way, for instance '{shown}'"
    )


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        (["3.103,00", "12,50", "1.200,00", "7,00"], "3.103,00"),
        (["$5", "$12", "$1,200", "$7"], "$5"),
        (["12%", "7%", "8.5%", "99%"], "12%"),
        (["01", "02", "11", "12"], None),  # codes
        (["3 rooms", "2 rooms", "1.5 rooms", "4 rooms"], None),
    ],
)
@pytest.mark.parametrize("where", ["features", "metadata"])
def test_numbers_that_are_read_as_text_are_told(values: list[str], shown: str | None, where: str) -> None:
    rng = np.random.default_rng(0)
    x, price = rng.normal(size=80), rng.choice(values, 80)
    price[:4] = values
    labels = np.where(x + 0.3 * rng.normal(size=80) > 0, "a", "b")
    both = pd.DataFrame({"x": x, "price": price})
    table = both if where == "features" else both[["x"]]
    metadata = None if where == "features" else both.iloc[:40][["price"]]
    data = data_of(table[:40], table[40:], labels[:40], labels[40:], metadata=metadata)
    check = number_texts(data)
    assert (check is None) == (shown is None)
    if check is not None:
        assert check.sentence.startswith("The column 'price' looks like numbers")
        assert f"'{shown}'" in check.sentence


def test_no_more_than_five_are_told_the_most_important_first() -> None:
    X = pd.DataFrame(rows(200), columns=[*"abcd"])
    X["id"], X["one"] = range(200), 1
    Z = X.copy()
    Z["a"] += 100
    Z.iloc[100:] = X.iloc[100:]
    y = np.array(["yes", "Yes"] * 100, dtype=object)
    names = [each.name for each in checks_of(data_of(X, Z, y, ["yes"] * 190 + ["Yes"] * 10))]
    assert names == ["overlapping rows", "spelling of classes", "class shares", "id-like columns", "constant columns"]
    assert len(names) == policy.MOST_CHECKS


class Odd:
    """Cannot be compared, hashed or written down."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise RuntimeError

    def __repr__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    "cells",
    [
        [Odd() for _ in range(60)], [[place, "x"] for place in range(60)], [{"a": place} for place in range(60)],
        [np.arange(3) + place for place in range(60)], [1, "a", None, 2.5, b"x", True] * 10, [None] * 60,
        [float("inf")] * 60, ["\ud800", "x"] * 30, [2**70 + place for place in range(60)], [1 + 2j] * 60,
        [True, None] * 30,
    ],
    ids=["odd", "lists", "dicts", "arrays", "mixed", "missing", "infinite", "half", "large", "complex", "truth"],
)  # fmt: skip
def test_odd_cells_never_raise(cells: list[Any]) -> None:
    frame = pd.DataFrame({"cell": pd.Series(cells, dtype=object), "a": rows(60)[:, 0]})
    for X in (frame, frame.to_numpy(dtype=object)):
        Z = X.iloc[:30] if isinstance(X, pd.DataFrame) else X[:30]
        assert told(data_of(X, Z))["overlapping rows"].startswith("30 of 30")


@pytest.mark.usefixtures("real_data")
@pytest.mark.parametrize("name", [each.name for each in DESIGNS])
@pytest.mark.parametrize("seed", [0, 1])
def test_clean_data_have_nothing_to_tell(name: str, seed: int) -> None:
    clean = getattr(datasets, name)(seed, noise="none")
    model = clean.learner("logistic")
    assert checks_of(Data.of(model, clean.X_train, clean.given, clean.X_test, clean.y_test)) == ()


# ── dates in metadata ──


@pytest.mark.parametrize("form", ["%Y-%m-%d", "%d/%m/%Y", "%Y-%m-%dT%H:%M:%S"])
@pytest.mark.parametrize(
    "make", [pd.DataFrame, pl.DataFrame, pa.table, lambda columns: np.array([*columns.values()]).T]
)
def test_dates_written_as_text_are_dates(make: Callable[[Any], Any], form: str) -> None:
    days = pd.date_range("2024-01-01", periods=200)
    metadata = make({"when": [f"{day:{form}}" for day in days], "who": ["ann", "bob"] * 100})
    home = data_of(rows(200), rows(100, seed=1), metadata=metadata).home("metadata")
    name = "m0" if isinstance(metadata, np.ndarray) else "when"
    held = Condition(name, "between", ("2024-02", "2024-03-05"), "metadata").holds(home)
    assert held.tolist() == ((days >= "2024-02-01") & (days < "2024-03-06")).tolist()


def flipped_in_march() -> dict[str, Any]:
    """Labels of March are wrong; the days are written as text."""
    X, Z = rows(600), rows(300, seed=1)
    y, z = X[:, 0] > 0, Z[:, 0] > 0
    days = pd.date_range("2024-01-01", periods=600, freq="6h")
    march = days.month == 3
    labels = np.where(y ^ (march & y), "up", "down")
    return {
        "X_train": X, "y_train": labels, "X_test": Z, "y_test": np.where(z, "up", "down"),
        "metadata": pl.DataFrame({"when": [f"{day:%Y-%m-%d %H:%M}" for day in days]}), "check_fidelity": False,
    }  # fmt: skip


def test_a_range_of_dates_is_found_in_metadata_of_text() -> None:
    found = psidebug.debug(LogisticRegression(), **flipped_in_march())
    assert "when" in found.slices["condition"][0]
    assert "2024-03" in found.slices["condition"][0]
    assert found.correction is not None


def test_noise_rates_by_date_may_name_the_text() -> None:
    options = flipped_in_march()
    options["metadata"] = pd.DataFrame({"day": np.repeat(["2024-01-01", "2024-01-02"], 300)})
    found = psidebug.debug(LogisticRegression(), **options, prior={"day": {"2024-01-01": 0.2, "2024-01-02": 0.01}})
    assert found.prior.rates[[0, 599]].tolist() == pytest.approx([0.2, 0.01])


# ── where they are told ──


@pytest.fixture(scope="module")
def overlapping(planted: Planted) -> psidebug.Diagnosis:
    """All test rows are training rows, in a table of polars."""
    X = pl.DataFrame(planted.X_train, schema=[*"abcd"])
    model = make_pipeline(make_column_transformer(("passthrough", [*"abcd"])), LogisticRegression())
    return psidebug.debug(model, X, planted.y_train, X[:80], planted.y_train[:80], check_fidelity=False)


def test_a_diagnosis_tells_them_before_its_verdict(overlapping: psidebug.Diagnosis) -> None:
    frame = overlapping.checks
    assert isinstance(frame, pl.DataFrame)
    assert frame["check"].to_list()[0] == "overlapping rows"
    sentence = frame["sentence"].to_list()[0]
    assert sentence.startswith("80 of 80 test rows")
    assert str(overlapping).startswith(f"Before the diagnosis\n  {sentence}\n")
    assert str(overlapping).endswith(overlapping.verdict)
    quiet = replace(overlapping, found=replace(overlapping.found, checks=()))
    assert str(quiet) == overlapping.verdict


def test_they_are_saved_with_the_run_and_shown_on_pages(overlapping: psidebug.Diagnosis, tmp_path: Any) -> None:
    overlapping.save(tmp_path / "run")
    again = psidebug.Diagnosis.load(tmp_path / "run")
    assert again.found.checks == overlapping.found.checks != ()
    assert nw.from_native(again.checks).to_dict(as_series=False) == nw.from_native(overlapping.checks).to_dict(
        as_series=False
    )
    marked = replace(again, found=replace(again.found, checks=(Check("odd", "A <b> & c."),)))
    marked.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<li>A &lt;b&gt; &amp; c.</li>" in page
    assert "A &lt;b&gt; &amp; c." in marked._repr_html_()


def test_different_rows_are_counted_as_they_are() -> None:
    keys = np.random.default_rng(0).integers(0, 50, size=200).astype(np.uint64)
    assert different(keys) == len(set(keys.tolist()))
    assert different(keys[:0]) == 0


def test_rows_are_compared_once_for_causes_and_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[int] = []
    plain = rows_module.equal_rows

    def counting(train: Any, test: Any, pairs: Any) -> Any:
        compared.append(len(train))
        return plain(train, test, pairs)

    for place in (rows_module, duplicates):
        monkeypatch.setattr(place, "equal_rows", counting)
    data = data_of(rows(300), rows(100, 1))
    assert duplicates.claims(data) == []
    assert checks_of(data) is not None
    assert compared == [300]
    assert data not in rows_module._FOUND, "they take as much memory as a few columns"


@pytest.mark.parametrize(
    ("numbers", "name_rows"),
    [
        (np.delete(np.arange(1000, 1300), np.s_[::7]), True),
        (np.random.default_rng(0).permutation(np.delete(np.arange(300), np.s_[::7])), True),
        (np.arange(0, 900, 3), False),
        (np.random.default_rng(0).permutation(np.arange(1000, 1300)), False),
        (np.repeat(np.arange(150), 2), False),
    ],
    ids=["gaps", "shuffled, with gaps", "every third", "shuffled, from 1000", "each twice"],
)
def test_rows_that_were_left_out_leave_gaps_in_their_numbers(numbers: Any, name_rows: bool) -> None:
    assert numbers_the_rows(numbers) == name_rows
