"""Which files ``psi debug`` answers, and which it refuses with exit code 2 and one useful sentence."""

from __future__ import annotations

import csv
import gzip
import io
import os
import re
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tests.cli.folder import Ran, people, psi, write_csv

GOOD = "x,city,label\n" + "".join(f"{i % 7},{'ab'[i % 2]},{'no' if i % 3 else 'yes'}\n" for i in range(30))


def parquet(folder: Path, **columns: object) -> Path:
    pa.parquet.write_table(pa.table(columns), folder / "train.parquet")
    return folder / "train.parquet"


def cut_parquet(folder: Path) -> Path:
    path = parquet(folder, x=list(range(500)), label=["a", "b"] * 250)
    path.write_bytes(path.read_bytes()[:-200])
    return path


def text(content: str | bytes, name: str = "train.csv") -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return folder / name

    return write


def lists(folder: Path) -> Path:
    return parquet(folder, x=[[1, 2]] * 30, label=["a", "b"] * 15)


REFUSED: dict[str, tuple[Callable[[Path], Path], str]] = {
    "empty": (text(""), "is empty"),
    "blank": (text("\n\n\n"), "is empty"),
    "header only": (text("x,city,label\n"), "no rows"),
    "no label column": (
        text(GOOD.replace("label", "lable", 1)),
        "no column 'label' (the label); near ones are 'lable'",
    ),
    "latin-1": (text(GOOD.replace("a,no", "\xe9,no").encode("latin-1")), "is not UTF-8: byte 0xe9 in line"),
    "ragged": (text(GOOD + "1,a,no,more\n"), "row 30 has 4 values where the header has 3"),
    "short row": (text(GOOD + "1\n"), "has 1 value where the header has 3"),
    "duplicate names": (text(GOOD.replace("city", "x", 1)), "more than one column 'x'"),
    "lists": (lists, "column 'x' of"),
    "cut Parquet": (cut_parquet, "damaged or incomplete"),
    "cut gzip": (lambda f: text(gzip.compress(GOOD.encode() * 99)[:-40], "t.csv.gz")(f), "damaged or incomplete"),
    "a directory": (lambda f: f, "is a folder without *.parquet files (it has test.csv)"),
    "no file": (lambda f: f / "none.csv", "there is no file"),
    "junk": (text(np.random.default_rng(0).bytes(2000).replace(b"PAR1", b"")), "train.csv"),
    "a spreadsheet": (text(b"PK\x03\x04 and so on"), "save the sheet as CSV"),
    "a damaged JSON array": (text('[{"x": 1, "label": "a"'), "begins as a JSON array but is damaged"),
    "broken JSON": (text('{"x": 1, "label": "a"}\n{"x": 2, "la'), "damaged or incomplete"),
    "mixed JSON": (
        text('{"x": 1, "label": "a"}\n{"x": "b", "label": "a"}\n'),
        "holds numbers, but text in row 1, from 0",
    ),
    "missing labels": (text(GOOD + "1,a,\n"), "no label in 1 of its 31 rows, first in row 30 (from 0)"),
    "one class": (text(GOOD.replace("yes", "no")), "has the label 'no' in all of its 30 rows"),
    "distinct labels": (text("x,label\n" + "".join(f"{i},L{i}\n" for i in range(60))), "so it is no label"),
    "labels of another kind": (
        text("x,label\n" + "".join(f"{i % 8},{i % 9 / 7}\n" for i in range(60))),
        "which no training label has",
    ),
    "one column": (text("label\n" + "a\nb\n" * 20), "no column left to learn from"),
    "nothing to learn from": (text("x,label\n" + "1,a\n1,b\n" * 20), "no column of"),
    "unseen class in test": (text(GOOD.replace("yes", "Yes")), "the label column of test.csv has 'yes'"),
    "not in the test set": (text(GOOD.replace("city", "town", 1)), "lacks the column 'town'"),
    "one row": (text("x,city,label\n1,a,no\n"), "has the label 'no' in its only row"),
    "records": (lambda f: parquet(f, x=[{"a": 1}] * 30, city=["a"] * 30, label=["no", "yes"] * 15), "holds records"),
    "lists for labels": (
        lambda f: parquet(f, x=[1, 2] * 15, label=[["no"]] * 30),
        "the label column 'label' holds lists",
    ),
    "bytes for labels": (
        lambda f: parquet(f, x=[1, 2] * 15, label=[b"no"] * 30),
        "the label column 'label' holds bytes",
    ),
    "no labels at all": (lambda f: parquet(f, x=[1, 2] * 15, label=pa.nulls(30)), "no label in 30 of its 30 rows"),
    "junk called gzip": (text(b"\x1f\x8bjunk", "t.csv.gz"), "is packed by gzip, and is damaged"),
    "text for numbers": (text(GOOD.replace("city", "z", 1).replace("x,z", "city,x", 1)), "holds numbers in"),
}


