"""The review in a notebook: JupyterLab itself, with a kernel, in a real browser."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from psidebug.review.verdict_store import open_store
from psidebug.review.widget import STATIC
from psidebug.store import load_run
from tests.browser.conftest import Open
from tests.browser.jupyter import jupyter_lab, write_notebook

CELL = """from psidebug.review.widget import review_widget
review_widget("run", reviewer="ann")"""


@pytest.mark.thorough
def test_a_reviewer_in_jupyter_decides_by_keys_alone(chromium: Browser, saved_run: Path, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    run = Path(shutil.copytree(saved_run, folder / "run"))
    write_notebook(folder / "look.ipynb", CELL, "1 + 1")
    suspects = load_run(run)
    first, second, third = (str(each) for each in suspects.findings.labels.rows[suspects.order[:3]])
    with jupyter_lab(folder, home=tmp_path / "jupyter") as address:
        context = chromium.new_context(viewport={"width": 1440, "height": 900})
        page, asked = context.new_page(), list[str]()
        page.on("request", lambda request: asked.append(request.url))
        page.goto(address.format("look.ipynb"))
        # Before its kernel is there, JupyterLab forgets what it is asked to run.
        expect(page.get_by_role("button", name="| Idle")).to_be_visible(timeout=120_000)
        page.locator(".jp-CodeCell .cm-content").first.click()
        page.keyboard.press("Shift+Enter")
        widget = page.get_by_role("group", name="Review of suspected labels")
        heading, status = widget.get_by_role("heading"), widget.get_by_role("status")
        expect(heading).to_contain_text(f"Row {first}:", timeout=120_000)
        expect(widget.get_by_role("img", name=f"row {first}")).to_be_visible()

        page.keyboard.press("Escape")  # Jupyter's own keys are on: c copies the cell, k selects the one above
        widget.focus()
        page.keyboard.press("c")
        expect(status).to_contain_text(f"Saved. {first}: corrected to")
        expect(heading).to_contain_text(f"Row {second}:")
        expect(widget).to_be_focused()
        page.keyboard.press("e")
        expect(status).to_contain_text(f"Saved. {second}: kept")
        expect(heading).to_contain_text(f"Row {third}:")
        page.keyboard.press("u")
        expect(heading).to_contain_text(f"Row {second}:")
        page.keyboard.press("r")
        expect(heading).to_contain_text(f"Row {third}:")
        page.keyboard.press("k")
        expect(status).to_have_text("")  # there is none before it
        expect(widget).to_be_focused()
        page.keyboard.press("Tab")
        expect(widget.get_by_role("region", name="Values of the row")).to_be_focused()  # arrows scroll it
        page.keyboard.press("Tab")
        expect(widget.get_by_role("button").first).to_be_focused()
        expect(page.locator(".jp-Notebook > .jp-WindowedPanel-outer .jp-Cell")).to_have_count(2)
        outside = [each for each in asked if not each.startswith(("http://127.0.0.1:", "data:", "blob:"))]
        assert outside == []
        context.close()
    with open_store(run) as store:
        assert sorted(each.action for each in store.current().values()) == ["correct", "keep"]
        assert {each.reviewer for each in store.current().values()} == {"ann"}
    cells = json.loads((folder / "look.ipynb").read_text(encoding="utf-8"))["cells"]
    assert len(cells) == 2, "no key of the widget was one of Jupyter's"


@pytest.mark.thorough
def test_the_buttons_stay_in_sight_below_many_columns(open_page: Open, tmp_path: Path) -> None:
    row = {"id": "r1", "given": "a", "proposed": "b", "p_wrong": 0.9, "ps": 0.5, "likely": True, "keys": {}, "text": ""}
    row |= {"picture": None, "note": "no picture at x.png", "answers": [], "more": 0, "predicted": False}
    row["cells"] = [[f"column {each}", str(each)] for each in range(80)]
    shown = json.dumps({"row": row, "left": 1, "total": 1, "said": ""})
    script = (STATIC / "widget.js").read_text("utf-8").replace("export default { render };", "")
    model = f"const model = {{ get: () => ({shown}), on() {{}}, off() {{}}, send() {{}} }};"
    page = f'<body><script type="module">{script}{model}render({{ model, el: document.body }});</script></body>'
    (tmp_path / "widget.html").write_text(page, "utf-8")
    opened = open_page(tmp_path / "widget.html", viewport={"width": 900, "height": 600})
    expect(opened.page.get_by_role("button", name="Correct to b")).to_be_in_viewport(ratio=1)
    expect(opened.page.get_by_role("region", name="Values of the row")).to_contain_text("column 79")
    expect(opened.page.get_by_text("no picture at x.png")).to_be_visible()
    assert opened.messages == []
