"""What is to be changed in a training file: its label cells, and columns that are added."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from psidebug.task.labels import Codes


class OtherRows(Exception):
    """The rows of the file are not told apart as the run told them; the run's copy has to do."""


@dataclass(frozen=True)
class Relabelling:
    """New label cells by row: copies of the cell of another row (``donors``), else labels that no row has."""

    source: Mapping[str, Any]
    """Where the data came from: the names of the label column and of all columns."""
    given: Codes
    """The labels as the run read them."""
    donors: Mapping[int, int | None]
    labels: Mapping[int, Any]
    added: Mapping[str, Any]
    """Columns to add; None is the label column as it was."""
