"""The paper's evaluation, repeated: its table and its two figures, with its printed numbers beside ours."""

from __future__ import annotations

from benchmarks.paper.cells import CELLS, Cell
from benchmarks.paper.reproduce import reproduce

__all__ = ["CELLS", "Cell", "reproduce"]
