"""Files as people have them: encodings, arrays, codes, rows without a label; refused ones say what to add."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from psidebug.cli.prior import prior_from
from psidebug.errors import InvalidPrior, MissingLabels, ShapeMismatch, UnknownOption, UnreadableTable
from psidebug.intake import Roles, inputs_from, read_table
from tests.cli.folder import people, psi, spoiled, write_csv

DEBUG = ("debug", "train.csv", "test.csv", "--label", "label", "--id", "id")


def latin(folder: Path) -> None:
    """The files of the folder with Münster for Pune, as Windows writes them."""
    for name in ("train.csv", "test.csv"):
        text = (folder / name).read_text(encoding="utf-8").replace("Pune", "Münster")
        (folder / name).write_bytes(text.encode("cp1252"))


def test_another_encoding_is_refused_with_the_option_to_add_and_read_and_written_with_it(folder: Path) -> None:
    latin(folder)
    refused = psi(*DEBUG, folder=folder)
    assert refused.code == 2
    assert "add --encoding cp1252" in refused.err
    ran = psi(*DEBUG, "--encoding", "cp1252", folder=folder)
    assert (ran.code, "city = Münster" in ran.out) == (0, True)
    assert "written from the run's copy" not in psi("apply", "psi-run", "-o", "fixed.csv", folder=folder).err
    before, after = ((folder / name).read_bytes().decode("cp1252").splitlines() for name in ("train.csv", "fixed.csv"))
    changed = [(one, other) for one, other in zip(before, after, strict=True) if one != other]
    assert changed
    assert all(one.replace('"no"', "?") == other.replace('"yes"', "?") for one, other in changed)


def test_an_encoding_that_does_not_exist_or_fit_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes("a,b\n1,ü\n".encode())
    for name in ("klingon", "hex"):
        with pytest.raises(UnknownOption, match=f"no encoding '{name}'"):
            read_table(tmp_path / "t.csv", encoding=name)
    with pytest.raises(UnreadableTable, match=r"is not ascii.*Give another --encoding"):
        read_table(tmp_path / "t.csv", encoding="ascii")


def test_an_array_of_json_is_read_and_its_run_applied(folder: Path) -> None:
    for name in ("train", "test"):
        rows = pa.csv.read_csv(folder / f"{name}.csv").to_pylist()
        (folder / f"{name}.json").write_text(json.dumps(rows, default=str, indent=1))
    ran = psi("debug", "train.json", "test.json", "--label", "label", "--id", "id", folder=folder)
    assert (ran.code, "city = Pune" in ran.out) == (0, True)
    applied = psi("apply", "psi-run", "-o", "fixed.csv", folder=folder)
    assert (applied.code, "train.json is a JSON array, not CSV" in applied.err + applied.out) == (0, True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[{"a": 1}, 3]', "whose row 1 is no record"),
        ('[{"a": 1}, {"a": ]', "begins as a JSON array but is damaged"),
        ("[" + "{" * 3, "begins as a JSON array but is damaged"),
        ('[{"a":' + "[" * 99 + "]" * 99 + "}]", "nested more than"),
    ],
)
def test_other_arrays_are_refused_in_words(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "t.json").write_text(text)
    with pytest.raises(UnreadableTable, match=said):
        read_table(tmp_path / "t.json")


def test_a_header_may_begin_with_a_bracket(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("[id],x\n1,2\n")
    assert read_table(tmp_path / "t.csv").column_names == ["[id]", "x"]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_codes_are_categories_if_said_so(tmp_path: Path, kind: str) -> None:
    table = pa.table({"zip": [10, 20, 30] * 8, "x": list(range(24)), "label": ["a", "b"] * 12})
    write: Any = pa.csv.write_csv if kind == "csv" else pa.parquet.write_table
    write(table, tmp_path / "t")
    file = tmp_path / "t"
    plain = inputs_from(file, file, None, Roles("label"))
    assert plain.model["columns"].categories == []
    said = inputs_from(file, file, None, Roles("label", categories=("zip",)))
    assert said.model["columns"].categories == ["zip"]
    assert said.train.table["zip"].to_pylist()[:3] == ["10", "20", "30"]


def test_rows_without_a_label_are_left_out_and_the_others_keep_their_numbers(folder: Path) -> None:
    table = spoiled(people(240, seed=1))
    lost = range(0, 240, 7)
    write_csv(folder / "train.csv", table | {"label": [None if i in lost else v for i, v in enumerate(table["label"])]})
    refused = psi("debug", "train.csv", "test.csv", "--label", "label", "--ignore", "id", folder=folder)
    assert refused.code == 2
    assert "in 35 of its 240 rows, first in row 0 (from 0)" in refused.err
    assert "add --drop-unlabelled" in refused.err
    ran = psi(
        *("debug", "train.csv", "test.csv", "--label", "label", "--ignore", "id", "--drop-unlabelled", "--json"),
        folder=folder,
    )
    assert ran.code == 0
    suspects = json.loads(ran.out)["suspects"]
    assert suspects
    assert all(table["label"][each["row"]] == each["given"] and each["row"] not in lost for each in suspects)


def test_a_file_without_any_label_is_refused(tmp_path: Path) -> None:
    file = write_csv(tmp_path / "t.csv", {"x": [1, 2], "label": pa.nulls(2, pa.string())})
    with pytest.raises(MissingLabels, match="no label in any row"):
        inputs_from(file, file, None, Roles("label"), drop_unlabelled=True)


def test_all_missing_columns_are_named(tmp_path: Path) -> None:
    one = write_csv(tmp_path / "one.csv", {"a": [1, 2], "b": [1, 3], "c c": [4, 5], "label": ["x", "y"]})
    two = write_csv(tmp_path / "two.csv", {"b": [1, 2], "label": ["x", "y"]})
    with pytest.raises(ShapeMismatch) as refused:
        inputs_from(one, two, None, Roles("label"))
    assert str(refused.value) == (
        f"{two} lacks the columns 'a' and 'c c' of {one}. Add them, or hide them from the model: "
        f"--ignore a --ignore 'c c'."
    )


TABLE = pa.table({"annotator": ["ann", "bob: jr"], "year": [2019, 2020]})


@pytest.mark.parametrize(
    ("typed", "prior"),
    [
        ((), None),
        (("0.05",), 0.05),
        (("annotator=ann:0.2", "annotator=bob: jr:0.01"), {"annotator": {"ann": 0.2, "bob: jr": 0.01}}),
        (("year=2019:0.3",), {"year": {2019: 0.3}}),
    ],
)
def test_priors_as_typed(typed: tuple[str, ...], prior: Any) -> None:
    assert prior_from(typed, TABLE) == prior


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (("often",), "neither a rate"),
        (("annotator=ann",), "neither a rate"),
        (("annotator=ann:often",), "neither a rate"),
        (("who=ann:0.1",), "no column 'who'"),
        (("annotator=ann:0.1", "year=2019:0.3"), "one column"),
        (("0.1", "0.2"), "neither a rate"),
    ],
)
def test_other_priors_are_refused(typed: tuple[str, ...], said: str) -> None:
    with pytest.raises(InvalidPrior, match=said):
        prior_from(typed, TABLE)


def test_a_stated_prior_reaches_the_diagnosis(folder: Path) -> None:
    wrong = psi(*DEBUG, "--ignore", "source", "--prior", "source=fax:0.1", folder=folder)
    assert (wrong.code, "'fax', which the column never has" in wrong.err) == (2, True)
    ran = psi(*DEBUG, "--ignore", "source", "--prior", "source=web:0.4", "--effort", "rank", "--json", folder=folder)
    assert ran.code == 0
    spec = json.loads((folder / "psi-run" / "run.json").read_text())["spec"]
    assert "0.4" in json.dumps(spec["prior"])
