"""Every adapter of the registry, found there and not listed here, through every check."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Callable

import pytest

from psidebug.graybox.trees.adapters import REGISTRY, adapter_of
from tests.conformance.adapter_checks import CHECKS, TAKES, Case


def _case(name: str) -> Case:
    module, kind = name.rsplit(".", 1)
    return Case(getattr(importlib.import_module(module), kind))


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", REGISTRY, ids=lambda name: name.rsplit(".", 1)[1])
def test_conforms(name: str, check: Callable[[Case], None]) -> None:
    check(_case(name))


@pytest.mark.parametrize("name", REGISTRY)
def test_says_what_it_takes(name: str) -> None:
    assert _case(name).takes <= set(TAKES)


def test_subclasses_are_found_by_the_names_they_inherit() -> None:
    from sklearn.ensemble import GradientBoostingClassifier

    class Mine(GradientBoostingClassifier):  # type: ignore[misc]
        pass

    assert adapter_of(Mine()) == "psidebug.graybox.trees.adapters.sklearn_boosting"
    assert adapter_of(object()) is None


def test_no_library_is_imported_before_its_model_arrives() -> None:
    program = (
        "import sys, importlib, psidebug.graybox.choose, psidebug.graybox.trees.adapters as a\n"
        "[importlib.import_module(f'{a.__name__}.{module}') for module in a.REGISTRY.values()]\n"
        "print([name for name in ('lightgbm', 'xgboost', 'catboost') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
