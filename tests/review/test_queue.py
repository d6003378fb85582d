"""The queue: who is shown, in which order, what is next; and similar rows, against plain searches."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.neighbors import NearestNeighbors

import psidebug
from psidebug.errors import UnknownOption
from psidebug.review.desk import Desk
from psidebug.review.filters import Filter
from psidebug.review.queue import Selection
from psidebug.review.security import Visitor
from psidebug.review.similar import Similar
from psidebug.review.verdicts import ACTIONS
from tests.cli.folder import psi, write_csv
from tests.review.talking import serving


@pytest.fixture
def desk(digits_run: Path) -> Iterator[Desk]:
    desk = Desk(digits_run, psidebug.Diagnosis.load)
    yield desk
    desk.close()


ALL = Filter(among="all")


def rows(desk: Desk, **wanted: Any) -> list[int]:
    found: list[int] = desk.queue.select(Filter(**{"among": "all", **wanted})).rows.tolist()
    return found


def decided(desk: Desk, position: int, action: str) -> None:
    desk.decide([desk.verdict(position, action)], visitor=Visitor("ann", "a browser"), key=f"{position} {action}")


def test_the_queue_is_the_runs_own_order(desk: Desk) -> None:
    assert rows(desk) == desk.run.order.tolist()
    assert desk.queue.counts() == {"open": len(desk.run.order), **dict.fromkeys(ACTIONS, 0)}


def test_a_verdict_moves_a_row_to_its_state(desk: Desk) -> None:
    order = desk.run.order.tolist()
    for position, action in zip(order, ACTIONS, strict=False):
        decided(desk, position, action)
    skip, asked = order[2:4]
    assert rows(desk) == [asked, *order[4:], skip], "to another browser; what was skipped comes last"
    for position, action in zip(order, ACTIONS, strict=False):
        assert rows(desk, state=action) == [position]
    assert rows(desk, state="all") == order
    assert desk.queue.counts() == {"open": len(order) - 4, **dict.fromkeys(ACTIONS, 1)}
    assert desk.queue.left() == desk.queue.total() - 2, "only a label that was settled is decided"


def test_skipped_rows_come_back_at_the_end_in_their_order(desk: Desk) -> None:
    order = desk.run.order.tolist()
    for position in order[:5]:
        decided(desk, position, "skip")
    assert rows(desk) == [*order[5:], *order[:5]]
    chosen = desk.queue.select(ALL)
    assert chosen.next(order[-1]) == order[0]
    assert (chosen.previous(order[0]), chosen.next(order[4])) == (order[-1], None)
    decided(desk, order[0], "keep")
    assert rows(desk)[-4:] == order[1:5]


def test_a_second_opinion_is_asked_of_others(desk: Desk) -> None:
    first, *rest = desk.run.order.tolist()
    decided(desk, first, "second_opinion")
    mine, others = (desk.queue.select(ALL, each) for each in ("a browser", "another"))
    assert mine.rows.tolist() == rest
    assert others.rows.tolist() == [first, *rest]
    desk.decide([desk.verdict(first, "second_opinion")], visitor=Visitor("bob", "another"), key="bob asks too")
    assert desk.first(Filter(), Visitor("ann", "a browser")) == first
    assert desk.first(Filter(), Visitor("bob", "another")) == rest[0]
    desk.decide([desk.verdict(first, "keep")], visitor=Visitor("ann", "a browser"), key="ann answers")
    assert {desk.first(Filter(), Visitor("", each)) for each in ("a browser", "another")} == {rest[0]}
    desk.store.undo(reviewer="ann", browser="a browser")
    assert desk.first(Filter(), Visitor("ann", "a browser")) == first, "bob's question holds again"


def test_a_row_that_is_no_suspect_joins_the_queue_when_it_is_decided(desk: Desk) -> None:
    other = next(each for each in range(900) if each not in set(desk.run.order.tolist()))
    decided(desk, other, "keep")
    assert rows(desk, state="keep") == [other]
    assert rows(desk, state="all")[-1] == other


def test_filters_by_label_score_slice_and_bug(desk: Desk) -> None:
    queue, order = desk.queue, desk.run.order
    odd = desk.findings.encoding.classes.index("odd")
    assert rows(desk, given=odd) == [each for each in order if queue.given[each] == odd]
    assert rows(desk, proposed=odd) == [each for each in order if queue.proposed[each] == odd]
    likely = rows(desk, least=0.9)
    assert 0 < len(likely) < len(order)
    assert likely == [each for each in order if queue.p_wrong[each] >= 0.9]
    assert sorted(rows(desk, slice=0)) == desk.findings.slices[0].members(desk.run.data).tolist()
    causes = desk.findings.bug_causes[0]
    assert rows(desk, bug=causes.test_row) == causes.positions.tolist()
    both = rows(desk, bug=causes.test_row, slice=0)
    assert both == [
        each
        for each in causes.positions.tolist()
        if each in set(desk.findings.slices[0].members(desk.run.data).tolist())
    ]


@pytest.mark.parametrize("sort", ["ps", "p_wrong"])
def test_sorts_by_a_score(desk: Desk, sort: str) -> None:
    scores = getattr(desk.queue, sort)[rows(desk, sort=sort)]
    assert np.all(np.diff(scores) <= 0)
    assert len(np.unique(scores)) > 10


def test_sorted_as_given_and_causes_by_a_score(desk: Desk) -> None:
    assert rows(desk, sort="row") == sorted(desk.run.order.tolist())
    bug = desk.findings.bug_causes[0].test_row
    assert np.all(np.diff(desk.queue.ps[rows(desk, bug=bug, sort="ps")]) <= 0)


@pytest.mark.parametrize("wanted", [ALL, Filter(sort="ps"), Filter(slice=0)])
def test_next_and_previous_walk_the_whole_list(desk: Desk, wanted: Filter) -> None:
    chosen = desk.queue.select(wanted)
    walked, at = [], chosen.first()
    while at is not None:
        walked.append(at)
        at = chosen.next(at)
    assert walked == chosen.rows.tolist()
    back, last = [], walked[-1]
    at = last
    while at is not None:
        back.append(at)
        at = chosen.previous(at)
    assert back == walked[::-1]


def test_what_is_next_does_not_depend_on_the_row_being_shown_still(desk: Desk) -> None:
    first, second, third = rows(desk)[:3]
    before = desk.queue.select(ALL).next(second)
    decided(desk, second, "keep")
    after = desk.queue.select(ALL)
    assert (before, after.next(second), after.previous(second), after.next(first)) == (third, third, first, third)


def test_an_empty_selection_has_no_rows() -> None:
    empty = Selection(np.array([3, 4]), np.array([False, False]))
    assert (empty.first(), empty.next(3), empty.previous(4), empty.around(3, 5)[1].tolist()) == (None, None, None, [])


def test_the_rows_in_sight_hold_the_one_in_focus(desk: Desk) -> None:
    chosen = desk.queue.select(ALL)
    for place in (0, 1, 7, 300, len(chosen.rows) - 1):
        begin, seen = chosen.around(int(chosen.rows[place]), 14)
        assert chosen.rows[place] in seen
        assert seen.tolist() == chosen.rows[begin : begin + 14].tolist()
        assert len(seen) == 14


def test_a_filter_comes_back_from_its_address() -> None:
    from urllib.parse import parse_qsl

    wanted = Filter(part="test", state="all", given=1, least=0.25, bug=7, sort="ps")
    assert Filter.read(dict(parse_qsl(wanted.address))) == wanted
    assert Filter().address == "set=train", "also where a run opens with the test labels"
    with pytest.raises(UnknownOption):
        Filter.read({"state": "nowhere"})


def test_bugs_of_a_row_are_those_it_is_a_cause_of(desk: Desk) -> None:
    position = int(desk.run.order[0])
    expected = {
        (each.test_row, float(each.ps[each.positions.tolist().index(position)]))
        for each in desk.findings.bug_causes
        if position in each.positions
    }
    found = desk.queue.bugs_of(position)
    assert set(found) == expected != set()
    assert [ps for _, ps in found] == sorted((ps for _, ps in found), reverse=True)


# ── similar rows ──


def test_similar_rows_are_the_nearest_ones(desk: Desk) -> None:
    pixels = desk.run.data.train.features
    spread = pixels.std(axis=0)
    points = (pixels - pixels.mean(axis=0)) / np.where(spread > 0, spread, np.inf)
    near = NearestNeighbors(n_neighbors=7).fit(points)
    for position in (0, 17, 899):
        expected = [each for each in near.kneighbors(points[[position]])[1][0].tolist() if each != position]
        assert list(desk.similar(position, 6)) == expected


def test_similar_texts_share_their_rare_words() -> None:
    rng = np.random.default_rng(0)
    words = np.array([f"word{n}" for n in range(300)])
    texts = np.array([" ".join(rng.choice(words, 12)) for _ in range(400)], dtype=object)
    weighed = TfidfVectorizer().fit_transform(texts)
    similar = Similar(texts)
    for position in (0, 200, 399):
        cosine = (weighed @ weighed[position].T).toarray().ravel()
        cosine[position] = -1.0
        found = similar.rows(position, 5)
        assert position not in found
        np.testing.assert_allclose(
            cosine[list(found)], np.sort(cosine)[::-1][:5], atol=0.02
        )  # a few words share a hash


def test_wide_and_mixed_tables_find_the_row_that_was_copied() -> None:
    import pandas as pd

    rng = np.random.default_rng(0)
    wide = rng.normal(size=(300, 900))
    wide[250] = wide[10] + 0.01 * rng.normal(size=900)
    frame = pd.DataFrame(
        {"a": rng.normal(size=300), "kind": rng.choice(list("xyzuvw"), 300), "b": rng.normal(size=300)}
    )
    frame.loc[250] = frame.loc[10]
    frame.loc[3, "a"] = np.nan
    for table in (wide, frame):
        assert Similar(table).rows(10, 1) == (250,)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("columns", ["numbers", "texts"])
def test_similar_rows_are_the_same_in_every_library(library: Any, columns: str) -> None:
    rng = np.random.default_rng(0)
    words = np.array([f"word{n}" for n in range(50)])
    data: dict[str, Any] = {name: rng.normal(size=300) for name in "abc"}
    if columns == "texts":
        data["said"] = [" ".join(rng.choice(words, 8)) for _ in range(300)]
    for values in data.values():
        values[250] = values[10]
    if columns == "texts":  # near by its numbers alone, which do not count where there is a text
        for name in "abc":
            data[name][20] = data[name][10]
    table = nw.from_dict(data, backend=library).to_native()
    similar = Similar(table, "said" if columns == "texts" else None)
    assert similar.rows(10, 1) == (250,)
    if columns == "texts":
        plain = np.array(data["said"], dtype=object)
        assert similar.rows(10, 5) == Similar(plain).rows(10, 5)


def test_a_run_of_numbers_from_the_command_line_shows_similar_rows(tmp_path: Path) -> None:
    """Tables from files are pyarrow's."""
    rng = np.random.default_rng(0)
    for name, rows in (("train", 120), ("test", 80)):
        a, b = rng.normal(size=(2, rows))
        labels = np.where(a + 0.5 * rng.normal(size=rows) > 0, "yes", "no").tolist()
        write_csv(tmp_path / f"{name}.csv", {"a": a, "b": b, "label": labels})
    ran = psi("debug", "train.csv", "test.csv", "--label", "label", folder=tmp_path)
    assert ran.code == 0, ran.err
    with serving(tmp_path / "psi-run") as room:
        answer = room.talk.ask("/similar?at=3")
    assert answer.status == 200, answer.text
    assert answer.text.count("<li") > 3
