"""Classifiers in files, opened without running code from them."""

from psidebug.models.load import load_model
from psidebug.models.skops_files import COLUMNS, as_skops, from_skops

__all__ = ["COLUMNS", "as_skops", "from_skops", "load_model"]
