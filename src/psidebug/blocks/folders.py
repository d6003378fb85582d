"""Folders that say more than a name: ``city=Rome/part-0.parquet`` is a file whose rows have ``city`` Rome.

Spark, Dask, pandas and Hive write such partitions. The values are whole numbers if all are, else texts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa

from psidebug.errors import ShapeMismatch

NULL = "__HIVE_DEFAULT_PARTITION__"
WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}")
Keys = Mapping[str, Any]
"""One value (a scalar of Arrow) for each column that the folders of a file tell."""


def keys_of(paths: Sequence[Path], below: Path) -> list[Keys]:
    """What the folders between ``below`` and each file say; all must tell the same columns, or none."""
    told = [dict(part.split("=", 1) for part in path.relative_to(below).parts[:-1] if "=" in part) for path in paths]
    odd = next((place for place, each in enumerate(told) if list(each) != list(told[0])), None)
    if odd is not None:
        raise ShapeMismatch(
            f"the folders of {paths[odd].relative_to(below)} name other columns than those of "
            f"{paths[0].relative_to(below)}: all files need the same partitions."
        )
    columns = {name: _typed([unquote(each[name]) for each in told]) for name in told[0]}
    return [{name: values[place] for name, values in columns.items()} for place in range(len(paths))]


def below_pattern(pattern: Path) -> Path:
    """The folder that a pattern names without a sign."""
    return next(each for each in pattern.parents if not any(sign in str(each) for sign in "*?["))


def _typed(values: list[str]) -> Any:
    known = [each for each in values if each != NULL]
    kind = pa.int64() if known and all(map(WHOLE.fullmatch, known)) else pa.string()
    return pa.array([None if each == NULL else int(each) if kind == pa.int64() else each for each in values], kind)
