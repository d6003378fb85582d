"""The report: plain data, then one page that needs no network and trusts no label."""

from __future__ import annotations

import json
from dataclasses import asdict
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression

import psidebug
from psidebug.errors import OutputError
from psidebug.report import summarise
from psidebug.report.page import render
from tests.conftest import Planted

HOSTILE = [
    "<script>alert('1')</script>",
    '"><img src=x onerror=alert(2)>',
    "'; DROP TABLE rows; --",
    "{{ 7 * 7 }}",
    "&amp;",
]


class Page(HTMLParser):
    """Every tag with its attributes, and the visible text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def hostile(planted: Planted) -> psidebug.Diagnosis:
    """Labels, ids and column names that try to be HTML."""
    names = {"bad": HOSTILE[0], "good": HOSTILE[1]}
    columns = [*HOSTILE[2:], "<b>x</b>"]
    return psidebug.debug(
        LogisticRegression(),
        pd.DataFrame(planted.X_train, columns=columns),
        [names[label] for label in planted.y_train],
        pd.DataFrame(planted.X_test, columns=columns),
        [names[label] for label in planted.y_test],
        rows=[f"<i>{i}</i>{HOSTILE[i % 5]}" for i in range(len(planted.X_train))],
        X_validation=pd.DataFrame(planted.X_test[:20], columns=columns),
        y_validation=[names[label] for label in planted.y_test[:20]],
        metadata=pd.DataFrame({"<u>source</u>": ["<s>web</s>" if wrong else "desk" for wrong in planted.wrong]}),
    )


@pytest.fixture(scope="module")
def page(planted: Planted, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("report") / "report.html"
    hostile(planted).report(path)
    return path.read_text(encoding="utf-8")


def test_nothing_of_the_users_becomes_a_tag(page: str) -> None:
    tags = {tag for tag, _ in Page(page).tags}
    own = "html head meta title style body main h1 h2 p div table tr th td i dl dt dd"
    assert tags <= set(own.split())
    attributes = {name for tag, attrs in Page(page).tags for name in attrs}
    assert attributes <= {"lang", "charset", "http-equiv", "content", "name", "class", "style"}
    styles = {attrs["style"] for _, attrs in Page(page).tags if "style" in attrs}
    assert all(style is not None and style.startswith("width: ") and style.endswith("%") for style in styles)


def test_everything_hostile_is_shown_as_it_is_written(page: str) -> None:
    text = "".join(Page(page).text)
    for word in (*HOSTILE[:2], "<i>", "<u>source</u> = <s>web</s>"):
        assert word in text
    assert "49" not in {part.strip() for part in Page(page).text}


def test_the_page_needs_no_network(page: str) -> None:
    assert not any(
        name in attrs for _, attrs in Page(page).tags for name in ("src", "href", "action", "srcset", "data")
    )
    assert "url(" not in page
    assert "@import" not in page
    assert "default-src 'none'" in page


def test_the_page_tells_the_verdict_the_effect_and_the_causes(planted: Planted, tmp_path: Path) -> None:
    found = psidebug.debug(
        LogisticRegression(), planted.X_train, planted.y_train, planted.X_test, planted.y_test,
        X_validation=planted.X_test, y_validation=planted.y_test,
    )  # fmt: skip
    found.report(tmp_path / "report.html")
    text = "".join(Page((tmp_path / "report.html").read_text()).text)
    assert found.verdict in text
    assert found.correction is not None
    effect = found.correction.verified
    for number in (effect.test_before.rate, effect.test_after.rate, *effect.test_after.interval):
        assert f"{number:.3f}" in text
    assert "validation" in text
    assert str(found.slices["condition"].iloc[0]) in text
    for name, value in found.settings.items():
        assert name in text
        assert value in text


@pytest.mark.parametrize("make", [np.asarray, lambda X: pl.DataFrame(X, schema=["a", "b", "c", "d"])])
def test_the_summary_is_plain_data(planted: Planted, make: Any) -> None:
    y_train = [(str(label), 1) for label in planted.y_train]
    y_test = [(str(label), 1) for label in planted.y_test]
    days = pd.date_range("2024-01-01", periods=len(y_train)).to_list()
    found = psidebug.debug(
        LogisticRegression(), make(planted.X_train), y_train, make(planted.X_test), y_test, rows=days
    )
    summary = summarise(found, suspects=7)
    again = json.loads(json.dumps(asdict(summary)))
    assert again == asdict(summary)
    assert len(summary.suspects) == 7
    assert summary.suspects_in_all == len(found.suspects)
    assert summary.suspects[0]["given"] in {"('bad', 1)", "('good', 1)"}


def test_nothing_to_debug_has_a_report_too(planted: Planted, tmp_path: Path) -> None:
    model = LogisticRegression().fit(planted.X_train, planted.y_train)
    found = psidebug.debug(model, planted.X_train, planted.y_train, planted.X_test, model.predict(planted.X_test))
    found.report(tmp_path / "report.html")
    text = "".join(Page((tmp_path / "report.html").read_text()).text)
    assert "Nothing to debug" in text
    assert "Suspects" not in text
    assert summarise(found).suspects == []


def test_labels_that_are_no_unicode_do_not_stop_the_report(planted: Planted, tmp_path: Path) -> None:
    names = {"bad": "\ud800", "good": "ok"}
    found = psidebug.debug(
        LogisticRegression(), planted.X_train, [names[label] for label in planted.y_train], planted.X_test,
        [names[label] for label in planted.y_test],
    )  # fmt: skip
    found.report(tmp_path / "report.html")
    assert "\\ud800" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_report_that_cannot_be_written_is_an_output_error(planted: Planted, tmp_path: Path) -> None:
    found = psidebug.debug(LogisticRegression(), planted.X_train, planted.y_train, planted.X_test, planted.y_test)
    with pytest.raises(OutputError, match="could not write"):
        found.report(tmp_path / "missing" / "report.html")
    assert list(tmp_path.iterdir()) == []


def test_rendering_is_repeatable(planted: Planted) -> None:
    found = hostile(planted)
    assert render(summarise(found)) == render(summarise(found))
