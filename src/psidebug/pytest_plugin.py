"""The pytest fixture ``psi_check``. pytest loads this module in every run of its users: it imports nothing heavy."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from psidebug.diagnosis.diagnosis import Diagnosis


@pytest.fixture
def psi_check() -> Callable[..., Diagnosis]:
    """Fails, with the verdict, if more than ``at_most`` training labels are proved wrong: ``psi_check(model, …)``."""
    return _check


def _check(
    model: Any, X_train: Any, y_train: Any, X_test: Any, y_test: Any, *, at_most: int = 0, **options: Any
) -> Diagnosis:
    """The diagnosis, if no more labels are proved wrong; ``options`` are those of ``psidebug.debug``."""
    from psidebug import debug

    __tracebackhide__ = True
    found = debug(model, X_train, y_train, X_test, y_test, **options)
    proved = 0 if found.correction is None else len(found.findings.labels.corrected)
    if proved > at_most:
        pytest.fail(f"{proved} labels are proved wrong, {at_most} allowed. {found.verdict}", pytrace=False)
    return found
