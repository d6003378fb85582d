"""``psi apply`` changes label cells of the training file and nothing else, whatever types and spellings it has."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Callable
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from psidebug.errors import OutputError
from psidebug.exports.cells import NewCells, changed_file
from psidebug.store import Run, load_run
from tests.cli.folder import people, psi, spoiled

ROWS, TOP = 120, 5
TRACE = ["given", "corrected", "verdict", "reviewer", "time"]


def odd_csv(*, delimiter: str = ",", ending: str = "\n", quoted: bool = False) -> str:
    """Ids with zeros, words for nothing, truth in capitals, zeros at the end, quotes, line breaks and empty lines."""
    table = spoiled(people(ROWS, seed=1))
    lines = [delimiter.join(["code", "income", "city", "member", "price", "target", "note"])]
    for row in range(ROWS):
        note = ["n/a", "NA", "", '""', '"say ""so"""', f'"a{delimiter} b{ending}c"'][row % 6]
        label = {"yes": "01", "no": "0"}[table["label"][row]]
        income = "n/a" if table["income"][row] is None else f"{table['income'][row]:.4f}"
        cells = [f"{row:05d}", income, table["city"][row], ["TRUE", "false"][row % 2], "3.30"]
        lines.append(delimiter.join([*cells, f'"{label}"' if quoted else label, note]))
    lines.insert(7, "")
    return ending.join([*lines, ""])


def odd_table(label: pa.DataType) -> pa.Table:
    table = spoiled(people(ROWS, seed=1))
    classes = ["no", "yes"] if not pa.types.is_integer(label) else [0, 1]
    labels: Any = pa.array([classes[each == "yes"] for each in table["label"]])
    moments = [datetime(2020, 1, 1, tzinfo=UTC) + timedelta(hours=row) for row in range(ROWS)]
    columns = {
        "income": pa.array(table["income"], pa.float32()),
        "city": pa.array(table["city"]).dictionary_encode(),
        "at": pa.array([time(row % 24, 30) for row in range(ROWS)], pa.time64("ns")),
        "took": pa.array([timedelta(seconds=row) for row in range(ROWS)], pa.duration("ms")),
        "moment": pa.array(moments, pa.timestamp("ns", "Europe/Oslo")),
        "price": pa.array([Decimal(row) / 10 for row in range(ROWS)], pa.decimal128(10, 2)),
        "count": pa.array([None if row % 9 == 0 else row for row in range(ROWS)], pa.int16()),
        "label": labels.dictionary_encode().cast(label) if pa.types.is_dictionary(label) else labels.cast(label),
    }
    fields = [pa.field(name, each.type) for name, each in columns.items()]
    fields[-1] = pa.field("label", label, nullable=False, metadata={"asked": "twice"})
    return pa.table(list(columns.values()), schema=pa.schema(fields, metadata={"owner": "the bank"}))


def debugged(folder: Path, name: str, label: str) -> Run:
    """A run of the file, which serves as its own test."""
    ran = psi("debug", name, name, "--label", label, folder=folder)
    assert ran.code == 0, ran.err
    return load_run(folder / "psi-run")


def applied(folder: Path, name: str, *more: str) -> str:
    """Apply the first suspects; what was said."""
    ran = psi("apply", "psi-run", "--top", str(TOP), "-o", name, *more, folder=folder)
    assert ran.code == 0, ran.err
    return ran.err


def expected(run: Run) -> dict[int, Any]:
    """Position → label, of the first suspects."""
    codes = run.proposed
    found = {int(place): run.findings.encoding.classes[codes[place]] for place in run.order[:TOP]}
    assert len(found) == TOP
    assert all(run.findings.labels.given[place] != codes[place] for place in found)
    return found


def records(text: str, delimiter: str) -> list[list[str]]:
    return [row for row in csv.reader(text.splitlines(keepends=True), delimiter=delimiter) if row]


