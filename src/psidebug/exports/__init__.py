"""What leaves Psi: the corrected data, the suspects, and tasks for other tools."""

from __future__ import annotations

from psidebug.exports.corrected import Decision, corrected_file, corrected_table
from psidebug.exports.suspects import (
    cleanlab_frame,
    label_studio_config,
    label_studio_tasks,
    suspects_table,
    training_set,
)
from psidebug.exports.table_files import SUFFIXES, encoded, kind_of, write_content, write_json, write_table

__all__ = [
    "SUFFIXES",
    "Decision",
    "cleanlab_frame",
    "corrected_file",
    "corrected_table",
    "encoded",
    "kind_of",
    "label_studio_config",
    "label_studio_tasks",
    "suspects_table",
    "training_set",
    "write_content",
    "write_json",
    "write_table",
]