def assert_answered(ran: Ran) -> None:
    assert ran.code == 0, ran
    assert "Verdict" in ran.out
    assert "Traceback" not in ran.err


def assert_refused(ran: Ran, said: str) -> None:
    """In one sentence that names the file and the reason, and does not blame Psi."""
    assert ran.code == 2, ran
    assert ran.err.count("\n") == 1
    assert said in ran.err
    assert "internal error" not in ran.err
    assert ran.out == ""


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_used_is_refused_in_one_sentence(tmp_path: Path, case: str) -> None:
    make, said = REFUSED[case]
    test = text(GOOD, "test.csv")(tmp_path)
    train = make(tmp_path)
    ran = psi("debug", str(train), str(test), "--label", "label", "-o", str(tmp_path / "run"))
    assert_refused(ran, said)
    assert ran.err.startswith("psi: ")
    assert not re.search(r"\b[Xy]_(train|test)", ran.err), "files and columns have other names here"
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "columns",
    [
        {"i": [[k] for k in range(30)]},
        {"i": [{"a": k} for k in range(30)]},
        {"i": [bytes([k]) for k in range(30)]},
    ],
    ids=["lists", "records", "bytes"],
)
def test_what_cannot_be_ids(tmp_path: Path, columns: dict[str, list[object]]) -> None:
    parquet(tmp_path, x=[1, 2, 3] * 10, label=["a", "b"] * 15, **columns)
    ran = psi("debug", "train.parquet", "train.parquet", "--label", "label", "--id", "i", folder=tmp_path)
    assert ran.code == 2
    assert "which are no ids" in ran.err
    assert ran.err.count("\n") == 1


def test_infinity_is_no_class(tmp_path: Path) -> None:
    parquet(tmp_path, x=[1, 2, 3] * 10, label=[1.0, 2.0, float("inf")] * 10)
    ran = psi("debug", "train.parquet", "train.parquet", "--label", "label", folder=tmp_path)
    assert ran.code == 2
    assert "train.parquet has infinity for a label in row 2 (from 0)" in ran.err


@pytest.mark.parametrize("place", ["good.csv", "good.csv/run", "no/where", "."])
def test_where_no_run_can_be(tmp_path: Path, place: str) -> None:
    text(GOOD, "good.csv")(tmp_path)
    ran = psi("debug", "good.csv", "good.csv", "--label", "label", "-o", place, folder=tmp_path)
    assert ran.code == 2
    assert ran.err.count("\n") == 1
    assert ran.err.startswith("psi: ")
    assert place in ran.err
    assert [each.name for each in tmp_path.iterdir()] == ["good.csv"]


def test_a_place_that_is_not_ours_is_refused_before_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text(GOOD, "good.csv")(tmp_path)
    monkeypatch.setattr("os.access", lambda _, mode, **__: mode == os.R_OK)
    ran = psi("debug", "good.csv", "good.csv", "--label", "label", "-o", "run", folder=tmp_path)
    assert ran.code == 2
    assert "could not write run: it is not yours to write to" in ran.err


