"""The commands that take a run: what they print is what the run holds, and their files are right."""

from __future__ import annotations

import csv
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from psidebug.cli import COMMANDS
from psidebug.report import summarise
from psidebug.runs import Run, load_run
from tests.cli.folder import PSI, Ran, people, psi, spoiled

ON_RUNS = ("suspects", "slices", "explain", "verify", "apply", "report", "export", "compare")


@pytest.fixture(scope="session")
def folder_with_run(debugged: tuple[Path, Ran]) -> Path:
    place, ran = debugged
    assert ran.code == 0, ran.err
    return place


@pytest.fixture(scope="session")
def run(folder_with_run: Path) -> Run:
    return load_run(folder_with_run / "psi-run")


def answer(folder: Path, *arguments: str) -> Any:
    """The one JSON document on stdout."""
    ran = psi(*arguments, "--json", folder=folder)
    assert ran.code == 0, ran.err
    return json.loads(ran.out)


def failing(folder: Path, *arguments: str) -> str:
    ran = psi(*arguments, folder=folder)
    assert ran.code == 2
    assert ran.out == ""
    assert len(ran.err.splitlines()) == 1
    assert ran.err.startswith("psi: ")
    return ran.err


def test_suspects(folder_with_run: Path, run: Run) -> None:
    ran = psi("suspects", "psi-run", "--top", "7", folder=folder_with_run)
    lines = [line.split() for line in ran.out.splitlines()]
    assert lines[0] == ["row", "given", "proposed", "p_wrong", "ps"]
    assert [line[0] for line in lines[1:]] == [str(row) for row in run.rows[run.order[:7]]]
    assert f"7 of {len(run.order)} suspects" in ran.err
    data = answer(folder_with_run, "suspects", "psi-run", "--top", "7")
    assert [each["row"] for each in data["suspects"]] == run.rows[run.order[:7]].tolist()
    assert data["of"] == len(run.order)
    whole = psi("suspects", "psi-run", "--format", "json", folder=folder_with_run)
    assert len(json.loads(whole.out)["suspects"]) == len(run.order)


@pytest.mark.parametrize("name", ["out.csv", "out.parquet", "out.jsonl", "out.csv.gz"])
def test_suspects_in_a_file(folder_with_run: Path, run: Run, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    ran = psi("suspects", "psi-run", "--top", "5", "-o", str(path), folder=folder_with_run)
    assert (ran.code, ran.out) == (0, "")
    read: dict[str, Any] = {"csv": pl.read_csv, "gz": pl.read_csv, "parquet": pl.read_parquet, "jsonl": pl.read_ndjson}
    table = read[name.rsplit(".", 1)[1]](path)
    assert table["row"].to_list() == run.rows[run.order[:5]].tolist()
    assert {"income", "city", "since", "source"} <= set(table.columns)
    again = psi("suspects", "psi-run", "--top", "5", "--format", "csv", folder=folder_with_run)
    assert [line["row"] for line in csv.DictReader(again.out.splitlines())] == [str(row) for row in table["row"]]


def test_slices(folder_with_run: Path, run: Run) -> None:
    assert "city = Pune, labelled no" in psi("slices", "psi-run", folder=folder_with_run).out
    (first, *_) = answer(folder_with_run, "slices", "psi-run")
    assert (first["slice"], first["condition"], first["given"]) == (1, "city = Pune", "no")
    assert first["rows"] == len(run.members(0))


def test_explain(folder_with_run: Path, run: Run) -> None:
    listed = answer(folder_with_run, "explain", "psi-run")
    assert [each["test_row"] for each in listed] == run.bugs.tolist()
    shown = psi("explain", "psi-run", folder=folder_with_run).out.splitlines()
    assert [line.split()[0] for line in shown[1:]] == [str(bug) for bug in run.bugs]
    data = answer(folder_with_run, "explain", "psi-run", str(run.bugs[1]), "--top", "3")
    told = run.explain(int(run.bugs[1]))
    assert data["told"] == str(told)
    assert [each["row"] for each in data["causes"]] == told.causes["row"].to_list()[:3]
    text = psi("explain", "psi-run", str(run.bugs[1]), folder=folder_with_run).out
    assert f"Test row {run.bugs[1]} is labelled" in " ".join(text.split())
    right = next(place for place in range(160) if place not in run.bugs)
    assert "classified correctly" in failing(folder_with_run, "explain", "psi-run", str(right))


def test_verify(folder_with_run: Path, run: Run, tmp_path: Path) -> None:
    data = answer(folder_with_run, "verify", "psi-run", "--top", "9")
    effect = run.verify(run.rows[run.order[:9]].tolist())
    assert data["correction"]["test_after"] == {"wrong": effect.correction.test_after.wrong, "of": 160}
    assert data["correction"]["corrected"] == 9
    assert effect.at_random is not None
    assert data["at_random"]["bugs_fixed"] == effect.at_random.bugs_fixed
    whole = answer(folder_with_run, "verify", "psi-run")
    assert run.correction is not None
    assert whole["correction"]["test_after"]["wrong"] == run.correction.verified.test_after.wrong
    assert whole["proved"] is True
    sliced = answer(folder_with_run, "verify", "psi-run", "--slice", "1")
    assert sliced["correction"]["corrected"] == int(
        (run.files.labels["p_wrong"].to_numpy()[run.members(0)] > 0.5).sum()
    )
    ids = run.rows[run.order[:3]].tolist()
    (tmp_path / "rows.txt").write_text("\n".join(map(str, ids)))
    (tmp_path / "rows.csv").write_text("id,label\n" + "\n".join(f"{row},yes" for row in ids))
    (tmp_path / "rows.jsonl").write_text("\n".join(json.dumps({"row": row, "label": "yes"}) for row in ids))
    results = [
        answer(folder_with_run, "verify", "psi-run", "--rows", str(tmp_path / name))["correction"]
        for name in ("rows.txt", "rows.csv", "rows.jsonl")
    ]
    assert results[0]["corrected"] == 3
    assert results[0] == results[1] == results[2]


def test_verify_fails_a_pipeline_on_proved_errors_alone(folder_with_run: Path, run: Run, tmp_path: Path) -> None:
    assert run.corrected > 5
    arguments = ("verify", "psi-run", "-q", "--fail-above")
    assert psi(*arguments, str(run.corrected - 1), folder=folder_with_run).code == 1
    assert psi(*arguments, str(run.corrected), folder=folder_with_run).code == 0
    assert psi(*arguments, str((run.corrected - 1) / 240), folder=folder_with_run).code == 1
    (tmp_path / "one.txt").write_text(str(run.rows[run.order[-1]]))
    unproved = psi(*arguments, "0", "--rows", str(tmp_path / "one.txt"), folder=folder_with_run)
    assert unproved.code == 0, "one label that changes nothing proves nothing"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--top", "3", "--slice", "1"), "do not go together"),
        (("--slice", "99"), "no slice 99"),
        (("--rows", "nowhere.txt"), "does not exist"),
        (("--rows", "train.csv"), "which is none of"),
        (("--top", "0"), "0"),
    ],
)
def test_what_verify_refuses(folder_with_run: Path, arguments: tuple[str, ...], said: str) -> None:
    assert said in failing(folder_with_run, "verify", "psi-run", *arguments)


