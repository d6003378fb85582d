"""A folder as a user has it whose test labels are wrong: every late bag is called punctual in test.csv; and its run."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from tests.causes.rows import Rows, in_test_slice, parcels
from tests.cli.folder import psi

CLEAN = parcels(3, 350, 180)
GIVEN = in_test_slice(CLEAN)


def fill_with_wrong_tests(folder: Path) -> Path:
    """train.csv and test.csv with ids, a column that no model sees, and the run of ``psi debug`` on them."""
    for name, table in frames(GIVEN).items():
        table.to_csv(folder / name, index=False)
    ran = psi("debug", "train.csv", "test.csv", "--label", "label", "--id", "id", "--ignore", "depot", folder=folder)
    assert ran.code == 0, ran.err
    return folder


def frames(rows: Rows) -> dict[str, pd.DataFrame]:
    """The two files, by name; the test file has its columns in another order."""
    tables = {}
    for name, X, y in (("train", rows.X_train, rows.y_train), ("test", rows.X_test, rows.y_test)):
        ids = [f"{name}-{place:03d}" for place in range(len(y))]
        depot = ["north" if place % 3 else "south" for place in range(len(y))]
        table = pd.DataFrame({"id": ids, "label": y, "depot": depot}).join(X.reset_index(drop=True))
        tables[f"{name}.csv"] = table if name == "train" else table[[*table.columns[::-1]]]
    return tables
