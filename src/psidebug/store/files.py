"""The files of a saved run, each table read when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from psidebug.diagnosis.verification import Verification
from psidebug.errors import UnreadableRun
from psidebug.store.format import RUN_FILE, example_of, frame_of, verification_of
from psidebug.store.manifest import own_file
from psidebug.store.stored import restored
from psidebug.store.values import Json, from_json, values_of
from psidebug.task.labels import Codes, Encoding
from psidebug.task.tables import Table, frame_like


@dataclass(frozen=True, eq=False)
class RunFiles:
    """The record in ``run.json``, and the tables that it names."""

    directory: Path
    record: Json

    def has(self, name: str) -> bool:
        """Whether there is such a table."""
        return name in self.record["files"]

    def table(self, name: str) -> Any:
        """A table, as Arrow."""
        return self._read(name, pq.read_table)

    def content(self, name: str) -> bytes:
        """A file that is no table."""
        found: bytes = self._read(name, Path.read_bytes)
        return found

    def _read(self, name: str, read: Callable[[Path], Any]) -> Any:
        if not self.has(name):
            raise UnreadableRun(
                f"{self.directory / RUN_FILE} is damaged: it names no file for {name}. Save the run again."
            )
        path = own_file(self.directory, self.record["files"][name]["path"])
        try:
            return read(path)
        except FileNotFoundError:
            raise UnreadableRun(f"{path} is gone: the run was saved anew or moved meanwhile. Load it again.") from None
        except (OSError, pa.ArrowException) as error:
            told = str(error).partition("\n")[0]
            raise UnreadableRun(f"{path} cannot be read: {told:.200}. Save the run again.") from None

    def features(self, name: str) -> Table:
        """A table of features as it was given."""
        return restored(self.table(name), self.form(name))

    def form(self, name: str) -> Json:
        """What is written about the form of a table."""
        return self.record["task"]["forms"][name]

    @cached_property
    def labels(self) -> Any:
        """One line for each training row."""
        return self.table("labels")

    @cached_property
    def predictions(self) -> Any:
        """One line for each test row."""
        return self.table("predictions")

    @cached_property
    def encoding(self) -> Encoding:
        """The classes."""
        task = self.record["task"]
        classes = tuple(from_json(each) for each in task["classes"])
        return Encoding(classes, learned=task.get("learned", False), as_codes=task.get("as_codes", False))

    def codes(self, table: Any, name: str) -> Codes:
        """A column of labels as codes."""
        return self.encoding.encode(values_of(table, name), where=name)

    def verified(self, record: Json, name: str) -> Verification:
        """A verification with the test rows that its model gets wrong."""
        wrong: npt.NDArray[np.bool_] = self.predictions[f"wrong_{name}"].to_numpy()
        return verification_of(record, wrong)

    def frame(self, name: str) -> Any:
        """A data frame of results that is in the record."""
        return frame_of(self.record[name], self.record["frames"])

    def frame_with(self, data: Mapping[str, Any]) -> Any:
        """This data in the library of the diagnosis, if it is installed."""
        return frame_like(data, example_of(self.record["frames"]))
