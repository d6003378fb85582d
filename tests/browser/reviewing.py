"""A person at a browser, who has a keyboard and no mouse."""

from __future__ import annotations

import time
from collections.abc import Callable

from playwright.sync_api import BrowserContext, Page, expect

WIDE, NARROW = {"width": 1440, "height": 900}, {"width": 390, "height": 844}


def wait_until(page: Page, expression: str) -> None:
    """Wait until an expression is true in a page.

    Playwright's own ``wait_for_function`` evaluates a text in the page from the second look on, which the page's
    content security policy forbids.
    """
    end = time.monotonic() + 30  # as long as expect waits
    while not page.evaluate(expression):
        assert time.monotonic() < end, f"never true: {expression}"
        page.wait_for_timeout(50)


class Reviewer:
    """A person at a browser, who has a keyboard and no mouse."""

    def __init__(self, context: BrowserContext, link: str) -> None:
        self.context, self.page = context, context.new_page()
        self.messages: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.messages.append(message.text))
        self.page.on("pageerror", lambda error: self.messages.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(link)
        self.page.wait_for_selector("#progress .progress")  # the link leads here by a page of its own; the script is up

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def decide(self, *keys: str) -> None:
        """Keys that decide, each when the row before has given way to the next and is saved."""
        for key in keys:
            before = self.at
            self.press(key)
            expect(self.page.locator(f"#focus[data-at='{before}']")).to_have_count(0)
            self.expect_saved()

    @property
    def at(self) -> int:
        return int(self.page.locator("#focus").get_attribute("data-at") or -1)

    def expect_saved(self) -> None:
        expect(self.page.locator("#saved")).to_have_attribute("data-state", "saved")

    def expect_progress(self, text: str) -> None:
        expect(self.page.locator("#progress")).to_contain_text(text)


Arrive = Callable[..., Reviewer]
