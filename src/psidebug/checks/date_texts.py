"""Metadata columns that look like dates but cannot be read as dates in one way."""

from __future__ import annotations

import pyarrow.compute as pc

from psidebug import policy
from psidebug.checks.check import Check
from psidebug.task.data import Data
from psidebug.task.dates import look_like_dates, text_columns


def date_texts(data: Data) -> Check | None:
    """The first column of text that is nearly all dates; those that can be read are no text any more."""
    for name, texts in text_columns(data.metadata) if data.metadata is not None else []:
        given = texts.drop_null()
        like = look_like_dates(given)
        if pc.mean(like).as_py() < policy.DATES_SHARE:
            continue
        odd = given.filter(pc.invert(like))
        shown = odd[0].as_py() if len(odd) else given[0].as_py()
        return Check(
            "dates as text",
            f"The metadata column '{name}' looks like dates but cannot be read in one way, for instance '{shown:.30}'. "
            f"Write all as 2020-01-31, so that ranges of dates are looked at.",
        )
    return None