def lines_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_apply_changes_the_labels_and_nothing_else(folder_with_run: Path, run: Run, tmp_path: Path) -> None:
    path = tmp_path / "fixed.csv"
    assert answer(folder_with_run, "apply", "psi-run", "-o", str(path))["corrected"] == run.corrected
    before, after = lines_of(folder_with_run / "train.csv"), lines_of(path)
    assert list(after[0]) == list(before[0])
    assert [line["label"] for line in after] == list(run.repaired_labels)
    assert [line | {"label": ""} for line in after] == [line | {"label": ""} for line in before]
    truth = people(240, seed=1)["label"]
    wrong = [sum(line["label"] != label for line, label in zip(each, truth, strict=True)) for each in (before, after)]
    assert wrong[1] < wrong[0] / 2, "most of what was planted is put right"
    assert [line["label"] for line in before] == spoiled(people(240, seed=1))["label"]


def test_apply_the_first_suspects_with_a_trace(folder_with_run: Path, run: Run, tmp_path: Path) -> None:
    path = tmp_path / "fixed.jsonl"
    psi("apply", "psi-run", "--top", "4", "--trace", "-o", str(path), folder=folder_with_run)
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [place for place, line in enumerate(lines) if line["corrected"]] == sorted(run.order[:4].tolist())
    assert [line["given"] for line in lines] == run.encoding.decode(run.given).tolist()
    piped = psi("apply", "psi-run", "--top", "4", "-o", "-", folder=folder_with_run)
    assert [line["label"] for line in csv.DictReader(piped.out.splitlines())] == [line["label"] for line in lines]


def test_apply_what_people_decided(debugged: tuple[Path, Ran], tmp_path: Path) -> None:
    import shutil

    from psidebug.review.store import open_store
    from psidebug.review.verdicts import Verdict

    shutil.copytree(debugged[0] / "psi-run", tmp_path / "psi-run")
    assert "nobody has decided" in failing(tmp_path, "apply", "psi-run", "--reviewed", "-o", "fixed.csv")
    assert not list((tmp_path / "psi-run").glob("*.sqlite")), "looking does not make a store"
    run = load_run(tmp_path / "psi-run")
    given = run.encoding.decode(run.given).tolist()
    other = {"yes": "no", "no": "yes"}
    first, second, third = run.order[:3].tolist()
    with open_store(tmp_path / "psi-run") as store:
        store.record([Verdict(first, run.rows[first].item(), "correct", other[given[first]])], reviewer="ann")
        store.record([Verdict(second, run.rows[second].item(), "keep", given[second])], reviewer="bob")
        store.record([Verdict(third, run.rows[third].item(), "skip")], reviewer="bob")
    psi("apply", "psi-run", "--reviewed", "--trace", "-o", "fixed.csv", folder=tmp_path)
    lines = lines_of(tmp_path / "fixed.csv")
    assert [place for place, line in enumerate(lines) if line["label"] != given[place]] == [first]
    assert [lines[place]["verdict"] for place in (first, second, third)] == ["correct", "keep", "skip"]
    assert lines[first]["reviewer"] == "ann"


