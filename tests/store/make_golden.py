"""Makes ``golden/``, a run of the present schema: to be run once for each schema, and its result kept for ever."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import psidebug
from tests.conftest import planted_rows

PLACE = Path(__file__).parent / "golden"


def frame(X: object) -> pd.DataFrame:
    """Numbers and a category."""
    table = pd.DataFrame(X, columns=list("abcd"))
    table["kind"] = pd.Categorical(np.where(table["d"] > 0, "web", "desk"), categories=["none", "web", "desk"])
    return table


def main() -> None:
    """Diagnose, save, and write down what a reader must find."""
    planted = planted_rows(train=120, test=60)
    encoder = make_column_transformer((OneHotEncoder(), ["kind"]), remainder="passthrough")
    found = psidebug.debug(
        make_pipeline(encoder, LogisticRegression()),
        frame(planted.X_train),
        planted.y_train,
        frame(planted.X_test),
        planted.y_test,
        rows=[index if index % 2 else str(index) for index in range(120)],
        metadata=pd.DataFrame({"when": pd.date_range("2024-01-01", periods=120), "bad": planted.wrong}),
        rng=0,
    )
    shutil.rmtree(PLACE, ignore_errors=True)
    found.save(PLACE)
    expected = {
        "verdict": found.verdict,
        "rows": found.suspects["row"].tolist(),
        "given": found.suspects["given"].tolist(),
        "ps": found.suspects["ps"].tolist(),
        "conditions": [each.condition for each in found.findings.slices],
        "members": [each.members(found.data).tolist() for each in found.findings.slices],
        "repaired": list(found.repaired_labels),
        "controls": str(found.controls),
        "curve": [] if found.curve is None else [point.corrected for point in found.curve.points],
        "causes": found.explained(1)[0].ps.tolist(),
        "fidelity": str(found.fidelity),
    }
    (PLACE / "expected.json").write_text(json.dumps(expected))


if __name__ == "__main__":
    main()
