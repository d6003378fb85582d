"""Other tools on the same tasks: what each raises, and which cause that would be.

They run in an environment that has them, apart from Psi's: ``python -m benchmarks.causes.rivals``. A tool that is not
there, or that fails, is a line with the reason.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from threadpoolctl import threadpool_limits

from benchmarks import RESULTS
from benchmarks.causes import raha
from benchmarks.causes.harness import Cell, Row, cells, planted_in
from benchmarks.causes.plants import PLANTS, Planted, learner_of
from benchmarks.causes.tables import DATA
from benchmarks.lines import append_lines, read_lines

OUT = RESULTS / "causes_rivals.csv"
RAHA_OUT = RESULTS / "causes_raha_rivals.csv"
KEY = ("tool", "plant", "table", "seed", "learner")
FIELDS = (*KEY, "version", "expected", "raised", "seconds", "reason")


@dataclass(frozen=True)
class Rival:
    """A tool, what it raises of a task, and which causes that may stand for."""

    name: str
    package: str
    raised: Callable[[Planted, str], list[str]]
    causes: Mapping[str, Sequence[str]]


def datalab(planted: Planted, kind: str) -> list[str]:
    """Issue types of cleanlab's Datalab with issues, in each set, by features as the learner sees them."""
    from cleanlab import Datalab

    t, model = planted.tables, learner_of(planted, kind)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    within = cross_val_predict(learner_of(planted, kind), t.X_train, t.y_train, cv=folds, method="predict_proba")
    model.fit(t.X_train, t.y_train)
    found = []
    for set_, X, y, p in (
        ("training", t.X_train, t.y_train, within),
        ("test", t.X_test, t.y_test, model.predict_proba(t.X_test)),
    ):
        seen = model[:-1].transform(X)
        seen = np.nan_to_num(np.asarray(seen.todense() if hasattr(seen, "todense") else seen, dtype=float))
        places = {label: place for place, label in enumerate(model.classes_)}
        lab = Datalab({"label": np.array([places[each] for each in y])}, label_name="label", verbosity=0)
        lab.find_issues(pred_probs=_of_classes(p, y, places), features=seen)
        lab.find_issues(features=X[t.numbers].to_numpy(dtype=float), issue_types={"null": {}})
        summary = lab.get_issue_summary()
        found += [f"{set_} {each}" for each in summary.loc[summary["num_issues"] > 0, "issue_type"]]
    return found


def _of_classes(p: Any, y: Any, places: Mapping[Any, int]) -> Any:
    """Datalab takes probabilities of the classes that are there."""
    there = sorted({places[each] for each in y})
    if len(there) == p.shape[1]:
        return p
    return p[:, there] / p[:, there].sum(axis=1, keepdims=True)


def skore_checks(planted: Planted, kind: str) -> list[str]:
    """Checks of skore's estimator report that raise an issue; tips do not count."""
    from skore import EstimatorReport

    t = planted.tables
    report = EstimatorReport(
        learner_of(planted, kind), X_train=t.X_train, y_train=t.y_train, X_test=t.X_test, y_test=t.y_test
    )
    found = report.checks.summarize().frame(section="issue")
    return [str(each) for each in found["title"]]


def deepchecks_suites(planted: Planted, kind: str) -> list[str]:
    """Conditions that fail in Deepchecks' suites of rows and of both sets."""
    from deepchecks.tabular import Dataset
    from deepchecks.tabular.suites import data_integrity, train_test_validation

    t = planted.tables
    train, test = (
        Dataset(X.assign(label_=list(y)), label="label_", cat_features=t.categories)
        for X, y in ((t.X_train, t.y_train), (t.X_test, t.y_test))
    )
    found: set[str] = set()
    for suite in (data_integrity(), train_test_validation()):
        result = suite.run(train_dataset=train, test_dataset=test)
        found |= {each.check.name() for each in result.get_not_passed_checks()}
    return sorted(found)