@pytest.mark.parametrize(
    ("delimiter", "ending", "quoted", "codec"),
    [(",", "\n", False, "utf-8"), (";", "\r\n", True, "utf-8-sig"), ("\t", "\n", False, "utf-16")],
)
def test_csv(tmp_path: Path, delimiter: str, ending: str, quoted: bool, codec: str) -> None:
    text = odd_csv(delimiter=delimiter, ending=ending, quoted=quoted)
    (tmp_path / "train.csv").write_bytes(text.encode(codec))
    changes = expected(debugged(tmp_path, "train.csv", "target"))
    assert applied(tmp_path, "fixed.csv") == f"{TOP} of {ROWS} labels corrected; written to fixed.csv\n"
    fixed = (tmp_path / "fixed.csv").read_bytes().decode(codec)
    before, after = records(text, delimiter), records(fixed, delimiter)
    for place, label in changes.items():
        before[place + 1][5] = "01" if label == 1 else "0"
    assert after == before
    pairs = list(zip(text.split(ending), fixed.split(ending), strict=True))
    assert sum(old != new for old, new in pairs) == TOP
    assert all(('"0"' in new) or ('"01"' in new) for old, new in pairs if old != new) == quoted


def test_csv_with_a_trace_and_packed(tmp_path: Path) -> None:
    text = odd_csv().replace("code,", "given,")
    (tmp_path / "train.csv.gz").write_bytes(gzip.compress(text.encode()))
    changes = expected(debugged(tmp_path, "train.csv.gz", "target"))
    applied(tmp_path, "fixed.csv.gz", "--trace")
    header, *rows = records(gzip.decompress((tmp_path / "fixed.csv.gz").read_bytes()).decode(), ",")
    assert header[7:] == ["psi_given", *TRACE[1:]]
    for place, (row, old) in enumerate(zip(rows, records(text, ",")[1:], strict=True)):
        assert row[:5] + row[6:7] == old[:5] + old[6:7]
        assert row[7:] == [old[5], "true" if place in changes else "false", "", "", ""]
        assert (row[5] != old[5]) == (place in changes)


def test_json_lines(tmp_path: Path) -> None:
    table = spoiled(people(ROWS, seed=1))
    lines = [
        f'{{"income":{json.dumps(table["income"][row])}, "label" : "{table["label"][row]}" ,"price":3.30,'
        f'"city":"{table["city"][row]}", "note": "\\u00e9 \\"label\\": {row}"}}'
        for row in range(ROWS)
    ]
    (tmp_path / "train.jsonl").write_text("\n".join(lines) + "\n")
    changes = expected(debugged(tmp_path, "train.jsonl", "label"))
    assert "copy" not in applied(tmp_path, "fixed.jsonl")
    for place, label in changes.items():
        lines[place] = lines[place].replace(f'"label" : "{table["label"][place]}"', f'"label" : "{label}"')
    assert (tmp_path / "fixed.jsonl").read_text() == "\n".join(lines) + "\n"
    applied(tmp_path, "traced.jsonl", "--trace")
    for place, line in enumerate((tmp_path / "traced.jsonl").read_text().splitlines()):
        told = {"given": table["label"][place], "corrected": place in changes}
        assert json.loads(line) == json.loads(lines[place]) | told | dict.fromkeys(TRACE[2:])


def write_parquet(table: pa.Table, path: Path) -> None:
    pq.write_table(table, path, row_group_size=50, compression="gzip")


def write_stream(table: pa.Table, path: Path) -> None:
    with pa.ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table)


def read_stream(path: Path) -> pa.Table:
    return pa.ipc.open_stream(path.read_bytes()).read_all()


