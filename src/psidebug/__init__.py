"""Psi: a debugger for training data.

>>> import psidebug as psi
>>> diagnosis = psi.debug(model, X_train, y_train, X_test, y_test)  # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from psidebug.diagnosis.cleaner import PsiCleaner
    from psidebug.diagnosis.debug import debug
    from psidebug.diagnosis.diagnosis import Diagnosis
    from psidebug.diagnosis.explanation import Explanation
    from psidebug.errors import PsiError
    from psidebug.task.task import Task

__version__ = "0.1.0"

__all__ = ["Diagnosis", "Explanation", "PsiCleaner", "PsiError", "Task", "__version__", "debug"]

# Public names are imported when first used: `import psidebug` costs nothing, and `psi --help` answers at once.
_HOMES = {
    "debug": "psidebug.diagnosis.debug",
    "Diagnosis": "psidebug.diagnosis.diagnosis",
    "Explanation": "psidebug.diagnosis.explanation",
    "PsiCleaner": "psidebug.diagnosis.cleaner",
    "PsiError": "psidebug.errors",
    "Task": "psidebug.task.task",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'psidebug' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
