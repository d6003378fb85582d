"""LightGBM and XGBoost over blocks of rows: by their own ways for data that do not fit in memory.

LightGBM bins the rows of a ``Sequence``, a byte for each cell, in memory. XGBoost's external memory has the bins in
a temporary file. For the proof no row is read again: labels are set anew. For each label 8 bytes are kept, the
library's and ours.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from psidebug.blocks import ROWS, Block, Blocks, Training
from psidebug.diagnosis.block_columns import Columns
from psidebug.diagnosis.block_reader import Reader, as_numbers, reader_of
from psidebug.diagnosis.first_reading import FirstReading
from psidebug.errors import UnsupportedLearner
from psidebug.graybox.protocol import Floats
from psidebug.margins import margins_of
from psidebug.task import learner as learners
from psidebug.task.data import LabelledSet
from psidebug.task.labels import Codes
from psidebug.task.task import Task

Given = npt.NDArray[np.int32]
"""The codes of all labels."""
Weights = npt.NDArray[np.float32]


class Booster(ABC):
    """A booster that was trained on all rows, wherever that was done."""

    needs_complete: ClassVar[bool] = False
    ranks_all: ClassVar[bool] = False
    library: ClassVar[str]
    blocks: Blocks
    reader: Reader
    _booster: Any

    @classmethod
    def takes(cls, final: Any) -> bool:
        """The library's classifier."""
        return type(final).__module__.split(".")[0] == cls.library

    def margins(self, on: LabelledSet) -> Floats:
        """m_tr (points, K-1) on rows in memory."""
        raw = self._scores(as_numbers(self.reader.in_memory(on.features)))
        return margins_of(np.column_stack([np.zeros(len(raw)), raw]) if raw.ndim == 1 else raw, on.codes)

    def moves(self, test: LabelledSet, signed: Floats) -> None:
        """There is no gray box over blocks."""
        return

    @abstractmethod
    def _scores(self, features: npt.NDArray[np.float64]) -> Floats:
        """Raw scores: (n,) of two classes, else (n, K)."""


class LightGBM(Booster):
    """``LGBMClassifier``."""

    library = "lightgbm"

    @staticmethod
    def check(final: Any) -> None:
        """Refuse an objective of one's own."""
        if callable(final.objective):
            raise UnsupportedLearner("an objective of your own is not for rows in blocks: name one of LightGBM's.")
        if final.class_weight not in (None, "balanced"):
            raise UnsupportedLearner("for rows in blocks, class_weight of LightGBM is 'balanced' or None: set it so.")

    def _scores(self, features: npt.NDArray[np.float64]) -> Floats:
        return np.asarray(self._booster.predict(features, raw_score=True))


class XGBoost(Booster):
    """``XGBClassifier``."""

    library = "xgboost"

    @staticmethod
    def check(final: Any) -> None:
        """Refuse what neither external memory nor a cluster has."""
        if final.tree_method in ("exact", "approx") or final.booster == "gblinear":
            raise UnsupportedLearner("over blocks of rows XGBoost grows trees by histograms: set tree_method='hist'.")
        if callable(final.objective) or final.early_stopping_rounds is not None:
            raise UnsupportedLearner(
                "an objective of your own and early_stopping_rounds are not for rows in blocks: leave them out."
            )

    def _scores(self, features: npt.NDArray[np.float64]) -> Floats:
        return np.asarray(self._booster.inplace_predict(features, predict_type="margin"), dtype=np.float64)


class _BoosterOverBlocks(Booster):
    """Binned rows, their labels, and a booster that was trained on them here."""

    needs: ClassVar[Training] = "rows"

    def __init__(
        self, blocks: Blocks, reader: Reader, model: Any, size: int, bins: Any, given: Given, weights: Weights | None
    ) -> None:
        self.blocks, self.reader, self.model, self.size = blocks, reader, model, size
        self._bins, self._given, self._weights = bins, given, weights
        self._booster = self._trained(given)

    @classmethod
    def of(cls, blocks: Blocks, first: FirstReading, task: Task, columns: Columns) -> Self:
        """Fitted on all rows, with the options of the task's learner."""
        reader = reader_of(first, task, columns)
        model = learners.seeded(learners.final_step(task.learner), task.seed)
        own = [columns.label] if columns.weight is None else [columns.label, columns.weight]
        codes, weights = zip(*blocks.map(partial(_few_bytes, reader=reader), own), strict=True)
        given, weighed = np.concatenate(codes), None if columns.weight is None else np.concatenate(weights)
        bins = cls._binned(blocks, reader, model, given)
        return cls(blocks, reader, model, task.encoding.size, bins, given, weighed)

    def retrained(self, task: Task, drawn: Codes, rows: npt.NDArray[np.int64], codes: Codes) -> Self:
        """With these labels of these rows, on the same bins."""
        labels = self._given.copy()
        labels[rows] = codes
        return type(self)(self.blocks, self.reader, self.model, self.size, self._bins, labels, self._weights)

    @classmethod
    @abstractmethod
    def _binned(cls, blocks: Blocks, reader: Reader, model: Any, given: Given) -> Any:
        """All rows, binned."""

    @abstractmethod
    def _trained(self, codes: Given) -> Any:
        """A booster trained on the bins with these labels."""


