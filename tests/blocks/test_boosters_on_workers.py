"""LightGBM and XGBoost on a local Dask cluster: nearly the trees of one array, also where a worker lacks a class."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xgboost

from psidebug.blocks import ROWS, parquet_blocks
from psidebug.diagnosis.block_columns import Columns
from psidebug.diagnosis.boosters_on_dask import LightGBMOnDask, XGBoostOnDask
from psidebug.diagnosis.first_reading import read_first
from psidebug.diagnosis.learner_over_blocks import trained_by
from psidebug.task.task import Task

pytestmark = [pytest.mark.thorough, pytest.mark.filterwarnings("ignore::UserWarning:lightgbm")]
COUNT, TESTED = 2 * ROWS + 500, 400
NAMES = ["a", "b", "c"]


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as made,
    ):
        yield made


def rows(classes: int) -> tuple[pa.Table, pa.Table]:
    """Sorted by class, so that a partition has few of them, and with weights."""
    rng = np.random.default_rng(classes)
    x = rng.normal(size=(COUNT + TESTED, 3))
    y = (2 * x @ rng.normal(size=(3, classes)) + rng.gumbel(size=(len(x), classes))).argmax(axis=1)
    order = np.r_[np.argsort(y[:COUNT], kind="stable"), np.arange(COUNT, len(x))]
    columns = {name: x[order, place] for place, name in enumerate(NAMES)}
    labels = np.array(["p", "q", "r"])[y[order]]
    table = pa.table(columns | {"w": rng.choice([1.0, 3.0], len(x)), "y": labels})
    return table.slice(0, COUNT), table.slice(COUNT)


def on_workers(model: Any, train: pa.Table, test: pa.Table, client: Any, folder: Path) -> tuple[Any, Task]:
    from psidebug.blocks.dask import DaskBlocks

    for number, start in enumerate(range(0, COUNT, 9_000)):
        pq.write_table(train.slice(start, 9_000), folder / f"{number}.parquet")
    blocks = DaskBlocks.of_files(parquet_blocks(folder), client)
    columns = Columns("y", tuple(NAMES), weight="w")
    first = read_first(blocks, columns, 0, complete=False)
    drawn, y = first.drawn, (first.drawn.column("y").to_pylist(), test.column("y").to_pylist())
    task = Task.of(
        model, drawn.select(NAMES), y[0], test.select(NAMES), y[1], sample_weight=drawn.column("w").to_numpy()
    )
    return trained_by(model, blocks).of(blocks, first, task, columns), task


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    ("model", "kind"),
    [
        (lightgbm.LGBMClassifier(n_estimators=15, n_jobs=1, verbose=-1), LightGBMOnDask),
        (xgboost.XGBClassifier(n_estimators=15, n_jobs=1), XGBoostOnDask),
    ],
    ids=["lightgbm", "xgboost"],
)
def test_trees_are_nearly_those_of_one_array(model: Any, kind: Any, classes: int, client: Any, tmp_path: Path) -> None:
    train, test = rows(classes)
    learner, task = on_workers(model, train, test, client, tmp_path)
    assert isinstance(learner, kind)
    codes = np.array(["pqr".index(each) for each in train.column("y").to_pylist()])
    changed = np.flatnonzero(np.asarray(train.column("a")) > 0.8)
    again = codes.copy()
    again[changed] = (codes[changed] + 1) % classes
    retrained = learner.retrained(task, task.train.codes, changed, again[changed])
    x, tested = (np.column_stack([table.column(name) for name in NAMES]) for table in (train, test))
    for labels, made in ((codes, learner), (again, retrained)):
        own = type(model)(**model.get_params()).fit(x, labels, sample_weight=train.column("w").to_numpy())
        right = own.predict(tested) == task.test.codes
        assert ((made.margins(task.test) > 0).all(axis=1) == right).mean() > 0.96


def test_a_worker_that_dies_in_training_is_survived(
    client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deaths: list[int] = []
    trained = LightGBMOnDask._trained

    def dies(self: LightGBMOnDask, client: Any) -> Any:
        if not deaths:
            address = next(iter(client.scheduler_info()["workers"]))
            deaths.append(client.run(os.getpid, workers=[address])[address])
            os.kill(deaths[0], signal.SIGKILL)
            while address in client.scheduler_info()["workers"]:
                pass
            raise RuntimeError("Socket recv error, Connection reset by peer (code: 104)")
        return trained(self, client)

    monkeypatch.setattr(LightGBMOnDask, "_trained", dies)
    train, test = rows(2)
    learner, task = on_workers(
        lightgbm.LGBMClassifier(n_estimators=5, n_jobs=1, verbose=-1), train, test, client, tmp_path
    )
    assert deaths
    assert (learner.margins(task.test) > 0).mean() > 0.7
