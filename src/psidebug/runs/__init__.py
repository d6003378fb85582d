"""Saved runs: a diagnosis as a directory of plain files, to show, compare and review without computing it anew."""

from __future__ import annotations

from psidebug.runs.compare import Comparison, compare
from psidebug.runs.fingerprint import fingerprint_of
from psidebug.runs.load import load_run
from psidebug.runs.place import check_run_place
from psidebug.runs.run import Run
from psidebug.runs.save import save_run

__all__ = ["Comparison", "Run", "check_run_place", "compare", "fingerprint_of", "load_run", "save_run"]
