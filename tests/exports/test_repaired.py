"""A repair writes the cells and rows that were asked for, and undoing its trace gives the file back."""

from __future__ import annotations

import csv
import hashlib
import io
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import psidebug
from psidebug.changes import Blank, Change, Drop, Mask, Relabel, Rescale, Swap
from psidebug.errors import UnknownOption
from psidebug.exports.repaired import repair_of, repaired_file, repaired_table
from psidebug.findings.findings import Findings, FoundCause
from psidebug.intake import Roles, inputs_from
from psidebug.task.data import Data

ROWS = {"train": 60, "test": 40}
NUMBERS = ("grams", "price", "days")
CLASSES = ("late", "Late ", "punctual")
CODES: list[tuple[str, float | str]] = [("grams", -999.0), ("kind", "?"), ("kind", "unknown")]
SPELLED = np.arange(1, ROWS["train"], 3)
"""Rows that have the second of them."""


def text_of(part: str) -> str:
    """Ids with zeros, whole numbers, decimals with zeros at the end, cells without a value, notes; one more in test."""
    rng, more = np.random.default_rng(len(part)), part == "test"
    lines = [f"id,grams,kind,price,days,late,source{',extra' if more else ''}"]
    for row in range(ROWS[part]):
        grams = ["", "-999"][row % 2] if row % 7 == 0 else str(rng.integers(1, 90) * 1000)
        kind = rng.choice(["box", "bag", "?", "unknown", ""])
        price = "" if row % 11 == 0 else f"{rng.integers(1, 9)}.{rng.integers(0, 9)}0"
        label = CLASSES[row % 3] if part == "train" else CLASSES[row % 2 * 2]
        line = [f"{row:04d}x", grams, kind, price, f"{rng.integers(1, 40)}", label, f"web {row}"]
        lines.append(",".join([*line, *(["e"] if more else [])]))
    return "\n".join([*lines, ""])


@dataclass(frozen=True, eq=False)
class Task:
    findings: Findings
    data: Data
    files: dict[tuple[str, str], bytes]
    """By part and kind."""

    def of(self, kind: str, changes: dict[str, Change]) -> Findings:
        """With these causes, made from files of this kind."""
        causes = tuple(
            FoundCause(name, "", "", "Mend it.", 1.0, 0.1, True, (each.columns or (None,))[0], 0.0, each)
            for name, each in changes.items()
        )
        origin = self.findings.origin
        source = dict(origin.source)
        for part, of in (("train", ""), ("test", "test_")):
            source[f"{of}path"] = str(Path(source[f"{of}path"]).with_suffix(f".{kind}"))
            source[f"{of}sha256"] = hashlib.sha256(self.files[part, kind]).hexdigest()
        rows = tuple(each for each in changes.values() if not isinstance(each, Drop | Relabel))
        return replace(self.findings, causes=causes, changes=rows, origin=replace(origin, source=source))


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Task:
    folder = tmp_path_factory.mktemp("repaired")
    files = {}
    for part in ROWS:
        (folder / f"{part}.csv").write_text(text_of(part))
        frame = pd.read_csv(io.StringIO(text_of(part)), dtype={"late": str}, keep_default_na=False, na_values={
            name: [""] for name in ("grams", "kind", "price")
        })  # fmt: skip
        table = pa.Table.from_pandas(frame.astype({"grams": "Int64"}), preserve_index=False)
        fields = [each.with_nullable(each.name != "days") for each in table.schema]
        pq.write_table(table.cast(pa.schema(fields, metadata={"owner": "the post"})), folder / f"{part}.parquet")
        for kind in ("csv", "parquet"):
            files[part, kind] = (folder / f"{part}.{kind}").read_bytes()
    inputs = inputs_from(folder / "train.csv", folder / "test.csv", None, Roles("late", "id", ignored=("source",)))
    found = psidebug.debug(**inputs.arguments(), bugs=[], check_fidelity=False, rng=0)
    found = found.described(source=inputs.source, **inputs.about_test())
    return Task(found.findings, found.data, files)


