"""``psi new``: the settings that it guesses are those that ``psi debug`` then needs, and its comments are true."""

from __future__ import annotations

import json
import re
import tomllib
from datetime import date
from pathlib import Path

import pyarrow as pa
import pytest

from psidebug.cli.debug import debug
from psidebug.cli.settings import _options
from psidebug.errors import InputError
from psidebug.intake.guess import guessed_roles
from tests.cli.folder import psi
from tests.cli.json_page import KEYS

FLOATS = [each / 7 for each in range(60)]
DAYS = [date(2026, 1, 1 + each % 12) for each in range(60)]
LONG = [f"a long review number {number} of a film that somebody saw" for number in range(60)]


def test_after_it_psi_debug_needs_no_flags(folder: Path) -> None:
    ran = psi("new", "train.csv", "test.csv", folder=folder)
    assert (ran.code, ran.err) == (0, "")
    written = (folder / "psi.toml").read_text(encoding="utf-8")
    assert tomllib.loads(written) == {"debug": {"label": "label", "id": "id"}}
    then = ran.out.strip().rpartition("then: ")[2].split()
    assert f"#     {' '.join(then)}\n" in written
    found = psi(*then[1:], "--effort", "rank", folder=folder)
    assert found.code == 0, found.err
    suspects = json.loads(psi("suspects", "psi-run", "--json", folder=folder).out)["suspects"]
    assert all(1000 <= each["row"] < 2000 for each in suspects), "rows are named by the id column"


def test_every_setting_in_its_comments_is_one_of_psi_debug(folder: Path) -> None:
    psi("new", "train.csv", "test.csv", folder=folder)
    written = (folder / "psi.toml").read_text(encoding="utf-8")
    settings = tomllib.loads(re.sub(r"^# (?=\w+ = )", "", written, flags=re.MULTILINE))["debug"]
    assert len(settings) > 8
    assert settings.keys() <= _options(debug).keys()


def test_a_file_that_is_there_stays_unless_it_may_go(folder: Path) -> None:
    (folder / "psi.toml").write_text('label = "mine"\n', encoding="utf-8")
    refused = psi("new", "train.csv", "test.csv", folder=folder)
    assert refused.code == 2
    assert "--overwrite" in refused.err
    assert (folder / "psi.toml").read_text(encoding="utf-8") == 'label = "mine"\n'
    told = psi("new", "train.csv", "test.csv", "--overwrite", "--label", "city", "--json", folder=folder)
    answer = json.loads(told.out)
    assert answer == {"written": "psi.toml", "label": "city", "id": "id", "text": []}
    assert answer.keys() == KEYS["new"]


@pytest.mark.parametrize(
    ("columns", "label", "identity", "texts"),
    [
        ({"Review ID": [*range(60)], "Target": ["a", "b"] * 30, "note": LONG}, "Target", "Review ID", ("note",)),
        ({"x": [0.5] * 60, "kind": ["a", "b"] * 30}, "kind", None, ()),
        ({"spam": [0, 1] * 30, "x": [float(each) for each in range(60)]}, "spam", None, ()),
        ({"user_id": [1, 2] * 30, 'a "quoted" name': ["a", "b"] * 30}, 'a "quoted" name', None, ()),
        ({"income": [">50K", "no"] * 30, "x": FLOATS, "annotator": ["ann", "bob"] * 30}, "income", None, ()),
        ({"x": FLOATS, "income": [">50K", "no"] * 30, "asked": DAYS, "rater_id": [1, 2, 3] * 20}, "income", None, ()),
        ({"person": [*range(60)], "x": FLOATS, "income": ["a", "b"] * 30}, "income", "person", ()),
        ({"file": [f"{n}.txt" for n in range(60)], "x": FLOATS, "mood": ["a", "b"] * 30}, "mood", "file", ()),
        ({"review": LONG, "mood": ["a", "b"] * 30}, "mood", None, ("review",)),
        ({"size": FLOATS, "mood": ["a", "b"] * 30}, "mood", None, ()),
    ],
    ids=[
        "names",
        "the last",
        "the first",
        "no id: its values repeat",
        "who labelled is no label",
        "nor is when",
        "the first column names the rows",
        "as do files",
        "a text names no row",
        "nor does a measurement",
    ],
)
def test_columns_are_guessed(
    columns: dict[str, list[object]], label: str, identity: str | None, texts: tuple[str, ...]
) -> None:
    table = pa.table(columns)
    roles = guessed_roles(table, table)
    assert (roles.label, roles.id, roles.texts) == (label, identity, texts)


def test_measurements_are_no_labels_and_nothing_is_guessed() -> None:
    table = pa.table({"x": [each / 7 for each in range(60)], "z": [each / 3 for each in range(60)]})
    with pytest.raises(InputError, match="give --label"):
        guessed_roles(table, table)
    with pytest.raises(InputError, match="both files must have the column 'q'"):
        guessed_roles(table, table, label="q")


def test_odd_names_are_written_so_that_they_are_read_back(tmp_path: Path) -> None:
    name = 'it\'s a "label" = [é] \\ #'
    quoted = name.replace('"', '""')
    lines = [f'"{quoted}",x', *(f"{'ab'[number % 2]},{number / 7}" for number in range(60))]
    for file in ("train.csv", "test.csv"):
        (tmp_path / file).write_text("\n".join(lines), encoding="utf-8")
    assert psi("new", "train.csv", "test.csv", folder=tmp_path).code == 0
    assert tomllib.loads((tmp_path / "psi.toml").read_text(encoding="utf-8"))["debug"]["label"] == name
