"""The commands that take a run: what they print is what the run holds, and their files are right."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import psidebug
from psidebug import policy
from psidebug.cli.group import COMMANDS
from psidebug.report import summarise
from psidebug.store import Run, load_run
from tests.cli.folder import PSI, Ran, people, psi, spoiled
from tests.cli.json_page import KEYS

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
    assert [line[0] for line in lines[1:]] == [str(row) for row in run.findings.labels.rows[run.order[:7]]]
    assert f"7 of {len(run.order)} suspects" in ran.err
    data = answer(folder_with_run, "suspects", "psi-run", "--top", "7")
    assert [each["row"] for each in data["suspects"]] == run.findings.labels.rows[run.order[:7]].tolist()
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
    assert table["row"].to_list() == run.findings.labels.rows[run.order[:5]].tolist()
    assert {"income", "city", "since", "source"} <= set(table.columns)
    again = psi("suspects", "psi-run", "--top", "5", "--format", "csv", folder=folder_with_run)
    assert [line["row"] for line in csv.DictReader(again.out.splitlines())] == [str(row) for row in table["row"]]


@pytest.mark.parametrize(("kind", "name"), [("parquet", "s.csv"), ("csv", "s.csv.gz"), ("json", "s.parquet")])
def test_a_file_is_not_named_after_another_format(folder_with_run: Path, tmp_path: Path, kind: str, name: str) -> None:
    said = failing(folder_with_run, "suspects", "psi-run", "--format", kind, "-o", str(tmp_path / name))
    assert f"the name {name} says" in said
    assert not (tmp_path / name).exists()


def test_slices(folder_with_run: Path, run: Run) -> None:
    assert "city = Pune, labelled no" in psi("slices", "psi-run", folder=folder_with_run).out
    (first, *_) = answer(folder_with_run, "slices", "psi-run")
    assert (first["slice"], first["condition"], first["given"]) == (1, "city = Pune", "no")
    assert first["rows"] == len(run.findings.slices[0].members(run.data))


def test_explain_knows_test_rows_by_their_ids(folder_with_run: Path, run: Run) -> None:
    """The test file's own ids, 2000 to 2159."""
    ids = people(160, seed=2)["id"].tolist()
    assert run.findings.predictions.rows.tolist() == ids
    bugs = [ids[bug] for bug in run.findings.predictions.bugs]
    listed = answer(folder_with_run, "explain", "psi-run")
    assert [each["test_row"] for each in listed] == bugs
    assert [each["position"] for each in listed] == run.findings.predictions.bugs.tolist()
    for top in (3, len(bugs)):
        listing = psi("explain", "psi-run", "--top", str(top), folder=folder_with_run)
        assert [line.split()[0] for line in listing.out.splitlines()[1:]] == [str(bug) for bug in bugs[:top]]
        assert (f"{top} of {len(bugs)} misclassified rows; --top N shows more." in listing.err) == (top < len(bugs))
        assert f"'psi explain psi-run {bugs[0]}' explains the first." in listing.err
    data = answer(folder_with_run, "explain", "psi-run", str(bugs[1]), "--top", "3")
    told = psidebug.Diagnosis.saved(run).explain(run.findings.predictions.rows[run.findings.predictions.bugs[1]])
    assert (data["test_row"], data["position"]) == (bugs[1], run.findings.predictions.bugs[1])
    assert data["told"] == str(told)
    assert [each["row"] for each in data["causes"]] == told.causes["row"].to_list()[:3]
    text = psi("explain", "psi-run", str(bugs[1]), folder=folder_with_run).out
    assert f"Test row {bugs[1]} is labelled" in " ".join(text.split())
    right = next(place for place in range(160) if place not in run.findings.predictions.bugs)
    said = failing(folder_with_run, "explain", "psi-run", str(ids[right]))
    assert "classified correctly" in said
    assert f"The misclassified ones are {bugs[0]}, {bugs[1]}" in said
    assert "'3' is not the id of a test row (ids are 2000, 2001, 2002, …)" in failing(
        folder_with_run, "explain", "psi-run", "3"
    )


