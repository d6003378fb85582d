"""The report in a browser: opened from disk without network, drawn, sorted, filtered, and deaf to hostile data."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import psidebug
from psidebug.datasets.digits import mislabelled_digits
from tests.browser.conftest import Open, Opened
from tests.browser.reviewing import wait_until
from tests.conftest import Planted

PLOTS = ["errors", "curve", "distribution", "confusion"]
PAYLOADS = [
    "<script>document.title = 'owned'; alert(1)</script>",
    '"><img src=x onerror="document.title=\'owned\'">',
    "</script><script>document.title = 'owned'</script><!--",
    "' onmouseover=alert(1) x='",
    "<svg onload=alert(1)>",
    "<style>body { display: none }</style>",
    "{{ 7 * 7 }} ${7*7} &lt;b&gt;",
    "data:text/html,<script>alert(1)</script>",
]


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, psidebug.Diagnosis]:
    data = mislabelled_digits(1)
    diagnosis = psidebug.debug(
        LogisticRegression(max_iter=1000), data.X_train, data.y_train, data.X_test, data.y_test,
        rows=data.rows, X_validation=data.X_validation, y_validation=data.y_validation,
        metadata=pd.DataFrame({"digit": data.digit_train}), images=(8, 8), check_fidelity=False, rng=1,
    )  # fmt: skip
    path = tmp_path_factory.mktemp("digits") / "a report.html"
    diagnosis.report(path)
    return path, diagnosis


@pytest.fixture(scope="module")
def hostile(planted: Planted, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Labels, ids, column names and values that try to be something else."""
    names = {"bad": PAYLOADS[0], "good": PAYLOADS[1]}

    def frame(X: Any) -> pd.DataFrame:
        return pd.DataFrame(X, columns=[PAYLOADS[2], PAYLOADS[3], PAYLOADS[4], PAYLOADS[6]])

    diagnosis = psidebug.debug(
        LogisticRegression(),
        frame(planted.X_train), [names[label] for label in planted.y_train],
        frame(planted.X_test), [names[label] for label in planted.y_test],
        rows=[f"{i} {PAYLOADS[i % len(PAYLOADS)]}" for i in range(len(planted.X_train))],
        metadata=pd.DataFrame({PAYLOADS[5] + "x" * 400: np.where(planted.wrong, PAYLOADS[2], PAYLOADS[7])}),
        check_fidelity=False,
    )  # fmt: skip
    path = tmp_path_factory.mktemp("hostile") / "report.html"
    diagnosis.report(path)
    return path


def drawn(opened: Opened) -> None:
    """Wait until every plot is there, each with marks in it."""
    for name in PLOTS:
        opened.page.wait_for_selector(f"[data-plot={name}] svg")
        marks = f"[data-plot={name}] svg [role=graphics-symbol] path, [data-plot={name}] svg .mark-rect path"
        assert opened.page.locator(marks).count() > 0


def test_it_opens_from_disk_without_network_and_says_nothing(digits: tuple[Path, Any], open_page: Open) -> None:
    opened = open_page(digits[0])
    drawn(opened)
    assert opened.requests == [digits[0].as_uri()]
    assert opened.messages == []


def test_the_policy_lets_nothing_else_run(digits: tuple[Path, Any], open_page: Open) -> None:
    page = open_page(digits[0]).page
    page.evaluate("""() => {
        window.ran = [];
        const script = document.createElement("script");
        script.textContent = "window.ran.push('script')";
        document.body.append(script);
        const holder = document.createElement("div");
        holder.innerHTML = "<img src=x onerror=\\"window.ran.push('handler')\\">";
        document.body.append(holder);
    }""")
    page.wait_for_timeout(100)
    assert page.evaluate("window.ran") == []
    policy = page.locator("meta[http-equiv=Content-Security-Policy]").get_attribute("content") or ""
    assert "unsafe" not in policy
    assert policy.startswith("default-src 'none'; ")


