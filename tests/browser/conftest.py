"""A real browser for the tests of pages: Debian's chromium, offline, whatever it says and asks for written down."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Dialog, Page, expect, sync_playwright

from tests.browser.reviewing import WIDE, Arrive, Reviewer
from tests.review.digits import save_digits
from tests.review.talking import Room, serving

expect.set_options(timeout=30_000)  # a page on a busy machine takes its time; nothing is tried twice

NAMES = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None and os.environ.get("CI") == "true":
        pytest.fail("CI must have chromium: scripts/environment installs it")
    if found is None:
        pytest.skip("needs chromium (apt install chromium)")
    sandbox = [] if os.getuid() else ["--no-sandbox"]  # as root chromium has none
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=sandbox)
        yield browser
        browser.close()


@dataclass
class Opened:
    """A page, with all that it said and all that it asked for."""

    page: Page
    messages: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)

    def dismiss(self, dialog: Dialog) -> None:
        """Write down what a dialog says, and close it."""
        self.dialogs.append(dialog.message)
        dialog.dismiss()


Open = Callable[..., Opened]


@pytest.fixture
def open_page(chromium: Browser) -> Iterator[Open]:
    """Opens a file from disk, in a context of its own without network; options are those of a context."""
    contexts = []

    def opened(path: Path, **options: Any) -> Opened:
        context = chromium.new_context(**{"offline": True, "viewport": {"width": 1280, "height": 900}, **options})
        contexts.append(context)
        found = Opened(context.new_page())
        found.page.on("console", lambda message: found.messages.append(message.text))
        found.page.on("pageerror", lambda error: found.messages.append(str(error)))
        found.page.on("request", lambda request: found.requests.append(request.url))
        found.page.on("dialog", found.dismiss)
        found.page.goto(path.as_uri())
        return found

    yield opened
    for context in contexts:
        context.close()


# ── the review app ──


@pytest.fixture(scope="session")
def saved_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("review") / "run"
    save_digits(place)
    return place


@pytest.fixture
def room(saved_run: Path, tmp_path: Path) -> Iterator[Room]:
    with serving(Path(shutil.copytree(saved_run, tmp_path / "run"))) as room:
        yield room


@pytest.fixture
def arrive(chromium: Browser, room: Room) -> Iterator[Arrive]:
    """Another reviewer with a browser of his own; nothing may be written to the console unless that is said."""
    people: list[Reviewer] = []

    def arrived(**options: Any) -> Reviewer:
        context = chromium.new_context(**{"viewport": WIDE, **options})
        people.append(Reviewer(context, room.served.link))
        return people[-1]

    yield arrived
    for each in people:
        each.context.close()