def test_without_ids_a_test_row_is_its_position(folder: Path) -> None:
    """With --id whose column the test file lacks, too."""
    path = folder / "test.csv"
    lines = [line.partition(",")[2] for line in path.read_text(encoding="utf-8").splitlines()]
    path.write_text("\n".join(lines), encoding="utf-8")
    assert psi("debug", "train.csv", "test.csv", "--label", "label", "--id", "id", folder=folder).code == 0
    run = load_run(folder / "psi-run")
    assert run.findings.predictions.rows.tolist() == list(range(160))
    listed = answer(folder, "explain", "psi-run")
    assert (
        [each["test_row"] for each in listed]
        == [each["position"] for each in listed]
        == run.findings.predictions.bugs.tolist()
    )
    assert (
        answer(folder, "explain", "psi-run", str(run.findings.predictions.bugs[0]))["test_row"]
        == run.findings.predictions.bugs[0]
    )
    assert "'9999' is not the position of a test row (there are 0 to 159)" in failing(
        folder, "explain", "psi-run", "9999"
    )


def test_the_report_names_bugs_files_and_the_day(folder_with_run: Path, run: Run) -> None:
    """Of a bug the page shows its id and the column that was kept from the model."""
    summary = summarise(run.findings, run.data)
    table = people(160, seed=2)
    for bug in summary.bugs:
        place = table["id"].tolist().index(int(bug["row"]))
        cells = {cell["name"]: cell["value"] for cell in bug["view"]["cells"]}
        assert cells["source"] == table["source"][place]
        assert "id" not in cells, "it is the name of the row"
        assert bug["position"] == place
    assert summary.origin["files"] == {"train": "train.csv", "test": "test.csv", "validation": "validation.csv"}
    page = (folder_with_run / "page.html").read_text(encoding="utf-8")
    header = re.sub(r"<[^>]+>", "", page[page.index('<p class="made">') : page.index('<p class="verdict')])
    assert header.startswith("train.csv 240 training rowstest.csv 160 test rowsvalidation.csv 300 validation rows")
    day = datetime.fromisoformat(run.findings.origin.created)
    assert f"{day.day} {day:%B %Y, %H:%M} UTC" in header
    assert str(folder_with_run) not in page


def test_verify(folder_with_run: Path, run: Run, tmp_path: Path) -> None:
    data = answer(folder_with_run, "verify", "psi-run", "--top", "9")
    effect = psidebug.Diagnosis.saved(run).verify(run.findings.labels.rows[run.order[:9]].tolist())
    assert data["correction"]["test_after"] == {"wrong": effect.correction.test_after.wrong, "of": 160}
    assert data["correction"]["corrected"] == 9
    assert effect.at_random is not None
    assert data["at_random"]["bugs_fixed"] == effect.at_random.bugs_fixed
    whole = answer(folder_with_run, "verify", "psi-run")
    assert run.correction is not None
    assert whole["correction"]["test_after"]["wrong"] == run.correction.verified.test_after.wrong
    assert whole["proved"] is True
    sliced = answer(folder_with_run, "verify", "psi-run", "--slice", "1")
    assert sliced["correction"]["corrected"] == int((run.p_wrong[run.findings.slices[0].members(run.data)] > 0.5).sum())


def test_rows_to_verify_may_come_in_any_file(folder_with_run: Path, run: Run, tmp_path: Path) -> None:
    """With or without labels, with or without a header, of one column or with ids in a column that is known."""
    ids = run.findings.labels.rows[run.order[:3]].tolist()
    plain = "\n".join(map(str, ids))
    texts = {
        "rows.txt": plain,
        "named.csv": f"customer\n{plain}",
        "own.csv": "city;id\n" + "\n".join(f"Lima;{row}" for row in ids),
        "two.csv": "\n".join(f"{row},yes" for row in ids),
        "labelled.csv": "id,label\n" + "\n".join(f"{row},yes" for row in ids),
        "rows.jsonl": "\n".join(json.dumps({"row": row, "label": "yes"}) for row in ids),
        "mark.csv": f"\ufeffid\r\n{plain}",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    pl.DataFrame({"whatever": ids}).write_parquet(tmp_path / "one.parquet")
    psi("suspects", "psi-run", "--top", "3", "-o", str(tmp_path / "suspects.csv"), folder=folder_with_run)
    results = [
        answer(folder_with_run, "verify", "psi-run", "--rows", str(tmp_path / name))["correction"]
        for name in (*texts, "one.parquet", "suspects.csv")
    ]
    assert results[0]["corrected"] == 3
    assert all(each == results[0] for each in results)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1001\n99999\n", "names '99999', which is not the id of a training row (ids are 1000, 1001, 1002, …)"),
        ("99999\n1001\n", "names '99999'"),
        ("a,b\n1,2\n", "names 'a'"),
        ("a,b,c\n1,2,3\n", "has 3 columns but no header"),
        ("1001,maybe\n", "the label 'maybe', which is none of no, yes"),
        ('{"a": 1, "b": 2}\n', "has no id column; its columns are a, b. Give one id per line, or id,label; or a table"),
        ("id\n", "names no rows"),
        ("", "names no rows"),
    ],
)
def test_what_is_no_list_of_rows(folder_with_run: Path, tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "rows").write_text(text)
    assert said in failing(folder_with_run, "verify", "psi-run", "--rows", str(tmp_path / "rows"))


