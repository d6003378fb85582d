"""From a model and its data to a diagnosis: the whole path."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

import psidebug
from psidebug.datasets.digits import mislabelled_digits
from psidebug.errors import InferenceError, InvalidPrior, NotMisclassified, UnknownRow
from tests.conftest import Planted, assert_same_suspects, suspects_of


@pytest.fixture(scope="module")
def diagnosis(planted: Planted) -> psidebug.Diagnosis:
    return psidebug.debug(LogisticRegression(), planted.X_train, planted.y_train, planted.X_test, planted.y_test)


# ── suspects and explanations ───────────────────────────────────────────────────────────────────────────────────────


def test_suspects_are_sorted_and_every_cause_is_there(diagnosis: psidebug.Diagnosis) -> None:
    suspects, estimates = diagnosis.suspects, diagnosis.estimates
    assert estimates is not None
    assert set(suspects["row"]) == set(np.flatnonzero(estimates.high > 0).tolist())
    ps = suspects["ps"].to_numpy()
    assert np.all(np.diff(ps) <= 0)
    assert np.all((suspects["ps_low"] <= ps) & (ps <= suspects["ps_high"]))
    assert np.all((ps > 0) & (ps <= 1))
    assert np.all(suspects["p_wrong"].between(0, 1))
    assert np.all(suspects["given"] != suspects["proposed"])


def test_the_planted_rows_come_first(diagnosis: psidebug.Diagnosis, planted: Planted) -> None:
    count = int(planted.wrong.sum())
    rows, _ = suspects_of(diagnosis)
    assert planted.wrong[rows[:count]].mean() > 3 * planted.wrong.mean()


def test_an_explanation_is_the_diagnosis_of_one_bug(diagnosis: psidebug.Diagnosis, planted: Planted) -> None:
    bug = int(diagnosis.task.bugs[0])
    alone = psidebug.debug(
        LogisticRegression(), planted.X_train, planted.y_train, planted.X_test, planted.y_test, bugs=[bug],
        symptom="misclassified",
    )  # fmt: skip
    told = diagnosis.explain(bug)
    pd.testing.assert_frame_equal(told.causes, alone.suspects)
    assert (told.test_row, told.given) == (bug, planted.y_test[bug])
    assert told.predicted != told.given
    assert f"Test row {bug} is labelled" in str(told)


@pytest.mark.parametrize("row", [80, -1, "first", 1.0, None, True])
def test_a_row_that_is_not_in_the_test_set_cannot_be_explained(diagnosis: psidebug.Diagnosis, row: Any) -> None:
    with pytest.raises(UnknownRow, match="0 to 79"):
        diagnosis.explain(row)


def test_a_row_that_is_right_has_nothing_to_explain(diagnosis: psidebug.Diagnosis) -> None:
    right = int(np.setdiff1d(np.arange(80), diagnosis.task.bugs)[0])
    with pytest.raises(NotMisclassified, match=f"test row {right} is classified correctly"):
        diagnosis.explain(right)


def test_a_numpy_integer_is_a_row(diagnosis: psidebug.Diagnosis) -> None:
    bug = diagnosis.task.bugs[0]
    assert diagnosis.explain(bug).test_row == int(bug)


# ── nothing to debug ────────────────────────────────────────────────────────────────────────────────────────────────

FRAMES: dict[str, Any] = {
    "numpy": np.asarray,
    "pandas": lambda X: pd.DataFrame(X, columns=list("abcd")),
    "polars": lambda X: pl.DataFrame(X, schema=list("abcd")),
    "pyarrow": lambda X: pa.table(dict(zip("abcd", X.T, strict=True))),
}


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
@pytest.mark.parametrize("symptom", ["log_loss", "misclassified", "half", "errors"])
def test_nothing_to_debug_is_a_result(planted: Planted, make: Any, symptom: str) -> None:
    X_train, X_test = make(planted.X_train), make(planted.X_test)
    model = LogisticRegression().fit(X_train, planted.y_train)
    found = psidebug.debug(model, X_train, planted.y_train, X_test, model.predict(X_test), symptom=symptom)
    assert found.nothing_to_debug
    for frame, columns in ((found.suspects, 7), (found.slices, 8)):
        seen = nw.from_native(frame, eager_only=True)
        assert seen.shape == (0, columns)
    np.testing.assert_array_equal(found.repaired_labels, planted.y_train)
    assert found.corrected == 0
    assert found.verdict == "Nothing to debug. The classifier gets every one of these test points right."
    assert "Nothing to debug" in repr(found)
    with pytest.raises(NotMisclassified, match="test row 3 is classified correctly: there is no error to explain"):
        found.explain(3)


def test_no_bug_named_is_told_apart_from_no_error(planted: Planted, diagnosis: psidebug.Diagnosis) -> None:
    found = psidebug.debug(
        LogisticRegression(), planted.X_train, planted.y_train, planted.X_test, planted.y_test, bugs=[]
    )
    assert found.nothing_to_debug
    assert len(found.suspects) == 0
    assert found.verdict == "Nothing to debug: none of the misclassified test points was named as a bug."
    with pytest.raises(NotMisclassified, match="without bugs"):
        found.explain(int(diagnosis.task.bugs[0]))


# ── the same answer every time ──────────────────────────────────────────────────────────────────────────────────────

PROGRAM = """
import sys, numpy as np, psidebug
from sklearn.linear_model import LogisticRegression
from psidebug.datasets.digits import mislabelled_digits
data = mislabelled_digits(1)
X, y = data.X_train[:300], data.y_train[:300]
found = psidebug.debug(LogisticRegression(max_iter=1000), X, y, data.X_test, data.y_test, rng=7)
sys.stdout.write(found.suspects.to_csv(float_format="%.17g"))
sys.stdout.write(found.slices.to_csv(float_format="%.17g"))
sys.stdout.write(found.explain(int(found.task.bugs[0])).causes.to_csv(float_format="%.17g"))
sys.stdout.write("".join(found.repaired_labels) + found.verdict)
"""


def test_the_number_of_threads_changes_no_digit() -> None:
    def told(threads: str) -> str:
        env = os.environ | {"OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads, "MKL_NUM_THREADS": threads}
        run = subprocess.run([sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True, check=True)
        return run.stdout

    one, two = told("1"), told("2")
    assert len(one) > 10_000
    assert one == two


def test_the_same_seed_gives_the_same_answer_and_a_generator_counts_as_its_seed(planted: Planted) -> None:
    data = planted.X_train, planted.y_train, planted.X_test, planted.y_test
    one = psidebug.debug(LogisticRegression(), *data, rng=3)
    seeds: list[Any] = [3, np.int64(3), np.random.default_rng(3)]
    for rng in seeds:
        again = psidebug.debug(LogisticRegression(), *data, rng=rng)
        assert_same_suspects(one, again, tolerance=0.0)
        assert again.task.seed == one.task.seed


def test_the_order_of_the_rows_does_not_matter(planted: Planted, diagnosis: psidebug.Diagnosis) -> None:
    shuffled = np.random.default_rng(0).permutation(len(planted.y_train))
    other = psidebug.debug(
        LogisticRegression(tol=1e-10), planted.X_train[shuffled], planted.y_train[shuffled], planted.X_test,
        planted.y_test, rows=shuffled,
    )  # fmt: skip
    exact = psidebug.debug(
        LogisticRegression(tol=1e-10), planted.X_train, planted.y_train, planted.X_test, planted.y_test
    )
    left = exact.suspects.set_index("row")["ps"]
    right = other.suspects.set_index("row")["ps"]
    assert set(left.index) == set(right.index)
    np.testing.assert_allclose(left, right[left.index], atol=1e-6)


# ── digits ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_planted_slice_of_the_digits_is_found_by_its_metadata() -> None:
    data = mislabelled_digits(0)
    found = psidebug.debug(
        LogisticRegression(max_iter=1000), data.X_train, data.y_train, data.X_test, data.y_test, rows=data.rows,
        X_validation=data.X_validation, y_validation=data.y_validation,
        metadata=pl.DataFrame({"digit": data.digit_train}),
    )  # fmt: skip
    assert found.correction is not None
    assert found.correction.slice is not None
    assert found.correction.slice.condition == "digit = 4"
    np.testing.assert_array_equal(found.repaired_labels, data.y_clean)
    assert "digit = 4" in found.verdict
    assert "validation rows, which had no say in it" in found.verdict
    assert set(found.suspects["row"]) <= set(data.rows)


def test_validation_rows_have_no_say(planted: Planted, diagnosis: psidebug.Diagnosis) -> None:
    rng = np.random.default_rng(0)
    found = psidebug.debug(
        LogisticRegression(), planted.X_train, planted.y_train, planted.X_test, planted.y_test,
        X_validation=rng.normal(size=(50, 4)), y_validation=rng.choice(["good", "bad"], size=50),
    )  # fmt: skip
    assert_same_suspects(found, diagnosis, tolerance=0.0)
    np.testing.assert_array_equal(found.repaired_labels, diagnosis.repaired_labels)


@pytest.mark.parametrize("seed", range(6))
def test_clean_labels_are_left_alone(seed: int) -> None:
    """Errors that no label causes: at most one label in a hundred is changed, and the verdict says so."""
    data = mislabelled_digits(seed)
    found = psidebug.debug(
        LogisticRegression(max_iter=1000), data.X_train, data.y_clean, data.X_test, data.y_test, rng=seed
    )
    changed = int((found.repaired_labels != data.y_clean).sum())
    assert len(found.task.bugs) > 20
    assert changed <= 0.01 * len(data.y_clean)
    if changed == 0:
        assert "no correction of training labels that was tried repairs the model" in found.verdict
        assert "The labels are probably not to blame" in found.verdict
    else:
        assert f"Correcting {changed} labels" in found.verdict


def ten_digits(seed: int) -> tuple[npt.NDArray[Any], ...]:
    """Ten classes; all but the first eight 4s of training are called 9 (with none left, 4 would be an unseen class)."""
    pictures, digits = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(digits))
    train, test = order[:900], order[900:1350]
    given = digits[train].copy()
    given[np.flatnonzero(given == 4)[8:]] = 9
    return pictures[train] / 16.0, given, pictures[test] / 16.0, digits[test], digits[train]


@pytest.mark.parametrize("seed", [0, 1])
def test_one_of_ten_classes_renamed_is_proposed_back_and_repaired(seed: int) -> None:
    X_train, given, X_test, y_test, truth = ten_digits(seed)
    found = psidebug.debug(LogisticRegression(max_iter=1000), X_train, given, X_test, y_test, rng=seed)
    planted = given != truth
    proposed = found.suspects.set_index("row")["proposed"]
    shares = [proposed.get(row) == 4 for row in np.flatnonzero(planted)]
    assert np.mean(shares) >= 0.95
    assert (found.repaired_labels[planted] == 4).mean() >= 0.75
    assert (found.repaired_labels == truth).mean() > (given == truth).mean() + 0.06
    assert found.correction is not None
    effect = found.correction.verified
    assert effect.test_after.rate < 0.6 * effect.test_before.rate


# ── small and strange ───────────────────────────────────────────────────────────────────────────────────────────────


def test_labels_that_cannot_explain_an_error_say_so(planted: Planted) -> None:
    with pytest.raises(InferenceError):
        psidebug.debug(
            LogisticRegression(), planted.X_train, planted.y_train, planted.X_test, planted.y_test, prior=0.0
        )


def test_enumeration_over_a_few_doubtful_rows_by_retraining(planted: Planted) -> None:
    data = planted.X_train, planted.y_train, planted.X_test, planted.y_test
    task = psidebug.Task.of(LogisticRegression(), *data)
    nearest = int(task.bugs[task.margins(task.learner, task.test)[task.bugs].min(axis=1).argmax()])
    doubtful = np.flatnonzero(planted.wrong)[:5]
    rates = np.where(np.isin(np.arange(120), doubtful), 0.3, 0.0)
    found = psidebug.debug(
        LogisticRegression(), *data, bugs=[nearest], prior=rates, graybox="retrain", engine="enumeration",
        symptom="misclassified",
    )  # fmt: skip
    rows, ps = suspects_of(found)
    assert set(rows) <= set(doubtful.tolist())
    assert ps[0] > 0.5


def test_the_seed_reaches_the_sampling_engines(planted: Planted) -> None:
    arguments = (LogisticRegression(), planted.X_train, planted.y_train, planted.X_test, planted.y_test)
    first, again, other = (
        psidebug.debug(*arguments, symptom="half", engine="tilting", rng=seed, check_fidelity=False)
        for seed in (1, 1, 2)
    )
    assert np.array_equal(_ps(first), _ps(again))
    assert not np.array_equal(_ps(first), _ps(other))


def _ps(diagnosis: psidebug.Diagnosis) -> np.ndarray:
    assert diagnosis.estimates is not None
    return diagnosis.estimates.ps


def test_an_engine_may_be_a_function(planted: Planted) -> None:
    from psidebug.inference.enumeration import enumeration

    rates = np.where(np.arange(len(planted.y_train)) < 6, 0.1, 0.0)
    arguments = (LogisticRegression(), planted.X_train, planted.y_train, planted.X_test, planted.y_test)
    named, given = (
        psidebug.debug(*arguments, prior=rates, symptom="half", engine=engine, check_fidelity=False)
        for engine in ("enumeration", enumeration)
    )
    assert np.array_equal(_ps(named), _ps(given))


def test_noise_rates_by_column(planted: Planted) -> None:
    who = np.where(np.arange(len(planted.y_train)) % 3 == 0, "ann", "bob")
    arguments = (LogisticRegression(), planted.X_train, planted.y_train, planted.X_test, planted.y_test)
    metadata = pd.DataFrame({"annotator": who})
    found = psidebug.debug(*arguments, metadata=metadata, prior={"annotator": {"ann": 0.2}}, check_fidelity=False)
    np.testing.assert_allclose(found.prior.rates, np.where(who == "ann", 0.2, 0.05))
    with pytest.raises(InvalidPrior, match="no column 'source'"):
        psidebug.debug(*arguments, metadata=metadata, prior={"source": {"ann": 0.2}})
    unclear: Any = {"annotator": 0.2}
    with pytest.raises(InvalidPrior, match="one column"):
        psidebug.debug(*arguments, metadata=metadata, prior=unclear)
    with pytest.raises(InvalidPrior, match="'zoe'"):
        psidebug.debug(*arguments, metadata=metadata, prior={"annotator": {"zoe": 0.2}})


@pytest.mark.parametrize("points", [1, 2])
def test_one_or_two_test_points_prove_nothing(planted: Planted, points: int) -> None:
    """A wrong test label with clean training labels: nothing may be corrected on the word of so few."""
    model = LogisticRegression().fit(planted.X_train, planted.y_train)
    said = model.predict(planted.X_test[:1])
    other = next(label for label in np.unique(planted.y_train) if label != said[0])
    X_test, y_test = np.repeat(planted.X_test[:1], points, axis=0), np.repeat(other, points)
    found = psidebug.debug(model, planted.X_train, planted.y_train, X_test, y_test, check_fidelity=False)
    assert found.corrected == 0
    assert "not to blame" in found.verdict


def test_an_over_confident_forest_gets_a_milder_symptom() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    y = (X[:, 0] + 0.3 * rng.normal(size=400) > 0).astype(int)
    given = y[:250].copy()
    given[(X[:250, 0] > 0.8)] = 0
    found = psidebug.debug(RandomForestClassifier(20, random_state=0), X[:250], given, X[250:], y[250:])
    assert len(found.suspects) > 0


def test_the_verdict_counts_what_was_asked_about(planted: Planted) -> None:
    arguments = (LogisticRegression(), planted.X_train, planted.y_train, planted.X_test, planted.y_test)
    wrong = psidebug.debug(*arguments, check_fidelity=False).task.bugs
    found = psidebug.debug(*arguments, bugs=wrong[:1], check_fidelity=False)
    assert f"{len(wrong)} test points are misclassified, of which 1 was asked about" in found.verdict
