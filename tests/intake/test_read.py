"""Tables from files: the same rows from every format, read as they were written."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest

from psidebug.errors import UnreadableTable
from psidebug.file_kinds import PIECE
from psidebug.intake import read_table

TABLE = pa.table(
    {
        "n": [1, None, 3],
        "x": [0.5, 2.0, None],
        "day": [date(2020, 1, 2), None, date(2021, 12, 31)],
        "city": ["Lima", 'Łódź, "x"', None],
    }
)


def packed(codec: str) -> Callable[[pa.Table, Path], None]:
    def write(table: pa.Table, path: Path) -> None:
        with pa.CompressedOutputStream(str(path), codec) as stream:
            pa.csv.write_csv(table, stream)

    return write


def write_stream(table: pa.Table, path: Path) -> None:
    with pa.ipc.new_stream(str(path), table.schema) as stream:
        stream.write_table(table)


WRITERS: dict[str, Callable[[pa.Table, Path], object]] = {
    "csv": pa.csv.write_csv,
    "semicolons": lambda t, p: pa.csv.write_csv(t, p, pa.csv.WriteOptions(delimiter=";")),
    "tabs": lambda t, p: pa.csv.write_csv(t, p, pa.csv.WriteOptions(delimiter="\t")),
    "csv.gz": packed("gzip"),
    "csv.zst": packed("zstd"),
    "parquet": pa.parquet.write_table,
    "feather": pa.feather.write_feather,
    "stream": write_stream,
}


@pytest.mark.parametrize("kind", WRITERS)
def test_every_format_gives_the_same_rows_whatever_the_file_is_called(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "table"
    WRITERS[kind](TABLE, path)
    assert read_table(path).to_pylist() == TABLE.to_pylist()


def test_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "table.jsonl"
    path.write_text(
        '{"n": 1, "city": "Łódź"}\n{"n": null, "city": "a\\nb"}\n{"city": null, "x": 0.5}\n', encoding="utf-8"
    )
    assert read_table(path).to_pylist() == [
        {"n": 1, "city": "Łódź", "x": None},
        {"n": None, "city": "a\nb", "x": None},
        {"n": None, "city": None, "x": 0.5},
    ]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_encodings_that_say_what_they_are(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "t.csv").write_bytes("städt,y\nŁódź,1\n".encode(encoding))
    assert read_table(tmp_path / "t.csv").to_pylist() == [{"städt": "Łódź", "y": 1}]


def test_types_fit_every_row_not_only_the_first_ones(tmp_path: Path) -> None:
    """pyarrow looks at the first megabyte if it is let."""
    (tmp_path / "t.csv").write_text("a,b\n" + "1,2\n" * 600_000 + "1.5,two\n")
    last = read_table(tmp_path / "t.csv").slice(600_000).to_pylist()
    assert last == [{"a": 1.5, "b": "two"}]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("2020-01-31", date(2020, 1, 31)),
        ("2020-01-31 10:20:30", datetime(2020, 1, 31, 10, 20, 30)),
        ("2020-01-31T10:20:30Z", datetime(2020, 1, 31, 10, 20, 30)),
        ("31.01.2020", "31.01.2020"),
        ("01/02/2020", "01/02/2020"),
        ("9223372036854775807", 9223372036854775807),
        ("10:20:30", 37230),
        ("NA", None),
        ("true", True),
    ],
)
def test_values(tmp_path: Path, written: str, read: object) -> None:
    (tmp_path / "t.csv").write_text(f"v,w\n{written},1\n")
    assert read_table(tmp_path / "t.csv").to_pylist()[0]["v"] == read


def test_decimal_commas(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a;b\n1,5;x\n2,25;y\n")
    assert read_table(tmp_path / "t.csv")["a"].to_pylist() == [1.5, 2.25]


def test_ids_keep_their_zeros(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("id,y\n007,1\n123456789012345678901,0\n")
    assert read_table(tmp_path / "t.csv", as_text=["id"])["id"].to_pylist() == ["007", "123456789012345678901"]


def test_a_delimiter_in_quotes_does_not_count(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('"a,b,c,d";e\n1;2\n')
    assert read_table(tmp_path / "t.csv").to_pylist() == [{"a,b,c,d": 1, "e": 2}]


def test_one_column_with_blank_values(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a\nx\n\ny\n")
    assert read_table(tmp_path / "t.csv")["a"].to_pylist() == ["x", None, "y"]


def test_rare_types_become_plain_ones(tmp_path: Path) -> None:
    table = pa.table(
        {
            "category": pa.array(["a", "b", "a"]).dictionary_encode(),
            "money": [Decimal("1.25"), None, Decimal("2.50")],
            "nothing": pa.nulls(3),
            "zoned": pa.array([datetime(2020, 1, 1, 12)] * 3, pa.timestamp("ns", "Europe/Paris")),
            "large": pa.array(["x", "y", "z"], pa.large_string()),
        }
    )
    pa.parquet.write_table(table, tmp_path / "t")
    read = read_table(tmp_path / "t")
    assert [str(kind) for kind in read.schema.types] == ["string", "double", "double", "timestamp[us]", "string"]
    assert read["money"].to_pylist() == [1.25, None, 2.5]
    assert read["zoned"][0].as_py() == datetime(2020, 1, 1, 12)


def test_a_ragged_row_is_named_by_its_number(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('a,b\n"two\nlines",1\n2,3,4\n')
    with pytest.raises(
        UnreadableTable, match=r"row 1 has 3 values where the header has 2 \('2,3,4'; rows count from 0\)"
    ):
        read_table(tmp_path / "t.csv")


def test_gzip_is_told_by_its_content(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(gzip.compress(b"a,b\n1,2\n"))
    assert read_table(str(tmp_path / "t.csv")).to_pylist() == [{"a": 1, "b": 2}]


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ("1", '"foo"', "holds numbers, but text in row 1, from 0"),
        ('"foo"', "true", "holds text, but true and false in row 1, from 0"),
        ("[1]", '{"a": 1}', "holds lists, but records in row 1, from 0"),
    ],
)
def test_json_lines_that_disagree_about_a_column_are_not_called_damaged(
    tmp_path: Path, first: str, second: str, said: str
) -> None:
    path = tmp_path / "mixed.jsonl"
    path.write_text(f'{{"the x": {first}, "y": 1}}\n{{"the x": {second}, "y": 1}}\n')
    with pytest.raises(UnreadableTable) as refused:
        read_table(path)
    assert str(refused.value) == f"column 'the x' of {path} {said}. Write all its values alike."


# ── hostile files ───────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("forged", [2**31 - 1, -5, 1000], ids=["far away", "negative", "behind the end"])
@pytest.mark.parametrize("stream", [True, False])
def test_an_arrow_file_whose_texts_lie_outside_of_it_is_refused(tmp_path: Path, forged: int, stream: bool) -> None:
    offsets = np.array([0, 4, forged, 12], dtype=np.int32)
    column = pa.Array.from_buffers(pa.string(), 3, [None, pa.py_buffer(offsets), pa.py_buffer(b"LimaOsloRome")])
    with (pa.ipc.new_stream if stream else pa.ipc.new_file)(tmp_path / "t", pa.schema({"city": pa.string()})) as file:
        file.write_batch(pa.RecordBatch.from_arrays([column], names=["city"]))
    with pytest.raises(UnreadableTable, match="is damaged or incomplete"):
        read_table(tmp_path / "t").to_pylist()


def test_texts_of_typed_files_are_utf8(tmp_path: Path) -> None:
    column = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(np.array([0, 4], np.int32)), pa.py_buffer(b"\xff\xfe\xff\xfe")]
    )
    pa.parquet.write_table(pa.table({"city": column}), tmp_path / "t")
    with pytest.raises(UnreadableTable, match="is damaged or incomplete"):
        read_table(tmp_path / "t").to_pylist()


@pytest.mark.parametrize("kind", ["parquet", "feather", "stream"])
def test_the_name_of_a_column_is_text(tmp_path: Path, kind: str) -> None:
    WRITERS[kind](TABLE.rename_columns(["n", "x", "day", "qqqq"]), tmp_path / "t")
    content = (tmp_path / "t").read_bytes()
    assert content.count(b"qqqq") > 0
    (tmp_path / "t").write_bytes(content.replace(b"qqqq", b"q\xffqq"))
    with pytest.raises(UnreadableTable, match="is damaged or incomplete"):
        read_table(tmp_path / "t")


@pytest.mark.parametrize("kind", ["parquet", "feather", "stream"])
@pytest.mark.parametrize("dates", [pa.timestamp("us"), pa.timestamp("ms", "Europe/Oslo"), pa.date32()], ids=str)
def test_dates_that_no_calendar_has_are_refused(tmp_path: Path, kind: str, dates: pa.DataType) -> None:
    far = pa.array(
        [0, 2**31 - 5 if dates == pa.date32() else 2**60], pa.int32() if dates == pa.date32() else pa.int64()
    )
    WRITERS[kind](pa.table({"n": [1, 2], "day": far.view(dates)}), tmp_path / "t")
    with pytest.raises(UnreadableTable, match="column 'day' has dates beyond the years 1 to 9999"):
        read_table(tmp_path / "t")


def test_damaged_packed_files_leave_no_memory_behind(tmp_path: Path) -> None:
    (tmp_path / "t").write_bytes(gzip.compress(b"n\n" + b"1\n" * 4000)[:40])

    tracemalloc.start()
    for _ in range(4):
        with pytest.raises(UnreadableTable, match="damaged or incomplete"):
            read_table(tmp_path / "t")
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < PIECE


@pytest.mark.parametrize(
    "nested",
    [
        '{"a": ' + "[" * 100_000 + "]" * 100_000 + "}",
        '{"a": ' * 100_000,
        '{"]": [' * 50_000,
        '{"a": [[],' + "\n[[]," * 50_000,
    ],
    ids=["lists", "records", "brackets in names", "siblings"],
)
def test_json_lines_that_are_nested_without_end_are_refused(tmp_path: Path, nested: str) -> None:
    (tmp_path / "t.jsonl").write_text(nested)
    with pytest.raises(UnreadableTable, match="nested more than 50 deep"):
        read_table(tmp_path / "t.jsonl")


def test_brackets_in_texts_are_no_nesting(tmp_path: Path) -> None:
    written = r'{"a": "\"' + "[{" * 1000 + r'\\", "b": [[1]]}' + "\n"
    (tmp_path / "t.jsonl").write_text(written * 2)
    assert read_table(tmp_path / "t.jsonl").to_pylist() == [json.loads(written)] * 2


def test_a_file_that_would_fill_the_memory_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("psidebug.file_kinds.LARGEST", 3_000_000)
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 1_000_000))
    with pytest.raises(UnreadableTable, match=r"would unpack to more than .* and 50 times its size") as refused:
        read_table(tmp_path / "t.csv.gz")
    assert "Unpack it first" in str(refused.value)
    monkeypatch.setattr("psidebug.file_kinds.LARGEST", 5_000_000)
    assert read_table(tmp_path / "t.csv.gz").num_rows == 1_000_000
