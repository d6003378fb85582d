"""What users build on: names, signatures, columns. A change here is a change of the public face, on purpose or not."""

from __future__ import annotations

import dataclasses
import importlib.metadata
import importlib.resources
import inspect
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.linear_model import LogisticRegression

import psidebug
from psidebug.task.data import Data
from tests.conftest import Planted

SUSPECT_COLUMNS = ["row", "given", "proposed", "ps", "ps_low", "ps_high", "p_wrong"]
SLICE_COLUMNS = [
    "condition", "given", "rows", "suspects", "ps", "z", "p_value", "corrected", "gain", "test_error",
    "elsewhere", "said",
]  # fmt: skip
CAUSE_COLUMNS = ["cause", "where", "evidence", "share", "proved", "advice", "said", "control"]
SUSPECT_TEST_COLUMNS = ["row", "given", "proposed", "p_wrong", "why"]
TIMING_COLUMNS = ["stage", "seconds", "processor_seconds", "fits", "peak_memory_mb"]
EXPLANATION_COLUMNS = ["explanation", "evidence", "charge", "corrected", "gain", "gain_error", "proved"]


def test_the_public_names() -> None:
    assert psidebug.__all__ == ["Diagnosis", "Explanation", "PsiCleaner", "PsiError", "Task", "__version__", "debug"]
    assert dir(psidebug) == psidebug.__all__
    for name in psidebug.__all__:
        assert getattr(psidebug, name) is not None


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'debugg'"):
        psidebug.debugg  # noqa: B018


def test_debug_takes_its_data_in_order_and_its_options_by_name() -> None:
    parameters = inspect.signature(psidebug.debug).parameters
    positional = [name for name, each in parameters.items() if each.kind is each.POSITIONAL_OR_KEYWORD]
    assert positional == ["model", "X_train", "y_train", "X_test", "y_test"]
    options = {name: each.default for name, each in parameters.items() if each.kind is each.KEYWORD_ONLY}
    assert options == {
        "rows": None,
        "bugs": None,
        "X_validation": None,
        "y_validation": None,
        "sample_weight": None,
        "metadata": None,
        "annotations": None,
        "known": None,
        "pred_probs": None,
        "pred_probs_test": None,
        "symptom": "log_loss",
        "prior": None,
        "graybox": "auto",
        "engine": "auto",
        "check_fidelity": True,
        "rounds": 1,
        "causes": "all",
        "images": None,
        "text": None,
        "effort": "decide",
        "train": None,
        "fits": None,
        "rng": None,
        "run": None,
        "progress": None,
    }
    assert len(positional) + len(options) == len(parameters)


def test_every_option_of_debug_is_documented() -> None:
    """Each parameter heads an entry of the section "Parameters", once and in the order of the signature."""
    text = inspect.getdoc(psidebug.debug) or ""
    section = text.split("Parameters\n----------\n")[1].split("\n\n")[0].splitlines()
    heads = [at for at, line in enumerate(section) if not line.startswith(" ")]
    documented = [name for at in heads for name in section[at].split(", ")]
    assert documented == list(inspect.signature(psidebug.debug).parameters)
    for at, after in zip(heads, [*heads[1:], len(section)], strict=True):
        assert " ".join(section[at + 1 : after]).strip().endswith("."), f"what {section[at]} is, in a sentence"


def test_the_door_takes_what_debug_takes() -> None:
    whole = inspect.signature(psidebug.debug).parameters
    door = [inspect.signature(each).parameters for each in (psidebug.Task.of, Data.of)]
    assert all(list(each)[:5] == list(whole)[:5] for each in door)
    assert {name for each in door for name in each} - {"seed", "tables"} <= set(whole)


DIAGNOSIS = {
    "what was found": {
        "annotators", "answers", "ask_again", "bugs", "cause", "causes", "checks",
        "controls", "corrected", "correction", "curve", "explained", "explanations", "fidelity", "findings", "found",
        "later", "notes", "nothing_to_debug", "order", "p_wrong", "prior", "proposed", "repaired_labels",
        "repaired_model", "repaired_table", "repaired_weights", "repairs", "settings", "slices", "spec",
        "suspect_tests", "suspects", "threshold_curve", "timings", "verdict",
    },
    "what it is about": {"data", "display", "test_metadata"},
    "who found it": {"estimates", "graybox", "hypotheses", "live", "session", "symptom", "task", "tried"},
    "who can find more": {"diagnose_again", "explain", "look_at", "retrain", "reviewed", "verify"},
    "pages and files": {"load", "report", "run", "save", "saved"},
    "how one is made from another": {"described", "of", "with_learner", "with_options", "with_proof", "with_repairs"},
}  # fmt: skip


