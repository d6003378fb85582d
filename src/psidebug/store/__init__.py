"""Saved runs: a diagnosis as a directory of plain files, to show, compare and review without computing it again."""

from __future__ import annotations

from psidebug.store.compare import Comparison, compare
from psidebug.store.fingerprint import fingerprint_of
from psidebug.store.place import check_run_place
from psidebug.store.run import Run, load_run
from psidebug.store.save import save_run

__all__ = ["Comparison", "Run", "check_run_place", "compare", "fingerprint_of", "load_run", "save_run"]
