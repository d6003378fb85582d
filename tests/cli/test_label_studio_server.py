"""Both ways with Label Studio itself: its server takes tables, texts and pictures, and its export comes back."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from psidebug.review.verdict_store import open_store
from tests.cli.folder import Ran, psi
from tests.cli.label_studio import LabelStudio, label_studio
from tests.conftest import Planted
from tests.review.digits import save_digits
from tests.store.conftest import CASES
from tests.store.conftest import debugged as diagnosed


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabelStudio]:
    with label_studio(tmp_path_factory.mktemp("label-studio") / "home") as found:
        yield found


def exported(folder: Path) -> list[dict[str, Any]]:
    ran = psi("export", "psi-run", "--format", "label-studio", "--top", "5", "-o", "tasks.json", folder=folder)
    assert ran.code == 0, ran.err
    tasks = json.loads((folder / "tasks.json").read_text(encoding="utf-8"))
    return list(tasks)


def labelled(server: LabelStudio, folder: Path) -> list[Any]:
    """Five tasks: agreed with, disagreed with, skipped, answered in two ways, left. The ids of their rows."""
    tasks = exported(folder)
    project = server.project((folder / "tasks.xml").read_text(encoding="utf-8"), tasks)
    there = server.tasks(project)
    for ours, theirs in zip(tasks, there, strict=True):
        assert theirs["data"] == ours["data"]
        assert theirs["predictions"][0]["score"] == ours["predictions"][0]["score"]
    proposed = [each["predictions"][0]["result"][0]["value"]["choices"][0] for each in there]
    given = [each["data"]["given"] for each in there]
    for task, choice in zip((*there[:4], there[3]), (proposed[0], given[1], None, proposed[3], given[3]), strict=True):
        server.answer(task, choice)
    (folder / "labelled.json").write_text(json.dumps(server.export(project)), encoding="utf-8")
    return [each["data"]["row"] for each in tasks]


def check_import(folder: Path, rows: list[Any]) -> None:
    ran = psi("import", "psi-run", "labelled.json", "--json", folder=folder)
    assert ran.code == 0, ran.err
    assert json.loads(ran.out) == {"imported": 3, "kept": 0, "disputed": 1, "unanswered": 1}
    with open_store(folder / "psi-run") as store:
        found = {each.row: each.action for each in store.current().values()}
    assert found == dict(zip(rows[:3], ["correct", "keep", "skip"], strict=True))


@pytest.mark.thorough
def test_a_table_there_and_back(server: LabelStudio, debugged: tuple[Path, Ran], tmp_path: Path) -> None:
    shutil.copytree(debugged[0], tmp_path, dirs_exist_ok=True)
    check_import(tmp_path, labelled(server, tmp_path))


@pytest.mark.thorough
def test_texts_there_and_back(server: LabelStudio, planted: Planted, tmp_path: Path) -> None:
    diagnosed(planted, **CASES["texts"](planted)).save(tmp_path / "psi-run")
    check_import(tmp_path, labelled(server, tmp_path))


@pytest.mark.thorough
def test_pictures_there_and_back(server: LabelStudio, tmp_path: Path) -> None:
    save_digits(tmp_path / "psi-run")
    check_import(tmp_path, labelled(server, tmp_path))
