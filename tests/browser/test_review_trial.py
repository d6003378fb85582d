"""What people stumble over in the review page: keys of classes called 3, many rows at once, errors that are cut off."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, expect
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

import psidebug
from tests.browser.reviewing import NARROW, Arrive, Reviewer
from tests.review.talking import Room, serving

pytestmark = pytest.mark.thorough

LAPTOP = {"width": 1280, "height": 800}
LONG = "the server says something that takes more than two lines to be said. " * 6 + "Do this."


def test_a_class_called_3_has_the_key_3(chromium: Browser, tmp_path: Path) -> None:
    X, y = load_digits(return_X_y=True)
    few = np.flatnonzero(np.isin(y, (0, 3, 4)))
    train, test = few[:100], few[100:160]
    labels = y[train].copy()
    labels[:30][labels[:30] == 4] = 3
    found = psidebug.debug(
        LogisticRegression(), X[train] / 16, labels, X[test] / 16, y[test], check_fidelity=False, rng=1
    )
    found.save(tmp_path / "run")
    with serving(tmp_path / "run") as room:
        context = chromium.new_context()
        ann = Reviewer(context, room.served.link)
        places = room.desk.run.order[:2].tolist()
        ann.decide("3", "0")  # by its place, 3 would be the class 4
        context.close()
        stored = room.desk.store.current()
    assert [stored[each].label for each in places] == [3, 0]


def test_many_are_corrected_where_they_are_probably_wrong_unless_all_are_asked_for(room: Room, arrive: Arrive) -> None:
    members = room.desk.findings.slices[0].members(room.desk.run.data)
    room.desk.queue.p_wrong[members[:9]] = 0.2
    wrong = members[room.desk.queue.p_wrong[members] > 0.5].tolist()
    ann = arrive()
    for key, rows in (("c", wrong), ("a", members.tolist())):
        ann.page.locator("select[name=slice]").select_option("0")
        expect(ann.page.locator("#queue h2")).to_have_text(f"{len(members)} rows shown")
        ann.page.locator("select[name=slice]").blur()
        ann.press("b")
        expect(ann.page.locator("#bulk")).to_be_visible()
        expect(ann.page.locator("#bulk-wrong")).to_contain_text(f"{len(wrong)} of them are probably wrong")
        expect(ann.page.locator("#bulk-correct")).to_have_text(f"Correct the {len(wrong)} probably wrong")
        ann.press(key)
        ann.expect_progress(f"{len(rows)} corrected")
        assert sorted(room.desk.store.current()) == sorted(rows)
        ann.press("u")
        ann.expect_progress("no verdict yet")
    room.desk.queue.p_wrong[members] = 0.2
    ann.press("b")
    expect(ann.page.locator("#bulk")).to_be_visible()
    expect(ann.page.locator("#bulk-wrong")).to_contain_text("0 of them are")
    ann.press("c")
    expect(ann.page.locator("#bulk")).to_be_visible()  # there is nothing that it could mean
    assert room.desk.store.current() == {}


@pytest.mark.parametrize("size", [LAPTOP, NARROW], ids=["laptop", "narrow"])
def test_an_error_is_shown_whole(arrive: Arrive, size: Any) -> None:
    ann = arrive(viewport=size)
    for state in ("failed", "wrong"):
        ann.page.evaluate("([state, text]) => status(state, text)", [state, LONG])
        hidden = ann.page.evaluate("$('saved').scrollHeight > $('saved').clientHeight + 1")
        wide = ann.page.evaluate("$('saved').scrollWidth > $('saved').clientWidth + 1")
        assert (hidden, wide) == (False, False)
        expect(ann.page.locator("#saved")).to_be_in_viewport(ratio=1)


def test_without_a_server_it_is_said_what_becomes_of_verdicts(arrive: Arrive) -> None:
    ann = arrive()
    ann.page.wait_for_load_state("networkidle")
    ann.context.set_offline(True)
    ann.press("c")
    expect(ann.page.locator("#saved")).to_have_text(
        "Not saved: 1 waiting, trying again. The server does not answer. Your verdicts are kept in this browser and "
        "sent when it is back."
    )


def test_a_run_that_is_gone_is_said_in_the_files_dialog(room: Room, arrive: Arrive) -> None:
    ann = arrive()
    shutil.rmtree(room.desk.run.path)
    ann.press("x")
    expect(ann.page.locator("#offers .wrong")).to_contain_text("gone")
    expect(ann.page.locator("#offers")).not_to_contain_text("looking")


def test_a_file_that_is_not_in_utf_8_is_refused(room: Room, arrive: Arrive) -> None:
    ann = arrive()
    ann.press("x")
    expect(ann.page.locator("#offers")).not_to_contain_text("loading…")  # which moves what is below
    content = '{"row": "picture-0366", "action": "keep", "comment": "klar für mich"}'
    for encoding, said in (("latin-1", "The file is not in UTF-8"), ("utf-8", "1 verdict imported")):
        file = {"name": "verdicts.jsonl", "mimeType": "application/json", "buffer": content.encode(encoding)}
        ann.page.locator("#import-file").set_input_files(file)  # type: ignore[arg-type]
        ann.page.locator("#import button").click()
        expect(ann.page.locator("#import-said")).to_contain_text(said)
    assert [each.comment for each in room.desk.store.current().values()] == ["klar für mich"]


def test_after_an_undo_the_model_says_that_verdicts_changed(arrive: Arrive) -> None:
    ann = arrive(viewport=NARROW)
    ann.decide("c")
    ann.press("t")
    expect(ann.page.locator("#saved")).to_contain_text("Retrained: validation error", timeout=60_000)
    expect(ann.page.locator("#work-stale")).to_be_hidden()
    focus, work, side = (ann.page.locator(each).bounding_box() for each in ("#focus", "#work", ".side"))
    assert focus
    assert work
    assert side
    assert focus["y"] < work["y"] < side["y"], "the model is beside the row that was decided"
    ann.press("u")
    expect(ann.page.locator("#work-stale")).to_be_visible()
    ann.press("r")
    expect(ann.page.locator("#work-stale")).to_be_hidden()
    ann.press("r")
    expect(ann.page.locator("#saved")).to_have_text("There is nothing to redo.")


def test_a_long_label_leaves_the_verdicts_in_sight(arrive: Arrive) -> None:
    ann = arrive(viewport=LAPTOP)
    ann.page.evaluate("""() => {
        const long = "a label of many words ".repeat(15);
        for (const each of document.querySelectorAll(".label, .cut")) each.textContent = long;
    }""")
    for each in ann.page.locator("#focus .actions button, #focus .classes button").all():
        expect(each).to_be_in_viewport(ratio=1)
    assert ann.page.evaluate("document.documentElement.scrollWidth") <= LAPTOP["width"]