def test_export(folder_with_run: Path, run: Run, tmp_path: Path) -> None:
    for kind, name in (("label-studio", "t.json"), ("csv", "t.csv"), ("jsonl", "t.jsonl"), ("parquet", "t.parquet")):
        data = answer(folder_with_run, "export", "psi-run", "--format", kind, "-o", str(tmp_path / name))
        assert data["rows"] == len(run.order)
    assert len(json.loads((tmp_path / "t.json").read_text(encoding="utf-8"))) == len(run.order)
    assert '<Choice value="yes"/>' in (tmp_path / "t.xml").read_text()
    assert pl.read_parquet(tmp_path / "t.parquet")["row"].to_list() == run.rows[run.order].tolist()
    answer(folder_with_run, "export", "psi-run", "--format", "cleanlab", "-o", str(tmp_path / "c.csv"))
    assert pl.read_csv(tmp_path / "c.csv")["is_label_issue"].sum() == int(
        (run.files.labels["p_wrong"].to_numpy() > 0.5).sum()
    )
    assert "every training row" in failing(
        folder_with_run, "export", "psi-run", "--format", "cleanlab", "--top", "3", "-o", str(tmp_path / "c.csv")
    )


def test_report_and_compare(folder_with_run: Path, tmp_path: Path) -> None:
    data = answer(folder_with_run, "report", "psi-run", "-o", str(tmp_path / "page.html"))
    assert data["bytes"] == (tmp_path / "page.html").stat().st_size > 10_000
    same = answer(folder_with_run, "compare", "psi-run", "psi-run")
    assert same["same_inputs"] is True
    assert same["overlap"] == 1.0
    assert "The inputs are the same" in psi("compare", "psi-run", "psi-run", folder=folder_with_run).out


@pytest.mark.parametrize("name", ON_RUNS)
def test_a_run_that_is_not_there(tmp_path: Path, name: str) -> None:
    more = {"apply": ["-o", "x.csv"], "report": ["-o", "x.html"], "compare": ["nowhere"], "explain": ["1"]}
    more["export"] = ["--format", "csv", "-o", "x.csv"]
    assert "nowhere is no directory" in failing(tmp_path, name, "nowhere", *more.get(name, []))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ON_RUNS)
def test_the_example_in_the_help_works_as_typed(debugged: tuple[Path, Ran], tmp_path: Path, name: str) -> None:
    import shutil

    shutil.copytree(debugged[0], tmp_path / "folder")
    shown = psi(name, "--help").out
    assert COMMANDS[name].removesuffix(".") in " ".join(shown.split())
    example = " ".join(shown.partition("Example:")[2].split())
    ran = psi(*example.split()[1:], folder=tmp_path / "folder")
    assert ran.code == 0, ran.err


def test_the_real_command_in_a_pipe(folder_with_run: Path) -> None:
    """Piped text is whole whatever the terminal's width, and an error is a sentence on stderr."""
    narrow = {**os.environ, "COLUMNS": "40"}
    ran = subprocess.run(
        [*PSI, "suspects", "psi-run", "--top", "3"], cwd=folder_with_run, env=narrow, capture_output=True, text=True
    )
    assert ran.returncode == 0
    assert len(ran.stdout.splitlines()) == 4
    ran = subprocess.run([*PSI, "explain", "psi-run", "9999"], cwd=folder_with_run, capture_output=True, text=True)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "Traceback" not in ran.stderr
    assert "0 to 159" in ran.stderr


def test_a_list_without_rows_proves_nothing(folder_with_run: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("\n")
    assert "names no rows" in failing(folder_with_run, "verify", "psi-run", "--rows", str(tmp_path / "empty.txt"))


@pytest.mark.parametrize("kind", ["cleanlab", "csv", "jsonl"])
def test_a_table_on_stdout_is_not_called_json(folder_with_run: Path, kind: str) -> None:
    said = failing(folder_with_run, "export", "psi-run", "--format", kind, "-o", "-", "--json")
    assert "give -o FILE, or no --json" in said


def test_a_right_test_row_is_answered_with_the_wrong_ones(folder_with_run: Path, run: Run) -> None:
    right = next(place for place in range(len(run.test)) if place not in run.bugs)
    said = failing(folder_with_run, "explain", "psi-run", str(right))
    assert f"The misclassified ones are {run.bugs[0]}, {run.bugs[1]}" in said


def test_the_seed_that_is_shown_is_the_one_to_give_again(run: Run) -> None:
    assert run.settings["seed"] == "0"
    assert summarise(run).origin["seed"] == "0"
