"""The report: plain data, then one page that needs no network and trusts no label."""

from __future__ import annotations

import base64
import hashlib
import importlib.resources
import json
import re
from dataclasses import asdict, replace
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
from psidebug.findings.findings import Causes, LabelFindings, Predictions
from psidebug.graybox.logistic import LogisticBox
from psidebug.report import Summary
from psidebug.report import summarise as summarised
from psidebug.report.effects import confusion_of, distribution_of
from psidebug.report.page import VEGA, render
from psidebug.report.summary import LEFT_OUT, chosen_bugs
from psidebug.store.fingerprint import fingerprint_of
from psidebug.task.labels import Encoding
from tests.conftest import Planted

HOSTILE = [
    "<script>alert('1')</script>",
    '"><img src=x onerror=alert(2)>',
    "'; DROP TABLE rows; --",
    "{{ 7 * 7 }}",
    "&amp;",
]


def summarise(found: psidebug.Diagnosis, **options: Any) -> Summary:
    return summarised(found.findings, found.data, **options)


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
        check_fidelity=False,
    )


@pytest.fixture(scope="module")
def found(planted: Planted) -> psidebug.Diagnosis:
    return hostile(planted)


@pytest.fixture(scope="module")
def page(found: psidebug.Diagnosis, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("report") / "report.html"
    found.report(path)
    return path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def harmless(planted: Planted, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The same task with words that no browser minds."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    columns = ["a", "b", "c", "d"]
    psidebug.debug(
        LogisticRegression(),
        pd.DataFrame(planted.X_train, columns=columns),
        planted.y_train,
        pd.DataFrame(planted.X_test, columns=columns),
        planted.y_test,
        X_validation=pd.DataFrame(planted.X_test[:20], columns=columns),
        y_validation=planted.y_test[:20],
        metadata=pd.DataFrame({"source": ["web" if wrong else "desk" for wrong in planted.wrong]}),
        check_fidelity=False,
    ).report(path)
    return path.read_text(encoding="utf-8")


def test_nothing_of_the_users_becomes_a_tag(page: str, harmless: str) -> None:
    assert {tag for tag, _ in Page(page).tags} <= {tag for tag, _ in Page(harmless).tags}
    attributes = {name for _, attrs in Page(page).tags for name in attrs}
    assert attributes <= {name for _, attrs in Page(harmless).tags for name in attrs}
    assert not any(name.startswith("on") or name == "style" for name in attributes)


def test_everything_hostile_is_shown_as_it_is_written(page: str) -> None:
    text = "".join(Page(page).text)
    for word in (*HOSTILE[:2], "<i>", "<u>source</u> = <s>web</s>"):
        assert word in text
    assert "49" not in {part.strip() for part in Page(page).text}


def test_the_page_needs_no_network(page: str) -> None:
    tags = Page(page).tags
    assert not any(name in attrs for _, attrs in tags for name in ("src", "action", "srcset", "data"))
    assert all((attrs["href"] or "").startswith("#") for _, attrs in tags if "href" in attrs)
    style = page[page.index("<style>") : page.index("</style>")]
    assert "url(" not in style
    assert "@import" not in style


def test_the_policy_names_every_style_and_script_by_its_digest(page: str) -> None:
    content = next(attrs["content"] for _, attrs in Page(page).tags if "http-equiv" in attrs) or ""
    policy = {name: values for name, *values in map(str.split, content.split(";"))}
    assert policy["default-src"] == ["'none'"]
    assert policy["img-src"] == ["data:"]
    inlined = {"style-src": re.findall(r"<style>(.*?)</style>", page, re.S)}
    inlined["script-src"] = re.findall(r"<script>(.*?)</script>", page, re.S)
    assert [len(parts) for parts in inlined.values()] == [1, 2]
    for name, parts in inlined.items():
        digests = [base64.b64encode(hashlib.sha256(part.encode()).digest()).decode() for part in parts]
        assert policy[name] == [f"'sha256-{digest}'" for digest in digests]


def test_vega_is_as_published() -> None:
    home = importlib.resources.files("psidebug.report") / "static" / "vega"
    sums = re.findall(r"`(\S+\.js)` \| \S+ \| `([0-9a-f]{64})`", (home / "README.md").read_text())
    assert [name for name, _ in sums] == [Path(name).name for name in VEGA]
    for name, digest in sums:
        assert hashlib.sha256((home / name).read_bytes()).hexdigest() == digest
        assert "Redistribution and use" in (home / f"LICENSE-{name.removesuffix('.min.js')}.txt").read_text()


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
    assert found.controls is not None
    for control in (found.controls.at_random, found.controls.highest_loss):
        assert control is not None
        assert f"{control.test_after.rate:.3f}" in text
    for name, value in found.with_proof.settings.items():
        assert name in text.lower()
        assert value in text
    for name, value in fingerprint_of(found.task).items():
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
    again = json.loads(json.dumps(asdict(summary), allow_nan=False))
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
    assert "Suspects, most" not in text
    assert "Every test row is predicted as it is labelled" in text
    assert summarise(found).suspects == []


class Opaque:
    """A gray box that says margins and nothing about single labels."""

    name = "opaque"

    def __init__(self, box: LogisticBox) -> None:
        self.margins = box.margins


def test_bugs_are_shown_without_causes_where_the_gray_box_knows_none(planted: Planted, tmp_path: Path) -> None:
    """The page of a gray box that is not linear says so and shows the bugs, as does that of the saved run."""
    data = (LogisticRegression(), planted.X_train, planted.y_train, planted.X_test, planted.y_test)
    box = Opaque(LogisticBox(psidebug.Task.of(*data)))
    found = psidebug.debug(*data, graybox=box, engine="sampling", check_fidelity=False)
    found.save(tmp_path / "run")
    bugs = found.task.bugs
    for source in (found, psidebug.Diagnosis.load(tmp_path / "run")):
        summary = summarise(source)
        assert [bug["position"] for bug in summary.bugs] == bugs[:10].tolist()
        assert all(bug["causes"] == [] and bug["view"]["cells"] for bug in summary.bugs)
        source.report(tmp_path / "report.html")
        text = " ".join("".join(Page((tmp_path / "report.html").read_text()).text).split())
        assert "without causes of their own: the gray box 'opaque' is not linear in the labels" in text
        assert f"Test row {bugs[0]} labelled" in text
        assert "beside their causes" not in text


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


def test_rendering_is_repeatable(found: psidebug.Diagnosis, page: str) -> None:
    assert render(summarise(found.with_repairs.with_proof)) == page


def test_a_saved_diagnosis_has_the_same_page(found: psidebug.Diagnosis, page: str, tmp_path: Path) -> None:
    found.save(tmp_path / "run")
    run = psidebug.Diagnosis.load(tmp_path / "run")
    run.report(tmp_path / "report.html")
    again = (tmp_path / "report.html").read_text(encoding="utf-8")
    made = re.findall(r'<span>made <time datetime="(.*?)">.*?</time></span>', again)
    assert made == [found.findings.origin.created]
    assert again == page


def test_when_the_room_is_used_up_rows_are_told_by_their_ids(
    found: psidebug.Diagnosis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("psidebug.report.summary.ROOM", 5000)
    shown = [each["view"] for each in summarise(found, bugs=0).suspects]
    assert len(shown) == len(found.suspects)
    told = [view for view in shown if view["cells"]]
    assert 0 < len(told) < len(shown)
    assert sum(len(cell["name"]) + len(cell["value"]) for view in told for cell in view["cells"]) < 5000
    assert {view["note"] for view in shown if not view["cells"]} == {LEFT_OUT}


def test_of_many_classes_the_most_frequent_confusions_are_told() -> None:
    rng = np.random.default_rng(0)
    classes = tuple(f"class {number}" for number in range(150))
    labels, before, after = rng.integers(150, size=(3, 4000))
    told = confusion_of(Predictions(labels, before, after, np.arange(3)), Encoding(classes))
    assert (told["classes_in_all"], told["cells"], len(told["pairs"])) == (150, [], 30)
    first = told["pairs"][0]
    own = labels == classes.index(first["label"])
    assert first["before"] == (own & (before == classes.index(first["predicted"]))).sum()
    assert first["after"] == (own & (after == classes.index(first["predicted"]))).sum()
    few = confusion_of(Predictions(labels % 3, before % 3, None, np.arange(3)), Encoding(classes))
    assert sum(pair["before"] for pair in few["pairs"]) == (labels % 3 != before % 3).sum()
    assert not few["after"]


def test_the_distribution_counts_every_label_once() -> None:
    def labels(ps: Any, corrected: Any) -> LabelFindings:
        given, nothing = np.zeros(len(ps), dtype=np.intp), np.zeros(len(ps))
        return LabelFindings(given, given, given, given + corrected, ps, ps, ps, nothing, given, nothing, given[:0])

    ps = np.array([0.0, 0.0, 0.1, 0.25, 0.5, np.nan])
    bins = distribution_of(labels(ps, np.array([False, True, False, False, True, False])))
    assert sum(each["rows"] for each in bins) == 5
    assert sum(each["corrected"] for each in bins) == 2
    assert bins[0] == {"low": 0.0, "high": 0.025, "rows": 2, "corrected": 1}
    assert distribution_of(labels(np.zeros(4), np.zeros(4, dtype=bool))) == []


def test_bugs_that_the_correction_repairs_come_first_in_half_of_the_cards() -> None:
    def explained(rows: range) -> list[Causes]:
        nothing = np.empty(0)
        return [
            Causes(row, nothing.astype(np.intp), nothing.astype(np.intp), nothing, nothing, nothing) for row in rows
        ]

    labels = np.zeros(20, dtype=np.intp)
    after = np.isin(np.arange(20), [3, 8, 9, 15]).astype(np.intp) ^ 1  # only these four are right afterwards
    said = Predictions(labels, labels + 1, after, np.arange(20))

    def shown(most: int, rows: range = range(20), said: Predictions = said) -> list[int]:
        return [each.test_row for each in chosen_bugs(explained(rows), said, most)]

    assert shown(6) == [3, 8, 9, 0, 1, 2]
    assert shown(10) == [3, 8, 9, 15, 0, 1, 2, 4, 5, 6]
    assert shown(4, range(7, 11)) == [8, 9, 7, 10]
    assert shown(4, range(8, 11)) == [8, 9, 10]
    assert shown(4, said=replace(said, after=labels)) == [0, 1, 2, 3]
    assert shown(4, said=replace(said, after=None)) == [0, 1, 2, 3]


def test_the_curve_marks_the_number_that_is_corrected(planted: Planted) -> None:
    summary = summarise(hostile(planted).with_proof)
    assert summary.curve is not None
    assert summary.effect is not None
    page = render(summary)
    assert f"the number of labels that the correction changes, {summary.effect['corrected']}:" in page
    assert page.count("<td>corrected</td></tr>") == 1
    assert "standard error of the best" not in page
    none = replace(summary, curve=summary.curve | {"corrected": 0, "tau": None})
    assert "None is corrected, since no correction is proved" in render(none)


def test_a_figure_without_data_is_left_out_with_its_link(planted: Planted) -> None:
    """Three test points suffice for a curve of one point."""
    summary = summarise(hostile(planted).with_proof)
    assert summary.curve is not None
    short = summary.curve | {"points": summary.curve["points"][:1]}
    bare = {"cells": [], **{name: each for name, each in summary.confusion.items() if name != "cells"}}
    for changes in ({"curve": short}, {"curve": None}, {"errors": ()}, {"distribution": None}, {"confusion": bare}):
        page = render(replace(summary, **changes))
        targets = set(re.findall(r'href="#([^"]+)"', page))
        assert targets <= set(re.findall(r'id="([^"]+)"', page)), changes.keys()
