"""On the page of a row the review shows what each annotator said about it, and how likely that is wrong."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

from sklearn.linear_model import LogisticRegression

import psidebug
from tests.annotated import crowd
from tests.review.talking import Room, first, serving


def test_the_answers_about_a_row_are_on_its_page(in_memory: Path) -> None:
    answered = crowd()
    found = psidebug.debug(LogisticRegression(), **answered.arguments, annotations=answered.wide, check_fidelity=False)
    found.save(in_memory / "run")
    with serving(in_memory / "run") as room:
        (at,) = first(room)
        page = room.talk.ask(f"/item?at={at}").text
    shown = re.search('<ul class="answers.*?</ul>', page, re.S)
    assert shown is not None
    text = " ".join(unescape(re.sub("<[^>]*>", " ", shown[0])).split())
    said = found.answers[found.answers["row"] == at]
    assert len(said) > 0
    for each in said.to_dict("records"):
        assert f"{each['annotator']}: {each['label']} wrong {each['p_wrong']:.2f}" in text


def test_without_answers_nothing_is_shown(room: Room) -> None:
    (at,) = first(room)
    assert 'class="answers' not in room.talk.ask(f"/item?at={at}").text
