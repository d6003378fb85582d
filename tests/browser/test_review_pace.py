"""What the trial found: fast keys, the key after a redo, long texts, a search, and the end of a review."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Browser, expect
from sklearn.datasets import load_digits
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import psidebug
from tests.browser.reviewing import NARROW, Arrive, Reviewer, wait_until
from tests.review.talking import Room, serving


def test_keys_as_fast_as_they_can_be_pressed_each_decide_a_row(room: Room, arrive: Arrive) -> None:
    ann, order = arrive(), room.desk.run.order.tolist()
    ahead = int(ann.page.evaluate("DEPTH"))
    wait_until(ann.page, "ahead.size >= DEPTH")
    ann.page.wait_for_load_state("networkidle")
    held: list[Any] = []
    let_go: list[bool] = []  # until then not even an answer comes in between
    ann.context.route("**/*", lambda route: route.continue_() if let_go else held.append(route))
    ann.press(*"c" * (ahead - 1), "e")
    assert ann.at == order[ahead]
    let_go.append(True)
    for route in held:
        route.continue_()
    ann.expect_progress(f"{ahead} of")
    found = room.desk.store.current()
    assert [found[at].action for at in order[:ahead]] == ["correct"] * (ahead - 1) + ["keep"]
    assert ann.messages == []


@pytest.mark.thorough
def test_a_key_that_came_too_early_is_not_silently_lost(room: Room, arrive: Arrive) -> None:
    ann = arrive()
    ann.context.route("**/item?*", lambda route: None)
    ann.page.evaluate("ahead.clear()")
    ann.press("c")
    ann.expect_saved()
    ann.press("e")
    expect(ann.page.locator("#saved")).to_contain_text("Too fast: the next row was not there yet")
    assert len(room.desk.store.log()) == 1


def test_a_search_shows_what_is_found_and_gives_way_to_the_queue(room: Room, arrive: Arrive) -> None:
    ann = arrive()
    other = next(at for at in range(900) if at not in set(room.desk.run.order.tolist()))
    total = room.desk.queue.total()
    ann.press("f")
    ann.page.keyboard.type(str(room.desk.findings.labels.rows[other]))
    ann.press("Enter")
    expect(ann.page.locator("#focus")).to_have_attribute("data-at", str(other))
    expect(ann.page.locator("#queue h2")).to_have_text("1 row shown")
    expect(ann.page.locator("select[name=among]")).to_have_value("all")
    expect(ann.page.locator("#focus .first")).not_to_contain_text("Correct")  # it is probably right
    ann.page.locator("input[name=find]").fill("no such row")
    ann.press("Enter")
    expect(ann.page.locator("#focus h2")).to_have_text("Nothing found")
    ann.page.locator("input[name=find]").fill("")
    ann.press("Enter")
    expect(ann.page.locator("#queue h2")).to_have_text(f"{total} rows shown")
    assert ann.messages == []


@pytest.mark.thorough
def test_all_suspects_are_one_key_away_when_it_is_done(room: Room, arrive: Arrive) -> None:
    ann, total = arrive(), room.desk.queue.total()
    ann.press("b")
    expect(ann.page.locator("#bulk")).to_be_visible()
    ann.press("c")
    expect(ann.page.locator("#focus h2")).to_have_text("Done")
    expect(ann.page.locator("#live")).to_contain_text("Done: every row")
    ann.page.get_by_role("button", name="Show all").press("Enter")
    expect(ann.page.locator("#queue h2")).to_have_text(f"{len(room.desk.run.order) - total} rows shown")
    assert ann.messages == []


@pytest.mark.thorough
def test_two_reviewers_see_how_far_they_agree(room: Room, arrive: Arrive) -> None:
    ann, bob = arrive(), arrive()
    ann.decide("c", "c")
    bob.press("i")
    bob.page.locator("#rename-name").fill("bob")
    bob.press("Enter")
    bob.page.goto(f"http://127.0.0.1:{room.talk.port}/?state=correct")
    bob.page.wait_for_selector("#progress .progress")
    bob.press("c")
    bob.expect_saved()
    bob.decide("e")
    ann.press("i")
    expect(ann.page.locator("#reviewers")).to_contain_text("50%")
    ann.page.get_by_role("link", name="Show the rows on which they disagree").click()
    expect(ann.page.locator("#queue h2")).to_have_text("1 row shown")


@pytest.fixture(scope="module")
def long_texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(0)
    labels = rng.choice(["good", "bad"], 120)
    texts = np.array([f"{label} " + " ".join(rng.choice(list("abcdefgh"), 2500)) for label in labels], dtype=object)
    given = labels.copy()
    given[:8] = np.where(given[:8] == "good", "bad", "good")
    learner = make_pipeline(CountVectorizer(), LogisticRegression())
    found = psidebug.debug(learner, texts[:80], given[:80], texts[80:], labels[80:], check_fidelity=False, rng=1)
    found.save(place := tmp_path_factory.mktemp("texts") / "run")
    return place


@pytest.mark.parametrize("size", [{"width": 1280, "height": 800}, NARROW], ids=["laptop", "narrow"])
@pytest.mark.thorough
def test_labels_and_buttons_are_in_sight_beside_a_long_text(chromium: Browser, long_texts: Path, size: Any) -> None:
    with serving(long_texts) as room:
        context = chromium.new_context(viewport=size)
        ann = Reviewer(context, f"{room.served.link}")
        ann.page.goto(f"http://127.0.0.1:{room.talk.port}/?among=all")
        ann.page.wait_for_selector("#progress .progress")
        for down in (0, 300, 600):
            ann.page.evaluate(f"scrollTo(0, {down})")
            expect(ann.page.locator(".shown .text")).to_be_in_viewport()
            for place in ("#focus .actions", "#focus .labels", "#focus .classes"):
                expect(ann.page.locator(place)).to_be_in_viewport(ratio=1)
        context.close()


@pytest.fixture(scope="module")
def answered_pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pictures of digits beside their 64 columns and the answers of three people."""
    pixels, digits = load_digits(n_class=2, return_X_y=True)
    X = pd.DataFrame(pixels).rename(columns=lambda each: f"pixel {each}")
    pictures = pd.DataFrame({"picture": [row.reshape(8, 8).tolist() for row in pixels[:150]]})
    answers = pd.DataFrame(dict.fromkeys(("ann", "bob", "cid"), digits[:150]))
    answers.loc[:30, "bob"] = 1 - answers.loc[:30, "bob"]
    given = digits[:150].copy()
    given[:9] = 1 - given[:9]
    options: dict[str, Any] = {"metadata": pictures, "images": "picture", "annotations": answers, "rng": 0}
    found = psidebug.debug(LogisticRegression(), X[:150], given, X[150:250], digits[150:250], **options)
    found.save(place := tmp_path_factory.mktemp("pictures") / "run")
    return place


