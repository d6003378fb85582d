"""Columns of numbers that are written so that nobody reads them as numbers: 3.103,00, 1 200, € 5, 12%."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from psidebug import policy
from psidebug.checks.check import Check
from psidebug.task.data import Data
from psidebug.task.dates import text_columns
from psidebug.task.tables import is_frame

CURRENCY = "[$€£¥₹%]"
WRITTEN = rf"^\s*{CURRENCY}?\s*[-+]?\d+([., '’  ]\d+)*\s*{CURRENCY}?\s*$"
"""Digits, with marks between them, and a sign of money or percent."""
DIGITS = r"^\d+$"
"""Codes, such as 01 of a postal district, are categories that somebody wants."""


def number_texts(data: Data) -> Check | None:
    """The first column of text nearly all of whose values are numbers with marks; each is a category of its own."""
    tables = [table for table in (data.train.features, data.metadata) if table is not None and is_frame(table)]
    for name, texts in (each for table in tables for each in text_columns(table)):
        given = texts.drop_null().unique()
        like = pc.match_substring_regex(given, WRITTEN)
        codes = pc.match_substring_regex(given, DIGITS)
        if not len(given) or _share(like) < policy.NUMBERS_SHARE or _share(codes) >= policy.NUMBERS_SHARE:
            continue
        shown = given.filter(pc.and_not(like, codes))[0].as_py()
        return Check(
            "numbers as text",
            f"The column '{name}' looks like numbers but is read as text, for instance '{shown:.30}', so that each "
            f"value is a category of its own. Write such numbers as 3103.00.",
        )
    return None


def _share(true: pa.BooleanArray) -> float:
    share = pc.mean(true).as_py()
    return 0.0 if share is None else float(share)
