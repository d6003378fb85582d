"""The review app in a browser: the demo's digits from the first suspect to the retrained model, without a mouse."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from psidebug.datasets.digits import mislabelled_digits
from psidebug.errors import OutputError
from psidebug.review.desk import Desk
from psidebug.review.security import Visitor
from tests.browser.reviewing import NARROW, WIDE, Arrive, Reviewer, wait_until
from tests.review.talking import Room, serving


def test_the_demo_by_keyboard_alone_until_the_error_falls(room: Room, arrive: Arrive) -> None:
    ann = arrive()
    suspects = room.desk.run.order[:5].tolist()
    assert ann.at == suspects[0]
    ann.press("n")
    ann.page.keyboard.type("an open 4")
    ann.press("Enter")
    ann.decide("c", "2", "s", "o")  # correct, the second class, skip, second opinion
    found = room.desk.store.current()
    assert [found[each].action for each in suspects[:4]] == ["correct", "keep", "skip", "second_opinion"]
    assert found[suspects[0]].comment == "an open 4"
    ann.press("u", "u", "u")
    ann.expect_progress("1 of")
    expect(ann.page.locator("#focus")).to_have_attribute("data-at", str(suspects[1]))

    ann.press("/")
    slices = ann.page.locator("select[name=slice]")
    for _ in range(10):
        if slices.evaluate("each => each === document.activeElement"):
            break
        ann.press("Tab")
    ann.press("ArrowDown")
    left = len(room.desk.findings.slices[0].members(room.desk.run.data)) - 1
    expect(ann.page.locator("#queue h2")).to_have_text(f"{left} rows shown")
    ann.press("Escape", "b")
    expect(ann.page.locator("#bulk-count")).to_have_text(f"{left} rows are shown")
    assert len(room.desk.store.current()) == 1, "the count is shown first"
    ann.press("a")
    total = room.desk.queue.total()
    ann.expect_progress(f"Done: all {total} rows that are probably wrong have a verdict")
    ann.expect_saved()
    digits = mislabelled_digits(seed=1).digit_train
    assert {int(digits[each]) for each in room.desk.store.current()} == {4}

    ann.press("t")
    figures = ann.page.locator("#work .figure b")
    expect(figures).to_have_count(2, timeout=60_000)
    before, now = (float(each) for each in figures.all_text_contents())
    assert now < before - 0.05
    about = room.desk.store.remarks("retrained")[-1].about
    assert (f"{before:.3f}", f"{now:.3f}") == tuple(
        f"{about[f'validation_{when}']:.3f}" for when in ("before", "after")
    )
    expect(ann.page.locator("#work")).to_contain_text(f"{about['bugs_fixed']} bugs fixed")
    expect(ann.page.locator("#live")).to_contain_text(
        f"Retrained: validation error {before:.3f} before, {now:.3f} now; "
        f"{about['bugs_fixed']} bugs fixed, {about['points_broken']} point"
    )
    assert (ann.page.locator("#live").text_content() or "").endswith(" broken."), "one sentence, not the panel"
    expect(ann.page.locator("#history svg")).to_be_visible()
    assert ann.messages == []


def test_undo_and_redo_by_key_go_back_to_the_row(room: Room, arrive: Arrive) -> None:
    ann = arrive()
    one, two = room.desk.run.order[:2].tolist()
    ann.decide("c", "e")
    ann.press("u")
    expect(ann.page.locator("#focus")).to_have_attribute("data-at", str(two))
    expect(ann.page.locator("#saved")).to_contain_text("undone")
    ann.press("u")
    expect(ann.page.locator("#focus")).to_have_attribute("data-at", str(one))
    assert room.desk.store.current() == {}
    expect(ann.page.locator("[data-do=undo]")).to_be_disabled()
    ann.press("r")
    ann.expect_progress("1 of")
    expect(ann.page.locator("#focus")).to_have_attribute("data-at", str(two))  # so that no key changes the first again
    ann.press("r")
    ann.expect_progress("2 of")
    expect(ann.page.locator("#focus")).to_have_attribute("data-at", str(room.desk.run.order[2]))
    ann.decide("s")
    found = room.desk.store.current()
    assert [found[each].action for each in (one, two)] == ["correct", "keep"]
    assert ann.messages == []


def test_bulk_is_one_step_and_can_be_left(room: Room, arrive: Arrive) -> None:
    ann = arrive()
    count = room.desk.queue.total()
    ann.press("b")
    expect(ann.page.locator("#bulk")).to_be_visible()
    ann.press("Escape")
    expect(ann.page.locator("#bulk")).to_be_hidden()
    assert room.desk.store.log() == []
    ann.press("b")
    expect(ann.page.locator("#bulk")).to_be_visible()
    ann.press("e")
    ann.expect_progress(f"Done: all {count} rows that are probably wrong have a verdict")
    expect(ann.page.locator("#focus")).to_contain_text(f"All {count} rows that are probably wrong have a verdict.")
    assert len(room.desk.store.log()) == 1
    ann.press("u")
    ann.expect_progress(f"0 of {count} probably wrong decided")
    assert ann.messages == []


@pytest.mark.thorough
def test_a_key_before_the_bulk_dialog_is_there_decides_nothing(room: Room, arrive: Arrive) -> None:
    ann = arrive()
    held: list[Route] = []
    ann.page.route("**/queue?*", lambda route: held.append(route))
    ann.press("b", "c")
    expect(ann.page.locator("#bulk")).to_be_hidden()
    for route in held:
        route.continue_()
    ann.page.unroute("**/queue?*")
    expect(ann.page.locator("#bulk")).to_be_visible()
    ann.press("Escape")
    assert room.desk.store.log() == []
    assert ann.messages == []


def test_two_browsers_see_each_others_verdicts(room: Room, arrive: Arrive) -> None:
    ann, bob = arrive(), arrive()
    bob.press("i")
    bob.page.locator("#rename-name").fill("bob")
    bob.press("Enter")
    expect(bob.page.locator("#name")).to_have_text("bob")
    bob.press("j")
    one, two = room.desk.run.order[:2].tolist()
    expect(bob.page.locator("#focus")).to_have_attribute("data-at", str(two))
    ann.decide("c")
    bob.expect_progress("1 of")
    bob.decide("e")
    ann.expect_progress("2 of")
    expect(ann.page.locator("#focus .state")).to_contain_text("kept as odd by bob")  # the row that both look at
    assert (room.desk.store.current()[one].reviewer, room.desk.store.current()[two].reviewer) == ("ann", "bob")
    assert ann.messages == bob.messages == []


def test_a_reload_loses_nothing(room: Room, arrive: Arrive) -> None:
    ann = arrive()
    ann.decide("c", "e", "s")
    ann.expect_progress("2 of")
    ann.expect_progress("1 skipped")
    at, progress = ann.at, ann.page.locator("#progress").inner_text()
    ann.page.reload()
    expect(ann.page.locator("#progress")).to_have_text(progress, use_inner_text=True)
    assert ann.at == at
    ann.press("u", "u")
    ann.expect_progress("1 of")
    assert ann.messages == []


def test_what_was_skipped_comes_back_at_the_end_and_only_answers_count(room: Room, arrive: Arrive) -> None:
    ann = arrive()
    order = room.desk.run.order.tolist()[: room.desk.queue.total()]  # those that are probably wrong come first
    ann.decide("s", "o", "c")
    ann.expect_progress(f"1 of {len(order)} probably wrong decided, {len(order) - 1} left")
    room.desk.decide(
        [room.desk.verdict(each, "keep") for each in order[4:]], visitor=Visitor("bob", "his"), key="most of them"
    )
    ann.expect_progress(f"{len(order) - 3} of")
    ann.decide("e")
    expect(ann.page.locator("#focus")).to_have_attribute("data-at", str(order[0]))
    expect(ann.page.locator("#focus .state")).to_contain_text("skipped")
    for shown in ("#focus .state", "#queue [data-verdict=skip]"):  # not where the way past the head, class skip, is
        expect(ann.page.locator(shown)).to_be_in_viewport()
    ann.decide("c")
    expect(ann.page.locator("#focus")).to_contain_text("waits for a second opinion from another browser (1 row")
    ann.expect_progress(f"{len(order) - 1} of {len(order)} probably wrong decided, 1 left")
    assert ann.messages == []


def test_a_second_opinion_is_asked_of_the_other_browser(room: Room, arrive: Arrive) -> None:
    ann, bob = arrive(), arrive()
    one, two = room.desk.run.order[:2].tolist()
    ann.decide("o")
    expect(bob.page.locator("#focus .state")).to_contain_text("second opinion wanted by ann")
    bob.decide("c")
    ann.expect_progress("1 of")
    ann.press("k")
    assert ann.at == two, "her own question is not put to her"
    assert room.desk.store.current()[one].action == "correct"


def test_what_waits_in_the_browser_is_saved_after_a_restart(chromium: Browser, saved_run: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(saved_run, tmp_path / "run"))
    context = chromium.new_context()
    with serving(run) as room:
        order = room.desk.run.order.tolist()
        ann = Reviewer(context, room.served.link)
        ann.page.wait_for_load_state("networkidle")
    ann.press("c")
    expect(ann.page.locator("#saved")).to_contain_text("Not saved: 1 waiting")
    ann.page.close(run_before_unload=False)
    with serving(run) as room:
        assert room.desk.store.log() == []
        again = Reviewer(context, room.served.link)
        again.expect_saved()
        again.expect_progress("1 of")
        assert set(room.desk.store.current()) == {order[0]}
        context.close()


def full(*_: object, **__: object) -> None:
    """The store of a server whose disk is full."""
    raise OutputError("The disk is full.")


def test_two_tabs_of_one_browser_lose_nothing_that_waits(
    room: Room, arrive: Arrive, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann = arrive()
    one, two = room.desk.run.order[:2].tolist()
    other = Reviewer(ann.context, f"http://127.0.0.1:{room.talk.port}/")
    for each in (ann, other):
        each.page.wait_for_load_state("networkidle")
    monkeypatch.setattr(Desk, "decide", full)
    ann.press("c")
    expect(ann.page.locator("#saved")).to_contain_text("Not saved: 1 waiting")
    other.press("j")
    expect(other.page.locator("#focus")).to_have_attribute("data-at", str(two))
    other.press("e")
    expect(other.page.locator("#saved")).to_contain_text("Not saved: 1 waiting")
    for each in (ann, other):
        each.page.close(run_before_unload=False)
    monkeypatch.undo()
    last = Reviewer(ann.context, f"http://127.0.0.1:{room.talk.port}/")
    last.expect_progress("2 of")
    assert {each: found.action for each, found in room.desk.store.current().items()} == {one: "correct", two: "keep"}


def test_what_is_not_on_disk_is_not_called_saved(room: Room, arrive: Arrive, monkeypatch: pytest.MonkeyPatch) -> None:
    go_on, store = threading.Event(), Desk.decide
    monkeypatch.setattr(Desk, "decide", lambda *given, **named: (go_on.wait(30), store(*given, **named))[1])
    ann = arrive()
    ann.press("c")
    expect(ann.page.locator("#focus")).to_have_attribute("data-at", str(room.desk.run.order[1]))  # the next is there
    expect(ann.page.locator("#saved")).to_have_attribute("data-state", "saving")
    assert room.desk.store.log() == []
    go_on.set()
    ann.expect_saved()
    assert len(room.desk.store.log()) == 1


def test_a_save_that_fails_says_so_and_is_tried_again(
    room: Room, arrive: Arrive, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann = arrive()
    ann.page.on("dialog", lambda dialog: dialog.accept())  # "leave the page?"
    monkeypatch.setattr(Desk, "decide", full)
    ann.press("c")
    expect(ann.page.locator("#saved")).to_contain_text("Not saved: 1 waiting")
    assert room.desk.store.log() == []
    ann.page.reload()
    expect(ann.page.locator("#saved")).to_contain_text("Not saved: 1 waiting")
    monkeypatch.undo()
    ann.expect_saved()
    ann.expect_progress("1 of")
    assert set(room.desk.store.current()) == {int(room.desk.run.order[0])}
    assert len(room.desk.store.log()) == 1


def test_an_answer_that_gets_lost_is_stored_once(room: Room, arrive: Arrive) -> None:
    ann = arrive()
    lost: list[bool] = []

    def lose(route: Any) -> None:
        if lost:
            route.continue_()
            return
        lost.append(True)
        route.fetch()
        route.abort()

    ann.context.route("**/verdict", lose)
    ann.decide("c")
    assert lost
    assert len(room.desk.store.log()) == 1


@pytest.mark.thorough
def test_the_next_row_is_fetched_before_it_is_asked_for(room: Room, arrive: Arrive) -> None:
    ann = arrive()
    for _ in range(3):
        following = ann.page.locator("#focus").get_attribute("data-next")
        if not any("/item?" in each and f"at={following}" in each for each in ann.requests):
            ann.page.wait_for_event("request", lambda asked, at=following: f"at={at}" in asked.url)
        count = len([each for each in ann.requests if "/item?" in each])
        ann.press("j")
        expect(ann.page.locator("#focus")).to_have_attribute("data-at", str(following))
        asked = [each for each in ann.requests if "/item?" in each][count:]
        assert not [each for each in asked if f"at={following}" in each]


@pytest.mark.thorough
def test_a_key_pressed_before_the_next_row_is_there_decides_nothing(room: Room, arrive: Arrive) -> None:
    ann = arrive()
    one, two = room.desk.run.order[:2].tolist()
    held: list[Any] = []
    let_go: list[bool] = []
    ann.context.route("**/item?*", lambda route: route.continue_() if let_go else held.append(route))
    ann.page.evaluate("ahead.clear()")  # as if it had not been fetched yet
    ann.press("c", "e")
    ann.expect_saved()
    assert ann.at == one
    let_go.append(True)
    for route in held:
        route.continue_()
    expect(ann.page.locator("#focus")).to_have_attribute("data-at", str(two))
    ann.expect_saved()
    assert [(each.position, each.action) for each in room.desk.store.current().values()] == [(one, "correct")]
    assert len(room.desk.store.log()) == 1


@pytest.mark.thorough
def test_a_pinned_bug_shows_its_causes(room: Room, arrive: Arrive) -> None:
    ann = arrive()
    (bug, _), *_ = room.desk.queue.bugs_of(ann.at)
    causes = next(each for each in room.desk.findings.bug_causes if each.test_row == bug)
    ann.press("p")
    expect(ann.page.locator("#queue h2")).to_have_text(f"{len(causes.positions)} rows shown")
    shown = ann.page.locator("#queue [data-show]").evaluate_all("all => all.map((each) => Number(each.dataset.show))")
    assert shown == causes.positions.tolist()[: len(shown)]
    ann.press("p")
    expect(ann.page.locator("#queue h2")).not_to_have_text(f"{len(causes.positions)} rows shown")
    assert ann.messages == []


@pytest.mark.thorough
def test_a_list_that_comes_late_does_not_replace_that_of_another_filter(room: Room, arrive: Arrive) -> None:
    ann = arrive()
    held: list[Any] = []
    ann.page.wait_for_load_state("networkidle")
    ann.context.route("**/queue?*", lambda route: route.continue_() if held else held.append(route))
    ann.press("j")  # asks for the list
    while not held:
        ann.page.wait_for_timeout(20)
    ann.page.locator("select[name=state]").select_option("keep")
    expect(ann.page.locator("#queue h2")).to_have_text("0 rows shown")
    with ann.page.expect_response("**/queue?*"):
        held[0].continue_()
    ann.page.wait_for_timeout(100)
    expect(ann.page.locator("#queue h2")).to_have_text("0 rows shown")


def test_after_a_new_diagnosis_the_queue_is_another(room: Room, arrive: Arrive) -> None:
    ann = arrive()
    ann.decide("c", "c", "c")
    ann.press("d")
    expect(ann.page.locator("#work .going")).to_be_visible()
    expect(ann.page.locator("#work .going")).to_have_count(0, timeout=60_000)
    expect(ann.page.locator("#focus")).to_have_attribute("data-at", str(room.desk.queue.ranked.order[0]))
    assert room.desk.queue.ranked.path != room.desk.run.path
    left = room.desk.queue.left()
    expect(ann.page.locator("#work .done")).to_have_text(f"Diagnosed again: {left} probably wrong rows left to decide.")
    expect(ann.page.locator("#live")).to_contain_text(f"Diagnosed again: {left} probably wrong rows left to decide.")
    ann.expect_progress("3 of")
    assert ann.messages == []


@pytest.mark.thorough
def test_every_key_is_printed_and_every_change_is_announced(room: Room, arrive: Arrive) -> None:
    ann = arrive()
    page: Page = ann.page
    buttons = page.locator("body > :not(dialog) button[data-decide], button[data-begin], .tools button, [data-do=bulk]")
    assert buttons.count() > 10
    for each in buttons.all():
        assert each.locator("kbd").count() == 1, each.inner_text()
    ann.press("?")
    expect(page.locator("#help")).to_be_visible()
    told = set(page.locator("#help kbd").all_inner_texts())
    printed = set(page.locator("body > :not(dialog) kbd").all_inner_texts())
    assert {each for each in printed if not each.isdigit()} <= told
    ann.press("Escape")
    ann.decide("c")
    row = room.desk.findings.labels.rows[room.desk.run.order[0]]
    expect(page.locator("#saved")).to_have_text(f"Saved. {row}: corrected to even")
    assert page.locator("#saved").get_attribute("role") == "status"
    ann.press("k")
    ann.press("j")
    expect(page.locator("#live")).to_contain_text("given odd, proposed even")
    # A part of the page that is being replaced has labels for what is no longer there: wait for the new one.
    wait_until(
        page,
        """() => [...document.querySelectorAll("button, input:not([type=hidden]), select")]
            .every((each) => each.textContent.trim() || each.labels?.length || each.ariaLabel)""",
    )


@pytest.mark.parametrize(("scheme", "size"), [("dark", WIDE), ("light", NARROW)], ids=["wide", "narrow"])
@pytest.mark.thorough
def test_the_page_fits_its_window(arrive: Arrive, scheme: Any, size: Any) -> None:
    ann = arrive(color_scheme=scheme, viewport=size)
    expect(ann.page.locator(".similar img").first).to_be_visible()
    assert ann.page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    ground, ink = ann.page.evaluate(
        "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]"
    )
    light, dark = (sum(map(int, each[4:-1].split(", "))) for each in (ground, ink))
    assert (light > dark) == (scheme == "light")
    assert ann.messages == []


@pytest.mark.parametrize("size", [{"width": 1280, "height": 800}, WIDE], ids=["laptop", "wide"])
@pytest.mark.thorough
def test_the_verdicts_and_the_model_are_above_the_fold(arrive: Arrive, size: Any) -> None:
    ann = arrive(viewport=size)
    ann.decide("c")
    ann.press("t")
    expect(ann.page.locator("#history svg")).to_be_visible(timeout=60_000)
    for place in ("#work", "#focus .actions", "#comment", "#progress", "#saved"):
        expect(ann.page.locator(place)).to_be_in_viewport(ratio=1)


@pytest.mark.thorough
def test_letters_and_arrows_in_a_filter_choose_and_decide_nothing(room: Room, arrive: Arrive) -> None:
    ann = arrive()
    ann.press("/")
    state = ann.page.locator("select[name=state]")
    for letter in "second":
        ann.press(letter)
        ann.page.wait_for_load_state("networkidle")
    expect(state).to_have_value("second_opinion")
    expect(ann.page.locator("#queue h2")).to_have_text("0 rows shown")
    ann.press("ArrowUp")
    expect(state).to_have_value("skip")
    expect(state).to_be_focused()
    ann.page.wait_for_load_state("networkidle")
    expect(state).to_be_focused()
    assert room.desk.store.log() == []
    assert ann.messages == []


@pytest.mark.thorough
def test_a_key_that_is_held_down_decides_once(room: Room, arrive: Arrive) -> None:
    ann = arrive()
    for _ in range(6):  # without keys up between them they are repeats
        ann.page.keyboard.down("c")
        ann.page.wait_for_timeout(60)
    ann.page.keyboard.up("c")
    ann.expect_saved()
    ann.expect_progress("1 of")
    assert len(room.desk.store.log()) == 1


@pytest.mark.thorough
def test_any_probability_can_be_asked_for_and_others_are_refused_aloud(room: Room, arrive: Arrive) -> None:
    ann = arrive()
    least = ann.page.locator("input[name=least]")
    ann.page.locator("select[name=among]").select_option("all")
    p_wrong = room.desk.queue.p_wrong[room.desk.run.order]
    asked = round(float(sorted(p_wrong)[len(p_wrong) // 2]), 3)
    least.fill(str(asked))
    ann.press("Enter")
    expect(ann.page.locator("#queue h2")).to_have_text(f"{int((p_wrong >= asked).sum())} rows shown")
    least.fill("1.5")
    ann.press("Tab")
    expect(ann.page.locator("#filters-said")).to_have_text("“Probably wrong from” must be a number from 0 to 1.")
    least.fill("0")
    ann.press("Tab")
    expect(ann.page.locator("#filters-said")).to_be_hidden()


@pytest.mark.thorough
def test_unpinned_all_is_as_before_the_pin(room: Room, arrive: Arrive) -> None:
    ann = arrive()
    ann.decide("c")
    before = ann.at
    (bug, _), *_ = room.desk.queue.bugs_of(before)
    ann.press("p")
    expect(ann.page.locator("select[name=bug]")).to_have_value(str(bug))
    causes = next(each for each in room.desk.findings.bug_causes if each.test_row == bug).positions.tolist()
    expect(ann.page.locator("#queue h2")).to_have_text(f"{len(causes)} rows shown")
    ann.press("b")
    expect(ann.page.locator("#bulk")).to_be_visible()
    ann.press("Escape", "p")
    expect(ann.page.locator("#queue h2")).to_have_text(f"{room.desk.queue.total() - 1} rows shown")
    expect(ann.page.locator("select[name=state]")).to_have_value("open")
    expect(ann.page.locator("select[name=among]")).to_have_value("wrong")
    expect(ann.page.locator("#focus")).to_have_attribute("data-at", str(before))


@pytest.mark.thorough
def test_a_panel_that_fails_says_so_itself(room: Room, arrive: Arrive) -> None:
    ann = arrive()
    ann.decide("c")
    for panel in ("similar?*", "begin"):
        ann.context.route(f"**/{panel}", lambda route: route.abort())
    ann.decide("c")
    expect(ann.page.locator("#similar")).to_contain_text("the server does not answer")
    ann.press("t")
    expect(ann.page.locator("#work-said")).to_contain_text("The server does not answer")
    ann.expect_saved()
    ann.context.unroute("**/similar?*")
    expect(ann.page.locator("#similar img").first).to_be_visible()  # found when the server is back
    assert [each for each in ann.messages if "ERR_FAILED" not in each and "htmx" not in each] == []


@pytest.mark.thorough
def test_without_a_server_one_verdict_waits_for_each_row(room: Room, arrive: Arrive) -> None:
    ann = arrive()
    one, two, three = room.desk.run.order[:3].tolist()
    ann.page.evaluate(f"ahead = new Map([...ahead].filter(([address]) => /at={two}$/.test(address)))")  # only the next
    ann.page.wait_for_load_state("networkidle")
    ann.context.set_offline(True)
    ann.press("c")
    expect(ann.page.locator("#focus")).to_have_attribute("data-at", str(two))
    ann.press("e")
    expect(ann.page.locator("#focus .state")).to_have_text("waiting: kept")
    ann.press("s", "c", "e")
    expect(ann.page.locator("#live")).to_contain_text("waits to be saved")
    expect(ann.page.locator("#saved")).to_contain_text("Not saved: 2 waiting")
    ann.context.set_offline(False)
    expect(ann.page.locator("#focus")).to_have_attribute("data-at", str(three), timeout=15_000)
    found = room.desk.store.current()
    assert {each: found[each].action for each in found} == {one: "correct", two: "keep"}
    assert len(room.desk.store.log()) == 2


@pytest.mark.thorough
def test_a_note_stays_until_its_verdict(room: Room, arrive: Arrive) -> None:
    ann = arrive()
    one, two = room.desk.run.order[:2].tolist()
    ann.press("n")
    ann.page.keyboard.type("smudged")
    ann.press("Escape", "j")
    expect(ann.page.locator("#focus")).to_have_attribute("data-at", str(two))
    expect(ann.page.locator("#comment")).to_have_value("")
    ann.press("k")
    expect(ann.page.locator("#focus")).to_have_attribute("data-at", str(one))
    expect(ann.page.locator("#comment")).to_have_value("smudged")
    ann.page.reload()
    expect(ann.page.locator("#comment")).to_have_value("smudged")
    ann.decide("e")
    assert room.desk.store.current()[one].comment == "smudged"
    assert ann.page.evaluate("sessionStorage.getItem(NOTES)") == "{}"


@pytest.mark.thorough
def test_the_head_keeps_its_height_and_words_stay_whole(arrive: Arrive) -> None:
    ann = arrive()
    height = "document.querySelector('.top').offsetHeight"
    before = ann.page.evaluate(height)
    ann.page.evaluate("status('failed', 'Not saved: 3 waiting, trying again. '.repeat(9))")
    assert ann.page.evaluate(height) == before
    lines = ann.page.evaluate(
        """() => {
            const values = ["1.284", "a word and " + "more ".repeat(20)];
            const cells = ["note", "a_name_of_a_column"].flatMap((name) =>
                values.map((value) => `<span>${name} <b>${value}</b></span>`));
            document.querySelector(".shown").innerHTML = `<span class="cells">${cells.join("")}</span>`;
            const broken = [];
            const walk = document.createTreeWalker(document.querySelector(".shown"), NodeFilter.SHOW_TEXT);
            while (walk.nextNode()) for (const { index, 0: word } of walk.currentNode.data.matchAll(/\\S+/g)) {
                const range = document.createRange();
                range.setStart(walk.currentNode, index);
                range.setEnd(walk.currentNode, index + word.length);
                if (range.getClientRects().length > 1) broken.push(word);
            }
            return broken;
        }"""
    )
    assert lines == []


@pytest.mark.thorough
def test_a_verdict_on_all_says_how_many_are_decided(arrive: Arrive) -> None:
    ann = arrive()
    ann.decide("c", "e")
    ann.press("b")
    expect(ann.page.locator("#bulk")).to_be_visible()
    expect(ann.page.locator("#bulk-decided")).to_be_hidden()
    ann.press("Escape")
    ann.page.locator("select[name=state]").select_option("all")
    ann.press("b")
    expect(ann.page.locator("#bulk-decided")).to_contain_text("2 of them are already decided")


@pytest.mark.thorough
def test_the_errors_to_pin_are_counted_where_not_all_are_listed(room: Room, arrive: Arrive) -> None:
    ann = arrive()
    listed, bugs = len(room.desk.findings.bug_causes), len(room.desk.findings.predictions.bugs)
    assert listed < bugs
    expect(ann.page.locator("#filters")).to_contain_text(f"(the first {listed} of {bugs} errors)")