@pytest.mark.parametrize("name", ["suspects", "slices", "explain", "verify"])
@pytest.mark.parametrize("run", ["good.csv", ".", "good.csv/x"])
def test_what_is_no_run(tmp_path: Path, name: str, run: str) -> None:
    text(GOOD, "good.csv")(tmp_path)
    ran = psi(name, run, folder=tmp_path)
    assert ran.code == 2
    assert ran.err.count("\n") == 1
    assert run in ran.err


@pytest.mark.parametrize(
    ("roles", "said"),
    [
        (("--id", "id"), "the id 3 in several rows"),
        (("--id", "nobody"), "no column 'nobody' (the id)"),
        (("--ignore", "label"), "has two roles"),
        (("--text", "x", "--ignore", "x"), "has two roles"),
        (("--ignore", "x,id"), "Name one column at a time: --ignore x --ignore id."),
        (("--text", "x, id"), "Name one column at a time: --text x --text id."),
        (("--validation", "none.csv"), "there is no file none.csv"),
        (("--validation", "-"), "stdin"),
    ],
)
def test_roles_that_do_not_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, roles: tuple[str, ...], said: str
) -> None:
    rows = [f"{i % 5},{i if i != 9 else 3},{'no' if i % 3 else 'yes'}" for i in range(30)]
    text("x,id,label\n" + "\n".join(rows))(tmp_path)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))
    ran = psi("debug", "train.csv", "train.csv", "--label", "label", *roles, folder=tmp_path)
    assert ran.code == 2, ran
    assert said in ran.err
    assert ran.err.count("\n") == 1


def test_a_label_missing_in_the_test_set(tmp_path: Path) -> None:
    text(GOOD)(tmp_path)
    text(GOOD.replace("label", "verdict", 1), "test.csv")(tmp_path)
    ran = psi("debug", "train.csv", "test.csv", "--label", "label", folder=tmp_path)
    assert ran.code == 2
    assert "test.csv has no column 'label' (the label)" in ran.err


def test_measured_labels(tmp_path: Path) -> None:
    """Thirty different fractions in 90 rows, in both files."""
    text("x,label\n" + "".join(f"{i % 8},{i % 30 / 7}\n" for i in range(90)))(tmp_path)
    ran = psi("debug", "train.csv", "train.csv", "--label", "label", folder=tmp_path)
    assert ran.code == 2
    assert "the label column of train.csv has 30 different values" in ran.err
    assert "looks like a measurement" in ran.err
    assert ran.err.count("\n") == 1