def some_rows(rng: np.random.Generator, part: str) -> Any:
    return np.sort(rng.choice(ROWS[part], rng.integers(1, ROWS[part] // 2), replace=False))


def drawn(rng: np.random.Generator) -> dict[str, Change]:
    """Some causes, each with a repair that is drawn too."""
    sides = [bool(each) for each in rng.integers(0, 2, 2)]
    part = None if rng.random() < 0.5 else some_rows(rng, "test" if sides[0] else "train")
    factor = float(rng.choice([1 / 1000, 1 / 7, 60.0, 1 / 2.54]))
    column, code = CODES[rng.integers(3)]
    every: dict[str, Change] = {
        "unit": Rescale(str(rng.choice(NUMBERS)), test=sides[0], rows=part, factor=factor),
        "missing_code": Mask(column, test=sides[1], code=code),
        "swapped_columns": Swap(*(("grams", "days") if rng.random() < 0.5 else ("price", "days"))),
        "dead_column": Blank(str(rng.choice(["grams", "kind", "days"]))),
        "duplicates": Drop(some_rows(rng, "train")),
        "label_spelling": Relabel(SPELLED, np.full(len(SPELLED), 1)),
    }
    return {name: each for name, each in every.items() if rng.random() < 0.7}


def expected_cells(data: Data, changes: list[Change], part: str) -> pd.DataFrame:
    """The features as the changes themselves make them, texts for categories and numbers as numbers."""
    for each in changes:
        if not isinstance(each, Drop | Relabel):
            data = each.applied(data)
    frame = pd.DataFrame((data.test if part == "test" else data.train).features)
    return frame[["grams", "kind", "price", "days"]]


def same(one: Any, other: Any) -> bool:
    if pd.isna(one) or pd.isna(other):
        return bool(pd.isna(one) and pd.isna(other))
    return bool(one == other)


@pytest.mark.parametrize("test", [False, True])
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_only_what_was_asked_for_differs_and_the_trace_undoes_it(task: Task, kind: str, test: bool) -> None:
    written: set[str] = set()
    for seed in range(60):
        rng = np.random.default_rng(seed)
        changes = drawn(rng)
        findings = task.of(kind, changes)
        asked = [name for name in changes if rng.random() < 0.5]
        try:
            repair = repair_of(findings, task.data, asked, test=test)
        except UnknownOption:  # one of them is about the other set
            continue
        content, remark = repaired_file(findings, task.data, repair, kind, trace=True)
        assert remark is None
        check(task, kind, {name: changes[name] for name in asked}, content, test=test)
        written |= set(asked)
    only_training = {"duplicates", "label_spelling"}
    assert written == {"unit", "missing_code", "dead_column"} | ({"swapped_columns"} if test else only_training)


def check(task: Task, kind: str, asked: dict[str, Change], content: bytes, *, test: bool) -> None:
    """Each cell is as the changes make it, or as it was; and the trace undoes them."""
    part = "test" if test else "train"
    original = task.files[part, kind]
    dropped = set() if test or "duplicates" not in asked else {int(row) for row in asked["duplicates"].rows}  # type: ignore[attr-defined]
    kept = [row for row in range(ROWS[part]) if row not in dropped]
    before, after = (read(each, kind) for each in (original, content))
    wanted = expected_cells(task.data, list(asked.values()), part)
    assert len(after["id"]) == len(kept)
    for name in before:
        for place, row in enumerate(kept):
            expected = wanted[name].iloc[row] if name in wanted.columns else before[name][row]
            if name == "late" and "label_spelling" in asked and row in SPELLED:
                expected = "late"
            assert same(after[name][place], expected), (asked, name, row)
    traced = {name.removeprefix("was_") for name in after if name.startswith("was_")}
    differ = {
        name for name in before if any(not same(before[name][row], after[name][at]) for at, row in enumerate(kept))
    }
    assert differ <= traced, "every column that differs is traced"
    assert undone(content, kind, original) == (original if not dropped else without(original, kind, dropped))
    if dropped:
        assert after["was_row"] == ([str(row) for row in kept] if kind == "csv" else kept)


def read(content: bytes, kind: str) -> dict[str, list[Any]]:
    if kind == "parquet":
        return dict(pq.read_table(io.BytesIO(content)).to_pydict())
    found = list(csv.DictReader(io.StringIO(content.decode())))
    return {
        name: [None if not each[name] else float(each[name]) if name.removeprefix("was_") in NUMBERS else each[name]
               for each in found]
        for name in found[0]
    }  # fmt: skip


def undone(content: bytes, kind: str, original: bytes) -> bytes:
    """The file with the columns was_… in their places."""
    if kind == "csv":
        header, *rows = list(csv.reader(io.StringIO(content.decode())))
        was = {name: header.index(f"was_{name}") for name in header if f"was_{name}" in header}
        width = sum(not name.startswith("was_") for name in header)
        rows = [[row[was.get(name, at)] for at, name in enumerate(header[:width])] for row in rows]
        return "".join(",".join(row) + "\n" for row in [header[:width], *rows]).encode()
    table = pq.read_table(io.BytesIO(content))
    schema = pq.read_table(io.BytesIO(original)).schema
    names = [f"was_{name}" if f"was_{name}" in table.column_names else name for name in schema.names]
    return in_bytes(pa.Table.from_arrays([table[name] for name in names], schema=schema))


def without(original: bytes, kind: str, dropped: set[int]) -> bytes:
    if kind == "csv":
        header, *lines = original.decode().splitlines(keepends=True)
        return "".join([header, *(line for row, line in enumerate(lines) if row not in dropped)]).encode()
    table = pq.read_table(io.BytesIO(original))
    return in_bytes(table.take([row for row in range(table.num_rows) if row not in dropped]))


def in_bytes(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table.combine_chunks(), sink)
    return sink.getvalue()


@pytest.mark.parametrize("test", [False, True])
def test_types_stay_where_they_can(task: Task, test: bool) -> None:
    findings = task.of(
        "parquet",
        {"unit": Rescale("grams", test=test, factor=1 / 1000), "missing_code": Mask("days", test=test, code=3.0)},
    )
    given_ = pq.read_table(io.BytesIO(task.files["test" if test else "train", "parquet"]))
    whole = repair_of(findings, task.data, ["missing_code"], test=test)
    made = pq.read_table(io.BytesIO(repaired_file(findings, task.data, whole, "parquet")[0]))
    assert made.schema.types == given_.schema.types, "days are whole numbers still, though some are missing now"
    assert made.schema.metadata == given_.schema.metadata
    assert made["days"].null_count > 0
    broken = repair_of(findings, task.data, ["unit"], test=test)
    made = pq.read_table(io.BytesIO(repaired_file(findings, task.data, broken, "parquet")[0]))
    assert made.schema.field("grams").type == pa.float64(), "-999 / 1000 is no whole number"
    assert made.drop_columns("grams").equals(given_.drop_columns("grams"))


def test_whole_numbers_are_written_whole_in_csv(task: Task) -> None:
    findings = task.of("csv", {"unit": Rescale("grams", test=True, factor=1 / 1000)})
    content, _ = repaired_file(findings, task.data, repair_of(findings, task.data, ["unit"], test=True), "csv")
    cells = {line.split(",")[1] for line in content.decode().splitlines()[1:]}
    assert "-0.999" in cells
    assert not any(each.endswith(".0") for each in cells)


def test_the_set_that_is_not_at_fault_is_refused_with_the_flag_to_use(task: Task) -> None:
    changes = {"unit": Rescale("grams", test=True, factor=1 / 1000), "duplicates": Drop(np.array([3]))}
    findings = task.of("csv", changes)
    with pytest.raises(
        UnknownOption, match=r"'unit' is in the test rows, not in the training rows: test=True \(--tests\)"
    ):
        repair_of(findings, task.data, ["unit"])
    with pytest.raises(
        UnknownOption, match="'duplicates' is in the training rows, not in the test rows: leave test=True"
    ):
        repair_of(findings, task.data, ["duplicates"], test=True)
    with pytest.raises(UnknownOption, match=r"did not find 'leak': it can repair duplicates, unit\."):
        repair_of(findings, task.data, ["leak"])
    lacking = replace(findings, causes=(replace(findings.causes[0], change=None),))
    with pytest.raises(UnknownOption, match=r"no repair of 'unit' to be written\. Mend it\."):
        repair_of(lacking, task.data, ["unit"], test=True)
    after = task.of("csv", {"unit": Rescale("grams", factor=1 / 1000), "missing_code": Mask("grams", code=-0.999)})
    with pytest.raises(UnknownOption, match="'missing_code' changes nothing by itself"):
        repair_of(after, task.data, ["missing_code"])
    assert repair_of(after, task.data, ["missing_code", "unit"]).cells["grams"][7] is None


@pytest.mark.parametrize("test", [False, True])
def test_from_the_copy_of_the_run_all_columns_but_those_it_never_saw_come_back(task: Task, test: bool) -> None:
    findings = task.of("csv", {"unit": Rescale("days", test=test, factor=10.0)})
    repair = repair_of(findings, task.data, ["unit"], test=test)
    content, remark = repaired_file(findings, task.data, repair, "parquet")
    assert remark is not None
    assert f"{'test' if test else 'train'}.csv is CSV, not Parquet; written from the run's copy" in remark
    made = pq.read_table(io.BytesIO(content))
    assert made.column_names == ["id", "grams", "kind", "price", "days", "late", "source"]
    original = read(task.files["test" if test else "train", "csv"], "csv")
    assert made["days"].to_pylist() == [10 * each for each in original["days"]]
    for name in ("id", "grams", "price", "late", "source"):
        assert made[name].to_pylist() == original[name], name


def test_in_python_the_table_comes_in_the_library_of_the_user(task: Task) -> None:
    findings = task.of("csv", {"unit": Rescale("days", test=True, factor=10.0)})
    found = psidebug.Diagnosis(findings, None, None)  # type: ignore[arg-type]
    object.__setattr__(found, "data", task.data)
    made = found.repaired_table("unit", test=True, trace=True)
    assert isinstance(made, pd.DataFrame)
    assert (made["days"] == 10 * made["was_days"]).all()
    assert list(made.columns)[-1] == "was_days"
    assert repaired_table(findings, task.data, ["unit"], test=True).num_rows == ROWS["test"]
