"""Test labels in the review app: found at once, never taken for training labels, decided and undone by key."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.reviewing import Arrive
from tests.review.talking import Room, serving


@pytest.fixture
def room(wrong_tests: Path, tmp_path: Path) -> Iterator[Room]:
    with serving(Path(shutil.copytree(wrong_tests / "psi-run", tmp_path / "run"))) as room:
        yield room


def test_test_labels_by_keyboard_and_back_from_the_training_labels_by_undo(room: Room, arrive: Arrive) -> None:
    ann = arrive()
    first, second, third = room.desk.run.findings.suspect_tests.rows[:3].tolist()
    current = ann.page.locator(".sets [aria-current]")
    expect(current).to_contain_text("Test labels 35")
    expect(ann.page.locator("#focus h2")).to_have_text(f"test row test-{first:03d}")
    expect(ann.page.locator("#focus .remark")).to_contain_text("A label of the test set.")
    expect(ann.page.locator("#work")).to_be_hidden()
    error = ann.page.locator(".tested .now")
    expect(error).to_have_text("0.300")
    ann.press("n")
    ann.page.keyboard.type("late, surely")
    ann.press("Enter")
    ann.decide("c", "e", "s")
    expect(error).to_have_text("0.294")
    ann.expect_progress("2 of 35 probably wrong decided")
    found = room.desk.store.current("test")
    assert [found[each].action for each in (first, second, third)] == ["correct", "keep", "skip"]
    assert found[first].comment == "late, surely"
    assert room.desk.store.current() == {}

    ann.press("t")
    expect(ann.page.locator("#saved")).to_contain_text("Only verdicts on training labels are trained with")
    ann.press("g")
    expect(current).to_contain_text("Training labels 0")
    expect(ann.page.locator("#focus")).to_contain_text("There are no suspects among the training labels")
    ann.press("u")
    expect(ann.page.locator("#focus h2")).to_have_text(f"test row test-{third:03d}")
    ann.expect_progress("1 corrected, 1 kept")
    assert set(room.desk.store.current("test")) == {first, second}
    ann.press("b")
    expect(ann.page.locator("#bulk-count")).to_have_text("33 rows are shown")
    ann.press("a")
    ann.expect_progress("Done: all 35 rows that are probably wrong have a verdict")
    expect(ann.page.locator("#focus")).to_contain_text("Take the corrected test data away")
    assert room.desk.store.current() == {}
    assert ann.messages == []