def test_pictures_are_those_of_the_rows(digits: tuple[Path, psidebug.Diagnosis], open_page: Open) -> None:
    path, diagnosis = digits
    page = open_page(path).page
    pixels = page.evaluate("""async () => {
        const image = document.querySelector("#suspects-table img");
        await image.decode();
        const canvas = document.createElement("canvas");
        canvas.width = image.naturalWidth;
        canvas.height = image.naturalHeight;
        const context = canvas.getContext("2d");
        context.drawImage(image, 0, 0);
        return [...context.getImageData(0, 0, canvas.width, canvas.height).data].filter((_, i) => i % 4 === 0);
    }""")
    first = diagnosis.task.train.features[diagnosis.order[0]]
    np.testing.assert_array_equal(pixels, np.round(255 * first))


def shown_rows(opened: Opened) -> list[str]:
    rows: list[str] = opened.page.evaluate("""() =>
        [...document.querySelectorAll("#suspects-table tbody th")]
            .filter((each) => each.checkVisibility()).map((each) => each.innerText)""")
    return rows


def test_suspects_are_filtered_and_the_number_shown_is_said(
    digits: tuple[Path, psidebug.Diagnosis], open_page: Open
) -> None:
    path, diagnosis = digits
    opened, suspects = open_page(path), diagnosis.suspects
    page = opened.page
    assert shown_rows(opened) == suspects["row"].tolist()
    wanted = suspects["row"].iloc[3]
    page.fill("#find", wanted.upper())
    assert shown_rows(opened) == [wanted]
    assert page.inner_text("#shown") == f"1 of {len(suspects)} shown."
    page.click("text=Show all")
    page.select_option("#given", "even")
    page.fill("#least-wrong", "0.5")
    page.fill("#least-ps", "0.01")
    kept = suspects[(suspects["given"] == "even") & (suspects["p_wrong"] >= 0.5) & (suspects["ps"] >= 0.01)]
    assert shown_rows(opened) == kept["row"].tolist()
    page.fill("#least-wrong", "1.1")
    assert page.inner_text("#shown") == f"0 of {len(suspects)} shown."
    page.click("text=Show all")
    assert page.inner_text("#shown") == f"{len(suspects)} of {len(suspects)} shown."


def test_suspects_are_sorted_by_any_column(digits: tuple[Path, psidebug.Diagnosis], open_page: Open) -> None:
    path, diagnosis = digits
    opened, suspects = open_page(path), diagnosis.suspects
    for header, column, first in (("PS", "ps", False), ("row", "row", True), ("wrong", "p_wrong", False)):
        for ascending in (first, not first):
            opened.page.locator("#suspects-table thead button", has_text=header).first.click()
            order = suspects.set_index("row")[column] if column != "row" else suspects["row"]
            values = [order[row] if column != "row" else row for row in shown_rows(opened)]
            assert values == sorted(values, reverse=not ascending)
            said = opened.page.locator("#suspects-table th[aria-sort]")
            assert said.get_attribute("aria-sort") == ("ascending" if ascending else "descending")


@pytest.mark.parametrize("clipboard", ["there", "refused", "refused, as is the older way"])
def test_row_ids_are_copied_as_they_are_shown(
    digits: tuple[Path, psidebug.Diagnosis], open_page: Open, clipboard: str
) -> None:
    path, diagnosis = digits
    opened = open_page(path, permissions=["clipboard-read", "clipboard-write"])
    page = opened.page
    if clipboard != "there":
        page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error('refused')) }")
    if clipboard.endswith("older way"):
        page.evaluate("() => { document.execCommand = () => false }")
    page.fill("#least-wrong", "0.9")
    ids = diagnosis.suspects.query("p_wrong >= 0.9")["row"].tolist()
    page.click("#copy")
    wait_until(page, "document.getElementById('shown').textContent.includes('row ids')")
    if clipboard.endswith("older way"):
        assert page.locator("#ids textarea").is_visible()
        assert page.locator("#ids textarea").input_value() == "\n".join(ids)
    else:
        assert page.inner_text("#shown") == f"{len(ids)} row ids copied."
        assert page.evaluate("navigator.clipboard.readText()") == "\n".join(ids)
    assert opened.messages == []