def test_proved_means_the_same_as_in_the_diagnosis(
    folder_with_run: Path, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A slice that an explanation accuses needs less of a gain than rows that somebody names."""
    assert run.findings.slices[0].accused
    rows = tmp_path / "rows.txt"
    members = run.findings.slices[0].members(run.data)
    rows.write_text("\n".join(map(str, run.findings.labels.rows[members].tolist())))

    def proved(*chosen: str) -> bool:
        return bool(answer(folder_with_run, "verify", "psi-run", *chosen)["proved"])

    assert proved("--slice", "1")
    monkeypatch.setattr(policy, "LEAST_Z", float("inf"))
    assert proved("--slice", "1")
    assert proved(), "the correction of the run is the slice's"
    assert not proved("--rows", str(rows))
    monkeypatch.setattr(policy, "LEAST_Z_ACCUSED", float("inf"))
    assert not proved("--slice", "1")


def test_verify_fails_a_pipeline_on_proved_errors_alone(folder_with_run: Path, run: Run, tmp_path: Path) -> None:
    assert run.corrected > 5
    arguments = ("verify", "psi-run", "-q", "--fail-above")
    assert psi(*arguments, str(run.corrected - 1), folder=folder_with_run).code == 1
    assert psi(*arguments, str(run.corrected), folder=folder_with_run).code == 0
    assert psi(*arguments, str((run.corrected - 1) / 240), folder=folder_with_run).code == 1
    (tmp_path / "one.txt").write_text(str(run.findings.labels.rows[run.order[-1]]))
    unproved = psi(*arguments, "0", "--rows", str(tmp_path / "one.txt"), folder=folder_with_run)
    assert unproved.code == 0, "one label that changes nothing proves nothing"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--top", "3", "--slice", "1"), "do not go together"),
        (("--slice", "99"), "no slice 99"),
        (("--rows", "nowhere.txt"), "does not exist"),
        (("--rows", "train.csv"), "changes no label, so there is nothing to correct"),
        (("--rows", "page.html"), "which is not the id of a training row"),
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
    assert [line["label"] for line in after] == list(run.data.labels_like_given(run.findings.labels.repaired))
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
    assert [line["given"] for line in lines] == run.findings.encoding.decode(run.findings.labels.given).tolist()
    piped = psi("apply", "psi-run", "--top", "4", "-o", "-", folder=folder_with_run)
    assert [line["label"] for line in csv.DictReader(piped.out.splitlines())] == [line["label"] for line in lines]


def test_apply_what_people_decided(debugged: tuple[Path, Ran], tmp_path: Path) -> None:
    import shutil

    from psidebug.review.verdict_store import open_store
    from psidebug.review.verdicts import Verdict

    shutil.copytree(debugged[0] / "psi-run", tmp_path / "psi-run")
    assert "nobody has decided" in failing(tmp_path, "apply", "psi-run", "--reviewed", "-o", "fixed.csv")
    assert not list((tmp_path / "psi-run").glob("*.sqlite")), "looking does not make a store"
    run = load_run(tmp_path / "psi-run")
    given = run.findings.encoding.decode(run.findings.labels.given).tolist()
    other = {"yes": "no", "no": "yes"}
    first, second, third = run.order[:3].tolist()
    with open_store(tmp_path / "psi-run") as store:
        store.record(
            [Verdict(first, run.findings.labels.rows[first].item(), "correct", other[given[first]])], reviewer="ann"
        )
        store.record([Verdict(second, run.findings.labels.rows[second].item(), "keep", given[second])], reviewer="bob")
        store.record([Verdict(third, run.findings.labels.rows[third].item(), "skip")], reviewer="bob")
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
    assert pl.read_parquet(tmp_path / "t.parquet")["row"].to_list() == run.findings.labels.rows[run.order].tolist()
    answer(folder_with_run, "export", "psi-run", "--format", "cleanlab", "-o", str(tmp_path / "c.csv"))
    assert pl.read_csv(tmp_path / "c.csv")["is_label_issue"].sum() == int((run.p_wrong > 0.5).sum())
    assert "every training row" in failing(
        folder_with_run, "export", "psi-run", "--format", "cleanlab", "--top", "3", "-o", str(tmp_path / "c.csv")
    )


def test_report_and_compare(folder_with_run: Path, tmp_path: Path) -> None:
    data = answer(folder_with_run, "report", "psi-run", "-o", str(tmp_path / "page.html"))
    assert data["bytes"] == (tmp_path / "page.html").stat().st_size > 10_000
    same = answer(folder_with_run, "compare", "psi-run", "psi-run")
    assert same["same_inputs"] is True
    assert same["overlap"] == 1.0
    ran = psi("compare", "psi-run", "psi-run", "--report", str(tmp_path / "both.html"), folder=folder_with_run)
    assert "The inputs are the same" in ran.out
    assert "wrote" in ran.err
    assert "Data and learner are the same." in (tmp_path / "both.html").read_text()


def test_the_same_rows_in_another_format_are_the_same_inputs(folder: Path) -> None:
    """JSON lines know no days, only moments, and ids as numbers."""
    for name in ("train", "test"):
        pl.read_csv(folder / f"{name}.csv").write_ndjson(folder / f"{name}.jsonl")
    for kind in ("csv", "jsonl"):
        arguments = (f"train.{kind}", f"test.{kind}", "--label", "label", "--id", "id", "-o", kind)
        assert psi("debug", *arguments, folder=folder).code == 0
    found = answer(folder, "compare", "csv", "jsonl")
    assert found["same"] == {"learner": True, "rows": True, "test": True, "train": True}
    assert found["verdicts"][0] == found["verdicts"][1]


def strict(text: str) -> Any:
    """JSON and nothing else: no NaN, no word before or after."""

    def refused(name: str) -> None:
        raise AssertionError(f"{name} is no JSON")

    return json.loads(text, parse_constant=refused)


def test_the_json_of_every_command_has_the_keys_of_the_manual(
    folder_with_run: Path, run: Run, wrong_tests: Path, tmp_path: Path
) -> None:
    def told(*arguments: str, folder: Path = folder_with_run) -> Any:
        ran = psi(*arguments, "--json", folder=folder)
        assert ran.code == 0, ran.err
        return strict(ran.out)

    bug = str(run.findings.predictions.rows[run.findings.predictions.bugs[0]])
    suspects, verified = told("suspects", "psi-run", "--top", "2"), told("verify", "psi-run", "--top", "2")
    slices, bugs, explained = told("slices", "psi-run"), told("explain", "psi-run"), told("explain", "psi-run", bug)
    found = {
        "suspects": suspects,
        "suspects, each": suspects["suspects"][0],
        "suspects, each with --tests": told("suspects", "psi-run", "--tests", folder=wrong_tests)["suspects"][0],
        "slices, a list, each": slices[0],
        "explain, a list without TEST_ROW, each": bugs[0],
        "explain, with TEST_ROW": explained,
        "verify": verified,
        "verify, each effect": verified["correction"],
        "apply": told("apply", "psi-run", "-o", str(tmp_path / "x.csv")),
        "report": told("report", "psi-run", "-o", str(tmp_path / "x.html")),
        "export": told("export", "psi-run", "--format", "csv", "-o", str(tmp_path / "y.csv")),
        "compare": told("compare", "psi-run", "psi-run"),
    }
    elsewhere = ("debug", "apply, with --cause", "import", "new")  # tests of their own
    assert {name: {*each} for name, each in found.items()} == {
        name: keys for name, keys in KEYS.items() if not name.startswith(elsewhere)
    }
    assert {*explained["causes"][0]} == KEYS["suspects, each"]


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
    assert "'9999' is not the id of a test row" in ran.stderr


def test_a_list_without_rows_proves_nothing(folder_with_run: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("\n")
    assert "names no rows" in failing(folder_with_run, "verify", "psi-run", "--rows", str(tmp_path / "empty.txt"))


@pytest.mark.parametrize("kind", ["cleanlab", "csv", "jsonl"])
def test_a_table_on_stdout_is_not_called_json(folder_with_run: Path, kind: str) -> None:
    said = failing(folder_with_run, "export", "psi-run", "--format", kind, "-o", "-", "--json")
    assert "give -o FILE, or no --json" in said


def test_the_seed_that_is_shown_is_the_one_to_give_again(run: Run) -> None:
    assert run.settings["seed"] == "0"
    assert summarise(run.findings, run.data).origin["seed"] == "0"
