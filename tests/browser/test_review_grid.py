"""Many rows at once in a browser: the grid, by mouse and by keyboard alone, and as a screen reader is told."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, expect

from psidebug.review.pages import CARDS
from tests.browser.access import CONTRAST, tree
from tests.browser.reviewing import NARROW, Arrive, Reviewer
from tests.review.talking import Room


def cards(ann: Reviewer) -> Locator:
    return ann.page.locator("#cards [role=option]")


def gridded(arrive: Arrive, **options: object) -> Reviewer:
    ann = arrive(**options)
    ann.press("v")
    expect(cards(ann)).to_have_count(CARDS)
    expect(cards(ann).first).to_be_focused()
    return ann


def test_rows_are_chosen_by_keyboard_decided_once_and_undone_once(room: Room, arrive: Arrive) -> None:
    ann, order = gridded(arrive), room.desk.run.order.tolist()
    ann.press("c")
    expect(ann.page.locator("#saved")).to_contain_text("No row is chosen")
    ann.press("Space", "ArrowRight", "ArrowRight", "Space", "Shift+ArrowRight", "Shift+ArrowRight")
    expect(ann.page.locator("#chosen")).to_have_text("4 chosen")
    ann.press("c")
    ann.expect_progress("4 of")
    found = room.desk.store.current()
    assert sorted(found) == sorted([order[0], *order[2:5]])
    assert {each.action for each in found.values()} == {"correct"}
    expect(cards(ann).first).to_have_attribute("data-place", str(order[1]))  # what is decided has gone
    ann.press("u")
    ann.expect_progress("0 of")
    assert room.desk.store.current() == {}
    expect(cards(ann).first).to_have_attribute("data-place", str(order[0]))
    ann.press("a", "2")
    ann.expect_progress(f"{CARDS} of")
    expect(cards(ann)).to_have_count(room.desk.queue.left())
    assert {each.label for each in room.desk.store.current().values()} == {"odd"}
    ann.press("a", "e")
    expect(ann.page.locator("#focus h2")).to_have_text("Done")
    assert ann.messages == []


@pytest.mark.thorough
def test_rows_are_chosen_by_the_mouse_and_several_with_shift(room: Room, arrive: Arrive) -> None:
    ann, order = gridded(arrive), room.desk.run.order.tolist()
    cards(ann).nth(1).click()
    cards(ann).nth(4).click(modifiers=["Shift"])
    cards(ann).nth(2).click()
    expect(ann.page.locator("#chosen")).to_have_text("3 chosen")
    ann.page.get_by_role("button", name="Keep").click()
    ann.expect_progress("3 of")
    assert sorted(room.desk.store.current()) == sorted([order[1], *order[3:5]])
    cards(ann).nth(0).dblclick()
    expect(ann.page.locator("#focus")).to_have_attribute("data-at", str(order[0]))
    expect(ann.page.locator("#cards")).to_have_count(0)
    assert ann.messages == []


@pytest.mark.thorough
def test_to_correct_stands_out_only_where_all_that_is_chosen_is_probably_wrong(room: Room, arrive: Arrive) -> None:
    unlikely = int(room.desk.run.order[1])
    room.desk.queue.p_wrong[unlikely] = 0.3  # it is corrected, and so it is shown
    ann, first = gridded(arrive), re.compile(r"\bfirst\b")
    correct = ann.page.locator("#correct-chosen")
    expect(correct).not_to_have_class(first)
    ann.press("Space")
    expect(correct).to_have_class(first)
    ann.press("Shift+ArrowRight")
    expect(correct).not_to_have_class(first)


@pytest.mark.thorough
def test_a_grid_is_a_list_of_options_to_those_who_do_not_see_it(room: Room, arrive: Arrive) -> None:
    ann = gridded(arrive)
    ann.press("Space")
    nodes = tree(ann.page)
    (listed,) = [each for each in nodes if each["role"] == "listbox"]
    total = room.desk.queue.total()
    assert listed["name"] == f"Rows 1 to {CARDS} of {total}"
    assert listed.get("multiselectable") is True
    options = [each for each in nodes if each["role"] == "option" and ": given" in each["name"]]
    assert len(options) == CARDS
    assert all(re.search(r": given \w+, proposed \w+, probably wrong \d", each["name"]) for each in options)
    assert [each.get("selected") for each in options].count(True) == 1
    (said,) = [each for each in nodes if each["role"] == "status" and "chosen" in _text(ann, "#chosen")][:1]
    assert said.get("live") == "polite"
    for scheme in ("light", "dark"):
        ann.page.emulate_media(color_scheme=scheme)
        assert ann.page.evaluate(CONTRAST)["weak"] == []


def _text(ann: Reviewer, place: str) -> str:
    return ann.page.locator(place).inner_text()


@pytest.mark.thorough
def test_the_grid_fits_a_phone_and_its_buttons_stay_in_sight(arrive: Arrive) -> None:
    ann = gridded(arrive, viewport=NARROW)
    assert ann.page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]
    ann.press("ArrowDown", "ArrowDown", "ArrowDown")
    for each in ann.page.locator("#focus .actions button").all():
        expect(each).to_be_in_viewport(ratio=1)
    ann.press("Space")
    focused = ann.page.locator("#cards [aria-selected=true]")
    bar, card = ann.page.locator("#focus .decide").bounding_box(), focused.bounding_box()
    assert bar
    assert card
    assert card["y"] + card["height"] <= bar["y"] + 1, "the card is not under the buttons"


@pytest.mark.thorough
def test_on_a_phone_what_the_list_leads_to_comes_in_sight(arrive: Arrive) -> None:
    ann = arrive(viewport=NARROW, has_touch=True)
    ann.page.locator("#queue [data-show]").nth(9).tap()  # the list stands below the row
    expect(ann.page.locator("#focus h2")).to_be_in_viewport(ratio=1)
    ann.page.get_by_role("button", name="Grid").tap()
    expect(cards(ann).first).to_be_in_viewport(ratio=0.5)
    expect(ann.page.locator("#focus h2")).to_be_in_viewport(ratio=1)
    assert ann.messages == []
