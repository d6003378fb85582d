"""A diagnosis in an experiment tracker: the verdict, its numbers, the suspects and the report, in a run of MLflow.

MLflow is imported when something is logged, and not before; ``mlflow`` and the small ``mlflow-skinny`` both do.
"""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psidebug.errors import PsiError
from psidebug.exports.suspects import suspects_table
from psidebug.exports.table_files import write_table

if TYPE_CHECKING:
    from psidebug.diagnosis.diagnosis import Diagnosis

FOLDER = "psi"
"""Of the artifacts; the names of metrics and tags begin with it, too."""
LONGEST_TAG = 5000
"""Characters that MLflow lets a tag have."""


def log_to_mlflow(diagnosis: Diagnosis, *, report: bool = True, top: int | None = 1000) -> str:
    """Log a diagnosis in the active run of MLflow, or in a new one if there is none; the id of that run.

    Parameters
    ----------
    diagnosis
        Of :func:`psidebug.debug`, or loaded.
    report
        Whether the page goes there, too. It shows the whole proof, so some fits may be made for it.
    top
        How many suspects, best first; None for all of them.

    Examples
    --------
    >>> import mlflow, psidebug.tracking  # doctest: +SKIP
    >>> with mlflow.start_run():  # doctest: +SKIP
    ...     psidebug.tracking.log_to_mlflow(diagnosis)
    """
    mlflow = _mlflow()
    active = mlflow.active_run()
    with contextlib.nullcontext(active) if active is not None else mlflow.start_run() as run:
        mlflow.set_tags({f"{FOLDER}.cause": diagnosis.cause, f"{FOLDER}.verdict": diagnosis.verdict[:LONGEST_TAG]})
        mlflow.log_metrics(metrics_of(diagnosis))
        mlflow.log_text(diagnosis.verdict + "\n", f"{FOLDER}/verdict.txt")
        with tempfile.TemporaryDirectory() as folder:
            write_table(suspects_table(diagnosis.found, top=top), Path(folder, "suspects.csv"))
            if report:
                diagnosis.report(Path(folder, "report.html"))
            mlflow.log_artifacts(folder, FOLDER)
        return str(run.info.run_id)


def metrics_of(diagnosis: Diagnosis) -> dict[str, float]:
    """The numbers to draw over time: errors, suspects, corrected labels, the error before and after."""
    predictions, correction = diagnosis.found.predictions, diagnosis.correction
    found: dict[str, float] = {
        "test_rows": len(predictions.labels),
        "test_errors": len(predictions.bugs),
        "suspects": int((diagnosis.p_wrong > 0.5).sum()),
        "labels_proved_wrong": diagnosis.corrected,
        "test_labels_suspected": len(diagnosis.suspect_tests),
    }
    if correction is not None:
        found["error_before"] = correction.verified.test_before.rate
        found["error_after"] = correction.verified.test_after.rate
    return {f"{FOLDER}.{name}": float(value) for name, value in found.items()}


def _mlflow() -> Any:
    try:
        import mlflow
    except ImportError as error:
        raise PsiError('MLflow is not installed: pip install "psidebug[mlflow]".') from error
    return mlflow
