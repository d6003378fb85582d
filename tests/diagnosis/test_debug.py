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
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

import psidebug
from psidebug.datasets.digits import mislabelled_digits
from psidebug.errors import InferenceError, InvalidPrior, NotMisclassified, UnknownRow
from tests.conftest import Planted, assert_same_suspects, suspects_of
from tests.diagnosis.tasks import ten_digits


@pytest.fixture(scope="module")
def diagnosis(planted: Planted) -> psidebug.Diagnosis:
    return psidebug.debug(LogisticRegression(), planted.X_train, planted.y_train, planted.X_test, planted.y_test)


# ── suspects and explanations ───────────────────────────────────────────────────────────────────────────────────────


def test_suspects_are_sorted_and_every_cause_is_there(diagnosis: psidebug.Diagnosis) -> None:
    """Likely wrong first; equally likely ones by PS. Who is likely wrong is a suspect even if it is no cause."""
    suspects, estimates = diagnosis.suspects, diagnosis.estimates
    assert estimates is not None
    assert set(suspects["row"]) == set(np.flatnonzero((estimates.high > 0) | (diagnosis.p_wrong > 0.5)).tolist())
    ps, wrong = suspects["ps"].to_numpy(), suspects["p_wrong"].to_numpy()
    assert np.all(np.diff(wrong) <= 0)
    assert np.ptp(wrong) > 0.1
    assert np.all((np.diff(ps) <= 0) | (np.diff(wrong) < 0))
    assert np.all((suspects["ps_low"] <= ps) & (ps <= suspects["ps_high"]))
    assert np.all((ps >= 0) & (ps <= 1))
    assert np.all(suspects["p_wrong"].between(0, 1))
    assert np.all(suspects["given"] != suspects["proposed"])


