"""The corrected data set from the app: the training file itself with other labels, as ``psi apply`` writes it."""

from __future__ import annotations

import csv
import html
import json
import re
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.folder import people, psi, spoiled, write_csv
from tests.review.talking import Room, serving

ROWS = 120
TRACE = ["given", "corrected", "verdict", "reviewer", "time"]


def csv_file(folder: Path) -> str:
    """Ids with zeros before, zeros after the point, quotes, semicolons and the line ends of Windows."""
    table = spoiled(people(ROWS, seed=1))
    lines = ["code;income;city;label;note"]
    for row in range(ROWS):
        income = "n/a" if table["income"][row] is None else f"{table['income'][row]:.4f}"
        lines.append(f'{row:05d};{income};{table["city"][row]};"{table["label"][row]}";"a; ""b"""')
    (folder / "train.csv").write_text("\r\n".join(lines) + "\r\n", newline="")
    return "train.csv"


def json_lines(folder: Path) -> str:
    table = spoiled(people(ROWS, seed=1))
    names = ("income", "city", "label")
    lines = [json.dumps({name: table[name][row] for name in names}) for row in range(ROWS)]
    (folder / "train.jsonl").write_text("".join(line.replace(",", " ,") + "\n" for line in lines))
    return "train.jsonl"


def parquet(folder: Path) -> str:
    table = spoiled(people(ROWS, seed=1))
    columns = {"income": pa.array(table["income"], pa.float32()), "city": pa.array(table["city"]).dictionary_encode()}
    labels = pa.array(table["label"]).dictionary_encode()
    schema_metadata = {"owner": "the bank"}
    pq.write_table(
        pa.table({**columns, "label": labels}).replace_schema_metadata(schema_metadata), folder / "t.parquet"
    )
    return "t.parquet"


def debugged(folder: Path, name: str) -> Path:
    write_csv(folder / "test.csv", {each: people(160, seed=2)[each] for each in ("income", "city", "label")})
    test = folder / "test.csv"
    if name.endswith(".csv"):
        rows = list(csv.DictReader(test.read_text().splitlines()))
        lines = [f"{place};{each['income']};{each['city']};{each['label']};x" for place, each in enumerate(rows)]
        test.write_text("\n".join(["code;income;city;label;note", *lines]) + "\n")
    more = ["--id", "code", "--ignore", "note"] if name.endswith(".csv") else []
    ran = psi("debug", name, "test.csv", "--label", "label", *more, folder=folder)
    assert ran.code == 0, ran.err
    return folder / "psi-run"


def review_some(room: Room) -> None:
    one, two, three, four = room.desk.run.order[:4].tolist()
    room.talk.say("/verdict", at=one, action="correct", comment="clear")
    room.talk.say("/verdict", at=two, action="keep")
    room.talk.say("/verdict", at=three, action="skip")
    room.talk.say("/verdict", at=four, action="second_opinion")


@pytest.fixture(scope="module")
def csv_debugged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("csv")
    return debugged(folder, csv_file(folder)).parent


@pytest.fixture
def folder(csv_debugged: Path) -> Path:
    """With the file as it was diagnosed, and nothing decided; a copy elsewhere would have another file."""
    csv_file(csv_debugged)
    for each in csv_debugged.glob("psi-run/verdicts.sqlite*"):
        each.unlink()
    return csv_debugged


def test_the_app_writes_what_apply_writes_of_csv(folder: Path) -> None:
    agree(folder / "psi-run", "csv")


@pytest.mark.parametrize("make", [json_lines, parquet])
def test_the_app_writes_what_apply_writes(tmp_path: Path, make: Callable[[Path], str]) -> None:
    name = make(tmp_path)
    agree(debugged(tmp_path, name), name.rpartition(".")[2])


def agree(run: Path, suffix: str) -> None:
    """The app and the command write the same bytes; the form of the training file comes first, without a remark."""
    with serving(run) as room:
        review_some(room)
        assert next(iter(remarks(room).items())) == (f"corrected.{suffix}", "")
        for kind in dict.fromkeys((suffix, "csv", "parquet")):
            ran = psi("apply", "psi-run", "--reviewed", "--trace", "-o", f"fixed.{kind}", folder=run.parent)
            assert ran.code == 0, ran.err
            content = room.talk.ask(f"/export/corrected.{kind}").content
            assert content == (run.parent / f"fixed.{kind}").read_bytes()


def test_only_labels_differ_and_the_trace_says_who_and_when(folder: Path) -> None:
    before = (folder / "train.csv").read_bytes().decode().splitlines()
    with serving(folder / "psi-run") as room:
        review_some(room)
        standing = room.desk.store.current()
        after = room.talk.ask("/export/corrected.csv").content.decode()
    assert after.endswith("\r\n")
    lines = after.split("\r\n")[:-1]
    assert lines[0] == f"{before[0]};{';'.join(TRACE)}"
    for place, (line, old) in enumerate(zip(lines[1:], before[1:], strict=True)):
        verdict = standing.get(place)
        given = old.split(";")[3]
        label = f'"{verdict.label}"' if verdict is not None and verdict.action == "correct" else given
        said = ["", "", ""] if verdict is None else [verdict.action, verdict.reviewer, verdict.time]
        told = ";".join([given, "true" if label != given else "false", *said])
        assert line == f"{old.replace(given, label)};{told}"
    assert sum(each.action == "correct" for each in standing.values()) == 1


def test_a_file_that_is_gone_or_changed_is_said_before_it_is_taken(folder: Path) -> None:
    with serving(folder / "psi-run") as room:
        review_some(room)
        assert "train.csv is CSV, not Parquet; written from the run's copy" in remarks(room)["corrected.parquet"]
        text = (folder / "train.csv").read_text()
        (folder / "train.csv").write_text(text.replace("Oslo", "Rome"))
        assert "has changed; written from the run's copy" in remarks(room)["corrected.csv"]
        changed = room.talk.ask("/export/corrected.csv")
        (folder / "train.csv").unlink()
        assert "is gone; written from the run's copy" in remarks(room)["corrected.csv"]
        assert room.talk.ask("/export/corrected.csv").content == changed.content
    rows = list(csv.DictReader(changed.text.splitlines()))
    assert len(rows) == ROWS
    assert [name for name in rows[0] if name in TRACE] == TRACE
    assert [each["verdict"] for each in rows if each["corrected"] == "true"] == ["correct"]
    assert {"Oslo", "Pune"} <= {each["city"] for each in rows}


def remarks(room: Room) -> dict[str, str]:
    """Name of each file that is offered → what is said about it."""
    parts = html.unescape(room.talk.ask("/files").text).split('href="/export/')[1:]
    said = re.compile(r"<small[^>]*>(.*?)</small>")
    return {each.partition('"')[0]: "".join(said.findall(each)) for each in parts}
