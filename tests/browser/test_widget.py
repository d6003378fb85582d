"""The widget's script in a real browser; the desk behind it is the real one, the notebook between them is not."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from psidebug.review.widget import STATIC, Table

PAGE = """<!doctype html><html lang="en"><title>widget</title><body><main></main><script type="module">
{script}
let shown = await window.shownByPython();
const model = {{
  get: () => shown,
  send: async (message) => {{ shown = await window.sentToPython(message); model.changed?.(); }},
  on: (name, changed) => {{ model.changed = changed; }},
  off: () => {{}},
}};
render({{ model, el: document.querySelector("main") }});
</script>"""


def answered(table: Table, message: Any) -> dict[str, Any]:
    table.take(message)
    return table.shown()


@pytest.mark.thorough
def test_a_reviewer_decides_by_keys_alone(chromium: Browser, saved_run: Path, tmp_path: Path) -> None:
    table = Table(shutil.copytree(saved_run, tmp_path / "run"), "ann")
    first, second = (str(each) for each in table.desk.findings.labels.rows[table.desk.run.order[:2]])
    script = (STATIC / "widget.js").read_text(encoding="utf-8").replace("export default", "const widget =")
    (tmp_path / "page.html").write_text(PAGE.format(script=script), encoding="utf-8")
    context = chromium.new_context(offline=True)
    page, messages = context.new_page(), []
    page.on("console", lambda message: messages.append(message.text))
    page.on("pageerror", lambda error: messages.append(str(error)))
    page.expose_function("shownByPython", table.shown)
    page.expose_function("sentToPython", partial(answered, table))
    page.goto((tmp_path / "page.html").as_uri())
    heading, status = page.get_by_role("heading"), page.get_by_role("status")
    expect(heading).to_contain_text(f"Row {first}:")
    page.keyboard.press("Tab")
    expect(page.get_by_role("group", name="Review of suspected labels")).to_be_focused()
    page.keyboard.press("c")
    expect(status).to_contain_text(f"Saved. {first}: corrected to")
    expect(heading).to_contain_text(f"Row {second}:")
    expect(page.get_by_role("group")).to_be_focused()
    page.keyboard.press("u")
    expect(heading).to_contain_text(f"Row {first}:")
    page.get_by_role("button", name="Keep").click()
    expect(status).to_contain_text(f"Saved. {first}: kept")
    assert [each.action for each in table.desk.store.current().values()] == ["keep"]
    assert messages == []
    context.close()
    table.desk.close()