ROWS = ("unit", "missing_code", "swapped_columns", "under_represented")
RIVALS = (
    Rival(
        "Datalab",
        "cleanlab",
        datalab,
        {
            "training label": ["training_labels"],
            "test label": ["test_labels"],
            "training near_duplicate": ["duplicates"],
            "training class_imbalance": ["class_shares"],
            "training null": ["missing_code"],
            "test null": ["missing_code"],
            "training outlier": ["unit", "missing_code"],
            "test outlier": ["unit", "missing_code"],
            "training non_iid": ["unit"],
            "test underperforming_group": ["under_represented"],
        },
    ),
    Rival(
        "skore",
        "skore",
        skore_checks,
        {
            "Potential overfitting": ["leak", "capacity"],
            "Potential underfitting": ["capacity"],
            "Model performance vs. HistGradientBoosting baseline": ["capacity"],
            "High class imbalance": ["class_shares"],
            "Underrepresented classes": ["class_shares"],
            "Golden feature": ["leak"],
            "Useless features": ["dead_column"],
        },
    ),
    Rival(
        "Deepchecks",
        "deepchecks",
        deepchecks_suites,
        {
            "Feature Drift": ROWS,
            "Multivariate Drift": [*ROWS, "dead_column"],
            "Label Drift": ["class_shares"],
            "New Label Train Test": ["label_spelling"],
            "New Category Train Test": ["under_represented"],
            "Data Duplicates": ["duplicates"],
            "Conflicting Labels": ["duplicates", "training_labels"],
            "Percent Of Nulls": ["missing_code"],
            "Mixed Nulls": ["missing_code"],
            "Outlier Sample Detection": ["unit", "missing_code"],
            "Feature Label Correlation": ["leak"],
            "Feature Label Correlation Change": ["leak", "dead_column"],
            "String Mismatch": ["label_spelling"],
            "String Mismatch Comparison": ["under_represented"],
            "Class Imbalance": ["class_shares"],
        },
    ),
)


def run(
    wanted: Sequence[Cell],
    out: Path = OUT,
    *,
    rivals: Sequence[Rival] = RIVALS,
    task: Callable[[Cell], Planted] = planted_in,
    tell: Callable[[str], None] = print,
) -> None:
    """Measure what is not yet in the file ``out``."""
    done = {tuple(line[name] for name in KEY) for line in read_lines(out)}
    for rival in rivals:
        for cell in wanted:
            key = dict(zip(KEY, (rival.name, cell.plant, cell.table, str(cell.seed), cell.learner), strict=True))
            if tuple(key.values()) not in done:
                row = key | tried(rival, cell, task)
                append_lines(out, [row], FIELDS)
                tell(f"{rival.name}, {cell.plant}, {cell.table}: {row.get('raised', row.get('reason'))}")


def tried(rival: Rival, cell: Cell, task: Callable[[Cell], Planted]) -> Row:
    """The line of a tool on a task."""
    with warnings.catch_warnings(), threadpool_limits(limits=1), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        start = time.process_time()
        row: Row = {}
        try:
            planted = task(cell)
            row |= {"expected": planted.cause, "version": version(rival.package)}
            start = time.process_time()
            raised = rival.raised(planted, cell.learner)
        except Exception as problem:  # a failure is a result
            first = (str(problem).strip().splitlines() or [""])[0]
            return row | {"reason": f"failed: {type(problem).__name__}: {first[:120]}"}
        return row | {"raised": "; ".join(raised), "seconds": time.process_time() - start}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure the tools that are named, with the logistic learner: on plants of seed 0, or on wrong cells."""
    asked = argparse.ArgumentParser(description=main.__doc__)
    asked.add_argument("--raha", action="store_true", help="wrong cells in real tables, from PSI_DATA")
    asked.add_argument("--out", type=Path)
    asked.add_argument("--tools", nargs="*", default=[each.name for each in RIVALS])
    asked.add_argument("--tables", nargs="*")
    told = asked.parse_args(arguments)
    chosen = [each for each in RIVALS if each.name in told.tools]
    if told.raha:
        wanted = cells(raha.TASKS, raha.SEEDS, told.tables or tuple(raha.TABLES), ["logistic"])
        run(wanted, told.out or RAHA_OUT, rivals=chosen, task=raha.planted_in)
    else:
        run(cells(tuple(PLANTS), [0], told.tables or tuple(DATA), ["logistic"]), told.out or OUT, rivals=chosen)


if __name__ == "__main__":
    main()
