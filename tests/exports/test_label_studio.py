"""Tasks for Label Studio: its form of tasks with predictions, for tables, texts and pictures."""

from __future__ import annotations

import base64
import json
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from psidebug import Diagnosis
from psidebug.display import display_for
from psidebug.exports.suspects import label_studio_config, label_studio_tasks
from psidebug.exports.table_files import write_json
from psidebug.store import Run, load_run
from tests.conftest import Planted
from tests.store.conftest import CASES, debugged


def shown(diagnosis: Diagnosis, path: Path, images: Any, metadata: Any = None) -> Run:
    """The diagnosis as if it had been made with these pictures."""
    display = display_for(images, None, features=diagnosis.task.train.features, metadata=metadata)
    assert diagnosis.live is not None
    data = replace(diagnosis.task.data, metadata=metadata)
    made = replace(
        diagnosis,
        found=replace(diagnosis.found, display=display),
        live=replace(diagnosis.live, task=replace(diagnosis.task, data=data)),
    )
    made.save(path)
    return load_run(path)


def check(run: Run, tasks: list[dict[str, Any]], shown: str) -> None:
    """Every prediction answers a question that the configuration asks, about data that the task has."""
    config = ET.fromstring(label_studio_config(run.findings, run.data))
    choices = config.find("Choices")
    assert choices is not None
    asked = next(each for each in config if each.get("name") == shown)
    assert asked.get("value") == f"${shown}"
    values = {each.get("value") for each in choices}
    assert values == {str(each) for each in run.findings.encoding.classes}
    proposed = run.suspects["proposed"].tolist()
    for place, task in enumerate(tasks):
        assert shown in task["data"]
        (prediction,) = task["predictions"]
        (result,) = prediction["result"]
        assert (result["from_name"], result["to_name"]) == (choices.get("name"), choices.get("toName"))
        assert result["to_name"] == shown
        assert result["value"]["choices"] == [str(proposed[place])]
        assert result["value"]["choices"][0] in values
        assert 0 <= prediction["score"] <= 1
    scores = [task["predictions"][0]["score"] for task in tasks]
    assert scores == sorted(scores, reverse=True)


def test_tables(odd: Run, tmp_path: Path) -> None:
    tasks = label_studio_tasks(odd.findings, odd.data, top=30)
    assert len(tasks) == 30
    check(odd, tasks, "table")
    write_json(tasks, tmp_path / "tasks.json")
    read = json.loads((tmp_path / "tasks.json").read_text(encoding="utf-8"))
    for place, task in zip(odd.order, read, strict=False):
        assert task["data"]["row"] == f"r{place}"
        assert task["data"]["table"]["note"] == odd.data.train.features["note"][place] or pd.isna(
            odd.data.train.features["note"][place]
        )
        assert task["data"]["table"]["by"] == ("ann", "bob", None)[place % 3]


def test_texts(planted: Planted, tmp_path: Path) -> None:
    debugged(planted, **CASES["texts"](planted)).save(tmp_path / "run")
    run = load_run(tmp_path / "run")
    tasks = label_studio_tasks(run.findings, run.data)
    check(run, tasks, "text")
    assert [task["data"]["text"] for task in tasks] == [run.data.train.features[place] for place in run.order]


def test_rows_that_are_pictures(diagnosis: Diagnosis, tmp_path: Path) -> None:
    run = shown(diagnosis, tmp_path / "run", (2, 2))
    tasks = label_studio_tasks(run.findings, run.data)
    check(run, tasks, "image")
    for task in tasks:
        kind, _, content = task["data"]["image"].partition(",")
        assert kind == "data:image/png;base64"
        assert base64.b64decode(content).startswith(b"\x89PNG")
    same = {
        tuple(run.data.train.features[place]): task["data"]["image"]
        for place, task in zip(run.order, tasks, strict=True)
    }
    assert len(set(same.values())) == len(same), "other pixels, another picture"


def test_metadata_beside_pixels_are_no_part_of_the_picture(diagnosis: Diagnosis, tmp_path: Path) -> None:
    """They were, so that no row had a picture, and Label Studio's server refused every task."""
    own, beside = (
        label_studio_tasks(run.findings, run.data)
        for run in (
            shown(diagnosis, tmp_path / "own", (2, 2)),
            shown(diagnosis, tmp_path / "beside", (2, 2), pd.DataFrame({"shift": np.arange(120)})),
        )
    )
    assert all(each["data"]["image"].startswith("data:image/png") for each in own)
    assert [each["data"]["image"] for each in beside] == [each["data"]["image"] for each in own]


def test_a_row_without_a_picture_does_not_stop_the_others(diagnosis: Diagnosis, tmp_path: Path) -> None:
    scans = [None if place % 2 else f"/data/{place}.png" for place in range(120)]
    run = shown(diagnosis, tmp_path / "run", "scan", pd.DataFrame({"scan": scans}))
    found = {
        place: task["data"]["image"]
        for place, task in zip(run.order, label_studio_tasks(run.findings, run.data), strict=True)
    }
    assert set(found.values()) >= {""}
    assert all(image == (scans[place] or "") for place, image in found.items())


@pytest.mark.parametrize("arrays", [False, True])
def test_a_column_of_pictures(diagnosis: Diagnosis, tmp_path: Path, arrays: bool) -> None:
    values: list[Any] = [f"/data/{place}.png" for place in range(120)]
    if arrays:
        values = [[[float(place), 1.0], [0.0, 2.0]] for place in range(120)]
    run = shown(diagnosis, tmp_path / "run", "scan", pd.DataFrame({"scan": values}))
    tasks = label_studio_tasks(run.findings, run.data)
    check(run, tasks, "image")
    first = tasks[0]["data"]["image"]
    assert first.startswith("data:image/png") if arrays else first == f"/data/{run.order[0]}.png"
    assert "scan" not in tasks[0]["data"]["table"]
    assert np.isfinite(tasks[0]["data"]["table"]["x0"])


def test_the_other_columns_are_shown_beside_a_text_or_picture(odd: Run, diagnosis: Diagnosis, tmp_path: Path) -> None:
    scans = shown(diagnosis, tmp_path / "run", "scan", pd.DataFrame({"scan": [f"{each}.png" for each in range(120)]}))
    for run, tables in ((scans, ["columns"]), (odd, ["table"])):
        config = ET.fromstring(label_studio_config(run.findings, run.data))
        assert [(each.get("name"), each.get("value")) for each in config.findall("Table")] == [(*tables, "$table")]


def test_a_text_without_other_columns_has_no_table_beside_it(planted: Planted, tmp_path: Path) -> None:
    debugged(planted, **CASES["texts"](planted)).save(tmp_path / "run")
    run = load_run(tmp_path / "run")
    beside = any(task["data"]["table"] for task in label_studio_tasks(run.findings, run.data))
    assert bool(ET.fromstring(label_studio_config(run.findings, run.data)).findall("Table")) == beside
