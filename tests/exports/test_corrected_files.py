"""Copies of Parquet files with corrected labels: of any type, by the ids of rows, refused where files have changed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from psidebug.errors import OutputError, ShapeMismatch
from psidebug.exports import corrected_files
from psidebug.exports.corrected_files import numbers_of, write_corrected

ROWS = 50
WRONG = [3, 17, 49]


def made(folder: Path, kind: pa.DataType) -> tuple[list[Path], Path, pa.Table]:
    codes = np.arange(ROWS) % 3
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    text = pa.types.is_string(plain)
    values = pa.array([("abc"[code] if text else int(code)) for code in codes])
    repaired = values.to_pylist()
    for row in WRONG:
        repaired[row] = "b" if text else 1
    labels = values.cast(plain)
    table = pa.table({"x": np.linspace(0, 1, ROWS), "y": labels.dictionary_encode() if plain != kind else labels})
    table = table.replace_schema_metadata({"made by": "hand"})
    files = [folder / "one.parquet", folder / "two.parquet"]
    for path, part in zip(files, (table.slice(0, 20), table.slice(20)), strict=True):
        pq.write_table(part, path, compression="gzip")
    ids = [f"r{row}" for row in range(ROWS)]
    told = pa.table({"row": np.arange(ROWS), "id": ids, "given": values, "repaired": repaired})
    pq.write_table(told, folder / "labels.parquet")
    return files, folder / "labels.parquet", table.set_column(1, "y", pa.array(repaired).cast(plain))


@pytest.mark.parametrize("kind", [pa.int8(), pa.string(), pa.dictionary(pa.int32(), pa.string())])
def test_only_labels_differ(kind: pa.DataType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corrected_files, "AT_ONCE", 7)
    files, labels, wanted = made(tmp_path, kind)
    assert write_corrected(files, "y", labels, tmp_path / "fixed") == (ROWS, 2)  # row 49 was right
    for path in files:
        before, after = pq.read_table(path), pq.read_table(tmp_path / "fixed" / path.name)
        assert after.schema.equals(before.schema, check_metadata=True)
        assert after.column("x").equals(before.column("x"))
        packed = pq.read_metadata(tmp_path / "fixed" / path.name).row_group(0).column(1).compression
        assert packed == "GZIP"
    both = pa.concat_tables([pq.read_table(tmp_path / "fixed" / path.name) for path in files])
    assert both.column("y").to_pylist() == wanted.column("y").to_pylist()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fixed", "labels.parquet", "one.parquet", "two.parquet"]


def test_decisions_are_by_number_and_ids_tell_it(tmp_path: Path) -> None:
    files, labels, _ = made(tmp_path, pa.string())
    numbers = numbers_of(np.array(["r40", "r2"]), labels, named=True)
    assert numbers == [40, 2]
    assert write_corrected(files, "y", labels, tmp_path / "fixed", dict.fromkeys(numbers, "b")) == (ROWS, 1)  # 40 is b
    assert pq.read_table(tmp_path / "fixed" / "one.parquet").column("y")[2].as_py() == "b"


def test_one_file_may_become_a_file(tmp_path: Path) -> None:
    files, labels, _ = made(tmp_path, pa.string())
    pq.write_table(pa.concat_tables([pq.read_table(path) for path in files]), tmp_path / "all.parquet")
    write_corrected([tmp_path / "all.parquet"], "y", labels, tmp_path / "fixed.parquet")
    assert pq.read_table(tmp_path / "fixed.parquet").num_rows == ROWS


def test_changed_files_and_taken_places_are_refused(tmp_path: Path) -> None:
    files, labels, _ = made(tmp_path, pa.string())
    with pytest.raises(OutputError, match="there already"):
        write_corrected(files, "y", labels, tmp_path)
    with pytest.raises(ShapeMismatch, match="fewer than the run"):
        write_corrected(files[:1] * 1, "y", labels, tmp_path / "fixed")
    with pytest.raises(ShapeMismatch, match=r"two\.parquet has other labels than the run"):
        write_corrected(files[::-1], "y", labels, tmp_path / "fixed")
    with pytest.raises(ShapeMismatch, match="no column 'z' any more"):
        write_corrected(files, "z", labels, tmp_path / "fixed")
    assert not (tmp_path / "fixed").exists()


def test_files_of_one_name_keep_their_folders(tmp_path: Path) -> None:
    files, labels, _ = made(tmp_path, pa.string())
    moved = [tmp_path / "day" / name / "part-0.parquet" for name in ("city=a", "city=b")]
    for file, place in zip(files, moved, strict=True):
        place.parent.mkdir(parents=True)
        file.rename(place)
    assert write_corrected(moved, "y", labels, tmp_path / "fixed") == (ROWS, 2)
    for place in moved:
        assert (tmp_path / "fixed" / place.parent.name / place.name).is_file()


def test_labels_in_names_of_folders_are_not_corrected_in_files(tmp_path: Path) -> None:
    _, labels, _ = made(tmp_path, pa.string())
    file = tmp_path / "y=a" / "0.parquet"
    file.parent.mkdir()
    pq.write_table(pa.table({"x": [1.0]}), file)
    with pytest.raises(OutputError, match=r"the labels are in the names of folders, such as y=a: .*labels\.parquet"):
        write_corrected([file], "y", labels, tmp_path / "fixed")
    assert not (tmp_path / "fixed").exists()
