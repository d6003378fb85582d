"""A diagnosis in MLflow: the real library, and its files in a folder."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import psidebug
from psidebug.tracking import log_to_mlflow
from tests.conftest import Planted


@pytest.fixture
def mlflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """MLflow with a store in a folder, and no telemetry."""
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("GIT_PYTHON_REFRESH", "quiet")
    import mlflow

    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri((tmp_path / "store").as_uri())
    yield mlflow
    mlflow.set_tracking_uri(before)


@pytest.fixture(scope="module")
def diagnosis(planted: Planted) -> psidebug.Diagnosis:
    sets = planted.X_train, planted.y_train, planted.X_test, planted.y_test
    return psidebug.debug(LogisticRegression(), *sets, progress=False)


def test_verdict_suspects_and_report_are_in_the_active_run(
    mlflow: Any, diagnosis: psidebug.Diagnosis, tmp_path: Path
) -> None:
    with mlflow.start_run() as run:
        assert log_to_mlflow(diagnosis) == run.info.run_id
        assert mlflow.active_run() is not None, "it is the user's to end"
    stored = mlflow.get_run(run.info.run_id).data
    assert stored.tags["psi.cause"] == diagnosis.cause
    assert stored.tags["psi.verdict"] == diagnosis.verdict
    assert stored.metrics["psi.labels_proved_wrong"] == diagnosis.corrected > 0
    assert stored.metrics["psi.test_errors"] == len(diagnosis.task.bugs)
    assert stored.metrics["psi.error_after"] < stored.metrics["psi.error_before"]
    folder = Path(mlflow.artifacts.download_artifacts(f"runs:/{run.info.run_id}/psi", dst_path=str(tmp_path)))
    assert (folder / "verdict.txt").read_text(encoding="utf-8").strip() == diagnosis.verdict
    assert "<html" in (folder / "report.html").read_text(encoding="utf-8")
    suspects = pd.read_csv(folder / "suspects.csv")
    assert suspects["row"].tolist() == diagnosis.suspects["row"].tolist()[:1000]
    assert np.allclose(suspects["p_wrong"], diagnosis.suspects["p_wrong"][:1000])


def test_without_an_active_run_one_is_made_and_ended(mlflow: Any, diagnosis: psidebug.Diagnosis) -> None:
    made = log_to_mlflow(diagnosis, report=False, top=3)
    assert mlflow.active_run() is None
    assert mlflow.get_run(made).info.status == "FINISHED"
    files = [each.path for each in mlflow.MlflowClient().list_artifacts(made, "psi")]
    assert files == ["psi/suspects.csv", "psi/verdict.txt"]


def test_without_mlflow_a_sentence_says_what_to_install(
    diagnosis: psidebug.Diagnosis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(psidebug.PsiError, match="pip install"):
        log_to_mlflow(diagnosis)
