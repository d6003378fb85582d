"""What was found is read, not computed: no property trains, and what fits does so in one thread."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_info, threadpool_limits

import psidebug
from psidebug.changes import Relabel
from tests.conftest import Planted
from tests.store.conftest import debugged


def two_annotators(seed: int = 1, model: Any = None) -> psidebug.Diagnosis:
    """Bob recorded every 1 as 0, and dan every 0 as 1."""
    X, y = make_classification(1800, 12, n_informative=6, class_sep=1.2, random_state=seed)
    who = np.random.default_rng(2).choice(["ann", "bob", "cyd", "dan", "eve"], 1400)
    given = np.where(who == "bob", 0, np.where(who == "dan", 1, y[:1400]))
    learner = LogisticRegression() if model is None else model
    meta = pd.DataFrame({"annotator": who})
    return psidebug.debug(learner, X[:1400], given, X[1400:], y[1400:], metadata=meta, check_fidelity=False)


@pytest.fixture(scope="module")
def two_slices() -> psidebug.Diagnosis:
    found = two_annotators()
    assert found.correction is not None
    assert len(found.hypotheses[0].accused) == 2, "the case that these tests are about"
    return found


THAT_TRAIN = {
    *("repairs", "with_repairs", "repaired_model"),
    *("curve", "threshold_curve", "controls", "fidelity", "with_proof"),
}


def names_of(kind: type) -> list[str]:
    return [name for name in dir(kind) if not name.startswith("_") and not callable(getattr(kind, name))]


def test_no_property_trains_but_those_that_say_so(two_slices: psidebug.Diagnosis) -> None:
    fits = two_slices.session.prover.fits
    for name in set(names_of(psidebug.Diagnosis)) - THAT_TRAIN:
        getattr(two_slices, name)
    two_slices._repr_html_()
    assert two_slices.session.prover.fits == fits


def test_each_slice_has_the_effect_of_its_own_corrections(two_slices: psidebug.Diagnosis) -> None:
    assert two_slices.correction is not None
    first, second = (each for each in two_slices.with_proof.found.slices if each.proved)
    assert {name for each in (first, second) for name in each.condition.split(" and ") if "annotator" in name} == {
        "annotator = bob",
        "annotator = dan",
    }
    assert first.corrected + second.corrected <= two_slices.corrected
    for each in (first, second):
        own = np.isin(np.arange(1400), each.members(two_slices.data))
        codes = np.where(own, two_slices.correction.codes, two_slices.task.train.codes)
        effect = two_slices.session.prover.verify(Relabel.of(two_slices.data, codes))
        assert (effect.corrected, effect.gain) == (each.corrected, each.gain)


def test_what_each_slice_does_alone_takes_a_fit_and_is_not_known_before_the_proof(
    two_slices: psidebug.Diagnosis,
) -> None:
    before, after = two_slices.found.slices, two_slices.with_proof.found.slices
    names = ("condition", "given", "rows", "ps", "corrected", "elsewhere", "proved", "said")
    for early, late in zip(before, after, strict=False):
        assert [getattr(early, name) for name in names] == [getattr(late, name) for name in names]
        assert np.isnan(early.gain)
        assert late.gain > 0
    assert two_slices.with_proof.correction is not None
    assert two_slices.with_proof.correction.slice == after[0]


class Counted(LogisticRegression):  # type: ignore[misc]
    """Remembers how many threads linear algebra had while it was fitted."""

    threads: list[int] = []  # noqa: RUF012

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Counted:
        self.threads += [each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"]
        super().fit(X, y, sample_weight)
        return self


def test_everything_that_fits_has_one_thread(planted: Planted, tmp_path: Any) -> None:
    with threadpool_limits(limits=2, user_api="blas"):
        found = debugged(planted, model=Counted())
        found.save(tmp_path / "run")
        loaded = psidebug.Diagnosis.load(tmp_path / "run").with_learner(Counted())
        for each in (found, loaded):
            Counted.threads.clear()
            bug = int(each.findings.predictions.bugs[0])
            rows = each.data.rows[each.order[:3]].tolist()
            each.verify(rows)
            each.retrain({int(each.order[5]): "good"})
            each.explain(bug, budget=3)
            each.diagnose_again({rows[0]: "good"})
            assert len(Counted.threads) > 5
            assert set(Counted.threads) == {1}


def test_a_diagnosis_can_be_pickled(two_slices: psidebug.Diagnosis) -> None:
    again = pickle.loads(pickle.dumps(two_slices))
    pd.testing.assert_frame_equal(again.suspects, two_slices.suspects)
    pd.testing.assert_frame_equal(again.threshold_curve, two_slices.threshold_curve)


def test_a_loaded_one_that_was_asked_can_be_pickled(planted: Planted, tmp_path: Any) -> None:
    debugged(planted, effort="decide").save(tmp_path / "run")
    loaded = psidebug.Diagnosis.load(tmp_path / "run")
    asked = loaded.threshold_curve
    again = pickle.loads(pickle.dumps(loaded))
    pd.testing.assert_frame_equal(again.threshold_curve, asked)


def test_bugs_are_the_misclassified_test_rows_before_and_after_the_correction(planted: Planted) -> None:
    names = [f"t{at}" for at in range(len(planted.X_test))]
    X_test = pd.DataFrame(planted.X_test, index=names)
    X_train = pd.DataFrame(planted.X_train)
    model = LogisticRegression().fit(X_train, planted.y_train)
    found = psidebug.debug(model, X_train, planted.y_train, X_test, planted.y_test)
    said = model.predict(X_test)
    wrong = said != planted.y_test
    assert found.bugs["row"].tolist() == X_test.index[wrong].tolist()
    assert found.bugs["label"].tolist() == planted.y_test[wrong].tolist()
    assert found.bugs["predicted"].tolist() == said[wrong].tolist()
    repaired = LogisticRegression().fit(X_train, found.repaired_labels).predict(X_test)
    assert found.corrected
    assert found.bugs["after"].tolist() == repaired[wrong].tolist()