@pytest.mark.parametrize(
    ("suffix", "label", "write", "read"),
    [
        ("parquet", pa.int8(), write_parquet, pq.read_table),
        ("parquet", pa.dictionary(pa.int8(), pa.string()), write_parquet, pq.read_table),
        ("arrow", pa.dictionary(pa.int16(), pa.large_string()), write_stream, read_stream),
    ],
)
def test_tables_with_types(
    tmp_path: Path,
    suffix: str,
    label: pa.DataType,
    write: Callable[[pa.Table, Path], None],
    read: Callable[[Path], pa.Table],
) -> None:
    write(odd_table(label), tmp_path / f"train.{suffix}")
    given = read(tmp_path / f"train.{suffix}")
    changes = expected(debugged(tmp_path, f"train.{suffix}", "label"))
    assert "copy" not in applied(tmp_path, f"fixed.{suffix}")
    fixed = read(tmp_path / f"fixed.{suffix}")
    assert fixed.schema.equals(given.schema, check_metadata=True)
    assert fixed.schema.metadata[b"owner"] == b"the bank"
    assert fixed.drop_columns("label").equals(given.drop_columns("label"))
    labels = given["label"].to_pylist()
    assert fixed["label"].to_pylist() == [changes.get(place, labels[place]) for place in range(ROWS)]
    applied(tmp_path, f"traced.{suffix}", "--trace")
    traced = read(tmp_path / f"traced.{suffix}")
    assert traced.column_names == [*given.column_names, *TRACE]
    assert traced["given"].type == label
    assert traced["given"].to_pylist() == labels
    assert [place for place, each in enumerate(traced["corrected"].to_pylist()) if each] == sorted(changes)


def test_otherwise_the_copy_of_the_run_and_a_remark(tmp_path: Path) -> None:
    text = odd_csv()
    (tmp_path / "train.csv").write_text(text)
    changes = expected(debugged(tmp_path, "train.csv", "target"))
    assert "train.csv is CSV, not Parquet; written from the run's copy" in applied(tmp_path, "fixed.parquet")
    (tmp_path / "train.csv").write_text(text.replace("Oslo", "Rome"))
    assert "has changed; written from the run's copy" in applied(tmp_path, "changed.csv")
    (tmp_path / "train.csv").unlink()
    assert "is gone; written from the run's copy" in applied(tmp_path, "gone.csv")
    assert "Oslo" in (tmp_path / "changed.csv").read_text()
    assert (tmp_path / "changed.csv").read_bytes() == (tmp_path / "gone.csv").read_bytes()
    labels = pq.read_table(tmp_path / "fixed.parquet")["target"].to_pylist()
    assert {place: labels[place] for place in changes} == changes


def test_the_training_file_itself_is_not_replaced_unless_that_is_said(tmp_path: Path) -> None:
    text = odd_csv().encode()
    (tmp_path / "train.csv").write_bytes(text)
    debugged(tmp_path, "train.csv", "target")
    (tmp_path / "link.csv").symlink_to("train.csv")
    for name in ("train.csv", str(tmp_path / "train.csv"), "link.csv"):
        ran = psi("apply", "psi-run", "--top", str(TOP), "-o", name, folder=tmp_path)
        assert (ran.code, ran.out) == (2, "")
        assert ran.err.startswith(f"psi: {name} is the training file itself: choose another name, or --overwrite")
        assert len(ran.err.splitlines()) == 1
    assert (tmp_path / "train.csv").read_bytes() == text
    applied(tmp_path, "other.csv")
    applied(tmp_path, "train.csv", "--overwrite")
    assert (tmp_path / "train.csv").read_bytes() == (tmp_path / "other.csv").read_bytes() != text


def test_a_label_that_no_row_has_must_fit_the_column() -> None:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"label": pa.array([0, 1], pa.int8())}), sink)
    content = sink.getvalue().to_pybytes()
    fits, too_large = (
        NewCells(["label"], "label", np.array([0, 1]), cells={"label": {0: label}}) for label in (100, 300)
    )
    fixed = changed_file(content, "parquet", fits)
    assert pq.read_table(pa.BufferReader(fixed)).equals(pa.table({"label": pa.array([100, 1], pa.int8())}))
    with pytest.raises(OutputError, match="the label 300: it does not fit the column 'label', which holds int8"):
        changed_file(content, "parquet", too_large)