def _few_bytes(block: Block, reader: Reader) -> tuple[Given, Weights | None]:
    weights = None if reader.weight is None else reader.weights(block).astype(np.float32)
    return reader.codes(block).astype(np.int32), weights


class LightGBMOverBlocks(LightGBM, _BoosterOverBlocks):
    """On a ``Sequence``."""

    @classmethod
    def _binned(cls, blocks: Blocks, reader: Reader, model: Any, given: Given) -> Any:
        import lightgbm

        class InBlocks(lightgbm.Sequence):
            """Rows by number. LightGBM asks for them in ascending order, twice: for the bins, and to fill them."""

            batch_size = ROWS

            def __init__(self) -> None:
                self._start, self._rows = 0, np.empty((0, 0))
                self._left: Iterator[tuple[int, Floats]] = iter(())

            def __len__(self) -> int:
                return len(blocks)

            def __getitem__(self, index: Any) -> Any:
                first = index.start if isinstance(index, slice) else int(index)
                self._go_to(first)
                if isinstance(index, slice):
                    return self._rows[first - self._start : index.stop - self._start]
                return self._rows[first - self._start]

            def _go_to(self, row: int) -> None:
                if row < self._start or not len(self._rows):
                    self._left = iter(blocks.map(seen, reader.columns))
                    self._start, self._rows = next(self._left)
                while row >= self._start + len(self._rows):
                    self._start, self._rows = next(self._left)

        def seen(block: Block) -> tuple[int, Floats]:
            return block.start, reader.dense(block)

        options = lightgbm_options(model, len(reader.code_of))
        return lightgbm.Dataset(InBlocks(), label=given, params=options).construct()

    def _trained(self, codes: Given) -> Any:
        import lightgbm

        self._bins.set_label(codes.astype(np.float32))
        if self.model.class_weight == "balanced" or self._weights is not None:
            balanced = self.model.class_weight == "balanced"
            self._bins.set_weight(_balanced(codes, self.size) if balanced else self._weights)
        return lightgbm.train(lightgbm_options(self.model, self.size), self._bins, self.model.n_estimators)


def lightgbm_options(model: Any, size: int) -> dict[str, Any]:
    """The classifier's options, by names that LightGBM knows; what is left open is its default."""
    own = ("n_estimators", "class_weight", "importance_type", "objective")
    options = {name: value for name, value in model.get_params().items() if name not in own and value is not None}
    options["objective"] = model.objective or ("binary" if size == 2 else "multiclass")
    return {"verbosity": -1, **options, **({} if size == 2 else {"num_class": size})}


def _balanced(codes: Given, size: int) -> npt.NDArray[np.float32]:
    """A weight for each row, by which all classes count the same."""
    counts = np.bincount(codes, minlength=size)
    return (len(codes) / (size * np.maximum(counts, 1))).astype(np.float32)[codes]


class XGBoostOverBlocks(XGBoost, _BoosterOverBlocks):
    """By external memory."""

    @classmethod
    def _binned(cls, blocks: Blocks, reader: Reader, model: Any, given: Given) -> Any:
        import xgboost

        folder = tempfile.mkdtemp(prefix="psi-")

        class InBlocks(xgboost.DataIter):
            """Block after block, as often as XGBoost begins anew."""

            def __init__(self) -> None:
                self._left: Iterator[Block] = iter(())
                super().__init__(cache_prefix=str(Path(folder) / "bins"))

            def next(self, input_data: Any) -> bool:
                block = next(self._left, None)
                if block is not None:
                    weight = None if reader.weight is None else reader.weights(block)
                    input_data(data=reader.dense(block), label=reader.codes(block), weight=weight)
                return block is not None

            def reset(self) -> None:
                self._left = blocks.map(lambda block: block, reader.columns)

        made = xgboost.ExtMemQuantileDMatrix(InBlocks(), max_bin=model.max_bin or 256)
        weakref.finalize(made, shutil.rmtree, folder, ignore_errors=True)
        return made

    def _trained(self, codes: Given) -> Any:
        import xgboost

        self._bins.set_label(codes)
        options = xgboost_options(self.model, self.size)
        return xgboost.train(options, self._bins, self.model.get_num_boosting_rounds())


def xgboost_options(model: Any, size: int) -> dict[str, Any]:
    """The classifier's options, by names that XGBoost knows."""
    options = {name: value for name, value in model.get_xgb_params().items() if value is not None}
    options["objective"] = "binary:logistic" if size == 2 else "multi:softprob"
    return {**options, **({} if size == 2 else {"num_class": size})}