@pytest.mark.thorough
def test_with_no_row_shown_the_clipboard_is_left_alone(digits: tuple[Path, Any], open_page: Open) -> None:
    page = open_page(digits[0], permissions=["clipboard-read", "clipboard-write"]).page
    page.evaluate("navigator.clipboard.writeText('mine')")
    page.fill("#least-wrong", "1.1")
    page.click("#copy")
    assert page.inner_text("#shown") == "No row is shown, so nothing was copied."
    assert page.evaluate("navigator.clipboard.readText()") == "mine"


@pytest.mark.thorough
def test_pictures_with_many_columns_fit_the_screen(planted: Planted, tmp_path: Path, open_page: Open) -> None:
    names = [f"measured {place}" for place in range(24)]

    def wide(X: Any) -> pd.DataFrame:
        more = np.random.default_rng(0).normal(size=(len(X), 20))
        return pd.DataFrame(np.column_stack([X, more]), columns=names).assign(picture=[np.eye(2)] * len(X))

    diagnosis = psidebug.debug(
        make_pipeline(make_column_transformer(("passthrough", names)), LogisticRegression()),
        wide(planted.X_train), planted.y_train, wide(planted.X_test), planted.y_test,
        images="picture", check_fidelity=False,
    )  # fmt: skip
    diagnosis.report(tmp_path / "report.html")
    page = open_page(tmp_path / "report.html").page
    assert page.evaluate("document.documentElement.scrollWidth") == 1280
    widths = page.evaluate("""() =>
        [...document.querySelectorAll(".bug[open] .pair > div")].map((each) => each.getBoundingClientRect().width)""")
    own, causes = widths[::2], widths[1::2]
    assert own
    assert max(own) < min(causes)


def test_hostile_data_are_text(hostile: Path, open_page: Open) -> None:
    opened = open_page(hostile)
    drawn(opened)
    page = opened.page
    page.fill("#find", "owned")
    page.mouse.move(300, 300)
    assert page.title() == "Psi: what causes these errors"
    assert opened.requests == [hostile.as_uri()]
    assert opened.messages == []
    assert opened.dialogs == []
    text = page.evaluate("document.body.textContent")
    for payload in PAYLOADS[:7]:
        assert payload in text
    assert page.locator("img, body style, body svg[onload]").count() == 0
    assert page.locator("script").count() == 3


def test_hostile_text_is_text(planted: Planted, tmp_path: Path, open_page: Open) -> None:
    def texts(X: Any) -> list[str]:
        words = np.array(["awful", "plain", "nice"])
        return [f"{words[int(np.sign(a + b)) + 1]} w{int(c)} {PAYLOADS[int(d) % 8]}" for a, b, c, d in X]

    diagnosis = psidebug.debug(
        make_pipeline(CountVectorizer(), LogisticRegression()),
        texts(planted.X_train), planted.y_train, texts(planted.X_test), planted.y_test, check_fidelity=False,
    )  # fmt: skip
    diagnosis.report(tmp_path / "report.html")
    opened = open_page(tmp_path / "report.html")
    drawn(opened)
    assert opened.page.title() == "Psi: what causes these errors"
    assert (opened.messages, opened.dialogs) == ([], [])
    seen = opened.page.evaluate("[...document.querySelectorAll('#suspects-table .text')].map((each) => each.innerText)")
    given = texts(planted.X_train)
    assert seen == [" ".join(given[row].split()) for row in diagnosis.order]
    assert opened.page.locator("#suspects-table mark").count() > 0