@pytest.mark.thorough
def test_eight_hundred_columns(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for name, rows in (("train", 60), ("test", 40)):
        X = rng.normal(size=(rows, 800)).round(3)
        table = {f"c{i}": X[:, i] for i in range(800)} | {"label": np.where(X[:, 0] > 0, "a", "b")}
        pa.parquet.write_table(pa.table(table), tmp_path / name)
    assert_answered(psi("debug", "train", "test", "--label", "label", folder=tmp_path))


ODD: dict[str, list[object]] = {
    "numbers and words": [1, "two", 3.5, None] * 15,
    "dates and words": ["2020-01-01", "not a date"] * 30,
    "infinite": [float("inf"), float("-inf"), 0.0] * 20,
    "huge": [2**62, -(2**62), 0] * 20,
    "too long for a number": ["12345678901234567890123", "5"] * 30,
    "long": ["y" * 200_000, "short", "z"] * 20,
    "naïve ☃ [b]": ["<script>", "[/red]", ""] * 20,
    "nearly empty": [None] * 59 + [1],
    "broken lines": ["a\nb", 'say "no"', "c,d"] * 20,
    "": list(range(60)),
}


def of_columns(folder: Path, columns: dict[str, list[object]]) -> Ran:
    """What is said of a table that has these columns beside a good one."""
    good = people(60, seed=1)
    table = {**{name: good[name] for name in ("city", "label")}, **columns}
    for file in ("train.csv", "test.csv"):
        with (folder / file).open("w", newline="", encoding="utf-8") as stream:
            writer = csv.writer(stream)
            writer.writerow(table)
            writer.writerows(zip(*table.values(), strict=True))
    return psi("debug", "train.csv", "test.csv", "--label", "label", folder=folder)


def test_odd_columns_are_learned_from_together(tmp_path: Path) -> None:
    assert_answered(of_columns(tmp_path, ODD))


@pytest.mark.thorough
@pytest.mark.parametrize("name", ODD)
def test_an_odd_column_is_learned_from_alone(tmp_path: Path, name: str) -> None:
    assert_answered(of_columns(tmp_path, {name: ODD[name]}))


def test_one_row_of_each_class_is_answered(tmp_path: Path) -> None:
    write_csv(tmp_path / "one.csv", {"x": [1.0], "label": ["a"]})
    write_csv(tmp_path / "two.csv", {"x": [1.0, 2.0], "label": ["a", "b"]})
    assert_refused(psi("debug", "one.csv", "two.csv", "--label", "label", folder=tmp_path), "in its only row")
    assert_answered(psi("debug", "two.csv", "two.csv", "--label", "label", folder=tmp_path))
    assert_answered(psi("debug", "two.csv", "one.csv", "--label", "label", "-o", "other", folder=tmp_path))


PLAIN = ["1", "2.5", "", "a", "NA", "2020-02-30", "2020-02-03", "é", "-", "1e400", "true", "x y z"]
DELIMITERS = st.sampled_from([",", ";", "\t"])
often = settings(deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


def of_file(folder: Path, rows: list[list[str]], delimiter: str) -> Ran:
    """What is said of a file of these rows that has a label and two columns."""
    lines = [delimiter.join(["label", "u", "v"]), *(delimiter.join(row) for row in rows)]
    (folder / "any.csv").write_text("\n".join(lines), encoding="utf-8")
    with tempfile.TemporaryDirectory() as place:
        return psi("debug", "any.csv", "any.csv", "--label", "label", "-o", f"{place}/run", folder=folder)


def row_of(*, least: int = 3, most: int = 3, cells: list[str] = PLAIN) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(cells), min_size=least, max_size=most)


@settings(often, max_examples=30)
@given(st.lists(row_of(), max_size=6), row_of(least=1, most=5), st.lists(row_of(), max_size=6), DELIMITERS)
def test_a_file_with_a_row_of_another_length_is_refused(
    tmp_path: Path, before: list[list[str]], odd: list[str], after: list[list[str]], delimiter: str
) -> None:
    assume(len(odd) != 3)
    assume(odd != [""])  # a blank line is no row
    count = f"{len(odd)} value{'s' * (len(odd) > 1)}"
    ran = of_file(tmp_path, [*before, odd, *after], delimiter)
    assert_refused(ran, f"any.csv is ragged: row {len(before)} has {count} where the header has 3")


@settings(often, max_examples=8)
@given(st.lists(row_of(least=2, most=2), min_size=6, max_size=12), DELIMITERS)
def test_a_file_of_two_classes_and_a_column_of_numbers_is_answered(
    tmp_path: Path, others: list[list[str]], delimiter: str
) -> None:
    """Whatever the other column holds."""
    rows = [["ab"[i % 2], str(i % 5), cell] for i, (cell, _) in enumerate(others)]
    assert_answered(of_file(tmp_path, rows, delimiter))


@settings(often, max_examples=30)
@given(st.lists(row_of(cells=[*PLAIN, '"q', '"', 'a"b']), min_size=1, max_size=6), DELIMITERS)
def test_a_file_of_one_row_many_or_with_open_quotes_ends_in_a_sentence(
    tmp_path: Path, rows: list[list[str]], delimiter: str
) -> None:
    """What a quote that nobody closes makes of the rows cannot be said in advance; who is to blame can."""
    ran = of_file(tmp_path, rows, delimiter)
    if ran.code == 0:
        assert_answered(ran)
    else:
        assert_refused(ran, "any.csv")
