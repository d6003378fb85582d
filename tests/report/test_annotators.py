"""Annotators on the page: who errs and how, whom to ask again, and nothing where there are none."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest
from sklearn.linear_model import LogisticRegression

import psidebug
from tests.annotated import Crowd, crowd


@pytest.fixture(scope="module")
def answered() -> Crowd:
    return crowd()


def text_of(page: str) -> str:
    """The visible text of the section."""
    section = page.partition('<section id="annotators"')[2].partition("</section>")[0]
    return " ".join(unescape(re.sub("<[^>]*>", " ", section)).split())


def page_of(answered: Crowd, path: Path, *, answers: bool, **renamed: str) -> tuple[psidebug.Diagnosis, str]:
    table = answered.wide.rename(columns=renamed) if answers else None
    found = psidebug.debug(LogisticRegression(), **answered.arguments, annotations=table, check_fidelity=False)
    found.report(path)
    return found, path.read_text(encoding="utf-8")


def test_the_page_says_who_errs_and_whom_to_ask(answered: Crowd, tmp_path: Path) -> None:
    found, page = page_of(answered, tmp_path / "page.html", answers=True)
    text = text_of(page)
    worst, asked = found.annotators.iloc[0], found.ask_again.iloc[0]
    assert f"{len(found.answers)} answers of 4 annotators on 240 training rows" in text
    assert f"dan {worst['answers']} {worst['error_rate']:.0%}" in text
    assert f"marks good as bad , {worst['share']:.0%}" in text
    assert f"{asked['row']} {asked['annotator']} {asked['right']:.2f} {asked['gain']:.2f}" in text
    assert 'href="#annotators"' in page


def test_a_saved_run_has_the_same_section(answered: Crowd, tmp_path: Path) -> None:
    found, page = page_of(answered, tmp_path / "page.html", answers=True)
    found.save(tmp_path / "run")
    psidebug.Diagnosis.load(tmp_path / "run").report(tmp_path / "again.html")
    assert text_of((tmp_path / "again.html").read_text(encoding="utf-8")) == text_of(page)


def test_the_name_of_an_annotator_is_no_markup(answered: Crowd, tmp_path: Path) -> None:
    _, page = page_of(answered, tmp_path / "page.html", answers=True, dan="<script>alert(1)</script>")
    assert "<script>alert(1)</script>" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


def test_without_answers_there_is_no_section(answered: Crowd, tmp_path: Path) -> None:
    _, page = page_of(answered, tmp_path / "page.html", answers=False)
    assert "annotators" not in page.partition("<body>")[2].partition("<script")[0]
