"""A saved run goes on: it verifies, explains, retrains and diagnoses again as the diagnosis that was saved."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import psidebug
from psidebug.errors import LearnerMismatch, LearnerMissing, NotMisclassified, UnknownRow, UnreadableRun, UnseenClass
from tests.conftest import Planted, planted_rows
from tests.store.conftest import CASES, debugged
from tests.store.sameness import assert_same_effect, assert_same_frame, assert_same_table


def fitted_lightgbm(planted: Planted) -> dict[str, Any]:
    model = lightgbm.LGBMClassifier(n_estimators=10, min_child_samples=5, n_jobs=1, verbose=-1)
    return {"model": model.fit(planted.X_train, planted.y_train)}


LEARNERS: dict[str, Callable[[Planted], dict[str, Any]]] = {
    "numpy": CASES["numpy"],
    "pandas": CASES["pandas"],
    "texts": CASES["texts"],
    "tuple labels": CASES["tuple labels"],
    "few test rows": CASES["few test rows"],
    "fitted lightgbm": fitted_lightgbm,
    "xgboost": lambda p: {"model": xgboost.XGBClassifier(n_estimators=8, max_depth=3, n_jobs=1)},
    "stated prior": lambda p: {"prior": {"by": {"web": 0.3}}, "metadata": pd.DataFrame(
        {"by": np.where(p.wrong, "web", "desk")}
    )},
    "residual gray box": lambda p: {"graybox": "newton_residual"},
}  # fmt: skip


class Saved:
    def __init__(self, diagnosis: psidebug.Diagnosis, path: Path) -> None:
        diagnosis.save(path)
        self.live, self.run = diagnosis, psidebug.Diagnosis.load(path)


@pytest.fixture(scope="module", params=list(LEARNERS))
def saved(request: pytest.FixtureRequest, planted: Planted, tmp_path_factory: pytest.TempPathFactory) -> Saved:
    found = debugged(planted, **LEARNERS[request.param](planted))
    return Saved(found, tmp_path_factory.mktemp("again") / "run")


@pytest.fixture(scope="module")
def run(diagnosis: psidebug.Diagnosis, tmp_path_factory: pytest.TempPathFactory) -> psidebug.Diagnosis:
    return Saved(diagnosis, tmp_path_factory.mktemp("again") / "run").run


def test_the_task_is_the_one_that_was_diagnosed(saved: Saved) -> None:
    task, live = saved.run.task, saved.live.task
    assert task.encoding == live.encoding
    np.testing.assert_array_equal(task.predicted, live.predicted)
    np.testing.assert_array_equal(task.predict(task.learner, task.test), live.predict(live.learner, live.test))
    np.testing.assert_array_equal(task.margins(task.learner, task.test), live.margins(live.learner, live.test))
    assert (task.data.validation is None) == (live.data.validation is None)
    if task.data.validation is not None and live.data.validation is not None:
        assert_same_table(task.data.validation.features, live.data.validation.features)
        np.testing.assert_array_equal(task.data.validation.codes, live.data.validation.codes)


def test_verify_says_what_the_diagnosis_says(saved: Saved) -> None:
    rows = saved.run.data.rows[saved.run.order[:7]].tolist()
    one, other = saved.run.verify(rows), saved.live.verify(rows)
    assert one.correction.corrected == 7
    assert_same_effect(one.correction, other.correction)
    assert_same_effect(one.at_random, other.at_random)
    assert_same_effect(one.highest_loss, other.highest_loss)


def test_explain_says_what_the_diagnosis_says(saved: Saved) -> None:
    bug = int(saved.run.findings.predictions.bugs[0])
    # The live judge remembers the fits of the diagnosis: with fits enough for both, they come to the same end.
    one, other = (each.explain(bug, budget=60) for each in (saved.run, saved.live))
    assert str(one) == str(other)
    assert one.engine == other.engine
    assert_same_frame(one.causes, other.causes)


def test_retraining_with_the_repaired_labels_is_the_verified_correction(saved: Saved) -> None:
    found, classes = saved.run.findings.labels, saved.run.findings.encoding.classes
    labels = {place: classes[found.repaired[place]] for place in found.corrected.tolist()}
    effect = saved.run.retrain(labels)
    assert effect.corrected == saved.live.corrected
    if saved.live.correction is not None:
        assert_same_effect(effect, saved.live.correction.verified)


def test_a_mapping_gives_labels_of_its_own(run: psidebug.Diagnosis, diagnosis: psidebug.Diagnosis) -> None:
    rows = run.data.rows[run.order[:5]].tolist()
    kept = dict(zip(rows, run.data.encoding.decode(run.data.train.codes[run.order[:5]]).tolist(), strict=True))
    assert run.verify(kept).correction.corrected == 0
    moved = dict.fromkeys(rows, "good")
    assert_same_effect(run.verify(moved).correction, diagnosis.verify(moved).correction)
    assert run.verify(moved).correction.corrected == sum(label != "good" for label in kept.values()) > 0


def test_rows_and_labels_that_are_not_there(run: psidebug.Diagnosis) -> None:
    with pytest.raises(UnknownRow, match="not the id"):
        run.verify(["nobody"])
    with pytest.raises(UnseenClass):
        run.verify({0: "ugly"})
    with pytest.raises(UnknownRow, match="position -1"):
        run.retrain({-1: "good"})
    with pytest.raises(UnseenClass):
        run.retrain({1: "ugly"})
    right = int(np.setdiff1d(np.arange(80), run.findings.predictions.bugs)[0])
    with pytest.raises(NotMisclassified):
        run.explain(right)
    with pytest.raises(UnknownRow):
        run.explain(80)


# ── without a learner ───────────────────────────────────────────────────────────────────────────────────────────────


def shifted(X: Any) -> Any:
    return X + 1.0


def test_a_learner_with_a_function_of_the_user_is_not_saved(planted: Planted, tmp_path: Path) -> None:
    model = make_pipeline(FunctionTransformer(shifted), StandardScaler(), LogisticRegression())
    found = debugged(planted, model=model)
    found.save(tmp_path / "run")
    run = psidebug.Diagnosis.load(tmp_path / "run")
    assert not list((tmp_path / "run").rglob("*.skops"))
    bug = int(run.findings.predictions.bugs[0])
    for ask in (lambda: run.task, lambda: run.verify([0]), lambda: run.explain(bug)):
        with pytest.raises(LearnerMissing, match="with_learner") as caught:
            ask()
        assert "shifted" in str(caught.value)
    rows = run.data.rows[run.order[:5]].tolist()
    again = run.with_learner(clone(model))
    assert_same_effect(again.verify(rows).correction, found.verify(rows).correction)
    assert str(again.explain(bug)) == str(found.explain(bug))


def test_another_learner_is_refused(run: psidebug.Diagnosis, planted: Planted) -> None:
    with pytest.raises(LearnerMismatch, match="LogisticRegression"):
        run.with_learner(RandomForestClassifier())
    with pytest.raises(LearnerMismatch, match="otherwise than in the run"):
        run.with_learner(LogisticRegression(C=1e-6)).verify([0])


def test_a_changed_learner_file_is_seen(diagnosis: psidebug.Diagnosis, tmp_path: Path) -> None:
    diagnosis.save(tmp_path / "run")
    file = next((tmp_path / "run").rglob("learner.skops"))
    file.write_bytes(file.read_bytes() + b"\0")
    with pytest.raises(UnreadableRun, match="changed or damaged"):
        psidebug.Diagnosis.load(tmp_path / "run")


def test_what_is_kept_of_the_source_and_display(diagnosis: psidebug.Diagnosis, tmp_path: Path) -> None:
    source = {"label": "y", "id": None, "columns": ["a", "y"], "train": "t.csv"}
    diagnosis.described(source=source).save(tmp_path / "run")
    run = psidebug.Diagnosis.load(tmp_path / "run")
    assert run.findings.origin.source == source
    assert run.display == diagnosis.display


# ── diagnosed again ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("case", ["pandas", "few test rows", "stated prior"])
def test_settled_labels_are_facts(planted: Planted, tmp_path: Path, case: str) -> None:
    # Some facts are wrong: were test labels suspected, they would be, instead of training labels.
    found = debugged(planted, causes="labels", **LEARNERS[case](planted))
    run = Saved(found, tmp_path / "run").run
    seen = run.order[:5]
    ids = run.data.rows
    known = {ids[place]: str(planted.y_train[place]) for place in seen.tolist()}  # all are right as they are
    known[ids[seen[0]]] = "good"
    assert set(run.suspects["row"].to_list()) >= set(known)
    again = run.diagnose_again(known)
    rows = set(again.suspects["row"].to_list())
    assert rows
    assert not rows & set(known)
    assert not again.p_wrong[seen].any()
    labels = list(again.repaired_labels)
    assert [labels[place] for place in seen] == list(known.values())
    for each in again.tried:
        assert again.task.encoding.decode(each.codes[seen]).tolist() == list(known.values())


def test_settling_every_wrong_label_leaves_nothing_to_correct(planted: Planted, run: psidebug.Diagnosis) -> None:
    truth = np.where(planted.wrong, "good", planted.y_train)
    stages: list[str] = []
    known = {place: str(truth[place]) for place in np.flatnonzero(planted.wrong).tolist()}
    again = run.diagnose_again(known, progress=lambda stage, done, total: stages.append(stage))
    assert "retraining" in stages
    clean = run.retrain(known)
    assert len(again.task.bugs) == clean.test_after.wrong < clean.test_before.wrong
    assert list(again.repaired_labels) == truth.tolist()


def test_settled_labels_teach_where_to_look(tmp_path: Path) -> None:
    """With half of the planted errors settled, the other half is ranked at least as well, for the same reason."""
    planted = planted_rows(train=300, test=150)
    run = Saved(debugged(planted), tmp_path / "run").run
    wrong = np.flatnonzero(planted.wrong)
    known = dict.fromkeys(wrong[::2].tolist(), "good")
    again = run.diagnose_again(known)
    rest = wrong[1::2]
    found = np.isin(again.order[: len(rest)], rest).mean()
    others = run.order[~np.isin(run.order, wrong[::2])]
    assert found >= np.isin(others[: len(rest)], rest).mean() > 0.5
    assert again.hypotheses[0].slices[0].condition == "x2 > 1"


def test_bugs_that_were_picked_out_stay_picked_out(planted: Planted, tmp_path: Path) -> None:
    every = debugged(planted)
    picked = every.task.bugs[:6]
    run = Saved(debugged(planted, bugs=picked), tmp_path / "run").run
    place = int(run.order[0])
    again = run.diagnose_again({place: "good"})
    assert set(again.task.bugs.tolist()) <= set(picked.tolist())
    assert len(again.task.bugs) > 0