@pytest.mark.parametrize("size", [{"width": 1280, "height": 800}, NARROW], ids=["laptop", "narrow"])
@pytest.mark.thorough
def test_name_answers_and_buttons_are_in_sight_beside_a_picture(
    chromium: Browser, answered_pictures: Path, size: Any
) -> None:
    with serving(answered_pictures) as room:
        context = chromium.new_context(viewport=size)
        ann = Reviewer(context, room.served.link)
        ann.page.goto(f"http://127.0.0.1:{room.talk.port}/?among=all&state=all")
        ann.page.wait_for_selector("#progress .progress")
        expect(ann.page.locator(".shown img")).to_be_visible()
        name, decide = (ann.page.locator(place).bounding_box() for place in ("#focus h2", "#focus .decide"))
        assert name is not None
        assert decide is not None
        assert name["y"] + name["height"] <= decide["y"], "the name and its verdict are not covered"
        for place in ("#focus .answers", "#focus .actions", "#focus .labels"):
            expect(ann.page.locator(place)).to_be_in_viewport(ratio=1)
        context.close()


@pytest.mark.thorough
def test_the_head_of_a_long_queue_keeps_its_buttons_beside_each_other(arrive: Arrive) -> None:
    ann = arrive(viewport={"width": 1280, "height": 800})
    ann.page.evaluate("document.querySelector('#queue h2').textContent = '12,345 rows shown'")
    grid, many = (ann.page.locator(f"#queue [data-do={name}]").bounding_box() for name in ("view", "bulk"))
    assert grid is not None
    assert many is not None
    assert grid["y"] == many["y"]
