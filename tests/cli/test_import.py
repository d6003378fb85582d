"""From the command line to Label Studio and back: tasks are exported, answered as its server does, and imported."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.cli.folder import Ran, psi
from tests.cli.json_page import KEYS


@pytest.fixture
def folder(debugged: tuple[Path, Ran], tmp_path: Path) -> Path:
    shutil.copytree(debugged[0], tmp_path, dirs_exist_ok=True)
    return tmp_path


def answered(folder: Path) -> list[dict[str, Any]]:
    """The first three tasks as Label Studio exports them: the prediction agreed with, disagreed with, no answer."""
    assert (
        psi("export", "psi-run", "--format", "label-studio", "--top", "3", "-o", "tasks.json", folder=folder).code == 0
    )
    tasks = json.loads((folder / "tasks.json").read_text(encoding="utf-8"))
    for number, task in enumerate(tasks, start=1):
        (result,) = task["predictions"][0]["result"]
        choice = [result["value"]["choices"][0], task["data"]["given"]][number - 1 : number]
        made = {"completed_by": 1, "created_at": "2024-01-01T00:00:00Z", "was_cancelled": False}
        task |= {"id": number, "project": 1}
        task["annotations"] = [made | {"result": [result | {"value": {"choices": choice}}]}] if choice else []
    (folder / "labelled.json").write_text(json.dumps(tasks), encoding="utf-8")
    return list(tasks)


def test_answers_of_label_studio_come_back_and_are_applied(folder: Path) -> None:
    first, second, _ = answered(folder)
    ran = psi("import", "psi-run", "labelled.json", folder=folder)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.strip() == "2 verdicts imported; 1 task without an annotation"
    assert psi("apply", "psi-run", "--reviewed", "-o", "fixed.csv", folder=folder).code == 0
    given, fixed = (pd.read_csv(folder / name).set_index("id")["label"] for name in ("train.csv", "fixed.csv"))
    changed = given.index[given != fixed].tolist()
    assert changed == [first["data"]["row"]], "the second answer is that the label was right"
    assert second["data"]["row"] in given.index


def test_the_same_file_twice_changes_nothing(folder: Path) -> None:
    answered(folder)
    psi("import", "psi-run", "labelled.json", folder=folder)
    again = json.loads(psi("import", "psi-run", "labelled.json", "--json", folder=folder).out)
    assert again == {"imported": 0, "kept": 2, "disputed": 0, "unanswered": 1}
    assert again.keys() == KEYS["import"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "there is no file labelled.json"),
        (b"\xff\xfe\x00", "is not UTF-8"),
        (b"[{}]", "task 1"),
        (b"", "is empty"),
    ],
    ids=["missing", "not text", "not ours", "empty"],
)
def test_what_cannot_be_imported_is_refused_whole(folder: Path, content: bytes | None, said: str) -> None:
    if content is not None:
        (folder / "labelled.json").write_bytes(content)
    ran = psi("import", "psi-run", "labelled.json", folder=folder)
    assert ran.code == 2
    assert said in ran.err
    assert "Traceback" not in ran.err
