"""A check for skore's reports: are training labels proved wrong? ``report.checks.add([LabelCheck()])``.

It has the attributes that skore asks of a check; skore itself is imported when the check is run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class LabelCheck:
    """Finds an issue where more training labels than ``at_most`` are proved wrong by the report's own test set.

    Parameters
    ----------
    at_most
        How many labels may be proved wrong.
    options
        Options of :func:`psidebug.debug`, by name.

    Examples
    --------
    >>> import skore  # doctest: +SKIP
    >>> report = skore.evaluate(model, X, y, splitter=0.3)  # doctest: +SKIP
    >>> report.checks.add([LabelCheck()])  # doctest: +SKIP
    >>> report.checks.summarize()  # doctest: +SKIP
    """

    code = "PSI001"
    title = "Wrong training labels"
    report_types = ["estimator"]  # noqa: RUF012 - skore asks for a list
    docs_url = None
    severity = "issue"
    slow = True
    """It trains the model a few times: skore leaves it out in ``fast_mode``."""

    def __init__(self, *, at_most: int = 0, options: Mapping[str, Any] | None = None) -> None:
        self.at_most = at_most
        self.options = dict(options or {})

    def check_function(self, report: Any) -> str | None:
        """The verdict, if too many labels are proved wrong or the test labels are; else None."""
        from sklearn.base import is_classifier
        from skore import CheckNotApplicable

        from psidebug.diagnosis.debug import debug

        if report.X_train is None or not is_classifier(report.estimator_):
            raise CheckNotApplicable("Psi debugs classifiers, and needs the training rows of the report.")
        sets = report.X_train, report.y_train, report.X_test, report.y_test
        found = debug(report.estimator_, *sets, **({"progress": False} | self.options))
        wrong = found.corrected > self.at_most or found.cause == "test_labels"
        return found.verdict if wrong else None