@pytest.mark.parametrize(("width", "scheme"), [(1280, "dark"), (320, "light")])
@pytest.mark.thorough
def test_wide_and_narrow_by_day_and_by_night(
    digits: tuple[Path, Any], hostile: Path, open_page: Open, width: int, scheme: str
) -> None:
    for path in (digits[0], hostile):  # pictures, and a slice on a column whose name has no end
        opened = open_page(path, viewport={"width": width, "height": 800}, color_scheme=scheme)
        drawn(opened)
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= width
        ink, paper, plot = opened.page.evaluate("""() => {
            const light = (colour) => colour.match(/\\d+/g).slice(0, 3).map(Number).reduce((a, b) => a + b) / 3;
            const body = getComputedStyle(document.body);
            const label = document.querySelector("[data-plot=errors] .role-axis-label text");
            return [light(body.color), light(body.backgroundColor), light(getComputedStyle(label).fill)];
        }""")
        assert (ink > paper) == (scheme == "dark")
        assert abs(plot - paper) > 128
        assert opened.messages == []


@pytest.mark.thorough
def test_on_a_phone_every_value_of_a_wide_table_is_in_sight(hostile: Path, open_page: Open) -> None:
    """Nothing of a bug, a suspect or an explanation has to be scrolled to sideways, and ids stay whole."""
    page = open_page(hostile, viewport={"width": 390, "height": 800}).page
    beyond = page.evaluate("""() => {
        for (const each of document.querySelectorAll("details")) each.open = true;
        const cells = [...document.querySelectorAll(".stacked tbody th, .stacked tbody td")];
        return cells.filter((cell) => cell.checkVisibility() && cell.getBoundingClientRect().right > 390).length;
    }""")
    assert beyond == 0
    assert page.locator(".stacked tbody td").count() > 50
    name, shown = page.evaluate("""() => {
        const cell = document.querySelector("#bugs td.deciding[data-name]");
        return [cell.dataset.name, getComputedStyle(cell, "::before").content];
    }""")
    assert name.startswith(PAYLOADS[5])
    assert shown not in ("none", "normal"), "a value stands behind the name of its column"


@pytest.mark.thorough
def test_ids_do_not_break_over_lines(digits: tuple[Path, psidebug.Diagnosis], open_page: Open) -> None:
    for width in (390, 1280):
        page = open_page(digits[0], viewport={"width": width, "height": 800}).page
        lines = page.evaluate("""() => {
            const names = [...document.querySelectorAll("#suspects-table tbody th")].slice(0, 20);
            return names.map((each) => {
                const range = document.createRange();
                range.selectNodeContents(each);
                return range.getClientRects().length;
            });
        }""")
        assert set(lines) == {1}


@pytest.mark.thorough
def test_the_filter_says_what_it_looks_at(digits: tuple[Path, Any], hostile: Path, open_page: Open) -> None:
    for path in (digits[0], hostile):
        assert open_page(path).page.get_by_label("Find in what is shown").count() == 1


