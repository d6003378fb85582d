"""The same rows as a Dask data frame and as one of Spark, in partitions of given sizes."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from psidebug.blocks import Blocks


def in_parts(table: pa.Table, sizes: list[int]) -> list[pa.Table]:
    starts = np.concatenate([[0], np.cumsum(sizes)])
    return [table.slice(int(start), size) for start, size in zip(starts, sizes, strict=False)]


def dask_frame(table: pa.Table, sizes: list[int]) -> Any:
    import dask
    import dask.dataframe as dd
    import pandas as pd

    text = {pa.string(): pd.ArrowDtype(pa.string())}
    parts = [part.to_pandas(types_mapper=text.get) for part in in_parts(table, sizes)]
    return dd.from_delayed([dask.delayed(part) for part in parts], meta=parts[0].iloc[:0])


def dask_blocks(table: pa.Table, sizes: list[int], client: Any = None) -> Blocks:
    from psidebug.blocks.dask import DaskBlocks

    return DaskBlocks(dask_frame(table, sizes), client)


def spark_frame(session: Any, table: pa.Table, sizes: list[int]) -> Any:
    parts = [part for part in in_parts(table, sizes) if part.num_rows or len(sizes) == 1]
    frame = session.createDataFrame(parts[0]).coalesce(1)
    for part in parts[1:]:
        frame = frame.union(session.createDataFrame(part).coalesce(1))
    return frame


def spark_blocks(session: Any, table: pa.Table, sizes: list[int]) -> Blocks:
    from psidebug.blocks.spark import SparkBlocks

    return SparkBlocks(spark_frame(session, table, sizes))


def spark_session() -> Any:
    """Two threads, no page, few partitions; the workers run this Python. In CI a missing Java is a failure."""
    missing = [
        name
        for name, found in (("pyspark", importlib.util.find_spec("pyspark")), ("Java", shutil.which("java")))
        if not found
    ]
    if missing and os.environ.get("CI") == "true":
        pytest.fail(f"CI must have {' and '.join(missing)}: scripts/environment installs them")
    if missing:
        pytest.skip(f"needs {' and '.join(missing)} (pip install pyspark; apt install default-jre-headless)")
    os.environ.update(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    return builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
