"""The review app for those who do not see it, see little, or have no mouse: by chromium's own accessibility tree."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.access import CONTRAST, tree
from tests.browser.reviewing import NARROW, WIDE, Arrive
from tests.review.talking import Room

pytestmark = pytest.mark.thorough

DIALOGS = {"?": "help", "b": "bulk", "w": "which", "x": "files", "i": "who"}


def test_every_control_has_a_name_and_every_region_a_role(arrive: Arrive) -> None:
    ann = arrive()
    expect(ann.page.locator(".similar img").first).to_be_visible()
    nodes = tree(ann.page)
    controls = [each for each in nodes if each.get("focusable") and each["role"] not in ("RootWebArea", "article")]
    assert len(controls) > 30
    assert [each for each in controls if not each["name"].strip()] == []
    roles = [each["role"] for each in nodes]
    assert [roles.count(each) for each in ("main", "banner")] == [1, 1]
    regions = {each["name"] for each in nodes if each["role"] == "region"}
    assert {"Queue", "Model"} <= regions
    assert all(each["name"] for each in nodes if each["role"] in ("image", "group", "progressbar"))
    live = [each for each in nodes if each.get("live") == "polite"]
    assert {each["role"] for each in live} >= {"status"}
    (row,) = [each for each in nodes if each["role"] == "article"]
    assert "given odd, proposed even" in row["name"]
    pressed = [each for each in nodes if each["role"] == "button" and each["name"].startswith("Pin test row")]
    assert pressed
    assert all(each.get("pressed") == "false" for each in pressed)


@pytest.mark.parametrize("key", DIALOGS)
def test_dialogs_are_named_hold_the_focus_and_let_it_go(room: Room, arrive: Arrive, key: str) -> None:
    ann = arrive()
    before = ann.at
    ann.press(key)
    name = DIALOGS[key]
    expect(ann.page.locator(f"#{name}")).to_be_visible()
    if name == "files":
        expect(ann.page.locator("#offers a").first).to_be_visible()
    (dialog,) = [each for each in tree(ann.page) if each["role"] == "dialog"]
    assert dialog["name"].strip()
    assert dialog.get("modal") is True
    for _ in range(12):
        ann.press("Tab")
        where = ann.page.evaluate("(document.activeElement.closest('dialog') || document.activeElement).id || 'page'")
        assert where in (name, "page"), "the browser's own bar is the only other place"
    ann.press("Escape")
    expect(ann.page.locator(f"#{name}")).to_be_hidden()
    ann.press("j")
    expect(ann.page.locator("#focus")).not_to_have_attribute("data-at", str(before))
    assert room.desk.store.log() == []


TABBABLE = """() => [...document.querySelectorAll("a[href], button, input, select, textarea")]
    .filter((each) => !each.disabled && !each.closest("dialog") && each.getClientRects().length)
    .map((each, place) => { each.dataset.tab = place; return place; })"""
SEEN = """() => {
    const each = document.activeElement;
    if (each === document.body) return null;
    const style = getComputedStyle(each);
    const box = each.getBoundingClientRect();
    const middle = (from, to, size) => (Math.max(from, 0) + Math.min(to, size)) / 2; // of what is in the window
    const top = document.elementFromPoint(
        middle(box.left, box.right, innerWidth), middle(box.top, box.bottom, innerHeight));
    const outline = style.outlineStyle === "none" ? 0 : parseFloat(style.outlineWidth);
    const seen = Boolean(top && (each.contains(top) || top.contains(each)));
    return { tab: each.dataset.tab, outline, seen, text: each.innerText };
}"""


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_tab_reaches_every_control_is_seen_and_is_never_trapped(arrive: Arrive, size: Any) -> None:
    ann = arrive(viewport=size)
    ann.decide("c")
    expect(ann.page.locator(".similar img").first).to_be_visible()
    ann.page.wait_for_load_state("networkidle")
    places = set(map(str, ann.page.evaluate(TABBABLE)))
    assert len(places) > 30
    ann.page.evaluate("document.activeElement.blur()")
    reached: set[str] = set()
    for _ in range(3 * len(places)):
        ann.press("Tab")
        seen = ann.page.evaluate(SEEN)
        if seen is None or seen["tab"] is None:
            continue
        if seen["tab"] in reached and len(reached) == len(places):
            break
        reached.add(seen["tab"])
        assert seen["outline"] >= 2, seen
        assert seen["seen"], seen
    assert reached == places


def test_the_row_in_focus_is_seen_to_be(arrive: Arrive) -> None:
    ann = arrive()
    border = "getComputedStyle(document.getElementById('focus')).borderTopColor"
    plain = ann.page.evaluate(border)
    ann.press("j")
    expect(ann.page.locator("#focus")).to_be_focused()
    assert ann.page.evaluate(border) != plain


def test_what_happens_is_said(room: Room, arrive: Arrive) -> None:
    ann = arrive()
    ann.page.wait_for_load_state("networkidle")
    live, rows = ann.page.locator("#live"), room.desk.findings.labels.rows[room.desk.run.order[:3]].tolist()
    ann.press("j")
    expect(live).to_contain_text(f"{rows[1]}: given odd, proposed even")
    ann.decide("e")
    expect(ann.page.locator("#saved")).to_have_text(f"Saved. {rows[1]}: kept as odd")
    expect(live).to_contain_text(f"{rows[2]}: given odd")
    ann.press("u")
    expect(live).to_contain_text(rows[1])
    expect(ann.page.locator("#saved")).to_have_text(f"Saved. undone: {rows[1]}")
    ann.press("r")
    expect(ann.page.locator("#saved")).to_have_text(f"Saved. redone: {rows[1]}")
    expect(live).to_contain_text(rows[2])  # a redo leads on
    ann.page.locator("select[name=state]").select_option("skip")
    expect(live).to_have_text("Nothing is shown.")
    ann.page.locator("select[name=state]").select_option("all")
    expect(live).to_contain_text("given odd")
    ann.press("Escape", "b")
    expect(ann.page.locator("#bulk")).to_be_visible()
    ann.press("s")
    expect(ann.page.locator("#saved")).to_contain_text(f"Saved. {room.desk.queue.total()} rows: skipped")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_stands_out_from_its_ground(arrive: Arrive, scheme: Any) -> None:
    ann = arrive(color_scheme=scheme)
    expect(ann.page.locator(".similar img").first).to_be_visible()
    ann.decide("c", "s", "o")
    ann.page.locator("select[name=state]").select_option("all")
    expect(ann.page.locator("#queue [data-verdict=correct]")).to_have_count(1)
    for state in ("saved", "failed", "idle", "saving"):
        ann.page.evaluate(f"status('{state}', 'Something is said.')")
        found = ann.page.evaluate(CONTRAST)
        assert found["seen"] > 80
        assert found["weak"] == []
    ann.press("Escape")
    for key, name in DIALOGS.items():
        ann.press(key)
        expect(ann.page.locator(f"#{name}")).to_be_visible()
        found = ann.page.evaluate(CONTRAST)
        assert found["seen"] > 3
        assert found["weak"] == []
        ann.press("Escape")
        expect(ann.page.locator(f"#{name}")).to_be_hidden()
