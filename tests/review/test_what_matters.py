"""What a review is about: rows that are probably wrong, or searched, or chosen together; and when it is done."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import cohen_kappa_score

import psidebug
from psidebug.datasets.digits import mislabelled_digits
from psidebug.display import Display
from psidebug.review.agreement import agreements, kappa, reviewers
from psidebug.review.desk import Desk
from psidebug.review.filters import Filter
from psidebug.review.search import Search
from psidebug.review.security import Visitor
from tests.review.talking import Room, first

ANN, BOB = Visitor("ann", "hers"), Visitor("bob", "his")


@pytest.fixture
def desk(digits_run: Path) -> Iterator[Desk]:
    desk = Desk(digits_run, psidebug.Diagnosis.load)
    yield desk
    desk.close()


def rows(desk: Desk, **wanted: str) -> list[int]:
    found: list[int] = desk.queue.select(Filter.read(wanted)).rows.tolist()
    return found


def decide(desk: Desk, places: list[int], action: str, visitor: Visitor = ANN) -> None:
    desk.decide_together(
        places, action, code=None, part="train", visitor=visitor, key=f"{visitor} {action} {len(desk.store.log())}"
    )


# ── what matters ──


def test_the_queue_is_what_is_probably_wrong_and_the_rest_is_asked_for(desk: Desk) -> None:
    labels = desk.findings.labels
    needed = [
        at for at in labels.order.tolist() if labels.p_wrong[at] >= 0.5 or labels.repaired[at] != labels.given[at]
    ]
    assert 0 < len(needed) < len(labels.order)
    assert rows(desk) == rows(desk, among="wrong") == needed
    assert rows(desk, among="all") == labels.order.tolist()
    assert (desk.queue.total(), desk.queue.left()) == (len(needed), len(needed))
    desk.queue.p_wrong[needed[0]] = 0.1
    assert rows(desk)[0] == needed[0], "what is corrected needs a verdict, however likely"


def test_who_names_rows_sees_all_of_them_unless_he_asks_otherwise(desk: Desk) -> None:
    members = desk.findings.slices[0].members(desk.run.data).tolist()
    assert sorted(rows(desk, slice="0")) == members
    needed = sorted(set(members) & set(rows(desk)))
    assert sorted(rows(desk, slice="0", among="wrong")) == needed != members
    bug = desk.findings.bug_causes[0]
    assert rows(desk, bug=str(bug.test_row)) == bug.positions.tolist()
    assert set(rows(desk, bug=str(bug.test_row), among="wrong")) == set(bug.positions.tolist()) & set(rows(desk))


def test_it_is_done_when_every_row_that_matters_has_an_answer(room: Room) -> None:
    desk, needed = room.desk, rows(room.desk)
    decide(desk, needed[:-1], "correct")
    decide(desk, needed[-1:], "skip")
    assert "<b>1</b> left" in room.talk.ask("/queue").text, "to skip is no answer"
    decide(desk, needed[-1:], "keep")
    said = f"ll {len(needed)} rows that are probably wrong have a verdict"
    assert f"Done: a{said}" in room.talk.ask("/queue").text
    page = room.talk.ask("/item").text
    assert "<h2>Done</h2>" in page
    assert f"A{said}." in page
    assert f"Show all {len(desk.run.order)} suspects" in page
    assert "given odd" in room.talk.ask("/item?among=all").text


def test_a_run_without_a_wrong_label_says_that_there_is_nothing_to_review(room: Room) -> None:
    room.desk.queue.matters[:] = False
    assert "Nothing to review: no label is probably wrong" in room.talk.ask("/queue").text
    page = room.talk.ask("/item").text
    assert "<h2>Nothing to review</h2>" in page
    assert "No training label of this run is probably wrong." in page
    assert "<button" in page.split("Show all")[0]


@pytest.mark.parametrize(("p_wrong", "first_of_all"), [(0.5, "correct"), (0.49, "keep"), (0.0, "keep")])
def test_the_key_that_stands_out_is_the_likelier_answer(room: Room, p_wrong: float, first_of_all: str) -> None:
    (at,) = first(room)
    room.desk.queue.p_wrong[at] = p_wrong
    found = re.findall(r'class="first" data-decide="(\w+)"', room.talk.ask(f"/item?at={at}").text)
    assert found == [first_of_all]


def test_the_least_certain_first_where_a_verdict_tells_most(desk: Desk) -> None:
    doubt = np.abs(desk.queue.p_wrong[rows(desk, sort="doubt")] - 0.5)
    assert np.all(np.diff(doubt) >= 0)
    assert len(np.unique(doubt)) > 10


# ── search ──


@pytest.fixture(scope="module")
def search() -> Search:
    features = pd.DataFrame({"Age": [39, 50, 39, 7], "job": ["clerk", "Sales clerk", "farmer", None]})
    said = pd.DataFrame({"said": ["nothing at all", "All is well", "39 times", "x"]})
    return Search(np.array(["row-1", "row-39", "b", "c"]), [features, said], Display())


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("row", [0, 1]), ("ROW-1", [0]), ("clerk", [0, 1]), ("39", [0, 1, 2]), ("age=39", [0, 2]), ("age=39.0", [0, 2]),
        ("age=9", []), ("age=x", []), ("all", [0, 1]), ('"all is"', [1]), ("clerk all", [0, 1]), ("clerk well", [1]),
        ("job=clerk", [0]), ('job="clerk"', []), ("nobody", []), ("pay=39", []), ("7", [3]),
    ],
)  # fmt: skip
def test_rows_are_found_by_id_word_and_value(search: Search, asked: str, found: list[int]) -> None:
    assert np.flatnonzero(search.rows(asked)).tolist() == found


def test_a_search_finds_every_row_also_those_that_are_no_suspects(desk: Desk) -> None:
    other = next(at for at in range(900) if at not in set(desk.run.order.tolist()))
    name = str(desk.findings.labels.rows[other])
    assert rows(desk, find=name) == [other]
    digits = mislabelled_digits(seed=1).digit_train
    assert sorted(rows(desk, find="digit=7", among="all")) == np.flatnonzero(digits == 7).tolist()
    assert set(rows(desk, find="digit=4", among="wrong")) <= set(np.flatnonzero(digits == 4).tolist())


# ── together ──


def test_chosen_rows_are_decided_together_and_undone_in_one_step(room: Room) -> None:
    chosen = first(room, 5)
    answer = room.talk.say("/together", rows=chosen, action="correct", key="the same key")
    assert answer.json["said"] == "5 rows: corrected"
    assert room.talk.say("/together", rows=chosen, action="correct", key="the same key").status == 200, "sent again"
    assert (set(room.desk.store.current()), len(room.desk.store.log())) == (set(chosen), 1)
    room.talk.say("/undo")
    assert room.desk.store.current() == {}


@pytest.mark.parametrize("wrong", [[], [900], [-1], ["3"], [True], [1.5], "3", {"0": 1}, [[1]]], ids=str)
def test_a_choice_that_is_none_is_refused(room: Room, wrong: object) -> None:
    answer = room.talk.say("/together", rows=wrong, action="keep")
    assert answer.status == 400
    assert len(answer.json["wrong"]) > 10
    assert room.desk.store.log() == []


def test_the_grid_has_pages_and_every_row_once(room: Room) -> None:
    seen: list[int] = []
    following = "/item?view=grid"
    while following:
        page = room.talk.ask(following).text
        seen += map(int, re.findall(r'data-place="(\d+)"', page))
        found = re.search(r'data-next="(\d+)"', page)
        following = f"/item?view=grid&at={found[1]}" if found else ""
    assert seen == rows(room.desk)


# ── reviewers ──


def test_kappa_is_that_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    for classes in (2, 5):
        one = rng.integers(classes, size=200)
        other = np.where(rng.random(200) < 0.6, one, rng.integers(classes, size=200))
        assert kappa(list(zip(one.tolist(), other.tolist(), strict=True))) == pytest.approx(
            cohen_kappa_score(one, other), abs=1e-12
        )
    assert kappa([("a", "a")] * 3) is None, "who gives one label only cannot disagree by chance"


def test_the_agreement_of_reviewers_is_about_rows_that_both_have_judged(room: Room) -> None:
    desk, chosen = room.desk, rows(room.desk)
    decide(desk, chosen[:6], "correct")
    decide(desk, chosen[6:9], "second_opinion")
    assert "judged by two reviewers yet" in room.talk.ask("/reviewers").text
    decide(desk, chosen[2:5], "correct", BOB)
    decide(desk, chosen[5:8], "keep", BOB)
    judged = desk.store.ledger().judged()
    assert reviewers(judged) == {"ann": 6, "bob": 6}
    (found,) = agreements(judged)
    assert (found.first, found.second, found.rows, found.same) == ("ann", "bob", 4, 3)
    page = room.talk.ask("/reviewers").text
    assert "75%" in page
    assert "state=disputed" in page
    assert rows(desk, state="disputed") == [chosen[5]]
    desk.store.undo(reviewer="bob", browser="his")
    desk.ledger()
    assert rows(desk, state="disputed") == []
