"""LightGBM and XGBoost on a Dask cluster: ``lightgbm.dask`` and ``xgboost.dask``, on the user's own client.

Workers hold the rows that they have, as numbers, and speak to each other; the trees alone come to the client. Which
rows a worker has may change the last bits, and so may the number of workers. A worker that dies ends the libraries'
work: it is then begun anew on the workers that are left, a few times.
"""

from __future__ import annotations

import contextlib
import io
import warnings
from abc import abstractmethod
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from psidebug.blocks import Block, Blocks, Training
from psidebug.diagnosis.block_boosters import Booster, LightGBM, XGBoost, lightgbm_options, xgboost_options
from psidebug.diagnosis.block_columns import Columns
from psidebug.diagnosis.block_reader import Reader, reader_of
from psidebug.diagnosis.first_reading import FirstReading
from psidebug.errors import LearnerFailed, PsiError, first_line
from psidebug.task import learner as learners
from psidebug.task.labels import Codes
from psidebug.task.task import Task

TRIES = 4
"""How often training is begun, if workers die in it."""


class _BoosterOnDask(Booster):
    """Trained by the workers that have the rows."""

    needs: ClassVar[Training] = "cluster"
    blocks: Any

    def __init__(self, blocks: Any, reader: Reader, model: Any, width: int, balance: tuple[float, ...] | None) -> None:
        self.blocks, self.reader, self.model = blocks, reader, model
        self._width, self._balance = width, balance
        self._booster = self._tried()

    @classmethod
    def of(cls, blocks: Blocks, first: FirstReading, task: Task, columns: Columns) -> Self:
        """Fitted on all rows, with the options of the task's learner."""
        reader = reader_of(first, task, columns)
        model = learners.seeded(learners.final_step(task.learner), task.seed)
        balance = None
        if getattr(model, "class_weight", None) == "balanced":
            counts = np.array([first.counts[each] for each in task.encoding.classes], dtype=np.float64)
            balance = tuple(counts.sum() / (len(counts) * counts))
        return cls(blocks, reader, model, reader.in_memory(task.test.features).shape[1], balance)

    def retrained(self, task: Task, drawn: Codes, rows: npt.NDArray[np.int64], codes: Codes) -> Self:
        """With these labels of these rows."""
        reader = replace(self.reader, corrected=(rows, codes))
        return type(self)(self.blocks, reader, self.model, self._width, self._balance)

    @property
    def size(self) -> int:
        """K."""
        return len(self.reader.code_of)

    def _tried(self) -> Any:
        """A booster; training is begun anew if a worker was lost."""
        client = self.blocks.client
        for left in reversed(range(TRIES)):
            before = set(client.scheduler_info()["workers"])
            try:
                with contextlib.redirect_stdout(io.StringIO()):  # which ports are used
                    return self._trained(client)
            except PsiError:
                raise
            except Exception as error:  # the libraries raise many kinds
                if left == 0 or before <= set(client.scheduler_info()["workers"]):
                    name = type(self.model).__name__
                    raise LearnerFailed(f"{name} could not be trained by the workers: {first_line(error)}.") from error
                client.wait_for_workers(1)
        raise AssertionError

    def _arrays(self) -> tuple[Any, Any, Any]:
        """Features, codes and weights of all rows, as Dask arrays."""
        weighed = self.reader.weight is not None or self._balance is not None
        features = self._array(self.reader.dense, np.float64, self._width)
        weights = partial(_weights, reader=self.reader, balance=self._balance)
        return features, self._array(self.reader.codes, np.int64), self._array(weights, np.float64) if weighed else None

    def _array(self, function: Any, kind: Any, width: int | None = None) -> Any:
        import dask.array as da

        parts = self.blocks.arrays(function, self.reader.columns)
        shapes = [(rows,) if width is None else (rows, width) for _, rows in parts]
        return da.concatenate(
            [da.from_delayed(part, shape, dtype=kind) for (part, _), shape in zip(parts, shapes, strict=True)]
        )

    @abstractmethod
    def _trained(self, client: Any) -> Any:
        """A booster."""


def _weights(block: Block, reader: Reader, balance: tuple[float, ...] | None) -> npt.NDArray[np.float64]:
    weights = reader.weights(block)
    return weights if balance is None else weights * np.array(balance)[reader.codes(block)]


class LightGBMOnDask(LightGBM, _BoosterOnDask):
    """By ``lightgbm.dask``."""

    def _trained(self, client: Any) -> Any:
        from lightgbm.dask import DaskLGBMRegressor

        # The classifier numbers the classes that a worker has, and a worker may have few. Codes are numbers already.
        options = {**lightgbm_options(self.model, self.size), "n_estimators": self.model.n_estimators}
        features, codes, weights = self._arrays()
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Parameter n_jobs will be ignored", UserWarning)
            return DaskLGBMRegressor(client=client, **options).fit(features, codes, sample_weight=weights).booster_


class XGBoostOnDask(XGBoost, _BoosterOnDask):
    """By ``xgboost.dask``."""

    def _trained(self, client: Any) -> Any:
        import xgboost.dask

        features, codes, weights = self._arrays()
        bins = self.model.max_bin or 256
        rows = xgboost.dask.DaskQuantileDMatrix(client, features, codes, weight=weights, max_bin=bins)
        rounds = self.model.get_num_boosting_rounds()
        return xgboost.dask.train(client, xgboost_options(self.model, self.size), rows, rounds)["booster"]
