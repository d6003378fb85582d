"""What a notebook and a terminal show: sentences and rows with their values, no dumps of dataclasses."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import psidebug
from psidebug import Diagnosis
from tests.causes.rows import learner
from tests.mislabelled_tests import GIVEN


@pytest.fixture(scope="module")
def found() -> Diagnosis:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": rng.normal(size=400).round(3), "<i>age</i>": rng.normal(size=400).round(3)})
    frame["y"] = np.where(frame["size"] > 0, "high", "low")
    train, test = frame[:250], frame[250:]
    wrong = (train["<i>age</i>"] > 0.5) & (train.y == "high")
    features = ["size", "<i>age</i>"]
    return psidebug.debug(LogisticRegression(), train[features], train.y.where(~wrong, "low"), test[features], test.y)


def values_in(text: str, found: Diagnosis, row: Any) -> bool:
    """Whether both values of a training row are in a text."""
    features = found.data.train.features
    return all(f"{value:.4g}" in text for value in features.iloc[int(row)])


def test_suspects_have_the_values_of_their_rows(found: Diagnosis) -> None:
    first = found.suspects.row[0]
    for text in (repr(found.look_at()), found.look_at()._repr_html_(), found._repr_html_(), str(found)):
        assert values_in(text, found, first)
        assert str(first) in text
    assert len(found.look_at(3).lines) == 3
    chosen = found.suspects.row[4:6].tolist()
    assert [each.view.id for each in found.look_at(chosen).lines] == [str(each) for each in chosen]


def test_bounds_that_say_nothing_are_folded_away(found: Diagnosis) -> None:
    frame = found.suspects.head(1).assign(ps=0.25, ps_low=0.25, ps_high=0.25)
    shown = found._shown(frame)
    assert shown.lines[0].ps == "0.25"
    assert found._shown(frame.assign(ps_low=0.1)).lines[0].ps == "0.25 (0.10, 0.25)"
    assert found._shown(frame.assign(ps=np.nan, ps_low=np.nan, ps_high=np.nan)).lines[0].ps == "–"


def test_answers_are_sentences_and_tables(found: Diagnosis) -> None:
    assert found.correction is not None
    explained = found.explain(found.found.predictions.rows[found.found.predictions.bugs[0]])
    answers = [found, explained, found.verify(found.suspects.row[:3]), found.controls, found.correction, found.curve]
    answers += [found.fidelity, explained.smallest]
    for each in answers:
        assert each is not None
        for text in (repr(each), str(each)):
            assert not re.search(r"\b\w+\(\w+=", text), "a dataclass is dumped"
            assert "array(" not in text
    for each in (found, explained, found.controls):
        page = each._repr_html_()  # type: ignore[union-attr]
        assert "<table>" in page
        assert "<i>" not in page, "names of columns are no markup"
    assert values_in(explained._repr_html_(), found, explained.causes.row[0])
    assert "What they have in common" in str(found)


def test_clean_data_show_no_empty_tables() -> None:
    x = np.concatenate([np.linspace(-2, -1, 40), np.linspace(1, 2, 40)])[:, None]
    labels = (x[:, 0] > 0).astype(int)
    clean = psidebug.debug(LogisticRegression(), x[::2], labels[::2], x[1::2], labels[1::2])
    assert clean.nothing_to_debug
    assert repr(clean.look_at()) == "no rows"
    assert "<table>" not in clean._repr_html_()


def test_the_index_of_a_shuffled_test_table_names_its_rows(found: Diagnosis) -> None:
    """Its rows are 250 to 399: a position in place of an id would name another row, or none."""
    bug = int(found.found.predictions.bugs[0])
    assert found.explain(250 + bug).position == bug
    assert found.explain(250 + bug).test_row == 250 + bug
    assert f"Test row {250 + bug} is labelled" in str(found.explain(250 + bug))
    with pytest.raises(psidebug.errors.UnknownRow, match="the id of a test row, such as 250, not 'c'"):
        found.explain("c")
    right = 250 + int(np.flatnonzero(~found.found.predictions.wrong)[0])
    with pytest.raises(psidebug.errors.NotMisclassified, match=f"The misclassified ones are {250 + bug}"):
        found.explain(right)


def test_test_labels_that_are_probably_wrong_are_shown_with_their_rows() -> None:
    X_train, y_train, X_test, y_test = GIVEN.parts
    X_test = X_test.set_axis([f"parcel-{place}" for place in range(len(X_test))])
    found = psidebug.debug(learner(), X_train, y_train, X_test, y_test)
    first = found.suspect_tests.row[0]
    assert found.cause == "test_labels"
    for text in (repr(found.look_at(test=True)), found._repr_html_(), str(found)):
        assert str(first) in text
        assert "PS" not in text.split("robably wrong")[-1], "of test labels it is not known"
    view = found.look_at([first], test=True).lines[0]
    assert all(str(X_test.loc[first, cell.name]).startswith(cell.value.rstrip("…")) for cell in view.view.cells)
    assert [each.view.id for each in found.look_at(3, test=True).lines] == found.suspect_tests.row[:3].tolist()
    with pytest.raises(psidebug.errors.UnknownRow, match="'nobody' is not the id of a test row"):
        found.look_at(["nobody"], test=True)
    assert "suspect_tests" not in found.verdict, "the same sentence is read in reports and reviews"
