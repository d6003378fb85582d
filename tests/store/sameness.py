"""Tables and effects that are the same to the last bit, whatever library they are of."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import polars.testing
import pyarrow as pa
import scipy.sparse as sp

from psidebug.findings.effects import Verification


def assert_same_frame(one: Any, other: Any) -> None:
    assert type(one) is type(other)
    if isinstance(one, pd.DataFrame):
        pd.testing.assert_frame_equal(one, other, check_exact=True)
    elif isinstance(one, pl.DataFrame):
        pl.testing.assert_frame_equal(one, other, check_exact=True)
    else:
        assert one.schema == other.schema
        assert str(one.to_pydict()) == str(other.to_pydict())  # NaN is not equal to itself


def assert_same_table(one: Any, other: Any) -> None:
    assert type(one) is type(other)
    if other is None:
        return
    if isinstance(other, pd.DataFrame | pl.DataFrame | pa.Table):
        assert_same_frame(one, other)
        return
    assert one.dtype == other.dtype
    dense = (each.toarray() if sp.issparse(each) else each for each in (one, other))
    np.testing.assert_array_equal(*dense)


def assert_same_effect(one: Verification | None, other: Verification | None) -> None:
    assert (one is None) == (other is None)
    if one is None or other is None:
        return
    for name in {each.name for each in fields(Verification)} - {"margins"}:
        np.testing.assert_equal(getattr(one, name), getattr(other, name), err_msg=name)
