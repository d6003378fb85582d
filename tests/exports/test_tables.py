"""What is written is read back by other programs as it was."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pytest

import psidebug
from psidebug.errors import OutputError, UnknownRow, UnseenClass
from psidebug.exports.corrected import Decision, corrected_table
from psidebug.exports.suspects import cleanlab_frame, suspects_table
from psidebug.exports.table_files import write_table
from psidebug.store import Run, load_run
from tests.conftest import Planted, refit
from tests.exports.conftest import ODD, odd_frame
from tests.store.conftest import CASES, debugged

SUFFIXES = [".csv", ".csv.gz", ".jsonl", ".jsonl.gz", ".parquet", ".arrow"]


def read_back(path: Path) -> list[dict[str, Any]]:
    """By libraries that had no part in writing: polars, and Python's own json."""
    name = path.name
    if ".csv" in name:
        return pl.read_csv(path, try_parse_dates=True).to_dicts()
    if ".jsonl" in name:
        text = gzip.decompress(path.read_bytes()) if name.endswith(".gz") else path.read_bytes()
        return [json.loads(line) for line in text.decode("utf-8").split("\n") if line]
    return pl.read_parquet(path).to_dicts() if name.endswith(".parquet") else pl.read_ipc(path).to_dicts()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_odd_values_come_back(odd: Run, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"fixed{suffix}"
    write_table(corrected_table(odd.findings, odd.data, {}), path)
    lines = read_back(path)
    original = odd_frame(odd.data.train.features[["a", "b", "c", "d"]].to_numpy())
    assert len(lines) == 120
    assert list(lines[0]) == ["name", "a", "quality", "by", "b", "c", "d", "note", "when", "given"]
    for place, line in enumerate(lines):
        assert line["name"] == f"r{place}"
        assert line["note"] == (None if place % 16 == 15 else ODD[place % 16])
        assert line["a"] is None or line["a"] == original["a"][place]
        assert (line["a"] is None) == bool(np.isnan(original["a"][place]))
        assert line["by"] == ("ann", "bob", None)[place % 3]
        assert line["given"] == place
        assert str(line["when"]).replace("T", " ") == str(original["when"][place])
    assert [line["quality"] for line in lines] == odd.findings.encoding.decode(odd.findings.labels.given).tolist()


def test_only_the_labels_that_were_decided_differ(odd: Run) -> None:
    given = odd.findings.encoding.decode(odd.findings.labels.given).tolist()
    other = {"good": "bad", "bad": "good"}
    decided = {
        3: other[given[3]],
        5: Decision(given[5], "keep", "ann", "2026-01-01T00:00:00+00:00"),
        9: other[given[9]],
    }
    table = corrected_table(odd.findings, odd.data, decided, trace=True).to_pydict()
    changed = [place for place in range(120) if table["quality"][place] != given[place]]
    assert changed == [3, 9]
    assert table["psi_given"] == given, "the user has a column given of his own"
    assert [place for place, each in enumerate(table["corrected"]) if each] == [3, 9]
    assert (table["verdict"][5], table["reviewer"][5], table["time"][5]) == ("keep", "ann", "2026-01-01T00:00:00+00:00")
    assert table["verdict"][3] is None
    assert list(table)[-5:] == ["psi_given", "corrected", "verdict", "reviewer", "time"]


def test_the_model_trained_on_the_file_is_the_repaired_one(odd: Run, tmp_path: Path) -> None:
    found, classes, opened = odd.findings.labels, odd.findings.encoding.classes, psidebug.Diagnosis.saved(odd)
    decisions = {place: classes[found.repaired[place]] for place in found.corrected.tolist()}
    assert decisions
    write_table(corrected_table(odd.findings, odd.data, decisions), tmp_path / "fixed.csv")
    read = pd.read_csv(tmp_path / "fixed.csv")
    assert read["quality"].tolist() == list(opened.repaired_labels)
    model = refit(opened.task, found.given)
    model.fit(read[odd.data.train.features.columns], read["quality"])
    wrong = model.predict(odd.data.test.features) != odd.findings.encoding.decode(odd.data.test.codes)
    assert odd.correction is not None
    assert int(wrong.sum()) == odd.correction.verified.test_after.wrong < len(odd.findings.predictions.bugs)


@pytest.mark.parametrize("case", ["numpy", "texts", "sparse", "mixed labels", "labels that are no unicode", "polars"])
def test_tables_of_any_kind_have_their_columns_and_labels(planted: Planted, tmp_path: Path, case: str) -> None:
    debugged(planted, **CASES[case](planted) | {"bugs": []}).save(tmp_path / "run")
    run = load_run(tmp_path / "run")
    table = corrected_table(run.findings, run.data, {})
    expected = {
        "numpy": ["x0", "x1", "x2", "x3", "label"],
        "texts": ["text", "label"],
        "sparse": ["label"],
        "mixed labels": ["x0", "x1", "x2", "x3", "label"],
        "labels that are no unicode": ["x0", "x1", "x2", "x3", "label"],
        "polars": ["row", "a", "b", "c", "d", "by", "label"],
    }
    assert table.column_names == expected[case]
    labels = run.findings.encoding.decode(run.findings.labels.given).tolist()
    told: dict[str, Callable[[Any], str]] = {
        "mixed labels": str,
        "labels that are no unicode": lambda each: each.replace("\ud800", "\\ud800"),
    }
    assert table["label"].to_pylist() == ([told[case](each) for each in labels] if case in told else labels)
    for suffix in SUFFIXES:
        write_table(table, tmp_path / f"fixed{suffix}")
        assert len(read_back(tmp_path / f"fixed{suffix}")) == 120


def test_what_csv_cannot_hold_is_text(tmp_path: Path) -> None:
    table = pa.table(
        {
            "list": pa.array([[1.5, None], None]),
            "bytes": pa.array([b"\x00\xff", None]),
            "kind": pa.array(["x", None]).dictionary_encode(),
            "span": pa.array([172_801_000_000, None], pa.duration("us")),
        }
    )
    write_table(table, tmp_path / "odd.csv")
    first, second = read_back(tmp_path / "odd.csv")
    assert first == {"list": "[1.5, null]", "bytes": "AP8=", "kind": "x", "span": "2 days, 0:00:01"}
    assert set(second.values()) == {None}
    write_table(table, tmp_path / "odd.jsonl")
    assert read_back(tmp_path / "odd.jsonl")[0] == {
        "list": [1.5, None],
        "bytes": "AP8=",
        "kind": "x",
        "span": "2 days, 0:00:01",
    }


def test_places_and_names_that_cannot_be_written(odd: Run, tmp_path: Path) -> None:
    table = corrected_table(odd.findings, odd.data, {})
    for name in ("fixed", "fixed.xls", "fixed.parquet.gz", "csv"):
        with pytest.raises(OutputError, match=r"\.csv"):
            write_table(table, tmp_path / name)
    with pytest.raises(OutputError, match="no directory"):
        write_table(table, tmp_path / "nowhere" / "fixed.csv")
    assert list(tmp_path.iterdir()) == []


def test_decisions_that_make_no_sense(odd: Run) -> None:
    with pytest.raises(UnknownRow, match="position 120"):
        corrected_table(odd.findings, odd.data, {120: "good"})
    with pytest.raises(UnseenClass, match="ugly"):
        corrected_table(odd.findings, odd.data, {0: "ugly"})


def test_suspects_are_those_of_the_run(odd: Run) -> None:
    table = suspects_table(odd.findings, odd.data, top=10)
    frame = odd.suspects.head(10)
    assert table.num_rows == 10
    for name in ("row", "given", "proposed", "ps", "p_wrong"):
        assert table[name].to_pylist() == frame[name].tolist()
    assert table["b"].to_pylist() == odd.data.train.features["b"].to_numpy()[odd.order[:10]].tolist()
    assert table["psi_given"].to_pylist() == odd.order[:10].tolist()
    assert suspects_table(odd.findings).column_names == list(frame.columns)


def test_cleanlab_gets_every_row(odd: Run) -> None:
    frame = cleanlab_frame(odd.findings).to_pandas()
    assert list(frame.columns) == ["row", "is_label_issue", "label_quality", "given_label", "predicted_label"]
    assert frame["row"].tolist() == odd.findings.labels.rows.tolist()
    p_wrong = dict(zip(odd.suspects["row"], odd.suspects["p_wrong"], strict=True))
    quality = dict(zip(frame["row"], frame["label_quality"], strict=True))
    assert {row: 1 - p for row, p in p_wrong.items()} == {row: quality[row] for row in p_wrong}
    issues = frame[frame["is_label_issue"]]
    assert len(issues) > 0
    assert (issues["label_quality"] < 0.5).all()
    assert (issues["given_label"] != issues["predicted_label"]).all()
    rest = frame[~frame["is_label_issue"]]
    assert (rest["given_label"] == rest["predicted_label"]).all()


def test_nothing_to_debug_has_nothing_to_write(planted: Planted, tmp_path: Path) -> None:
    debugged(planted, bugs=[]).save(tmp_path / "run")
    run = load_run(tmp_path / "run")
    assert suspects_table(run.findings).num_rows == 0
    assert not any(cleanlab_frame(run.findings)["is_label_issue"].to_pylist())