def test_the_face_of_a_diagnosis() -> None:
    """Exactly these names: one more is a promise, one less a broken one."""
    names = {*dir(psidebug.Diagnosis), *(each.name for each in dataclasses.fields(psidebug.Diagnosis))}
    assert {name for name in names if not name.startswith("_")} == set().union(*DIAGNOSIS.values())
    assert sum(map(len, DIAGNOSIS.values())) == len(set().union(*DIAGNOSIS.values())), "each has one place"
    assert list(inspect.signature(psidebug.Diagnosis.explain).parameters) == ["self", "test_row", "budget"]
    assert list(inspect.signature(psidebug.Diagnosis.report).parameters) == ["self", "path"]


@pytest.mark.parametrize(
    "make",
    [np.asarray, pd.DataFrame, lambda X: pl.DataFrame(X), lambda X: pa.table(dict(zip("abcd", X.T, strict=True)))],
)
def test_the_columns_of_the_results(planted: Planted, make: type) -> None:
    X_train, X_test = planted.X_train, planted.X_test
    if make is pd.DataFrame:
        X_train, X_test = pd.DataFrame(X_train, columns=list("abcd")), pd.DataFrame(X_test, columns=list("abcd"))
    else:
        X_train, X_test = make(X_train), make(X_test)
    found = psidebug.debug(LogisticRegression(), X_train, planted.y_train, X_test, planted.y_test)

    def columns(frame: object) -> list[str]:
        return list(getattr(frame, "column_names", None) or frame.columns)  # type: ignore[attr-defined]

    assert columns(found.suspects) == SUSPECT_COLUMNS
    assert columns(found.slices) == SLICE_COLUMNS
    assert columns(found.explain(int(found.task.bugs[0])).causes) == SUSPECT_COLUMNS
    assert columns(found.explanations) == EXPLANATION_COLUMNS
    assert columns(found.checks) == ["check", "sentence"]
    assert columns(found.causes) == CAUSE_COLUMNS
    assert columns(found.suspect_tests) == SUSPECT_TEST_COLUMNS
    assert columns(found.timings) == TIMING_COLUMNS
    assert columns(found.bugs) == ["row", "label", "predicted", "after"]
    assert found.explanations.shape[0] == len(found.hypotheses) > 1
    quiet = psidebug.debug(LogisticRegression(), X_train, planted.y_train, X_test, planted.y_test, bugs=[])
    assert columns(quiet.suspects) == SUSPECT_COLUMNS
    assert columns(quiet.slices) == SLICE_COLUMNS
    assert columns(quiet.explanations) == EXPLANATION_COLUMNS
    assert columns(quiet.causes) == CAUSE_COLUMNS
    assert columns(quiet.bugs) == columns(found.bugs)
    assert columns(quiet.suspect_tests) == SUSPECT_TEST_COLUMNS
    assert quiet.explanations.shape[0] == 0


HEAVY = [
    "sklearn",
    "pandas",
    "polars",
    "lightgbm",
    "xgboost",
    "scipy",
    "numpy",
    "narwhals",
    "pyarrow",
    "jinja2",
    "rich",
]


@pytest.mark.parametrize("module", ["psidebug", "psidebug.errors", "psidebug.cli"])
def test_importing_loads_nothing_heavy(module: str) -> None:
    code = f"import {module}, sys; print(*sorted(set({HEAVY}) & sys.modules.keys()))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == []


def test_psi_loads_no_optional_library_that_scikit_learn_does_not_load_itself() -> None:
    code = (
        "import sys, numpy as np\n"
        "from sklearn.linear_model import LogisticRegression\n"
        "X = np.arange(12.0)[:, None]\n"
        "before = set(sys.modules)\n"
        "import psidebug\n"
        "psidebug.Task.of(LogisticRegression(), X, X[:, 0] > 5, X, X[:, 0] > 5)\n"
        "print(*sorted({'pandas', 'polars', 'lightgbm', 'xgboost'} & (sys.modules.keys() - before)))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == []


def test_the_version_is_written_in_one_place() -> None:
    assert importlib.metadata.version("psidebug") == psidebug.__version__
    source = Path(psidebug.__file__).parent
    written = [path for path in source.rglob("*.py") if f'"{psidebug.__version__}"' in path.read_text(encoding="utf-8")]
    assert written == [source / "__init__.py"]


def test_the_package_is_marked_as_typed_and_ships_its_templates() -> None:
    package = importlib.resources.files("psidebug")
    assert (package / "py.typed").is_file()
    assert (package / "report" / "templates" / "report.html").is_file()