CONTRAST = """() => {
    const luminance = (colour) => {
        const [r, g, b] = colour.match(/[\\d.]+/g).slice(0, 3)
            .map((part) => part / 255)
            .map((part) => part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const behind = (element) => {
        for (; element; element = element.parentElement) {
            const colour = getComputedStyle(element).backgroundColor;
            if (!/, 0\\)$/.test(colour)) return colour;
        }
    };
    const low = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const element = walker.currentNode.parentElement;
        if (!walker.currentNode.data.trim() || !element.checkVisibility() || element.closest("svg, script")) continue;
        const [a, b] = [luminance(getComputedStyle(element).color), luminance(behind(element))].sort((x, y) => y - x);
        if ((a + 0.05) / (b + 0.05) < 4.5) low.push(walker.currentNode.data.trim());
    }
    return low;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.thorough
def test_all_text_has_contrast(digits: tuple[Path, Any], open_page: Open, scheme: str) -> None:
    assert open_page(digits[0], color_scheme=scheme).page.evaluate(CONTRAST) == []


def test_without_script_everything_but_plots_is_there(digits: tuple[Path, psidebug.Diagnosis], open_page: Open) -> None:
    path, diagnosis = digits
    page = open_page(path, java_script_enabled=False).page
    assert page.locator(".verdict").inner_text() == diagnosis.with_repairs.verdict
    assert page.locator("#suspects-table tbody tr").count() == len(diagnosis.suspects)
    assert page.locator("#filter").is_hidden()
    assert page.locator("noscript p").is_visible()
    for name in ("effect", "curve", "distribution", "confusion", "decided"):
        assert page.locator(f"#{name} table").count() > 0


def test_a_screen_reader_finds_its_way(digits: tuple[Path, Any], open_page: Open) -> None:
    page = open_page(digits[0]).page
    levels = page.evaluate("[...document.querySelectorAll('h1, h2, h3, h4')].map((each) => Number(each.tagName[1]))")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(below <= above + 1 for above, below in pairwise(levels))
    for landmark in ("header", "nav[aria-label]", "main", "footer"):
        assert page.locator(landmark).count() == 1
    assert page.locator("table:not(:has(caption))").count() == 0
    assert page.locator("thead th:not([scope]), tbody th:not([scope]), img:not([alt])").count() == 0
    assert page.locator("section:not([aria-labelledby]), input:not(label input), select:not(label select)").count() == 0
    for target in page.evaluate("[...document.querySelectorAll('a')].map((each) => each.getAttribute('href'))"):
        assert page.locator(target).count() == 1


def test_on_paper_it_is_light_and_whole(digits: tuple[Path, Any], open_page: Open) -> None:
    opened = open_page(digits[0], color_scheme="dark")
    drawn(opened)
    opened.page.emulate_media(media="print")
    assert opened.page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
    assert opened.page.locator("#filter").is_hidden()
    assert opened.page.locator("#suspects-table tbody tr:visible").count() == 40
    assert opened.page.locator(".printed").is_visible()
    margins = """() => [...document.styleSheets].flatMap((each) => [...each.cssRules])
        .filter((rule) => rule instanceof CSSPageRule).map((rule) => rule.style.margin)"""
    assert opened.page.evaluate(margins) == ["10mm"], "a program that prints sets no margins of its own"


@pytest.mark.thorough
def test_on_paper_no_column_is_cut_off(hostile: Path, open_page: Open) -> None:
    """A4 is 718 points of a screen wide between its margins, and does not scroll."""
    page = open_page(hostile, viewport={"width": 718, "height": 1000}).page
    page.emulate_media(media="print")
    beyond = page.evaluate("""() => {
        for (const each of document.querySelectorAll("details")) each.open = true;
        const cells = [...document.querySelectorAll("#bugs td, #bugs th, #effect td, #effect th")];
        return cells.filter((cell) => cell.checkVisibility() && cell.getBoundingClientRect().right > 718).length;
    }""")
    assert beyond == 0


@pytest.mark.parametrize("paper", [718, 740], ids=["A4", "Letter"])
@pytest.mark.parametrize("window", [1280, 1920, 390])
def test_plots_drawn_in_any_window_are_whole_on_paper(
    digits: tuple[Path, Any], open_page: Open, window: int, paper: int
) -> None:
    page = open_page(digits[0]).page
    page.set_viewport_size({"width": window, "height": 800})
    page.reload()
    page.locator(".plot.drawn svg").first.wait_for()
    page.emulate_media(media="print")
    page.set_viewport_size({"width": paper, "height": 1000})
    cut = """() => [...document.querySelectorAll(".plot")].filter((each) => {
        const drawn = each.querySelector("svg").getBoundingClientRect();
        return drawn.right > document.documentElement.clientWidth + 1 || getComputedStyle(each).overflowX !== "visible";
    }).map((each) => each.dataset.plot)"""
    assert page.evaluate(cut) == []
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0


def test_what_is_wrong_comes_first(digits: tuple[Path, Any], open_page: Open) -> None:
    assert open_page(digits[0]).page.locator("main > section, main > aside").first.get_attribute("id") == "causes"