def test_the_planted_rows_come_first(diagnosis: psidebug.Diagnosis, planted: Planted) -> None:
    """Of as many suspects as labels are wrong, all but one are; the first half, and all that is corrected, wholly."""
    count = int(planted.wrong.sum())
    rows, _ = suspects_of(diagnosis)
    assert count == 15
    assert planted.wrong[rows[:count]].sum() >= count - 1
    assert planted.wrong[rows[: count // 2]].all()
    corrected = diagnosis.repaired_labels != planted.y_train
    assert corrected.sum() > count / 2
    assert planted.wrong[corrected].all()


def test_an_explanation_is_the_diagnosis_of_one_bug(diagnosis: psidebug.Diagnosis, planted: Planted) -> None:
    """The same PS of every label, in the same order: by ps × p_wrong, since what is asked about is one bug."""
    bug = int(diagnosis.task.bugs[0])
    alone = psidebug.debug(
        LogisticRegression(), planted.X_train, planted.y_train, planted.X_test, planted.y_test, bugs=[bug],
        symptom="misclassified",
    )  # fmt: skip
    told = diagnosis.explain(bug)
    pd.testing.assert_frame_equal(told.causes, alone.suspects)
    assert np.all(np.diff(told.causes["ps"] * told.causes["p_wrong"]) <= 0)
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
    for frame, columns in ((found.suspects, 7), (found.slices, 12)):
        seen = nw.from_native(frame, eager_only=True)
        assert seen.shape == (0, columns)
    np.testing.assert_array_equal(found.repaired_labels, planted.y_train)
    assert found.corrected == 0
    assert found.verdict.startswith("Nothing to debug. The classifier gets every one of these test points right")
    assert "Nothing to debug" in repr(found)
    with pytest.raises(NotMisclassified, match="test row 3 is classified correctly: there is no error to explain"):
        found.explain(3)


def test_labels_may_be_wrong_where_no_error_shows_it() -> None:
    """Two groups far apart, a tenth of the labels moved: the model is right everywhere, p_wrong knows the labels."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, size=460)
    X = rng.normal(size=(460, 2)) + 6.0 * truth[:, None]
    given, wrong = truth[:400].copy(), rng.choice(400, size=40, replace=False)
    given[wrong] = 1 - given[wrong]
    found = psidebug.debug(LogisticRegression(), X[:400], given, X[400:], truth[400:])
    assert found.nothing_to_debug
    assert len(found.suspects) == 0, "without an error there is no cause"
    assert set(np.argsort(-found.p_wrong)[:40].tolist()) == set(wrong.tolist())
    assert found.verdict.startswith("Nothing to debug. The classifier gets every one of these test points right; 40 ")
    np.testing.assert_array_equal(found.repaired_labels, given)


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


@pytest.mark.thorough
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
    seeds: list[Any] = [np.int64(3), np.random.default_rng(3)]
    for rng in seeds:
        again = psidebug.debug(LogisticRegression(), *data, rng=rng)
        assert_same_suspects(one, again, tolerance=0.0)
        assert again.task.seed == one.task.seed


@pytest.mark.parametrize("named", [False, True], ids=["numbers", "names"])
def test_the_order_of_the_rows_does_not_matter(planted: Planted, named: bool) -> None:
    """Rows are known by their ids: opinions are formed in folds, and the folds are drawn in the order of the ids."""
    ids = np.arange(len(planted.y_train))
    names = np.array([f"row {each:03}" for each in ids], dtype=object) if named else ids
    shuffled = np.random.default_rng(0).permutation(len(ids))
    exact, other = (
        psidebug.debug(
            LogisticRegression(tol=1e-10), planted.X_train[order], planted.y_train[order], planted.X_test,
            planted.y_test, rows=names[order],
        )
        for order in (ids, shuffled)
    )  # fmt: skip
    left, right = (each.suspects.set_index("row") for each in (exact, other))
    assert set(left.index) == set(right.index)
    for column in ("ps", "p_wrong"):
        np.testing.assert_allclose(left[column], right.loc[left.index, column], atol=1e-6)
    assert exact.corrected > 0
    np.testing.assert_array_equal(exact.repaired_labels[shuffled], other.repaired_labels)


def test_without_ids_another_order_changes_few_corrections(planted: Planted, diagnosis: psidebug.Diagnosis) -> None:
    """Then a row is its position, and other folds are drawn: the same cause, and labels that differ in 5% at most."""
    shuffled = np.random.default_rng(0).permutation(len(planted.y_train))
    other = psidebug.debug(
        LogisticRegression(), planted.X_train[shuffled], planted.y_train[shuffled], planted.X_test, planted.y_test
    )
    assert other.slices["condition"].iloc[0] == diagnosis.slices["condition"].iloc[0]
    assert (diagnosis.repaired_labels[shuffled] != other.repaired_labels).mean() <= 0.05


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
    planted = data.y_train != data.y_clean
    assert (found.repaired_labels[planted] == data.y_clean[planted]).mean() >= 0.85
    assert (found.repaired_labels[~planted] == data.y_clean[~planted]).mean() >= 0.99
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
        assert "wrong labels explain them no better than chance" in found.verdict
        assert "The labels are probably not to blame" in found.verdict
    else:
        assert f"Correcting {changed} labels" in found.verdict


@pytest.mark.parametrize("seed", [1])
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


# ── explanations compete ────────────────────────────────────────────────────────────────────────────────────────────


def drawn(kind: str, seed: int) -> tuple[npt.NDArray[Any], ...]:
    """Two classes in three numbers and a code from 0 to 4; labels as the kind says: features and labels of 500 training
    and 250 test rows, and the true training labels."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=(750, 3)), rng.integers(0, 5, 750)])
    y = (X[:, 0] + X[:, 1] + 0.4 * rng.normal(size=750) > 0).astype(int)
    given, truth = y[:500].copy(), y[:500]
    if kind == "systematic":
        given[X[:500, 3] == 2] = 1
    elif kind == "random":
        wrong = rng.random(500) < 0.25
        given[wrong] = 1 - given[wrong]
    elif kind == "one-sided":
        given[(truth == 1) & (rng.random(500) < 0.45)] = 0
    return X[:500], given, X[500:], y[500:], truth


def diagnosed(kind: str, seed: int, **options: Any) -> tuple[psidebug.Diagnosis, npt.NDArray[Any], npt.NDArray[Any]]:
    X, given, X_test, y_test, truth = drawn(kind, seed)
    found = psidebug.debug(GaussianNB(), X, given, X_test, y_test, rng=seed, check_fidelity=False, **options)
    return found, given, truth


@pytest.mark.parametrize("seed", [0, 1])
def test_a_mislabelled_slice_is_told_and_repaired(seed: int) -> None:
    found, given, truth = diagnosed("systematic", seed)
    wrong = given != truth
    assert found.hypotheses[0].likely
    assert found.slices["condition"].iloc[0].startswith("x3 ")
    assert "x3" in found.verdict
    assert "labelled 1" in found.verdict
    assert (found.repaired_labels[wrong] == truth[wrong]).mean() > 0.8
    assert (found.repaired_labels[~wrong] == truth[~wrong]).mean() > 0.97
    assert wrong[found.order[: int(wrong.sum())]].mean() > 0.7
    assert found.explanations["proved"].iloc[0]
    assert found.slices["ps"].iloc[0] > found.suspects["ps"].max(), "together they are more of a cause than alone"


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("kind", ["random", "one-sided"])
def test_scattered_errors_are_told_as_such_and_come_first(kind: str, seed: int) -> None:
    found, given, truth = diagnosed(kind, seed)
    wrong = given != truth
    assert found.hypotheses[0].slices == ()
    assert found.hypotheses[0].likely
    assert wrong[found.order[: int(wrong.sum())]].mean() > 0.8
    if kind == "one-sided":
        rates = found.hypotheses[0].rates[0]
        assert rates[1, 0] == pytest.approx(0.45, abs=0.12)
        assert rates[0, 1] < 0.08
        assert found.explanations["explanation"].iloc[0].endswith(("most often 0 instead of 1", ", 0 instead of 1"))
    if found.correction is not None:
        assert "labels are wrong here and there" in found.verdict
        assert (found.repaired_labels == truth).mean() > (given == truth).mean() + 0.1
    else:
        assert "training labels are probably wrong (labels are wrong here and there" in found.verdict


@pytest.mark.parametrize("seed", range(3))
def test_of_clean_labels_none_is_corrected(seed: int) -> None:
    found, given, _ = diagnosed("clean", seed)
    np.testing.assert_array_equal(found.repaired_labels, given)
    assert not found.hypotheses[0].likely
    assert found.correction is None
    assert found.controls is None
    assert "The labels are probably not to blame" in found.verdict
    assert not found.explanations["proved"].any()


def test_some_bugs_order_the_suspects_and_leave_the_evidence_alone() -> None:
    """What is wrong does not depend on which errors one asks about; what causes them does."""
    whole, given, _ = diagnosed("systematic", 0)
    X_test = drawn("systematic", 0)[2]
    inside = [int(bug) for bug in whole.task.bugs if X_test[bug, 3] == 2]
    some, _, _ = diagnosed("systematic", 0, bugs=inside[:4])
    np.testing.assert_allclose(some.p_wrong, whole.p_wrong)
    np.testing.assert_array_equal(some.repaired_labels, whole.repaired_labels)
    first = some.suspects["ps"].to_numpy() * some.suspects["p_wrong"].to_numpy()
    assert np.all(np.diff(first) <= 0)
    assert list(some.order) != list(whole.order)
    assert set(some.suspects["row"]) <= set(range(len(given)))
    assert f"of which {len(inside[:4])} were asked about" in some.verdict


def test_a_stated_rate_is_the_prior_and_moves_what_is_likely_wrong() -> None:
    low, _, _ = diagnosed("random", 0, prior=0.01)
    high, given, truth = diagnosed("random", 0, prior=0.25)
    np.testing.assert_allclose(low.prior.rates, 0.01)
    np.testing.assert_allclose(high.prior.rates, 0.25)
    scattered = [next(each for each in found.hypotheses if not each.slices) for found in (low, high)]
    codes = high.task.train.codes
    assert np.all(scattered[0].p_wrong(codes) < scattered[1].p_wrong(codes))
    assert scattered[1].p_wrong(codes).mean() == pytest.approx((given != truth).mean(), abs=0.05)
    assert high.settings["noise rate"] == "0.25"
    assert diagnosed("random", 0)[0].settings["noise rate"].endswith(", learned")


def tiny(points: int, *, of_one_class: bool = False) -> psidebug.Diagnosis:
    X, given, X_test, y_test, _ = drawn("systematic", 0)
    chosen = np.flatnonzero(y_test == 0)[:points] if of_one_class else np.arange(points)
    return psidebug.debug(GaussianNB(), X, given, X_test[chosen], y_test[chosen], check_fidelity=False)


def test_a_test_set_of_one_class_leaves_the_order_to_ps_and_proves_nothing() -> None:
    answer = tiny(60, of_one_class=True)
    assert answer.hypotheses == ()
    assert answer.tried == ()
    assert np.all(np.diff(answer.suspects["ps"]) <= 0)
    assert answer.correction is None
    assert any("one class only" in note for note in answer.notes)


def test_a_test_set_that_can_calibrate_nothing_leaves_the_order_to_ps() -> None:
    answer = tiny(29)
    assert answer.hypotheses == ()
    assert np.all(np.diff(answer.suspects["ps"]) <= 0)
    assert "too small to say" in answer.verdict
    assert answer.tried == ()
    assert answer.correction is None
    assert len(answer.explanations) == 0


def test_thirty_test_points_are_enough_for_evidence() -> None:
    assert len(tiny(30).hypotheses) > 0


def test_labels_that_nobody_knows_anything_of_are_a_result() -> None:
    """Coins as labels, but one group of the training rows has all heads: no opinion is worth hearing."""
    rng = np.random.default_rng(1)
    X, y = np.column_stack([rng.normal(size=(900, 3)), rng.integers(0, 3, 900)]), rng.integers(0, 2, 900)
    y[:600][X[:600, 3] == 1] = 1
    found = psidebug.debug(LogisticRegression(), X[:600], y[:600], X[600:], y[600:], check_fidelity=False)
    assert len(found.hypotheses) > 0
    assert np.isfinite(found.p_wrong).all()


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
    assert ps.max() > 0.5
    assert found.settings["gray box"] == "retrain"
    others = ~np.isin(np.arange(120), doubtful)
    assert np.all(found.p_wrong[others] == 0.0)
    np.testing.assert_array_equal(found.repaired_labels[others], planted.y_train[others])


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
    assert "too small to say" in found.verdict


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
