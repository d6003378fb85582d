"""Test labels that are probably wrong: their error with and without them, and the shape of training labels."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from psidebug.findings.about_tests import OPTIMISTIC, about_tests, error_by_suspects, error_without_suspects
from psidebug.store import load_run
from tests.mislabelled_tests import CLEAN, GIVEN

PREDICTED = np.array([0, 1, 1, 0, 1, 0, 0, 1])
LABELS = np.array([0, 1, 0, 1, 0, 0, 0, 1])  # three errors: at 2, 3 and 4


def test_the_error_is_told_as_given_without_suspects_and_as_proposed() -> None:
    found = error_by_suspects(PREDICTED, LABELS, [2, 4, 7], np.array([1, 1, 0]))
    assert (found.as_given.wrong, found.as_given.of) == (3, 8)
    assert found.without is not None
    assert (found.without.wrong, found.without.of) == (1, 5)
    assert (found.as_proposed.wrong, found.as_proposed.of) == (2, 8), "of three suspects the model agrees with two"
    assert found.on_suspects == 2
    assert str(found) == (
        "Of the 3 errors on the test set, 2 are on these labels: the error is 0.375 as given, 0.200 without these rows "
        f"and 0.250 with the proposed labels. The last two are optimistic, since {OPTIMISTIC}."
    )
    assert LABELS.tolist() == [0, 1, 0, 1, 0, 0, 0, 1], "nothing is changed"


def test_where_every_row_is_suspected_no_error_is_left_without_them() -> None:
    found = error_by_suspects(PREDICTED, LABELS, np.arange(8), PREDICTED)
    assert found.without is None
    assert (found.on_suspects, found.as_proposed.wrong) == (3, 0)
    assert found.as_data() == {"errors": 3, "on_suspects": 3, "as_given": 3 / 8, "without": None, "as_proposed": 0.0}
    assert "without" not in str(found)
    assert "The last is optimistic" in str(found)


def test_the_verdict_says_what_the_figures_are(wrong_tests: Path) -> None:
    run = load_run(wrong_tests / "psi-run")
    error, tests = error_without_suspects(run.findings), run.findings.predictions
    assert error is not None
    assert str(error) in run.verdict
    assert f"{error.as_given.wrong} test points are misclassified" in run.verdict
    suspected = np.isin(np.arange(len(tests.labels)), run.findings.suspect_tests.rows)  # type: ignore[union-attr]
    assert error.on_suspects == int((tests.wrong & suspected).sum())
    clean = np.mean(np.array(run.findings.encoding.classes)[tests.before] != CLEAN.y_test)
    assert abs(error.as_proposed.rate - clean) < abs(error.as_given.rate - clean) / 2, "nearer to the truth"


def test_findings_about_tests_hold_no_training_label(wrong_tests: Path) -> None:
    run = load_run(wrong_tests / "psi-run")
    found = about_tests(run.findings)
    assert found.encoding.decode(found.labels.given).tolist() == GIVEN.y_test.tolist()
    assert found.labels.rows[7] == "test-007"
    assert found.labels.order.tolist() == run.findings.suspect_tests.rows.tolist()  # type: ignore[union-attr]
    others = np.setdiff1d(np.arange(len(GIVEN.y_test)), found.labels.order)
    assert np.isnan(found.labels.p_wrong[others]).all(), "of other rows it is not known"
    assert (found.slices, found.bug_causes, found.correction) == ((), (), None)
    assert found.origin.fingerprint["train"] == run.findings.origin.fingerprint["test"]
