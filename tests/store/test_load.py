"""What is wrong with a saved run is said in a sentence; a run of an older schema is refused in one too."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression

import psidebug
from psidebug.errors import UnreadableRun
from psidebug.store import load_run
from psidebug.store.manifest import read_run_file
from tests.conftest import planted_rows

GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture(scope="module")
def original(diagnosis: psidebug.Diagnosis, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "run"
    diagnosis.save(path)
    return path


@pytest.fixture
def path(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(original, tmp_path / "run"))


def change(path: Path, edit: Callable[[dict[str, Any]], Any]) -> None:
    record = json.loads((path / "run.json").read_text())
    edit(record)
    (path / "run.json").write_text(json.dumps(record))


def table(path: Path, name: str) -> Path:
    return next(path.glob(f"tables-*/{name}.parquet"))


def refused(path: Path) -> str:
    with pytest.raises(UnreadableRun) as caught:
        load_run(path)
    message = str(caught.value)
    assert 20 < len(message) < 400
    assert "\n" not in message
    return message


def test_no_directory(path: Path) -> None:
    assert "no directory" in refused(path / "nowhere")
    assert "no directory" in refused(path / "run.json")


def test_no_run_file(path: Path) -> None:
    (path / "run.json").unlink()
    assert "has no run.json" in refused(path)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b'{"schema": 1'])
def test_broken_json(path: Path, content: bytes) -> None:
    (path / "run.json").write_bytes(content)
    assert "not JSON" in refused(path)


@pytest.mark.parametrize("content", ["[]", "3", "{}", '{"schema": "one"}', '{"schema": true}'])
def test_json_of_something_else(path: Path, content: str) -> None:
    (path / "run.json").write_text(content)
    assert "has no schema number" in refused(path)


def test_a_newer_schema(path: Path) -> None:
    change(path, lambda record: record.update(schema=3, psidebug="9.1"))
    message = refused(path)
    assert "was saved by Psi 9.1 (schema 3)" in message
    assert "upgrade" in message


def test_a_part_that_is_lacking(path: Path) -> None:
    change(path, lambda record: record.pop("findings"))
    assert "lacks findings" in refused(path)


@pytest.mark.parametrize("name", ["labels", "train", "test", "predictions", "causes"])
def test_a_table_that_is_lacking(path: Path, name: str) -> None:
    table(path, name).unlink()
    message = refused(path)
    assert f"{name}.parquet" in message
    assert "lacks its file" in message


@pytest.mark.parametrize("name", ["labels", "train", "test", "predictions", "causes"])
def test_a_table_that_was_changed(path: Path, name: str) -> None:
    content = bytearray(table(path, name).read_bytes())
    content[len(content) // 2] ^= 1
    table(path, name).write_bytes(content)
    message = refused(path)
    assert f"{name}.parquet" in message
    assert "changed or damaged" in message


OUTSIDE = [
    "../secret.parquet",
    "/etc/passwd",
    "tables/../../secret",
    "tables-x/../secret.parquet",
    "tables-x/../../secret.parquet",
    "tables-x/..",
    "tables-../..",
    "tables-x/.hidden",
    "tables-x/deep/labels.parquet",
    "tables-x\\labels.parquet",
    "tables-x/..\\secret",
    "C:tables-x/labels.parquet",
    "tables-x/c:labels.parquet",
    "other/labels.parquet",
    "labels.parquet",
    "tables-x/",
    "tables-x",
    "./tables-x/labels.parquet",
    "tables-x//labels.parquet",
    "tables-x/labels.parquet\n",
    "tables-x/a\0b",
    ".",
    "",
]


@pytest.mark.parametrize("name", OUTSIDE)
def test_files_outside_of_the_run_are_not_opened(path: Path, name: str) -> None:
    change(path, lambda record: record["files"]["labels"].update(path=name))
    assert "not a table inside the run" in refused(path)
    with pytest.raises(UnreadableRun, match="not a table inside the run"):
        read_run_file(path)  # also who writes or removes by these names hears of it, before anything is touched


WRONG_FILES: dict[str, Any] = {
    "a list": [],
    "a text": "labels",
    "nothing": None,
    "an entry that is a text": {"labels": "tables-x/labels.parquet"},
    "an entry that is nothing": {"labels": None},
    "no digest": {"labels": {"path": "tables-x/labels.parquet"}},
    "no path": {"labels": {"sha256": "0"}},
    "a path that is a number": {"labels": {"path": 3, "sha256": "0"}},
    "a digest that is a number": {"labels": {"path": "tables-x/labels.parquet", "sha256": 3}},
}


@pytest.mark.parametrize("name", WRONG_FILES)
def test_a_list_of_files_that_is_none(path: Path, name: str) -> None:
    change(path, lambda record: record.update(files=WRONG_FILES[name]))
    assert "is damaged" in refused(path)


@pytest.mark.parametrize("name", ["labels", "predictions", "train", "test"])
def test_a_list_of_files_without_one_that_every_run_has(path: Path, name: str) -> None:
    change(path, lambda record: record["files"].pop(name))
    with pytest.raises(UnreadableRun, match=f"names no file for {name}"):
        _ = load_run(path).data


@pytest.mark.parametrize("value", [7, "x", [], [["a", 1]], True], ids=str)
@pytest.mark.parametrize("name", ["fingerprint", "findings", "data", "spec", "files"])
def test_a_part_of_another_type_is_damage(path: Path, name: str, value: Any) -> None:
    change(path, lambda record: record.update({name: value}))
    message = refused(path)
    assert "is damaged" in message
    assert name in message


FORGED: dict[str, Any] = {
    "slices": 7, "correction": "x", "controls": [], "curve": {}, "rounds": "x", "explanations": [1], "display": 5,
    "fidelity": 5,
}  # fmt: skip


@pytest.mark.parametrize("name", FORGED)
def test_findings_that_are_none_are_damage(path: Path, name: str) -> None:
    change(path, lambda record: record["findings"].update({name: FORGED[name]}))
    assert "is damaged" in refused(path)


def forge_table(path: Path, name: str, edit: Callable[[pa.Table], pa.Table]) -> None:
    """Change a table of the run, and its digest with it."""
    pq.write_table(edit(pq.read_table(table(path, name))), table(path, name))
    digest = hashlib.sha256(table(path, name).read_bytes()).hexdigest()
    change(path, lambda record: record["files"][name].update(sha256=digest))


def with_column(name: str, value: Any) -> Callable[[pa.Table], pa.Table]:
    return lambda table: table.set_column(table.schema.get_field_index(name), name, pa.array([value] * table.num_rows))


MISFITS: dict[str, tuple[str, Callable[[pa.Table], pa.Table]]] = {
    "fewer labels": ("labels", lambda table: table.slice(3)),
    "fewer rows": ("train", lambda table: table.slice(3)),
    "fewer test rows": ("test", lambda table: table.slice(3)),
    "a column less": ("test", lambda table: table.remove_column(0)),
    "fewer predictions": ("predictions", lambda table: table.slice(3)),
    "another prior": ("prior", lambda table: table.slice(3)),
    "a PS of 7": ("labels", with_column("ps", 7.0)),
    "a PS of lists": ("labels", with_column("ps", [1.0])),
    "a rank of text": ("labels", with_column("rank", "first")),
    "bugs that are neither true nor false": ("predictions", with_column("bug", 3)),
    "causes at rows that are not there": ("causes", with_column("position", 10**6)),
    "causes of tests that are not there": ("causes", with_column("test_row", -1)),
}


@pytest.mark.parametrize("name", MISFITS)
def test_parts_that_do_not_fit_each_other_are_damage(path: Path, name: str) -> None:
    """Whoever forges a run forges its digests."""
    forge_table(path, *MISFITS[name])
    with pytest.raises(UnreadableRun, match="is damaged, or not of this run"):
        _ = load_run(path).data


FORGED_INSIDE: dict[str, Callable[[dict[str, Any]], Any]] = {
    "a curve without its point": lambda found: found["curve"].update(chosen=10**6),
    "a slice of no class": lambda found: found["slices"][0].update(given=99),
    "more wrong than there are": lambda found: found["correction"]["verified"]["test_before"].update(wrong=10**6),
    "a rate of nothing": lambda found: found["correction"]["verified"]["test_before"].update(wrong=0, of=0),
    "more rows than can be": lambda found: found["correction"]["verified"]["test_before"].update(of=10**400),
    "a number for a verdict": lambda found: found.update(verdict=3),
    "a number beyond all": lambda found: found["slices"][0].update(z=10**400),
    "a decimal that is none": lambda found: found.update(verdict={"type": "Decimal", "value": "x"}),
    "a condition without a value": lambda found: found["slices"][0]["conditions"][0].update(operator="=", values=[]),
}


@pytest.mark.parametrize("name", FORGED_INSIDE)
def test_findings_that_cannot_be_are_damage(path: Path, name: str) -> None:
    change(path, lambda record: FORGED_INSIDE[name](record["findings"]))
    assert "is damaged" in refused(path)


def test_tables_that_are_exchanged_are_damage(path: Path) -> None:
    def exchange(record: dict[str, Any]) -> None:
        files = record["files"]
        files["labels"], files["train"] = files["train"], files["labels"]

    change(path, exchange)
    assert "is damaged" in refused(path)


def test_rows_without_their_form_are_damage(path: Path) -> None:
    change(path, lambda record: record["data"].update(forms={}))
    with pytest.raises(UnreadableRun, match="is damaged"):
        _ = load_run(path).data


def test_names_of_no_type_are_damage(tmp_path: Path) -> None:
    rows = planted_rows()
    sets = (pd.DataFrame(rows.X_train), rows.y_train, pd.DataFrame(rows.X_test), rows.y_test)
    psidebug.debug(LogisticRegression(), *sets, effort="rank", rng=0).save(tmp_path / "run")
    change(tmp_path / "run", lambda record: record["data"]["forms"]["train"].update(names=[]))
    with pytest.raises(UnreadableRun, match="is damaged"):
        _ = load_run(tmp_path / "run").data


def test_no_memory_is_taken_for_rows_that_are_only_said_to_be_there(tmp_path: Path) -> None:
    rows = planted_rows()
    sets = (csr_matrix(rows.X_train), rows.y_train, csr_matrix(rows.X_test), rows.y_test)
    psidebug.debug(LogisticRegression(), *sets, effort="rank", rng=0).save(tmp_path / "run")
    change(
        tmp_path / "run", lambda record: record["data"]["forms"]["train"].update(shape=[10**13, rows.X_train.shape[1]])
    )
    with pytest.raises(UnreadableRun, match="is damaged"):
        _ = load_run(tmp_path / "run").data


@pytest.mark.parametrize("value", [{}, {"learner": 3}, {"train": [], "test": "", "rows": "", "learner": ""}], ids=str)
def test_a_fingerprint_of_other_things_than_texts_is_damage(path: Path, value: Any) -> None:
    change(path, lambda record: record.update(fingerprint=value))
    assert "fingerprint" in refused(path)


def test_json_of_a_depth_that_no_run_has(path: Path) -> None:
    (path / "run.json").write_text("[" * 100_000)
    assert "not JSON" in refused(path)


# ── links ──


def linked(place: Path, elsewhere: Path) -> None:
    """Move what is there elsewhere, and leave a link to it: it leads to what was saved, and out of the run."""
    place.rename(elsewhere)
    place.symlink_to(elsewhere)


def test_links_are_refused_though_they_lead_to_the_right_files(path: Path, tmp_path: Path) -> None:
    for number, place in enumerate([path / "run.json", table(path, "labels"), table(path, "labels").parent]):
        elsewhere = tmp_path / f"elsewhere-{number}"
        linked(place, elsewhere)
        message = refused(path)
        assert str(place) in message
        assert "is a link" in message
        place.unlink()
        elsewhere.rename(place)
        assert load_run(path).verdict


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes")
def test_pipes_are_refused_and_not_waited_for(path: Path) -> None:
    for place in (table(path, "labels"), path / "run.json"):
        place.unlink()
        os.mkfifo(place)
        assert "not a plain file" in refused(path)


def test_a_link_that_comes_after_the_run_was_opened_is_refused(path: Path, tmp_path: Path) -> None:
    run = load_run(path)
    linked(table(path, "train"), tmp_path / "elsewhere")
    with pytest.raises(UnreadableRun, match="is a link"):
        _ = run.data


def test_a_run_that_is_itself_reached_by_a_link_is_opened(path: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(path)
    assert load_run(tmp_path / "link").findings.labels.rows.size > 0


def test_what_a_later_version_adds_is_ignored(path: Path, diagnosis: psidebug.Diagnosis) -> None:
    def add(record: dict[str, Any]) -> None:
        record["hologram"] = {"colour": "red"}
        found = record["findings"]
        found["correction"]["verified"]["colour"] = "red"
        found["curve"]["points"][0]["colour"] = "red"
        found["fidelity"]["groups"]["colour"] = "red"
        found["slices"][0]["conditions"][0]["colour"] = "red"

    change(path, add)
    run = load_run(path)
    assert run.files.record["hologram"] == {"colour": "red"}
    assert run.correction is not None
    assert run.curve is not None
    assert run.fidelity == diagnosis.fidelity
    assert run.findings.slices == diagnosis.findings.slices
    assert run.verdict == diagnosis.verdict


def test_tables_are_read_when_asked_for(path: Path) -> None:
    run = load_run(path)
    table(path, "train").unlink()
    assert len(run.suspects) > 0
    with pytest.raises(UnreadableRun, match="Load it again"):
        _ = run.data


# ── older schemas ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_run_of_an_older_schema_is_refused_with_what_to_do(path: Path) -> None:
    change(path, lambda record: record.update(schema=1, psidebug="0.1.0"))
    message = refused(path)
    assert "was saved by Psi 0.1.0" in message
    assert "run psi debug again" in message


def test_a_run_of_schema_2_still_loads() -> None:
    """Made by ``python -m tests.store.make_golden`` when schema 2 was new; with the next one, made again."""
    run = psidebug.Diagnosis.load(GOLDEN)
    expected = json.loads((GOLDEN / "expected.json").read_text())
    assert run.verdict == expected["verdict"]
    assert run.spec.effort == "prove", "once everything was made at once"
    assert run.suspects["row"].tolist() == expected["rows"]
    assert run.suspects["given"].tolist() == expected["given"]
    assert run.suspects["ps"].tolist() == expected["ps"]
    slices = run.findings.slices
    assert [each.condition for each in slices] == expected["conditions"]
    assert [each.members(run.data).tolist() for each in slices] == expected["members"]
    assert list(run.repaired_labels) == expected["repaired"]
    assert str(run.controls) == expected["controls"]
    assert list(run.data.train.features["kind"].cat.categories) == ["none", "web", "desk"]
    assert run.data.metadata is not None
    assert run.curve is not None
    assert [point.corrected for point in run.curve.points] == expected["curve"]
    assert run.explained(1)[0].ps.tolist() == expected["causes"]
    assert str(run.fidelity) == expected["fidelity"]
