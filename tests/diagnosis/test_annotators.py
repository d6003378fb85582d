"""debug(annotations=…): who errs and how, how likely each answer is wrong, whom to ask; live, reviewed and saved."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression

import psidebug
from psidebug.errors import InvalidAnnotations, UnreadableRun
from psidebug.findings.annotators import AnnotatorFindings
from tests.annotated import ERRORS, Crowd, crowd


@pytest.fixture(scope="module")
def answered() -> Crowd:
    return crowd()


def debugged(answered: Crowd, **options: Any) -> psidebug.Diagnosis:
    given = {"annotations": answered.wide, "check_fidelity": False, **answered.arguments, **options}
    return psidebug.debug(LogisticRegression(), **given)


@pytest.fixture(scope="module")
def found(answered: Crowd) -> psidebug.Diagnosis:
    return debugged(answered)


def test_who_errs_and_how(found: psidebug.Diagnosis, answered: Crowd) -> None:
    frame = found.annotators
    assert list(frame.columns) == ["annotator", "answers", "error_rate", "low", "high", "marks", "as", "share"]
    worst = frame.iloc[0]
    assert (worst["annotator"], worst["marks"], worst["as"]) == ("dan", "good", "bad")
    assert 0.3 < worst["share"] < 0.6
    assert frame["answers"].sum() == answered.wide.notna().sum().sum()
    for each in frame.to_dict("records"):
        wrong = answered.wide[each["annotator"]].dropna() != answered.truth[answered.wide[each["annotator"]].notna()]
        assert each["low"] <= wrong.mean() <= each["high"], each["annotator"]
        assert each["low"] <= each["error_rate"] <= each["high"]
    told = found.findings.annotators
    assert told is not None
    assert told.told(told.names.tolist().index("dan"), found.found.encoding).startswith("dan errs in ")
    assert "marks 'good' as 'bad', " in told.told(told.names.tolist().index("dan"), found.found.encoding)


def test_wrong_answers_come_first_and_the_consensus_beats_the_labels(
    found: psidebug.Diagnosis, answered: Crowd
) -> None:
    frame = found.answers
    assert list(frame.columns) == ["row", "annotator", "label", "p_wrong", "consensus"]
    assert frame["p_wrong"].is_monotonic_decreasing
    wrong = frame["label"].to_numpy() != answered.truth[frame["row"].to_numpy()]
    assert wrong[: int(wrong.sum())].mean() > 0.8
    consensus = frame.drop_duplicates("row").set_index("row")["consensus"].reindex(range(len(answered.truth)))
    assert (consensus != answered.truth).mean() < 0.5 * (answered.labels != answered.truth).mean()
    own = frame[frame["label"] == frame["consensus"]]
    assert own["p_wrong"].max() <= 0.5


def test_p_wrong_of_a_label_is_that_of_the_answer_it_came_from(found: psidebug.Diagnosis, answered: Crowd) -> None:
    said = found.answers.groupby(["row", "label"])["p_wrong"].first()
    for row, label in enumerate(answered.labels):
        assert found.p_wrong[row] == pytest.approx(said.loc[(row, label)])


def test_who_is_asked_again_has_not_answered_and_is_good(found: psidebug.Diagnosis, answered: Crowd) -> None:
    frame = found.ask_again
    assert list(frame.columns) == ["row", "annotator", "right", "gain"]
    assert len(frame) > 10
    assert frame["gain"].is_monotonic_decreasing
    assert frame["gain"].iloc[0] > 0.05
    for each in frame.to_dict("records"):
        assert pd.isna(answered.wide.loc[each["row"], each["annotator"]])
    assert (frame["annotator"] == "dan").mean() < 0.2, "only where all others have answered, or the row is bad"


def test_a_long_table_by_ids_says_the_same(found: psidebug.Diagnosis, answered: Crowd) -> None:
    ids = [f"r{row}" for row in range(len(answered.labels))]
    again = debugged(answered, annotations=pl.from_pandas(answered.long), rows=ids)
    one, other = (each.annotators.set_index("annotator").sort_index() for each in (found, again))
    pd.testing.assert_frame_equal(one, other, atol=0.02)
    assert again.ask_again["row"].iloc[0].startswith("r")


def test_without_annotations_there_is_nothing_about_them(answered: Crowd) -> None:
    plain = debugged(answered, annotations=None)
    assert plain.annotators is plain.answers is plain.ask_again is plain.findings.annotators is None


def test_a_small_test_set_leaves_the_answers_alone_to_say(answered: Crowd) -> None:
    rows = answered.planted
    few = debugged(answered, X_test=rows.X_test[:20], y_test=rows.y_test[:20])
    assert few.hypotheses == ()
    assert few.annotators["annotator"].iloc[0] == "dan"


def test_a_review_teaches_about_annotators(found: psidebug.Diagnosis, answered: Crowd) -> None:
    """After a person has kept twenty labels that dan gave, he errs less often than was thought."""
    by_dan = [row for row in found.answers["row"][found.answers["annotator"] == "dan"] if found.p_wrong[row] > 0.3][:20]
    after = found.reviewed(rejected=by_dan)
    rate = {each: frame.set_index("annotator")["error_rate"] for each, frame in
            (("before", found.annotators), ("after", after.annotators))}  # fmt: skip
    assert rate["after"]["dan"] < rate["before"]["dan"] - 0.05
    assert not set(by_dan) & set(after.ask_again["row"])
    assert after.p_wrong[by_dan].max() == 0.0


def same(one: AnnotatorFindings | None, other: AnnotatorFindings | None) -> None:
    assert one is not None
    assert other is not None
    for each in fields(AnnotatorFindings):
        parts = (getattr(one, each.name), getattr(other, each.name))
        if each.name == "answers":
            for name in ("rows", "annotators", "codes", "names", "count"):
                np.testing.assert_array_equal(getattr(parts[0], name), getattr(parts[1], name), err_msg=name)
        else:
            np.testing.assert_array_equal(parts[0], parts[1], err_msg=each.name)


def test_a_saved_run_keeps_them_and_diagnoses_again(found: psidebug.Diagnosis, tmp_path: Path) -> None:
    found.save(tmp_path / "run")
    loaded = psidebug.Diagnosis.load(tmp_path / "run")
    same(loaded.findings.annotators, found.findings.annotators)
    for name in ("annotators", "answers", "ask_again"):
        pd.testing.assert_frame_equal(getattr(loaded, name), getattr(found, name))
    loaded.save(tmp_path / "copy")
    same(psidebug.Diagnosis.load(tmp_path / "copy").findings.annotators, found.findings.annotators)
    settled = {0: answered_label(found, 0)}
    live, again = found.diagnose_again(settled), loaded.diagnose_again(settled)
    same(again.findings.annotators, live.findings.annotators)
    assert again.data.annotations is not None
    assert len(again.answers) == len(found.answers)


def answered_label(found: psidebug.Diagnosis, row: int) -> Any:
    return found.data.encoding.classes[found.data.train.codes[row]]


def test_a_forged_table_of_answers_is_a_damaged_run(found: psidebug.Diagnosis, tmp_path: Path) -> None:
    import hashlib
    import json

    import pyarrow as pa
    import pyarrow.parquet as pq

    found.save(tmp_path / "run")
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    entry = record["files"]["answers"]
    path = tmp_path / "run" / entry["path"]
    table = pq.read_table(path)
    forged = table.set_column(0, "position", pa.array([10**6] * table.num_rows))
    pq.write_table(forged, path)
    entry["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
    (tmp_path / "run" / "run.json").write_text(json.dumps(record))
    with pytest.raises(UnreadableRun, match="damaged"):
        psidebug.Diagnosis.load(tmp_path / "run")


def test_later_rounds_keep_the_answers(answered: Crowd) -> None:
    twice = debugged(answered, rounds=2)
    assert all(len(each.answers) == len(twice.answers) for each in twice.later)


def test_bad_answers_are_told_at_the_door(answered: Crowd) -> None:
    with pytest.raises(InvalidAnnotations, match="'fair'"):
        debugged(answered, annotations=answered.wide.replace("good", "fair"))


def test_a_frame_of_polars_has_no_text_for_nothing(answered: Crowd) -> None:
    """Who hardly errs marks nothing as anything."""
    perfect = answered.wide.assign(eve=answered.truth)
    rows = answered.planted
    frames = {name: pl.DataFrame(getattr(rows, name)) for name in ("X_train", "X_test")}
    frame = debugged(answered, annotations=perfect, **frames).annotators
    assert isinstance(frame, pl.DataFrame)
    assert set(frame["annotator"]) == {*ERRORS, "eve"}
    assert "None" not in frame["marks"].to_list()


def test_a_class_with_hardly_any_test_rows_is_possible_where_an_annotator_says_it(answered: Crowd) -> None:
    """Three of four annotators say "odd" of ten rows labelled "good"; the test set has one such row."""
    truth, wide = answered.truth.astype(object), answered.wide.astype(object)
    odd = np.flatnonzero(answered.labels == "good")[:10]
    wide.loc[odd, ["ann", "bob", "cid"]] = "odd"
    wide.loc[odd, "dan"] = "good"
    labels, tests = answered.labels.astype(object), answered.planted.y_test.astype(object)
    labels[np.flatnonzero(truth == "bad")[0]] = tests[0] = "odd"
    found = debugged(answered, y_train=labels, y_test=tests, annotations=wide)
    told = found.findings.annotators
    assert told is not None
    code = found.found.encoding.classes.index("odd")
    own = [p_wrong for row in odd.tolist() for _, said, p_wrong in told.of_row(row) if said == code]
    assert len(own) == 30
    assert max(own) < 1.0, "it was ruled out, whatever they said"
