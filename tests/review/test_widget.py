"""The review in a notebook: what it shows, what its keys do, and that the app sees the same verdicts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

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
    assert shown["said"].endswith("kept")
    assert shown["left"] == shown["total"] - 2
    with open_store(digits_run) as store:
        found = store.current()
    assert {each: found[each].action for each in found} == {corrected: "correct", kept: "keep"}
    assert {each.reviewer for each in found.values()} == {"ann"}


def test_a_number_is_a_class_and_undo_brings_the_row_back(table: Table) -> None:
    first = table.shown()["row"]
    other = 1 + table.shown()["classes"].index(first["proposed"])
    assert press(table, str(other))["said"] == f"Saved. {first['id']}: corrected to {first['proposed']}"
    shown = press(table, "u")
    assert shown["row"] == first
    assert shown["said"] == "Undone."
    assert table.desk.store.current() == {}
    assert press(table, "u")["said"] == "There is nothing to undo."


def test_next_and_previous_decide_nothing(table: Table) -> None:
    first = table.shown()["row"]
    second = press(table, "j")["row"]
    assert second != first
    assert press(table, "k")["row"] == first
    assert table.desk.store.log() == []


def test_a_key_for_a_row_that_has_gone_does_nothing(table: Table) -> None:
    gone = table.shown()["row"]["id"]
    press(table, "s")
    table.take({"key": "c", "row": gone})
    assert [each.action for each in table.desk.store.current().values()] == ["skip"]


@pytest.mark.parametrize("message", [None, "c", {}, {"key": 3}, {"key": "x"}, {"key": "c"}, {"key": "9" * 9}], ids=repr)
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
