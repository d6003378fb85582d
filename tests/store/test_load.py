"""What is wrong with a saved run is said in a sentence; a run of an older schema is refused in one too."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import psidebug
from psidebug.errors import UnreadableRun
from psidebug.store import load_run

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
    assert "no JSON" in refused(path)


@pytest.mark.parametrize("content", ["[]", "3", "{}", '{"schema": "one"}', '{"schema": true}'])
def test_json_of_something_else(path: Path, content: str) -> None:
    (path / "run.json").write_text(content)
    assert "does not say its schema" in refused(path)


def test_a_newer_schema(path: Path) -> None:
    change(path, lambda record: record.update(schema=3, psidebug="9.1"))
    message = refused(path)
    assert "made by a newer Psi (9.1, schema 3" in message
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


@pytest.mark.parametrize("name", ["../secret.parquet", "/etc/passwd", "tables/../../secret"])
def test_files_outside_of_the_run_are_not_opened(path: Path, name: str) -> None:
    change(path, lambda record: record["files"]["labels"].update(path=name))
    assert "outside of the run" in refused(path)


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
    assert "was made by Psi 0.1.0" in message
    assert "run psi debug again" in message


def test_a_run_of_schema_2_still_loads() -> None:
    """Made by ``python -m tests.store.make_golden`` when schema 2 was new; with the next one, made again."""
    run = psidebug.Diagnosis.load(GOLDEN)
    expected = json.loads((GOLDEN / "expected.json").read_text())
    assert run.verdict == expected["verdict"]
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
