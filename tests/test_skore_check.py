"""The check for skore, in a report of the real library."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

from psidebug.skore_check import LabelCheck
from tests.conftest import Planted, planted_rows


def report_of(planted: Planted, labels: Any, model: Any) -> Any:
    from skore import EstimatorReport

    sets = {"X_train": planted.X_train, "y_train": labels, "X_test": planted.X_test, "y_test": planted.y_test}
    return EstimatorReport(model, **sets)


def codes(report: Any, section: str) -> list[str]:
    return list(report.checks.summarize().frame(section=section)["code"])


@pytest.mark.filterwarnings("ignore")  # those of skore's own checks
def test_wrong_labels_are_an_issue_of_the_report_and_right_ones_are_not(planted: Planted) -> None:
    report = report_of(planted, planted.y_train, LogisticRegression())
    report.checks.add([LabelCheck()])
    assert "PSI001" in codes(report, "issue")
    assert "mislabelled" in str(
        report.checks.summarize().frame(section="issue").set_index("code").loc["PSI001"].tolist()
    )
    right = np.where(planted.wrong, "good", planted.y_train)
    clean = report_of(planted, right, LogisticRegression())
    clean.checks.add([LabelCheck()])
    assert "PSI001" in codes(clean, "passed")


@pytest.mark.filterwarnings("ignore")
def test_a_regression_has_no_labels_to_be_wrong() -> None:
    rows = planted_rows()
    numbers = Planted(rows.X_train, rows.X_train[:, 0], rows.X_test, rows.X_test[:, 0], rows.wrong)
    report = report_of(numbers, numbers.y_train, LinearRegression())
    report.checks.add([LabelCheck()])
    assert "PSI001" in codes(report, "not_applicable")
