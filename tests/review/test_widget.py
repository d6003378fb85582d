"""The review in a notebook: what it shows, what its keys do, and that the app sees the same verdicts."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import psidebug
from psidebug.review.verdict_store import open_store
from psidebug.review.widget import Table, review_widget


@pytest.fixture
def table(digits_run: Path) -> Any:
    found = Table(digits_run, "ann")
    yield found
    found.desk.close()


def press(table: Table, key: str) -> dict[str, Any]:
    table.take({"key": key, "row": table.shown()["row"]["id"]})
    return table.shown()


def test_it_shows_the_first_row_that_is_probably_wrong(table: Table) -> None:
    first, labels = table.desk.run.order[0], table.desk.findings.labels
    shown = table.shown()
    assert shown["row"]["id"] == str(labels.rows[first])
    assert shown["row"]["p_wrong"] == round(float(labels.p_wrong[first]), 3)
    assert shown["row"]["picture"].startswith("data:image/")
    assert shown["left"] == shown["total"] == table.desk.queue.total()


def test_keys_decide_and_the_app_sees_it(table: Table, digits_run: Path) -> None:
    corrected, kept = table.desk.run.order[:2].tolist()
    press(table, "c")
    shown = press(table, "e")
    assert shown["said"].endswith(f"kept as {table.desk.findings.encoding.classes[table.desk.queue.given[kept]]}")
    assert shown["left"] == shown["total"] - 2
    with open_store(digits_run) as store:
        found = store.current()
    assert {each: found[each].action for each in found} == {corrected: "correct", kept: "keep"}
    assert {each.reviewer for each in found.values()} == {"ann"}


def test_a_number_is_a_class_and_undo_brings_the_row_back(table: Table) -> None:
    first = table.shown()["row"]
    other = next(key for key, name in first["keys"].items() if name == first["proposed"])
    assert press(table, other)["said"] == f"Saved. {first['id']}: corrected to {first['proposed']}"
    shown = press(table, "u")
    assert shown["row"] == first
    assert shown["said"] == "Undone."
    assert table.desk.store.current() == {}
    assert press(table, "u")["said"] == "There is nothing to undo."
    shown = press(table, "r")
    assert shown["said"] == "Done again."
    assert shown["row"]["id"] == str(table.desk.findings.labels.rows[table.desk.run.order[1]])
    assert press(table, "r")["said"] == "There is nothing to redo."


def test_next_and_previous_decide_nothing(table: Table) -> None:
    first = table.shown()["row"]
    second = press(table, "j")["row"]
    assert second != first
    assert press(table, "k")["row"] == first
    assert table.desk.store.log() == []


def test_after_a_verdict_comes_the_row_after_it(table: Table) -> None:
    first = table.shown()["row"]["id"]
    press(table, "j")
    third = table.desk.findings.labels.rows[table.desk.run.order[2]]
    assert press(table, "c")["row"]["id"] == str(third) != first


def test_a_key_for_a_row_that_has_gone_decides_nothing_and_says_so(table: Table) -> None:
    gone = table.shown()["row"]["id"]
    press(table, "s")
    for sent in ({"key": "c", "row": gone}, {"key": "c"}):
        table.take(sent)
    assert table.shown()["said"].startswith("That key came before this row")
    assert [each.action for each in table.desk.store.current().values()] == ["skip"]


@pytest.mark.parametrize("message", [None, "c", {}, {"key": 3}, {"key": "x"}, {"key": "9" * 9}], ids=repr)
def test_what_is_no_key_does_nothing(table: Table, message: Any) -> None:
    before = table.shown()
    table.take(message)
    assert table.shown() == before
    assert table.desk.store.log() == []


def test_when_all_have_a_verdict_it_is_done(table: Table) -> None:
    for _ in range(table.desk.queue.total()):
        press(table, "e")
    shown = table.shown()
    assert shown["row"] is None
    assert shown["left"] == 0 < shown["total"]


def test_a_message_of_the_browser_reaches_the_store_and_the_answer_comes_back(digits_run: Path) -> None:
    widget = review_widget(digits_run, reviewer="bob")
    row = widget.shown["row"]["id"]
    widget._handle_custom_msg({"key": "c", "row": row}, [])
    assert widget.shown["said"].startswith(f"Saved. {row}: corrected to")
    with open_store(digits_run) as store:
        assert [each.reviewer for each in store.current().values()] == ["bob"]


def test_where_a_notebook_shows_no_widgets_a_sentence_says_what_to_do(digits_run: Path) -> None:
    assert f"'psi review {digits_run}' opens the same review in a browser" in repr(review_widget(digits_run))


def test_it_says_why_there_is_no_picture(tmp_path: Path) -> None:
    X = np.concatenate([np.linspace(-2, -0.1, 40), np.linspace(0.1, 2, 40)])[:, None]
    labels = (X[:, 0] > 0).astype(int)
    given = labels.copy()
    given[:4] = 1
    pictures = pd.DataFrame({"picture": [f"gone/{each}.png" for each in range(80)]})
    found = psidebug.debug(LogisticRegression(), X, given, X + 0.01, labels, metadata=pictures, images="picture", rng=0)
    found.save(tmp_path / "run")
    table = Table(tmp_path / "run", "ann")
    row = table.shown()["row"]
    assert (row["picture"], row["note"]) == (None, f"no picture at gone/{row['id']}.png")
    table.desk.close()


def test_classes_called_by_digits_have_their_own_digit_as_key(tmp_path: Path) -> None:
    """As in the app: 2 is never the class 1."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(300, 2)), rng.integers(0, 2, 300)
    x[:, 0] += np.array([-3.0, 3.0])[y]
    labels = np.array(["1", "2"])[y]
    given = np.where((x[:, 1] > 0.5) & (y == 1), "1", labels)
    psidebug.debug(LogisticRegression(), x[:200], given[:200], x[200:], labels[200:]).save(tmp_path / "run")
    table = Table(tmp_path / "run", "ann")
    row = table.shown()["row"]
    assert row["keys"] == {"1": "1", "2": "2"}
    assert row["given"] == "1"
    assert press(table, "1")["said"] == f"Saved. {row['id']}: kept as 1"
    table.desk.close()


def test_test_labels_that_are_wrong_are_what_it_shows(wrong_tests: Path, tmp_path: Path) -> None:
    """PS is not known of them, which is no number that a page can be sent."""
    table = Table(shutil.copytree(wrong_tests / "psi-run", tmp_path / "run"), "ann")
    shown = table.shown()
    assert shown["row"]["ps"] is None
    assert shown["row"]["predicted"] in shown["row"]["keys"].values()
    json.dumps(shown, allow_nan=False)
    press(table, "c")
    assert [each.part for each in table.desk.store.current("test").values()] == ["test"]
    table.desk.close()


def test_nothing_is_called_saved_when_the_run_was_saved_anew(digits_run: Path) -> None:
    widget = review_widget(digits_run)
    (digits_run / "run.json").write_bytes((digits_run / "run.json").read_bytes() + b" ")
    os.utime(digits_run / "run.json", ns=(1, 1))
    for key in ("c", "u"):
        widget._handle_custom_msg({"key": key, "row": widget.shown["row"]["id"]}, [])
        assert "the run was saved again" in widget.shown["said"]
    with open_store(digits_run) as store:
        assert store.log() == []
